"""Rows prepared for boosting: codes of their bins, their loss, and the score of held-out rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from thrifty.costs import CostModel
from thrifty.metrics.scoring import QUERY_METRICS, query_metric
from thrifty.models.growing.binning import Bins, Codes, categorical_columns, check_categories
from thrifty.models.growing.losses import Loss
from thrifty.models.rows import Rows

HeldOutScore = Callable[[np.ndarray], float]  # of the scores (n_scores, n) of all rows; larger is better


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Training rows, followed by held-out rows, as a booster reads them.

    It differs from `Rows` in that it holds codes instead of values, and a loss instead of targets and weights. All
    fits of a path share one object. Held-out rows are sent down every tree and charged like training rows, but no tree
    is grown on them.

    Attributes
    ----------
    bins : Bins
        The bins of the columns, chosen on the training rows.
    codes : Codes
        The codes of all rows.
    loss : Loss
        The loss of all rows.
    n_train : int
        The number of training rows.
    cost_model : CostModel
        What the columns cost.
    held_out_score : callable or None
        The score of the held-out rows, given the scores (n_scores, n) of all rows; None if no rows are held out.
    """

    bins: Bins
    codes: Codes
    loss: Loss
    n_train: int
    cost_model: CostModel
    held_out_score: HeldOutScore | None

    @property
    def train(self) -> slice:
        """The training rows."""
        return slice(0, self.n_train)

    @property
    def training_weight(self) -> np.ndarray:
        """The weight of each row; 0 for held-out rows."""
        return np.where(np.arange(self.codes.n_rows) < self.n_train, self.loss.weight, 0.0)

    @property
    def held_out(self) -> slice:
        """The held-out rows."""
        return slice(self.n_train, None)


def code_rows(estimator: Any, rows: Rows, held_out: Rows | None) -> CodedRows:
    """Return the training rows and held-out rows of a Greedy Miser, which has validated them, as coded rows."""
    parts = [rows] if held_out is None else [rows, held_out]
    X = _joined([part.X for part in parts])
    categorical = categorical_columns(estimator)
    check_categories(X, categorical, type(estimator).__name__, estimator._feature_ids())
    bins = Bins.of(rows.X, rows.weight, estimator.max_bins, categorical, generator_of(estimator.random_state))
    targets = _joined([estimator._encoded(part.y) for part in parts])
    loss = estimator._loss(targets, _joined([part.weight for part in parts]), _joined_queries(parts))
    score = None if held_out is None else _held_out_score(estimator.scoring, held_out, loss, slice(len(rows), None))
    return CodedRows(bins, bins.codes(X), loss, len(rows), estimator.cost_model_, score)


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a random generator for a random state of scikit-learn."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _joined_queries(parts: list[Rows]) -> np.ndarray:
    """Return the query of each row; rows without queries are one query, and no query has rows of two parts."""
    queries = [np.zeros(len(part), dtype=int) if part.qid is None else part.qid for part in parts]
    if len(queries) == 1:
        return queries[0]
    first, second = (np.unique(each, return_inverse=True)[1] for each in queries)
    return np.concatenate([first, second + len(first)])


def _held_out_score(scoring: Any, held_out: Rows, loss: Loss, where: slice) -> HeldOutScore:
    """Return the function that scores the held-out rows, which are at `where` among all rows."""
    if (by_query := query_metric(scoring)) and (qid := held_out.qid) is not None:
        metric, k = QUERY_METRICS[by_query[0]], by_query[1]
        return lambda scores: float(metric(held_out.y, scores[0, where], qid=qid, k=k))
    if scoring is None:
        return lambda scores: -loss.value(scores, where)
    return lambda scores: float(scoring(held_out.y, scores[:, where].T if len(scores) > 1 else scores[0, where]))
