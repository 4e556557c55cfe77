"""The methods of this package. `thrifty` is the default model; the others are those of the papers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from thrifty.bench.contenders.contender import CLASSES, Contender, Model, Setting, Training
from thrifty.bench.problems.problem import Answers, Table
from thrifty.tuning.methods import METHODS
from thrifty.tuning.problem import Task

FLAGSHIP = "thrifty"
OPERATING_POINTS = 30  # of the default model that are looked at
LIGHT = {"n_folds": 3, "n_rounds": 1, "learning_rate": 0.2}
LEARNING: list[Setting] = [
    {},
    {"learning_rate": 0.1},
    {"l2_regularization": 20.0},
    {"min_samples_leaf": 20},
    {"max_leaf_nodes": 8},
    {"learning_rate": 0.1, "l2_regularization": 20.0},
    {"learning_rate": 0.1, "min_samples_leaf": 20},
    {"n_folds": 5, "n_rounds": 3, "learning_rate": 0.1},
]
CAPS = np.geomspace(0.01, 1.0, 16)  # in shares of the cost of all columns
MISER_ROUNDS = (10, 30, 100)
DEPTHS = (1, 2, 3, 4)  # of ASTC


@dataclass(frozen=True)
class Sweep:
    """The settings of a method, and the models of one fit."""

    settings: Callable[[int], list[Setting]]
    models: Callable[[Any, Training, Setting], Iterator[tuple[str, Any, float | None]]]


def _one(estimator: Any, training: Training, setting: Setting) -> Iterator[tuple[str, Any, float | None]]:
    yield "", _fitted(estimator.set_params(**setting), training), None


def _capped(estimator: Any, training: Training, setting: Setting) -> Iterator[tuple[str, Any, float | None]]:
    model = _fitted(estimator.set_params(**setting), training)
    for share in CAPS:
        yield f"cap {share:.3f}", model, share * training.costs.total


def _operating_points(estimator: Any, training: Training, setting: Setting) -> Iterator[tuple[str, Any, float | None]]:
    """Yield points of one fit, evenly spaced along the cost weights of its curve."""
    model = _fitted(estimator.set_params(**setting), training)
    weights = model.usual_cost_weights(training.rows.X, training.rows.y)
    for k, weight in enumerate(np.geomspace(0.5 * weights[0], 10.0 * weights[-1], OPERATING_POINTS).tolist()):
        yield f"point {k}", model.at_cost_weight(weight), None


def _along_path(estimator: Any, training: Training, setting: Setting) -> Iterator[tuple[str, Any, float | None]]:
    """Yield the model at a share of the way along the usual cost weights."""
    rows = training.rows
    usual = np.asarray(estimator.usual_cost_weights(rows.X, rows.y))
    weight = float(usual[round(setting["share"] * (len(usual) - 1))])
    yield "", _fitted(estimator.set_params(cost_weight=weight), training), None


def _whole_path(estimator: Any, training: Training, setting: Setting) -> Iterator[tuple[str, Any, float | None]]:
    """Yield the models of one path; the largest cost weight buys nothing."""
    rows = training.rows
    models = estimator.path(rows.X, rows.y)
    for k in np.unique(np.linspace(0, len(models) - 1, OPERATING_POINTS).round().astype(int)).tolist():
        yield f"point {k}", models[k], None


def _prefixes(estimator: Any, training: Training, setting: Setting) -> Iterator[tuple[str, Any, float | None]]:
    """Yield the first rounds of one fit; the cost weight is given in units of variance and of the total cost."""
    variance = 1.0 if training.task is not Task.RANKING else float(np.var(training.rows.y))
    weight = setting["cost_weight"] * variance / (training.costs.total or 1.0)
    model = estimator.set_params(
        charge=setting["charge"], cost_weight=weight, n_estimators=max(MISER_ROUNDS), random_state=training.seed
    )
    rows = training.rows
    prefixes = model.path(rows.X, rows.y, **_queries(training))
    for n in MISER_ROUNDS:
        yield f"{n} rounds", prefixes[min(n, len(prefixes)) - 1], None


def _node_budgets(estimator: Any, training: Training, setting: Setting) -> Iterator[tuple[str, Any, float | None]]:
    budget = setting["share"] * training.costs.total
    depth = setting["max_depth"]
    yield "", _fitted(estimator.set_params(max_depth=depth, node_budget=[budget] * depth), training), None


def _stopping(estimator: Any, training: Training, setting: Setting) -> Iterator[tuple[str, Any, float | None]]:
    """Yield a model that stops early; numbers have a tolerance instead of a rate of stop-errors."""
    if training.task is Task.RANKING:
        rule: Setting = {"tolerance": 4.0 * setting["delta"] * float(np.std(training.rows.y))}
    else:
        rule = {"boundary": "curved", **setting}
    yield "", _fitted(estimator.set_params(**rule), training), None


def _grid(name: str, values: Callable[[int], np.ndarray], n: int) -> list[Setting]:
    return [{name: value} for value in values(n).tolist()]


def _spaced(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n


def _charges(n: int) -> list[Setting]:
    each = max(1, n // 2)
    weights = np.geomspace(5.0, 1e-3, each + 2)[1:-1].tolist()
    return [{"charge": charge, "cost_weight": w} for charge, w in product(("ensemble", "row"), weights)][:n]


def _budgets(n: int) -> list[Setting]:
    shares = np.geomspace(0.5, 0.01, max(1, -(-n // len(DEPTHS)))).tolist()
    return [{"max_depth": depth, "share": share} for share, depth in product(shares, DEPTHS)][:n]


SWEEPS: dict[str, Sweep] = {
    FLAGSHIP: Sweep(lambda n: [{**LIGHT, **each} for each in LEARNING[:n]], _operating_points),
    "l1": Sweep(lambda n: [{}], _whole_path),
    "astc": Sweep(_budgets, _node_budgets),
    "cstc": Sweep(partial(_grid, "share", _spaced), _along_path),
    "cscc": Sweep(partial(_grid, "share", _spaced), _along_path),
    "cronus": Sweep(partial(_grid, "share", _spaced), _along_path),
    "and-or": Sweep(partial(_grid, "share", _spaced), _along_path),
    "greedy-miser": Sweep(_charges, _prefixes),
    "adaboost-rs": Sweep(partial(_grid, "n_samples", lambda n: np.unique(np.geomspace(1, 300, n).astype(int))), _one),
    "early-exit": Sweep(partial(_grid, "s", lambda n: np.geomspace(0.02, 2.0, n)), _one),
    "dynamic": Sweep(partial(_grid, "cost_weight", lambda n: np.geomspace(8.0, 0.1, n)), _one),
    "static": Sweep(lambda n: [{"ranking": name} for name in ("forward", "weight_per_cost")][:n], _capped),
    "attentive": Sweep(partial(_grid, "delta", lambda n: np.geomspace(0.5, 0.005, n)), _stopping),
    "truncated": Sweep(lambda n: [{}], _capped),
}


def _fit(training: Training, setting: Setting, *, name: str) -> Iterator[Model]:
    method = METHODS[name]
    estimator = method.estimator(training.task).set_params(costs=training.costs)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=training.seed)
    for label, model, cap in SWEEPS[name].models(estimator, training, setting):
        yield Model(label, partial(_answer, model=model, cap=cap, training=training))


def _answer(rows: Table, *, model: Any, cap: float | None, training: Training) -> Answers:
    queries = {"qid": rows.qid} if rows.qid is not None else {}
    found = model.acquire(rows.X, cap, **queries)
    return Answers(found.acquired, found.prediction)


def _fitted(estimator: Any, training: Training) -> Any:
    return estimator.fit(training.rows.X, training.rows.y, **_queries(training))


def _queries(training: Training) -> dict[str, Any]:
    return {} if training.rows.qid is None else {"qid": training.rows.qid}


def _contender(name: str) -> Contender:
    tasks = tuple(task for task in (*CLASSES, Task.RANKING) if task in METHODS[name].classes)
    return Contender(name, f"thrifty: {name}", SWEEPS[name].settings, partial(_fit, name=name), tasks)


CONTENDERS = [replace(_contender(FLAGSHIP), title="thrifty: default model"), *map(_contender, list(SWEEPS)[1:])]
