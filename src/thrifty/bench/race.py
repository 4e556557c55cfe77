"""One run of the race: tune a contender on training rows, fit what was chosen on all of them, and test it once.

A run records the points on the test rows in the order of their spend on held-out training rows, the score of the best
constant answer, what all columns cost, and CPU times. No other choice is made on test rows.
"""

from collections.abc import Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from thrifty.bench.contenders import CONTENDERS, FLAGSHIP, FULL
from thrifty.bench.contenders.contender import Contender, Training
from thrifty.bench.problems import CATALOG, Problem, load
from thrifty.bench.problems.problem import Table
from thrifty.bench.runs import Key, Run
from thrifty.bench.tuning import Trial, hull, tried
from thrifty.tuning.problem import Task

QUICK_TRIALS, FULL_TRIALS = 8, 24
QUICK_SEEDS, FULL_SEEDS = 3, 10
QUICK_SEEDS_OF_FEW_ROWS, FULL_SEEDS_OF_FEW_ROWS = 5, 20  # where test sets have a few dozen rows
FIRST = (FLAGSHIP, FULL)  # so that a run that is stopped early has the most important results
WARM_ROWS = 60


def runs(problem: str, full: bool) -> list[Run]:
    """Return the runs of a problem: all contenders, seed by seed."""
    n_trials = FULL_TRIALS if full else QUICK_TRIALS
    names = [*FIRST, *(name for name in CONTENDERS if name not in FIRST)]
    served = [name for name in names if serves(CONTENDERS[name], problem)]
    return [_run(Key(problem, seed, name, full), n_trials) for seed in range(n_seeds(problem, full)) for name in served]


def n_seeds(problem: str, full: bool) -> int:
    """Return the number of seeds of a problem."""
    if CATALOG[problem].has_few_rows:
        return FULL_SEEDS_OF_FEW_ROWS if full else QUICK_SEEDS_OF_FEW_ROWS
    return FULL_SEEDS if full else QUICK_SEEDS


def _run(key: Key, n_trials: int) -> Run:
    return Run(key, partial(measure, *key, n_trials), {"n_trials": n_trials})


def serves(contender: Contender, problem: str) -> bool:
    """Return whether a contender serves the task of a problem."""
    return CATALOG[problem].task in contender.tasks


def measure(problem_name: str, seed: int, name: str, full: bool, n_trials: int) -> dict[str, Any]:
    """Return what a contender spends and scores on the test rows of a problem."""
    return raced(load(problem_name, seed, full), CONTENDERS[name], n_trials)


def raced(problem: Problem, contender: Contender, n_trials: int) -> dict[str, Any]:
    """Tune, fit and test a contender; return the points with times."""
    _compile(problem, contender, n_trials)
    start = process_time()
    trials = tried(problem, contender, n_trials)
    if not trials:
        raise ValueError(f"{contender.name} has no model on {problem.name}.")
    chosen = hull(trials, problem.floor(problem.train)) or [max(trials, key=lambda each: each.score)]
    tuned = process_time()
    points, n_fits = [], 0
    for fitted in _fits(problem, contender, chosen):
        points += fitted
        n_fits += 1
    return {
        "points": sorted(points, key=lambda point: point["held_out"][0]),
        "floor": problem.floor(problem.test),
        "total": problem.total(problem.test),
        "score": problem.score_name,
        "n_train": len(problem.train),
        "n_test": len(problem.test),
        "n_models": len(trials),
        "tuning_seconds": round(tuned - start, 3),
        "fit_seconds": round((process_time() - tuned) / n_fits, 3),
    }


def _fits(problem: Problem, contender: Contender, chosen: list[Trial]) -> Iterator[list[dict[str, Any]]]:
    """Fit each chosen setting once on all training rows, and yield the points of its chosen models."""
    training = Training.of(problem, problem.train)
    settings = [trial.setting for trial in chosen]
    for setting in [each for k, each in enumerate(settings) if each not in settings[:k]]:
        wanted = {trial.model: trial for trial in chosen if trial.setting == setting}
        models = contender.fit(training, dict(setting))
        yield [_point(problem, wanted[model.name], model) for model in models if model.name in wanted]


def _point(problem: Problem, trial: Trial, model: Any) -> dict[str, Any]:
    answers = model.answer(problem.test)
    return {
        "setting": trial.setting,
        "model": trial.model,
        "spend": round(problem.spend(problem.test, answers.acquired), 6),
        "score": round(problem.score(problem.test, answers.prediction), 6),
        "held_out": [round(trial.spend, 6), round(trial.score, 6)],
    }


def _compile(problem: Problem, contender: Contender, n_trials: int) -> None:
    """Fit a few drawn rows, so that times do not contain the compilation of kernels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((WARM_ROWS, 3))
    ranks = problem.task is Task.RANKING
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0 if problem.task is Task.MULTICLASS or ranks else 0)
    rows = Table(X, y.astype(float) if ranks else y, np.arange(WARM_ROWS) // 6 if ranks else None)
    small = Problem("", 0, rows, rows, type(problem.costs)(np.ones(3)), problem.task)
    for setting in contender.trials(n_trials)[-1:]:
        for model in contender.fit(Training.of(small, rows), dict(setting)):
            model.answer(rows)
