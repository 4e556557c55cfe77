"""LightGBM with early stopping of predictions (``pred_early_stop``): a row skips trees once its margin is large.

LightGBM does not tell at which tree a row stops. So its rule is applied here to the partial sums: after every `EVERY`
rounds a row stops if twice its absolute raw score, or with several classes the difference of the two largest raw
scores, exceeds the margin. A row acquires the columns on its paths in the trees that it evaluated.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from thrifty.bench.contenders.boosters import boosted, path_masks, prediction
from thrifty.bench.contenders.contender import CLASSES, Contender, Model, Setting, Training
from thrifty.bench.problems.problem import Answers, Table

EVERY, N_ROUNDS = 5, 100
MARGINS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
LEAVES = (2, 3, 4, 7, 15, 31, 5, 10)


def trials(n: int) -> list[Setting]:
    """Return sizes of trees; each fit is run with several margins."""
    return [{"num_leaves": leaves} for leaves in LEAVES[:n]]


def fit(training: Training, setting: Setting) -> Iterator[Model]:
    """Yield a model for each margin."""
    booster = boosted(training, N_ROUNDS, **setting)
    masks = path_masks(booster, training.rows.X.shape[1])
    for margin in MARGINS:
        yield Model(
            f"margin {margin:g}", partial(_answer, training=training, booster=booster, masks=masks, margin=margin)
        )


def _answer(rows: Table, *, training: Training, booster: Any, masks: list[np.ndarray], margin: float) -> Answers:
    per_round = booster.num_model_per_iteration()
    running = np.arange(len(rows))
    acquired = np.zeros(rows.X.shape, dtype=bool)
    total = np.zeros((len(rows), per_round))
    for first in range(0, booster.num_trees() // per_round, EVERY):
        part: dict[str, Any] = {"start_iteration": first, "num_iteration": EVERY}
        X = rows.X[running]
        total[running] += booster.predict(X, raw_score=True, **part).reshape(len(X), per_round)
        leaves = booster.predict(X, pred_leaf=True, **part).reshape(len(X), -1)
        for mask, leaf in zip(masks[first * per_round :], leaves.T, strict=False):
            acquired[running] |= mask[leaf]
        running = running[_margin(total[running]) <= margin]
        if not len(running):
            break
    return Answers(acquired, prediction(training, total[:, 0] if per_round == 1 else total))


def _margin(raw: np.ndarray) -> np.ndarray:
    if raw.shape[1] == 1:
        return 2.0 * np.abs(raw[:, 0])
    two = np.partition(raw, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


CONTENDER = Contender("lightgbm-early-stop", "LightGBM, predictions stopped early", trials, fit, CLASSES)
