"""The methods a search tries, and for each a sweep of settings scaled to the data: from cheap to dear, no knob left.

A setting is a dictionary of the method's parameters. ``cap`` among them is no parameter of the method but a hard
limit under which it is run: a method that can stop anywhere is fitted once and run under several.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

import thrifty
from thrifty.costs import CostModel

Task = Literal["binary", "multiclass", "regression", "ranking"]
Setting = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """What a sweep is scaled to: numeric training rows and what their columns cost."""

    X: np.ndarray
    y: np.ndarray
    costs: CostModel
    task: Task
    cap: float | None = None

    @property
    def most(self) -> float:
        """The most that a row can spend."""
        return self.costs.total if self.cap is None else min(self.costs.total, self.cap)

    @property
    def spread(self) -> float:
        """What there is to be explained: the variance of the targets, or 1 where they are classes."""
        return 1.0 if self.task in ("binary", "multiclass") else float(np.var(self.y)) or 1.0


@dataclass(frozen=True)
class Method:
    """A method by its name: which class serves which task, its fixed parameters, and its sweep."""

    classes: dict[Task, str]
    sweep: Callable[[Any, Rows], list[Setting]]
    parameters: dict[str, Any] = field(default_factory=dict)

    def estimator(self, task: Task) -> Any:
        """Return an unfitted estimator for a task, None if the method does not serve it."""
        if task not in self.classes:
            return None
        return getattr(thrifty, self.classes[task])(**self.parameters)


def _both(classifier: str) -> dict[Task, str]:
    return {"binary": classifier, "multiclass": classifier}


def _all(stem: str, ranker: str | None = None) -> dict[Task, str]:
    regressor = f"{stem}Regressor"
    return {**_both(f"{stem}Classifier"), "regression": regressor, "ranking": ranker or regressor}


# Sweeps


def along_the_path(estimator: Any, rows: Rows, *, n_points: int) -> list[Setting]:
    """Spread cost weights over those of the method's own path."""
    usual = clone(estimator).set_params(costs=rows.costs).usual_cost_weights(rows.X, rows.y)
    chosen = np.unique(np.linspace(0, len(usual) - 1, n_points).round().astype(int))
    return [{"cost_weight": float(usual[k])} for k in chosen]


def growing_allowances(estimator: Any, rows: Rows) -> list[Setting]:
    """Give the nodes of a tree allowances: shares of what a row can spend, the same at every depth or growing."""
    settings = []
    for depth, share, growth in product((1, 2, 3, 4), np.geomspace(1.0, 0.01, 7).tolist(), (1.0, 3.0)):
        if depth > 1 or growth == 1.0:
            allowances = [share * rows.most * growth**level for level in range(depth)]
            settings.append({"max_depth": depth, "node_budget": allowances})
    return settings


def charged_boosting(estimator: Any, rows: Rows) -> list[Setting]:
    """Charge by feature and by row, at cost weights that make everything worth from all to nearly none of the loss."""
    per_cost = rows.spread / (rows.costs.total or 1.0)
    shares = np.geomspace(1.0, 1e-4, 9) if rows.task == "ranking" else np.geomspace(1.0, 3e-3, 6)
    weights = [*(per_cost * shares).tolist(), 0.0]
    return [
        {"charge": charge, "cost_weight": weight, "n_estimators": n}
        for charge, weight, n in product(("ensemble", "row"), weights, (10, 30, 100))
        if weight > 0 or charge == "ensemble"
    ]


def relative_cost_weights(estimator: Any, rows: Rows) -> list[Setting]:
    """Spread cost weights over those of the paper."""
    return [{"cost_weight": weight} for weight in (1.0, 0.3, 0.1)]


def queue_budgets(estimator: Any, rows: Rows) -> list[Setting]:
    """Cut either queue off at shares of the cost of everything."""
    rankings = ("forward", "weight_per_cost")
    return [{"ranking": ranking, **cap} for ranking, cap in product(rankings, caps(estimator, rows))]


def error_rates(estimator: Any, rows: Rows) -> list[Setting]:
    """Allow more or fewer early answers to differ from the full one."""
    return [{"delta": delta} for delta in (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)]


def sample_sizes(estimator: Any, rows: Rows) -> list[Setting]:
    """Draw fewer or more trees."""
    return [{"n_samples": n} for n in (3, 10, 30, 100, 300)]


def distances(estimator: Any, rows: Rows) -> list[Setting]:
    """Let documents leave that are closer to or farther behind the best."""
    return [{"s": s} for s in (0.05, 0.1, 0.2, 0.5, 1.0)]


def caps(estimator: Any, rows: Rows) -> list[Setting]:
    """Run one fit under several limits on each row's spend."""
    return [{"cap": share * rows.most} for share in np.geomspace(0.01, 1.0, 10).tolist()]


METHODS: dict[str, Method] = {
    "l1": Method(_all("CostWeightedL1"), partial(along_the_path, n_points=15)),
    "astc": Method(_all("ASTC"), growing_allowances, {"overflow": "skip"}),
    "cstc": Method(_all("CSTC"), partial(along_the_path, n_points=8)),
    "cscc": Method({"binary": "CSCCClassifier"}, partial(along_the_path, n_points=8)),
    "cronus": Method({"binary": "CronusClassifier"}, partial(along_the_path, n_points=8)),
    "and-or": Method({"binary": "AndOrClassifier"}, partial(along_the_path, n_points=8)),
    "greedy-miser": Method(_all("GreedyMiser", "GreedyMiserRanker"), charged_boosting),
    "adaboost-rs": Method({"binary": "AdaBoostRSClassifier"}, sample_sizes),
    "early-exit": Method({"ranking": "EarlyExitRanker"}, distances),
    "dynamic": Method(
        _both("DynamicSelectionClassifier"),
        relative_cost_weights,
        {"n_folds": 3, "n_iterations": 5, "max_states": 10_000},
    ),
    "static": Method(_both("StaticSelectionClassifier"), queue_budgets, {"n_folds": 5}),
    "attentive": Method(_both("AttentiveClassifier"), error_rates),
    "truncated": Method(_both("TruncatedClassifier"), caps),
}


def serving(task: Task) -> list[str]:
    """Return the names of the methods that serve a task."""
    return [name for name, method in METHODS.items() if task in method.classes]
