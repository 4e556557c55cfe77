"""Forward selection with LightGBM: the next column is the one that gains most per price on held-out training rows.

The gain is the decrease of the loss of a small booster. Only the columns with the largest gains in a booster on all
columns are candidates. One order of columns serves all trials; a trial is a number of columns.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sklearn.model_selection import train_test_split

from thrifty.bench.contenders.boosters import boosted, by_ensemble, rounds
from thrifty.bench.contenders.contender import Contender, Model, Setting, Training
from thrifty.bench.problems.problem import Answers, Table
from thrifty.tuning.problem import Task

CANDIDATES, MOST_COLUMNS = 20, 16
ORDER_ROUNDS, ORDER_ROWS = 20, 600
SIZES = (1, 2, 3, 4, 5, 7, 10, 16, 6, 8, 9, 12, 14)
KEPT = 8  # orders of the last training sets: the folds of a problem, and all its rows
_orders: OrderedDict[bytes, list[int]] = OrderedDict()


def trials(n: int) -> list[Setting]:
    """Return numbers of columns."""
    return [{"n_columns": size} for size in SIZES[:n]]


def fit(training: Training, setting: Setting) -> Iterator[Model]:
    """Yield prefixes of one fit on some columns."""
    order = _order(training)
    columns = np.zeros(training.rows.X.shape[1], dtype=bool)
    columns[order[: setting["n_columns"]]] = True
    columns |= training.costs.marginal(columns) == 0
    booster = boosted(training, max(rounds(training)), columns)
    for n in rounds(training):
        yield _on_columns(by_ensemble(training, booster, n, f"{n} rounds"), columns)


def _on_columns(model: Model, columns: np.ndarray) -> Model:
    """Return a model of some columns as a model of all."""

    def answer(rows: Table) -> Answers:
        found = model.answer(replace(rows, X=rows.X[:, columns]))
        acquired = np.zeros(rows.X.shape, dtype=bool)
        acquired[:, columns] = found.acquired
        return Answers(acquired, found.prediction)

    return Model(model.name, answer)


def _order(training: Training) -> list[int]:
    """Return the order of the columns; it is computed once for all trials on the same rows."""
    key = training.rows.X.tobytes() + training.rows.y.tobytes()
    if key not in _orders:
        _orders[key] = _forward(training)
        while len(_orders) > KEPT:
            _orders.popitem(last=False)
    return _orders[key]


def _forward(training: Training) -> list[int]:
    fitted, held_out = _parts(training)
    gains = boosted(training, ORDER_ROUNDS).feature_importance("gain")
    candidates = [j for j in np.argsort(-gains, kind="stable")[:CANDIDATES].tolist() if gains[j] > 0]
    chosen = np.zeros(len(gains), dtype=bool)
    order: list[int] = []
    before = _constant_loss(training)
    while candidates and len(order) < MOST_COLUMNS:
        prices = training.costs.marginal(chosen) + 1e-3 * training.costs.total
        losses = {j: _loss(fitted, held_out, chosen, j) for j in candidates}
        best = max(candidates, key=lambda j: _per_price(before - losses[j], float(prices[j])))
        order.append(best)
        candidates.remove(best)
        chosen[best], before = True, losses[best]
    return order


def _per_price(gain: float, price: float) -> float:
    return gain / price if gain > 0 else gain * price


def _parts(training: Training) -> tuple[Training, Table]:
    """Return rows to fit and held-out rows, of few rows: there are many small fits."""
    rows = training.rows
    if rows.qid is not None:
        queries = np.unique(rows.qid)
        held = np.isin(rows.qid, queries[::3])
        fit_at, held_at = np.flatnonzero(~held)[: 2 * ORDER_ROWS], np.flatnonzero(held)[:ORDER_ROWS]
    else:
        drawn = np.random.default_rng(training.seed).permutation(len(rows))[: 2 * ORDER_ROWS]
        fit_at, held_at = train_test_split(drawn, test_size=0.33, random_state=training.seed)
    part = Training(rows.take(fit_at), training.costs, training.task, training.seed, training.n_classes)
    return part, rows.take(held_at)


def _constant_loss(training: Training) -> float:
    y = training.rows.y
    if training.task is Task.RANKING:
        return float(np.var(y))
    share = np.bincount(y.astype(int)) / len(y)
    return float(-(share[share > 0] * np.log(share[share > 0])).sum())


def _loss(training: Training, held_out: Table, chosen: np.ndarray, column: int) -> float:
    """Return the loss on held-out rows of a booster on the chosen columns and one more."""
    columns = chosen.copy()
    columns[column] = True
    options = {"objective": "regression"} if training.task is Task.RANKING else {}
    booster = boosted(training, ORDER_ROUNDS, columns, learning_rate=0.2, num_leaves=7, **options)
    predicted = booster.predict(held_out.X[:, columns])
    if training.task is Task.RANKING:
        return float(np.mean((predicted - held_out.y) ** 2))
    probability = predicted if predicted.ndim == 2 else np.column_stack([1 - predicted, predicted])
    return float(-np.log(np.maximum(probability[np.arange(len(held_out)), held_out.y.astype(int)], 1e-9)).mean())


CONTENDER = Contender("lightgbm-forward", "Forward selection with LightGBM", trials, fit)
