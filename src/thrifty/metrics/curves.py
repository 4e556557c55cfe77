"""What a score costs: points of (mean spend, score), their frontier, and the area under it.

A curve holds what was measured and nothing else: between two points there is a step, not a line, because
spending more than one model needs and less than the next one needs buys nothing better than the former.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier, is_regressor

from thrifty.metrics.scoring import scorer_of

_SCORE_NAMES = {"r2": "R²", "roc_auc": "ROC AUC", "average_precision": "average precision"}


@dataclass(frozen=True, eq=False, repr=False)
class CostCurve:
    """Points of (mean spend, score), one per model or per setting of a model.

    Parameters
    ----------
    spend : array-like of shape (m,)
        Mean spend per row of each point; finite and not negative.
    score : array-like of shape (m,)
        Score of each point; finite, larger is better.
    labels : sequence of str, default=None
        Name of each point; its number when not given.
    unit : str, default=""
        What spend is counted in.
    score_name : str, default="score"
        What the score is.

    Examples
    --------
    >>> from thrifty.metrics import CostCurve
    >>> curve = CostCurve([1, 4, 2, 9], [0.6, 0.8, 0.5, 0.9], labels=["a", "b", "c", "d"], unit="ms")
    >>> curve
    CostCurve(4 points, spend 1 to 9 ms, score 0.5 to 0.9)
    >>> curve.frontier
    array([0, 1, 3])
    >>> curve.labels[curve.best(budget=5)]
    'b'
    """

    spend: NDArray[np.float64]
    score: NDArray[np.float64]
    labels: tuple[str, ...] = None  # type: ignore[assignment]  # numbered when the curve is made
    unit: str = ""
    score_name: str = "score"

    def __post_init__(self) -> None:
        spend, score = _as_points("spend", self.spend), _as_points("score", self.score)
        labels = tuple(map(str, range(len(spend)) if self.labels is None else self.labels))
        if not len(spend) == len(score) == len(labels):
            raise ValueError(
                f"spend has {len(spend)} entries, score {len(score)}, labels {len(labels)}; "
                "expected one of each per point."
            )
        if spend.min() < 0:
            raise ValueError(f"spend holds {spend.min():g}; expected mean spends of at least 0.")
        for name, value in {"spend": spend, "score": score, "labels": labels}.items():
            object.__setattr__(self, name, value)

    @property
    def frontier(self) -> NDArray[np.intp]:
        """Indices of the non-dominated points by increasing spend, and so by increasing score.

        A point is dominated when another scores at least as much for at most as much; of equal points the
        first stays.
        """
        by_spend = np.lexsort((-self.score, self.spend))
        score = self.score[by_spend]
        best_before = np.append(-np.inf, np.maximum.accumulate(score)[:-1])
        return by_spend[score > best_before]

    def best(self, budget: float) -> int:
        """Index of the best-scoring point whose mean spend is within the budget, the cheapest if several are.

        Parameters
        ----------
        budget : float
            Bound on the mean spend per row.

        Returns
        -------
        int
            Index into ``spend``, ``score`` and ``labels``. A ValueError is raised when no point is within.
        """
        frontier = self.frontier
        affordable = frontier[self.spend[frontier] <= budget]
        if not len(affordable):
            raise ValueError(
                f"budget is {budget:g} but the cheapest point spends {self.spend.min():g}; "
                "raise the budget or add cheaper points."
            )
        return int(affordable[-1])

    def __len__(self) -> int:
        return len(self.spend)

    def __repr__(self) -> str:
        points = f"{len(self)} point" + "s" * (len(self) != 1)
        spend = f"spend {self.spend.min():.4g} to {self.spend.max():.4g} {self.unit}".rstrip()
        score = f"{self.score_name} {self.score.min():.4g} to {self.score.max():.4g}"
        return f"CostCurve({points}, {spend}, {score})"


def cost_curve(
    models: Any,
    X: Any,
    y: ArrayLike,
    *,
    scoring: str | Callable[[Any, Any, Any], float] | None = None,
    qid: ArrayLike | None = None,
    caps: Iterable[float | None] | None = None,
    labels: Sequence[str] | None = None,
) -> CostCurve:
    """Measure mean spend and score of several models, or of one model under several caps.

    Parameters
    ----------
    models : estimator, sequence of estimators, or dict of label to estimator
        Fitted estimators that know what they ``spend(X)``.
    X : array-like of shape (n, d)
        Rows to measure on; rows no model was fitted on give honest curves.
    y : array-like of shape (n,)
        Their true answers.
    scoring : str or callable, default=None
        A scikit-learn scorer's name, a callable ``scorer(estimator, X, y)``, or ``"ndcg@k"`` or ``"precision@k"``,
        which need queries. A larger score is better. By default NDCG@5 if queries are given, otherwise accuracy for
        classifiers and R² for regressors.
    qid : array-like of shape (n,), default=None
        The query of each row.
    caps : iterable of float or None, default=None
        Hard limits on each row's spend, for one model: one point per cap, None standing for no cap.
    labels : sequence of str, default=None
        Name of each point. By default the dict's keys, the caps, or the models' class names.

    Returns
    -------
    CostCurve
        The points in the order of the models or caps.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from thrifty.metrics import cost_curve
    >>> class Guess(DummyClassifier):
    ...     def spend(self, X, cap=None):
    ...         return np.zeros(len(X))
    >>> X, y = np.zeros((4, 1)), np.array([0, 1, 1, 1])
    >>> cost_curve({"guess": Guess().fit(X, y)}, X, y)
    CostCurve(1 point, spend 0 to 0, accuracy 0.75 to 0.75)
    """
    points = _named_models(models) if caps is None else _capped(models, caps)
    if not points:
        raise ValueError("models and caps give no point; pass at least one fitted estimator and one cap.")
    estimators = [estimator for _, estimator in points]
    if scoring is None:
        scoring = _natural_scoring(estimators) if qid is None else "ndcg@5"
    scorer, queries = scorer_of(scoring), {} if qid is None else {"qid": qid}
    return CostCurve(
        spend=np.array([np.mean(estimator.spend(X, **queries)) for estimator in estimators]),
        score=np.array([scorer(estimator, X, y, qid) for estimator in estimators]),
        labels=tuple(labels) if labels is not None else tuple(name for name, _ in points),
        unit=_common_unit(estimators),
        score_name=score_name(scoring),
    )


def area_under_cost_curve(
    curve: CostCurve | ArrayLike,
    score: ArrayLike | None = None,
    *,
    limits: tuple[float, float] | None = None,
    baseline: float = 0.0,
) -> float:
    """Mean, over budgets, of the best score that was measured within the budget.

    The score to be had for a mean spend of at most b is a step function of b: it rises where a point of the
    frontier becomes affordable. Nothing is interpolated, so the area rewards only what was measured.

    Parameters
    ----------
    curve : CostCurve or array-like of shape (m,)
        The curve, or the mean spends of its points.
    score : array-like of shape (m,), default=None
        Scores of the points when ``curve`` holds their spends.
    limits : (float, float), default=None
        Budgets to average over; by default from 0 to the largest spend. Compare curves over equal limits.
    baseline : float, default=0.0
        Score to be had for nothing. Where no point beats it within the budget it stands in, so pass the score
        of the best constant answer when scores may be negative.

    Returns
    -------
    float
        Mean height, in the score's own scale.

    Examples
    --------
    >>> from thrifty.metrics import area_under_cost_curve
    >>> area_under_cost_curve([2, 6], [0.5, 1.0], limits=(0, 10))
    0.6
    """
    curve = _as_curve(curve, score)
    low, high = _check_limits((0.0, curve.spend.max()) if limits is None else limits)
    with_baseline = CostCurve(np.append(0.0, curve.spend), np.append(baseline, curve.score))
    steps = with_baseline.frontier
    edges = np.clip(np.append(with_baseline.spend[steps], high), low, high)
    return float(with_baseline.score[steps] @ np.diff(edges) / (high - low))


class _Capped:
    """A fitted estimator whose every answer is held to one cap; all else is its own."""

    _ANSWERS = frozenset({"decision_function", "predict", "predict_proba", "spend"})

    def __init__(self, estimator: Any, cap: float | None):
        self._estimator = estimator
        self._cap = cap

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._estimator, name)
        if name in self._ANSWERS:  # scorers read the method's __name__
            return update_wrapper(partial(attribute, cap=self._cap), attribute)
        return attribute


def _capped(model: Any, caps: Iterable[float | None]) -> list[tuple[str, Any]]:
    named = _named_models(model)
    if len(named) != 1:
        raise ValueError(f"caps sweeps one model but models holds {len(named)}; draw one curve per model.")
    estimator = named[0][1]
    return [("no cap" if cap is None else f"cap {cap:g}", _Capped(estimator, cap)) for cap in caps]


def _named_models(models: Any) -> list[tuple[str, Any]]:
    if isinstance(models, Mapping):
        named = [(str(label), model) for label, model in models.items()]
    else:
        models = list(models) if isinstance(models, (list, tuple)) else [models]
        names = [type(model).__name__ for model in models]
        counted = [name if names.count(name) == 1 else f"{name} {i}" for i, name in enumerate(names)]
        named = list(zip(counted, models, strict=True))
    for _, model in named:
        if not hasattr(model, "spend"):
            raise TypeError(f"{type(model).__name__} has no spend method; expected fitted thrifty estimators.")
    return named


def _natural_scoring(estimators: list[Any]) -> str:
    if all(map(is_classifier, estimators)):
        return "accuracy"
    if all(map(is_regressor, estimators)):
        return "r2"
    raise ValueError("models are not all classifiers or all regressors; pass scoring= to say how to score them.")


def score_name(scoring: str | Callable) -> str:
    """Return what a score is called in a picture."""
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return _SCORE_NAMES.get(name, name.replace("_", " "))


def _common_unit(estimators: list[Any]) -> str:
    units = {getattr(getattr(estimator, "cost_model_", None), "unit", "") for estimator in estimators}
    if len(units) > 1:
        raise ValueError(f"models spend in different units, {sorted(units)}; a curve has one.")
    return units.pop()


def _as_curve(curve: CostCurve | ArrayLike, score: ArrayLike | None) -> CostCurve:
    if isinstance(curve, CostCurve):
        if score is not None:
            raise ValueError("score is given beside a CostCurve, which has its own; pass one or the other.")
        return curve
    if score is None:
        raise ValueError("score is None; expected one score per spend, or a CostCurve as the first argument.")
    return CostCurve(np.asarray(curve), np.asarray(score))


def _as_points(name: str, values: ArrayLike) -> NDArray[np.float64]:
    points = np.array(values, dtype=float)
    if points.ndim != 1 or not points.size:
        raise ValueError(f"{name} has shape {points.shape}; expected one number per point, at least one point.")
    if not np.isfinite(points).all():
        first = np.isfinite(points).argmin()
        raise ValueError(f"{name} is {points[first]} at point {first}; expected finite numbers.")
    points.flags.writeable = False
    return points


def _check_limits(limits: tuple[float, float]) -> tuple[float, float]:
    low, high = map(float, limits)
    if not 0 <= low < high < np.inf:
        raise ValueError(f"limits are {low:g} to {high:g}; expected 0 <= low < high, so pass a wider interval.")
    return low, high
