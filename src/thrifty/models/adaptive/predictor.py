"""One predictor of masked rows: boosted trees on copies of the rows, each masked by what a state has bought."""

from typing import NamedTuple

import numpy as np

from thrifty.models.adaptive.boosting import Boosted, Plan, boost
from thrifty.models.adaptive.training_rows import TrainingRows
from thrifty.models.forests.forest import Forest

MORE_ROUNDS = 1.1  # all rows are more than those of a fold, so the final predictor gets a few more rounds


class MaskedCopies(NamedTuple):
    """Copies of training rows: the row of each (n,), and the groups that it has (n, n_groups)."""

    row: np.ndarray
    bought: np.ndarray


def fit_predictors(rows: TrainingRows, copies: MaskedCopies, plan: Plan) -> list[Boosted]:
    """Fit one predictor for each fold, on the copies of the rows of the other folds.

    The loss of the copies of the fold itself decides the number of rounds.
    """
    codes, loss, fold = rows.masked_codes(*copies), rows.loss(copies.row), rows.fold[copies.row]
    return [
        boost(
            codes,
            rows.bins,
            loss,
            np.flatnonzero(fold != k).astype(np.uint32),
            np.flatnonzero(fold == k).astype(np.uint32),
            plan,
            rows.random,
        )
        for k in range(rows.n_folds)
    ]


def fit_predictor(rows: TrainingRows, copies: MaskedCopies, plan: Plan, n_rounds: float) -> Forest:
    """Fit the predictor to the copies of all rows, with a given number of rounds."""
    plan = plan._replace(n_rounds=max(1, round(MORE_ROUNDS * n_rounds)), patience=None)
    bag, nobody = np.arange(len(copies.row), dtype=np.uint32), np.empty(0, dtype=np.uint32)
    codes = rows.masked_codes(*copies)
    return boost(codes, rows.bins, rows.loss(copies.row), bag, nobody, plan, rows.random).forest
