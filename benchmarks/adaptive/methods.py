"""The methods of this package, each under a sweep of settings."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

import thrifty
from benchmarks.adaptive.points import Points, acquired_point
from benchmarks.adaptive.problems import Problem
from thrifty.models.rows import Rows
from thrifty.models.tables.preparation import learned_encoder
from thrifty.tuning.candidates import Candidate, sweeps
from thrifty.tuning.knobs import Setting, between, curve_of
from thrifty.tuning.problem import Problem as SearchProblem
from thrifty.tuning.problem import Task, encoded

ROUNDS = (30, 100, 300)  # of the Greedy Miser; all are prefixes of one fit
FEW_CLASSES = 3  # more classes have at most 100 rounds, because a round has a tree for each class
MISER_WEIGHTS = (*np.geomspace(5.0, 3e-3, 18), 0.0)  # of the cost of all columns
DENSER = {
    "dynamic": [{"cost_weight": weight} for weight in (8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.1)],
}  # settings of methods whose own sweep is too short for a curve
MOST_POINTS = 60  # of the adaptive model
BUDGET_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # promised budgets, in shares of the cost of all columns


def adaptive(problem: Problem) -> Points:
    """Fit the adaptive model once; yield a point per cost weight, and one per promised budget."""
    model = thrifty.ThriftyClassifier(costs=problem.costs, random_state=problem.seed).fit(problem.X, problem.y)
    weights = model.curve_.cost_weight[1:]  # the first is infinity
    chosen = np.unique(np.linspace(0, len(weights) - 1, min(len(weights), MOST_POINTS)).round().astype(int))
    for weight in weights[chosen].tolist():
        yield acquired_point(problem, {"cost_weight": weight}, model.at_cost_weight(weight), problem.X_test)
    for share in BUDGET_SHARES:
        budget = share * problem.costs.total
        yield acquired_point(problem, {"budget": budget}, model.at_budget(budget), problem.X_test)


def greedy_miser(problem: Problem, *, charge: str) -> Points:
    """Yield points of the Greedy Miser for several cost weights and numbers of rounds."""
    rounds = ROUNDS if problem.n_classes <= FEW_CLASSES else ROUNDS[:2]
    for weight in MISER_WEIGHTS:
        model = thrifty.GreedyMiserClassifier(
            costs=problem.costs,
            charge=charge,
            cost_weight=weight / problem.costs.total,
            n_estimators=max(rounds),
            random_state=problem.seed,
        )
        prefixes = model.path(problem.X, problem.y)
        for n in sorted({min(n, len(prefixes)) for n in rounds}):
            setting = {"cost_weight": float(weight), "n_estimators": n}
            yield acquired_point(problem, setting, prefixes[n - 1], problem.X_test)


def by_name(problem: Problem, *, name: str) -> Points:
    """Yield the points of a method of `thrifty.tuning.METHODS` under the settings of a search, or denser ones."""
    rows, test = Rows(problem.X, problem.y), Rows(problem.X_test, problem.y_test)
    encoder = learned_encoder(rows, problem.costs, dict.fromkeys(_columns(problem), "number"))
    task = Task.BINARY if problem.n_classes == 2 else Task.MULTICLASS
    search = SearchProblem.of(rows, encoder, problem.costs, task)
    _, (sweep,) = sweeps([Candidate(name, name, {})], search, problem.seed)
    sweep = replace(sweep, settings=tuple(DENSER.get(name) or with_settings_between(name, sweep.settings)))
    X_test = encoded(test, encoder).X
    for batch in sweep.batches():
        for fitted in batch.fit(search):
            if fitted.error:
                raise RuntimeError(fitted.error)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield acquired_point(problem, fitted.setting, fitted.model, X_test)


def with_settings_between(name: str, settings: Sequence[Setting]) -> list[Setting]:
    """Return the first settings of a search, and one between any two neighbours of a curve."""
    curves: dict[str, list[Setting]] = {}
    for setting in settings:
        curves.setdefault(curve_of(name, setting), []).append(setting)
    middles = [between(*pair) for curve in curves.values() for pair in pairwise(curve)]
    return [*settings, *(middle for middle in middles if middle is not None)]


def _columns(problem: Problem) -> Any:
    return problem.costs.names or range(problem.X.shape[1])
