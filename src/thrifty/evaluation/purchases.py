"""What each purchase earns: how often it is made, what it costs, and the loss of score when it is not to be had.

A column that is not to be had is missing (NaN) in every row, as for an `Engine` whose source fails: the model asks
for it, gets nothing, and goes on without it. Nothing is charged for it here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing

from thrifty.evaluation.estimates import jackknife
from thrifty.evaluation.evaluation import CONFIDENCE
from thrifty.evaluation.offers import Offer, added_by, names_of, offers, without_columns
from thrifty.evaluation.recorded_rows import RecordedRows, default_scoring, scoring_of
from thrifty.models.acquisition import Acquisition
from thrifty.models.tables.columns import is_frame


def purchases(
    model: Any, X: Any, y: Any = None, *, qid: Any = None, cap: float | None = None, scoring: Any = None
) -> pd.DataFrame:
    """Tell for each column or bundle how often it is bought, what it costs, and what it earns.

    Columns of one bundle are one line, because they are bought from one supplier. Bundles that share a column are one
    line too. The loss of score answers which of them could be cancelled:

        loss = score of the model - score of the same model if the columns are missing in every row

    Parameters
    ----------
    model : BudgetedEstimator or BudgetSearchCV
        A fitted model.
    X : frame or array-like of shape (n, n_features)
        Rows on which the model was not fitted.
    y : array-like of shape (n,), optional
        Their targets. Without targets there are no scores.
    qid : array-like of shape (n,), optional
        The query of each row.
    cap : float, optional
        Hard limit on each row's spend.
    scoring : str or callable, optional
        A scikit-learn scorer, or ``"ndcg@k"`` or ``"precision@k"``. By default that of the search that the model comes
        from, else accuracy, R², or NDCG@5 if queries are given.

    Returns
    -------
    DataFrame
        One line per column or bundle, the most expensive first: ``columns``, a tuple of names; ``price`` of all of
        them; ``bought``, the share of rows that buy any; ``spend``, what they add to the mean spend per row. With
        targets also ``score_without`` and ``loss``, its standard error ``loss_error``, and ``spend_without``, the mean
        spend per row on all that is left. ``attrs["scoring"]`` is the score.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Classifier
    >>> from thrifty.datasets import load_heart
    >>> from thrifty.evaluation import purchases
    >>> heart = load_heart(as_frame=True)
    >>> model = CostWeightedL1Classifier(costs=heart.costs, cost_weight=0.05).fit(heart.X[:200], heart.y[:200])
    >>> purchases(model, heart.X[200:], heart.y[200:])[["columns", "bought", "spend"]].head(2)
         columns  bought  spend
    age   (age,)     1.0    1.0
    sex   (sex,)     1.0    1.0
    """
    scoring = scoring_of(model, scoring, qid)
    counter = PurchaseCounter(getattr(model, "best_estimator_", model), cap=cap)
    counter.add(X, y, qid)
    return counter.table(scoring)


@dataclass
class _Counts:
    """What is known about an offer so far: who bought it, what it added to their spend, and predictions without it."""

    n_bought: int = 0
    spend: float = 0.0
    saved: float = 0.0
    without: list[tuple[np.ndarray, RecordedRows]] = field(default_factory=list)


class PurchaseCounter:
    """Counts the purchases of rows that come in chunks.

    Parameters
    ----------
    model : BudgetedEstimator
        A fitted model.
    cap : float, optional
        Hard limit on each row's spend.
    """

    def __init__(self, model: Any, *, cap: float | None = None):
        self.model, self.cap = model, cap
        self.offers = offers(model.cost_model_)
        self._counts = [_Counts() for _ in self.offers]
        self._rows: list[RecordedRows] = []
        self.n_rows = 0

    def add(self, X: Any, y: Any = None, qid: Any = None, *, made: Acquisition | None = None) -> None:
        """Count what the rows of a chunk buy; with targets, also predict them without each offer that they buy.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
        y : array-like of shape (n,), optional
        qid : array-like of shape (n,), optional
        made : Acquisition, optional
            What these rows acquire, if it is known.
        """
        made = self.model.acquire(X, self.cap, qid=qid) if made is None else made
        if y is not None:
            self._rows.append(RecordedRows.made(self.model, made, y, qid))
        for offer, counts in zip(self.offers, self._counts, strict=True):
            buyers: Any = made.acquired[:, offer.columns].any(axis=1)
            counts.n_bought += int(buyers.sum())
            counts.spend += float(added_by(offer, made.acquired, self.model.cost_model_).sum())
            if y is not None and buyers.any():
                self._predict_without(offer, counts, X, buyers if qid is None else np.ones_like(buyers))
        self.n_rows += len(made)

    def _predict_without(self, offer: Offer, counts: _Counts, X: Any, affected: np.ndarray) -> None:
        """Predict the rows that buy an offer without it; other rows do not read it, so they do not change."""
        index, rows = np.flatnonzero(affected), self._rows[-1]
        kept = rows.take(index)
        model = self.model.for_positions(index)
        made = model.acquire(without_columns(_rows_at(X, index), offer.columns), self.cap, qid=kept.qid)
        paid = made.spend - added_by(offer, made.acquired, self.model.cost_model_)
        counts.saved += float((kept.spend - paid).sum())
        changed = replace(kept, prediction=made.prediction, score=made.score, spend=made.spend, exit=made.exit)
        counts.without.append((index + self.n_rows, changed))

    def table(self, scoring: Any = None) -> pd.DataFrame:
        """Return the table of `purchases`.

        Parameters
        ----------
        scoring : str or callable, optional

        Returns
        -------
        DataFrame
        """
        rows = RecordedRows.joined(self._rows) if self._rows else None
        scoring = default_scoring(self.model, rows.qid) if rows is not None and scoring is None else scoring
        found = pd.DataFrame(self._lines(rows, scoring), index=[offer.name for offer in self.offers])
        found.attrs["scoring"] = None if rows is None else scoring
        return found.sort_values(["spend", "price"], ascending=False, kind="stable")

    def _lines(self, rows: RecordedRows | None, scoring: Any) -> Iterator[Mapping[str, Any]]:
        costs = self.model.cost_model_
        names = names_of(costs)
        score = None if rows is None else rows.scored(self.model, scoring)
        for offer, counts in zip(self.offers, self._counts, strict=True):
            mask = np.isin(np.arange(costs.n_features), offer.columns)
            line = {
                "columns": tuple(names[j] for j in offer.columns),
                "price": float(costs.of(mask)),
                "bought": counts.n_bought / self.n_rows,
                "spend": counts.spend / self.n_rows,
            }
            yield line if rows is None else line | self._earnings(rows, counts, score, scoring)

    def _earnings(self, rows: RecordedRows, counts: _Counts, score: Any, scoring: Any) -> dict[str, float]:
        """Return the score and the spend without an offer; the error is that of the paired difference."""
        spend = float(rows.spend.mean())
        if not counts.without:
            return {"score_without": score, "loss": 0.0, "loss_error": 0.0, "spend_without": spend}
        without = _replaced(rows, counts.without)

        def loss(index: np.ndarray) -> float:
            kept, lost = rows.take(index), without.take(index)
            return kept.scored(self.model, scoring) - lost.scored(self.model, scoring)

        found = jackknife(loss, rows.units, CONFIDENCE)
        left = spend - counts.saved / self.n_rows
        return {
            "score_without": score - found.value,
            "loss": found.value,
            "loss_error": found.error,
            "spend_without": left,
        }


def _rows_at(X: Any, index: np.ndarray) -> Any:
    return _safe_indexing(X if is_frame(X) else np.asarray(X), index)


def _replaced(rows: RecordedRows, changes: list[tuple[np.ndarray, RecordedRows]]) -> RecordedRows:
    """Return rows with the predictions that have changed."""
    columns = {name: getattr(rows, name).copy() for name in ("prediction", "score", "spend", "exit")}
    for index, changed in changes:
        for name, column in columns.items():
            column[index] = getattr(changed, name)
    return replace(rows, **columns)
