"""The evaluation of a fitted model on held-out rows: score, spend, calibration, and the test of its promise."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import is_classifier

from thrifty.evaluation.calibration import Calibration
from thrifty.evaluation.estimates import Estimate, jackknife, mean_error, share_estimate
from thrifty.evaluation.recorded_rows import RecordedRows, default_scoring, limit_of, scoring_of
from thrifty.metrics.scoring import best_possible
from thrifty.runtime.watch.promised import Promised

CONFIDENCE = 0.95
ROUNDING = 1e-9  # sums of equal spends differ by this share


@dataclass(frozen=True)
class ClassResult:
    """The rows of one class.

    Attributes
    ----------
    label : object
        The class.
    n_rows : int
    spend : float
        Their mean spend.
    right : float
        The share that is predicted correctly.
    """

    label: Any
    n_rows: int
    spend: float
    right: float


@dataclass(frozen=True)
class Evaluation:
    """What a fitted model scores and spends on rows with known targets, and whether its promise holds.

    The promise is broken if the mean spend m of the rows is above the promised spend even after its uncertainty is
    subtracted: m - t(confidence, n - 1) * error > promised. This is a one-sided t-test. n is the number of rows, or of
    queries if there are any.

    Attributes
    ----------
    n_rows : int
    unit : str
        The unit of all amounts.
    confidence : float
        The confidence of the intervals and of the test: that of the promise, or 0.95.
    scoring : str or callable
    score : Estimate
        Value, standard error, and interval. See `thrifty.evaluation.estimates` for the formulas.
    spend : Estimate
        The mean spend per row.
    largest_spend : float
    spend_floor : float
        The lower end of the one-sided interval of the mean spend: m - t(confidence, n - 1) * error.
    promised : float or None
        The mean spend that was promised: the budget, or the upper bound on the spend if there is no budget, or if the
        bound is above it. None if the model does not come with a promise.
    cap : float or None
        The hard limit on each row's spend.
    at_cap : float or None
        Share of the rows that would spend more without the cap.
    classes : tuple of ClassResult
        The rows by true class; empty unless there are classes.
    calibration : Calibration or None
        None unless there are classes.

    Examples
    --------
    >>> from thrifty import ThriftyClassifier
    >>> from thrifty.datasets import load_heart
    >>> from thrifty.evaluation import evaluate
    >>> heart = load_heart()
    >>> model = ThriftyClassifier(costs=heart.costs, budget=60, n_estimators=10, n_rounds=0, random_state=0)
    >>> found = evaluate(model.fit(heart.X[:200], heart.y[:200]), heart.X[200:], heart.y[200:])
    >>> found.promise_kept, found.score.low < found.score.value < found.score.high
    (True, True)
    """

    n_rows: int
    unit: str
    confidence: float
    scoring: Any
    score: Estimate
    spend: Estimate
    largest_spend: float
    spend_floor: float
    promised: float | None
    cap: float | None
    at_cap: float | None
    classes: tuple[ClassResult, ...]
    calibration: Calibration | None

    @property
    def promise_kept(self) -> bool | None:
        """Whether the rows do not contradict the promise; None if there is no promise."""
        if self.promised is None:
            return None
        return not self.spend_floor > self.promised * (1.0 + ROUNDING)  # an unknown floor contradicts nothing

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as a dict of plain values, ready for JSON.

        Returns
        -------
        dict
        """
        return asdict(self) | {"promise_kept": self.promise_kept}

    @classmethod
    def of(cls, model: Any, rows: RecordedRows, *, scoring: Any = None, cap: float | None = None) -> Evaluation:
        """Evaluate the recorded predictions of a model.

        Parameters
        ----------
        model : BudgetedEstimator
            The model that made the predictions.
        rows : RecordedRows
        scoring : str or callable, optional
        cap : float, optional
            The cap that the rows were predicted with.

        Returns
        -------
        Evaluation
        """
        scoring = default_scoring(model, rows.qid) if scoring is None else scoring
        promised, confidence, limit = Promised.by(model), _confidence_of(model), limit_of(model, cap)
        spend = _spend_estimate(rows, confidence)
        quantile = stats.t.ppf(confidence, rows.units.max()) if math.isfinite(spend.error) else math.nan
        return cls(
            n_rows=len(rows),
            unit=model.cost_model_.unit,
            confidence=confidence,
            scoring=scoring,
            score=_score_estimate(model, rows, scoring, confidence),
            spend=spend,
            largest_spend=float(rows.spend.max()),
            spend_floor=float(spend.value - quantile * spend.error),
            promised=None if promised is None else promised.spend,
            cap=limit,
            at_cap=None if limit is None else float(rows.stopped.mean()),
            classes=_class_results(model, rows) if is_classifier(model) else (),
            calibration=_calibration(model, rows) if is_classifier(model) else None,
        )


def evaluate(
    model: Any, X: Any, y: Any, *, qid: Any = None, cap: float | None = None, scoring: Any = None
) -> Evaluation:
    """Evaluate a fitted model on rows with known targets.

    Parameters
    ----------
    model : BudgetedEstimator or BudgetSearchCV
        A fitted model.
    X : frame or array-like of shape (n, n_features)
        Rows on which the model was not fitted.
    y : array-like of shape (n,)
        Their targets.
    qid : array-like of shape (n,), optional
        The query of each row. The units of all intervals are then the queries.
    cap : float, optional
        Hard limit on each row's spend.
    scoring : str or callable, optional
        A scikit-learn scorer, or ``"ndcg@k"`` or ``"precision@k"``. By default that of the search that the model comes
        from, else accuracy, R², or NDCG@5 if queries are given.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from thrifty import CostWeightedL1Classifier
    >>> from thrifty.datasets import load_heart
    >>> from thrifty.evaluation import evaluate
    >>> heart = load_heart()
    >>> model = CostWeightedL1Classifier(costs=heart.costs, cost_weight=0.01).fit(heart.X[:200], heart.y[:200])
    >>> evaluate(model, heart.X[200:], heart.y[200:]).n_rows
    70
    """
    scoring = scoring_of(model, scoring, qid)
    model = getattr(model, "best_estimator_", model)
    return Evaluation.of(model, RecordedRows.of(model, X, y, cap, qid), scoring=scoring, cap=cap)


def _confidence_of(model: Any) -> float:
    """Return the confidence of the promise, which a search made or an adaptive model itself."""
    made_by = getattr(model, "promise_", None) or getattr(model, "estimator_", model)
    return float(getattr(made_by, "confidence", CONFIDENCE))


def _spend_estimate(rows: RecordedRows, confidence: float) -> Estimate:
    units = rows.units
    found = Estimate.student(float(rows.spend.mean()), mean_error(rows.spend, units), int(units.max()), confidence)
    return found.within(0.0, math.inf)


def _score_estimate(model: Any, rows: RecordedRows, scoring: Any, confidence: float) -> Estimate:
    if scoring == "accuracy" and rows.qid is None:
        return share_estimate(rows.scored(model, scoring), len(rows), confidence)
    found = jackknife(lambda index: rows.take(index).scored(model, scoring), rows.units, confidence)
    return found.within(-math.inf, best_possible(scoring))


def _class_results(model: Any, rows: RecordedRows) -> tuple[ClassResult, ...]:
    right = rows.prediction == rows.y
    marks = [(label, rows.y == label) for label in model.classes_.tolist()]
    return tuple(
        ClassResult(label, int(mark.sum()), float(rows.spend[mark].mean()), float(right[mark].mean()))
        for label, mark in marks
        if mark.any()
    )


def _calibration(model: Any, rows: RecordedRows) -> Calibration:
    return Calibration.of(model._probabilities(rows.score), np.searchsorted(model.classes_, rows.y))
