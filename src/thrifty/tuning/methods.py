"""The methods that a search tries by name, with a few settings of each to begin with, from cheap to expensive.

A setting is a dict of the method's parameters. ``cap`` in a setting is not a parameter of the method. It is a hard
limit under which the fitted model is run, so that one fit serves several caps. Settings are scaled to the problem:
to the costs of the columns, to the cap, to the budget and to the variance of the targets. Settings in between follow
from the knob of the method (`thrifty.tuning.knobs`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

import thrifty
from thrifty.tuning.knobs import MEAN_SPEND, Setting
from thrifty.tuning.problem import Problem, Task


@dataclass(frozen=True)
class Method:
    """A method with a name.

    Attributes
    ----------
    classes : dict
        For each task that the method serves, the name of the estimator's class.
    sweep : callable
        ``sweep(estimator, problem)`` returns the first settings to try.
    parameters : dict
        Parameters that all settings share.
    is_slow : bool
        Whether a fit takes long; see `Sweep`.
    max_values : int or None
        The largest number of values to fit in a fold: rows, times columns, times classes if there are more than two.
        None means no limit.
    seconds : callable
        ``seconds(n_columns, n_scores)`` is about the time of a fit of `SCOUT_ROWS` rows on one core, where the number
        of scores is that of the classes if there are more than two. 0 means less than about two seconds. It is a
        formula, so that searches do not depend on how busy a machine is.
    max_seconds : float or None
        The longest fit in a fold, if the time is in proportion to the rows: fewer rows are fitted then. None means no
        limit.
    """

    classes: dict[Task, str]
    sweep: Callable[[Any, Problem], list[Setting]]
    parameters: dict[str, Any] = field(default_factory=dict)
    is_slow: bool = False
    max_values: int | None = None
    seconds: Callable[[int, int], float] = lambda n_columns, n_scores: 0.0
    max_seconds: float | None = None

    def estimator(self, task: Task) -> Any:
        """Return an unfitted estimator for a task; None if the method does not serve it."""
        if task not in self.classes:
            return None
        return getattr(thrifty, self.classes[task])(**self.parameters)

    def scout_seconds(self, problem: Problem) -> float:
        """Return about how long a fit of `SCOUT_ROWS` rows of a problem takes."""
        return self.seconds(problem.rows.X.shape[1], _n_scores(problem))

    def max_rows(self, problem: Problem) -> int | None:
        """Return the largest number of rows to fit in a fold; None means all.

        If it is between one and two times the number of rows that methods are first tried with, it is that number, so
        that these fits need not be repeated.
        """
        limits = []
        if self.max_values is not None:
            limits.append(max(SCOUT_ROWS, self.max_values // (problem.rows.X.shape[1] * _n_scores(problem))))
        if self.max_seconds is not None and (seconds := self.scout_seconds(problem)):
            limits.append(max(LEAST_ROWS, int(SCOUT_ROWS * self.max_seconds / seconds)))
        if not limits:
            return None
        n_rows = min(limits)
        return SCOUT_ROWS if SCOUT_ROWS < n_rows < 2 * SCOUT_ROWS else n_rows


def _n_scores(problem: Problem) -> int:
    return len(np.unique(problem.rows.y)) if problem.task is Task.MULTICLASS else 1


def _classifier(name: str) -> dict[Task, str]:
    return {Task.BINARY: name, Task.MULTICLASS: name}


def _cascade(stem: str) -> dict[Task, str]:
    return {Task.BINARY: f"{stem}Classifier", Task.RANKING: f"{stem}Regressor"}


def _every_task(stem: str, ranker: str | None = None) -> dict[Task, str]:
    regressor = f"{stem}Regressor"
    return {**_classifier(f"{stem}Classifier"), Task.REGRESSION: regressor, Task.RANKING: ranker or regressor}


# Sweeps


def along_the_path(estimator: Any, problem: Problem, *, n_points: int) -> list[Setting]:
    """Return cost weights, evenly spaced in the list of the estimator's `usual_cost_weights`."""
    priced = clone(estimator).set_params(costs=problem.derived_costs)
    usual = priced.usual_cost_weights(problem.rows.X, problem.rows.y)
    chosen = np.unique(np.linspace(0, len(usual) - 1, n_points).round().astype(int))
    return [{"cost_weight": float(usual[k])} for k in chosen]


def where_something_is_bought(estimator: Any, problem: Problem) -> list[Setting]:
    """Return four such cost weights: nothing is bought at the first of five."""
    return along_the_path(estimator, problem, n_points=5)[1:]


def spread_cost_weights(estimator: Any, problem: Problem) -> list[Setting]:
    """Return 90 cost weights, spaced geometrically from half the largest usual one to 10 times the smallest.

    One fit serves all of them. At larger ones hardly anything is bought, and smaller ones hardly change what is bought.
    If there is a budget, mean spends near it are added, to which each fitted model is calibrated.
    """
    priced = clone(estimator).set_params(costs=problem.derived_costs)
    usual = priced.usual_cost_weights(problem.rows.X, problem.rows.y)
    settings: list[Setting] = [
        {"cost_weight": weight} for weight in np.geomspace(0.5 * usual[0], 10.0 * usual[-1], 90).tolist()
    ]
    if problem.budget is not None and 0 < problem.budget < problem.max_spend:
        settings += [{MEAN_SPEND: share * problem.budget} for share in SHARES_OF_BUDGET]
    return settings


def growing_node_budgets(estimator: Any, problem: Problem) -> list[Setting]:
    """Return depths and node budgets: shares of the maximal spend, equal at all depths or growing threefold."""
    settings = []
    for (depth, growth), share in product(((1, 1), (2, 1), (3, 1), (3, 3), (4, 1)), (1.0, 0.22, 0.046, 0.01)):
        node_budget = [share * problem.max_spend * float(growth) ** level for level in range(depth)]
        settings.append({"max_depth": depth, "node_budget": node_budget})
    return settings


def charged_boosting(estimator: Any, problem: Problem) -> list[Setting]:
    """Return both ways to charge, with cost weights and numbers of rounds.

    The largest cost weight is V / C, with V the variance of the targets and C the cost of all columns: buying
    everything then costs as much as the whole loss. The others are fractions of it, and 0. If each row is charged, a
    column is paid for many times, so the largest cost weight is left out.
    """
    largest = problem.target_variance / (problem.derived_costs.total or 1.0)
    shares = np.geomspace(1.0, 1e-4, 4) if problem.task is Task.RANKING else np.geomspace(1.0, 3e-3, 3)
    weights = (largest * shares).tolist()
    charges = [("ensemble", weight) for weight in (*weights, 0.0)] + [("row", weight) for weight in weights[1:]]
    return [
        {"charge": charge, "cost_weight": weight, "n_estimators": n}
        for (charge, weight), n in product(charges, (10, 30, 100))
    ]


def relative_cost_weights(estimator: Any, problem: Problem) -> list[Setting]:
    """Return two cost weights, the ends of the range that the paper uses, relative to the cost of all columns."""
    return [{"cost_weight": weight} for weight in (1.0, 0.1)]


def ranked_caps(estimator: Any, problem: Problem) -> list[Setting]:
    """Return both rankings of the features, each with several caps."""
    rankings = ("forward", "weight_per_cost")
    return [{"ranking": ranking, **cap} for ranking, cap in product(rankings, caps(estimator, problem))]


def stopping_rules(estimator: Any, problem: Problem) -> list[Setting]:
    """Return values of delta for classes, and tolerances for numbers: how much early predictions may differ.

    The search measures the scores of each value by itself. So for classes the boundary is one that is computed without
    further fits, even if its rate differs from delta.
    """
    if problem.task.has_classes:
        return [{"boundary": "curved", "delta": delta} for delta in (0.5, 0.2, 0.1, 0.05, 0.01)]
    deviation = float(np.sqrt(problem.target_variance))
    return [{"tolerance": share * deviation} for share in (2.0, 1.0, 0.5, 0.2, 0.1)]


def sample_sizes(estimator: Any, problem: Problem) -> list[Setting]:
    """Return numbers of trees to draw."""
    return [{"n_samples": n} for n in (3, 30, 300)]


def distances(estimator: Any, problem: Problem) -> list[Setting]:
    """Return values of s: the distance to the best documents at which a document exits early."""
    return [{"s": s} for s in (0.05, 0.2, 1.0)]


def caps(estimator: Any, problem: Problem) -> list[Setting]:
    """Return caps under which one fit is run: shares of the maximal spend, and the budget."""
    shares = (np.geomspace(0.01, 1.0, 16) * problem.max_spend).tolist()
    between = [] if problem.budget is None or not 0 < problem.budget < problem.max_spend else [float(problem.budget)]
    return [{"cap": cap} for cap in sorted([*shares, *between])]


# How long fits take


def seconds_of_thrifty(n_columns: int, n_scores: int) -> float:
    """Return about how long a fit of the adaptive models takes: it hardly depends on the number of rows."""
    return 0.1 * n_columns * (1.0 + 0.2 * (n_scores - 1))


def seconds_of_dynamic(n_columns: int, n_scores: int) -> float:
    """Return about how long a fit of dynamic selection takes."""
    return 2e-3 * n_columns**2


SCOUT_ROWS = 1_000  # methods are first fitted on at most as many rows of a fold
LEAST_ROWS = 200  # fewer rows are not worth a fit
LONGEST_FIT = 20.0  # seconds for SCOUT_ROWS rows; methods that take longer are tried only if the user names them
SHARES_OF_BUDGET = (0.95, 0.85, 0.75, 0.6)  # to which models are calibrated; the bound on the spend is above the mean
FEW_ROUNDS = {"max_iter": 15}  # more rounds hardly change what is bought, and the search measures what they are worth

METHODS: dict[str, Method] = {
    "thrifty": Method(
        _every_task("Thrifty"),
        spread_cost_weights,
        {"n_folds": 3, "n_rounds": 1, "learning_rate": 0.2},
        max_values=1_100_000,
        seconds=seconds_of_thrifty,
    ),
    "l1": Method(_every_task("CostWeightedL1"), partial(along_the_path, n_points=10)),
    "astc": Method(_every_task("ASTC"), growing_node_budgets, {"overflow": "skip"}),
    "cstc": Method(_every_task("CSTC"), where_something_is_bought, FEW_ROUNDS, is_slow=True),
    "cscc": Method(_cascade("CSCC"), where_something_is_bought, FEW_ROUNDS, is_slow=True),
    "cronus": Method(_cascade("Cronus"), where_something_is_bought, FEW_ROUNDS, is_slow=True),
    "and-or": Method({Task.BINARY: "AndOrClassifier"}, where_something_is_bought, FEW_ROUNDS, is_slow=True),
    "greedy-miser": Method(_every_task("GreedyMiser", "GreedyMiserRanker"), charged_boosting),
    "adaboost-rs": Method(_classifier("AdaBoostRSClassifier"), sample_sizes),
    "early-exit": Method({Task.RANKING: "EarlyExitRanker"}, distances),
    "dynamic": Method(
        _every_task("DynamicSelection"),
        relative_cost_weights,
        {"n_folds": 3, "n_iterations": 5, "max_states": 10_000},
        is_slow=True,
        seconds=seconds_of_dynamic,
        max_seconds=4.0,
    ),
    "static": Method(_every_task("StaticSelection"), ranked_caps, {"n_folds": 5}),
    "attentive": Method(_every_task("Attentive"), stopping_rules),
    "truncated": Method(_every_task("Truncated"), caps),
}


def usual(problem: Problem) -> list[str]:
    """Return the names of the methods that are tried if the user names none."""
    return [name for name in serving(problem.task) if METHODS[name].scout_seconds(problem) <= LONGEST_FIT]


def serving(task: Task) -> list[str]:
    """Return the names of the methods that serve a task."""
    return [name for name, method in METHODS.items() if task in method.classes]
