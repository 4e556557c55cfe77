"""Cost curves: points of (mean spend, score), their frontier, and the area under it.

A curve is a step function, not a line between its points. The score within a budget b is the best score of the points
whose mean spend is at most b:

    score(b) = max of score_i over the points i with spend_i <= b
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier, is_regressor

from thrifty.metrics.scoring import scorer_of

_SCORE_NAMES = {
    "r2": "R²",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "total_cost": "negative total cost",
}


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
        Name of each point. By default its number.
    unit : str, default=""
        Unit of the spend.
    score_name : str, default="score"
        Name of the score.
    spend_name : str, default="spend"
        Name of the spend.

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
    spend_name: str = "spend"

    def __post_init__(self) -> None:
        spend, score = _checked_numbers("spend", self.spend), _checked_numbers("score", self.score)
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
        """Indices of the points that are not dominated, by increasing spend, and therefore by increasing score.

        A point is dominated if another point has at least the same score at no more spend. Of points with equal spend
        and score, only the first is on the frontier.
        """
        by_spend = np.lexsort((-self.score, self.spend))
        score = self.score[by_spend]
        best_before = np.append(-np.inf, np.maximum.accumulate(score)[:-1])
        return by_spend[score > best_before]

    def best(self, budget: float) -> int:
        """Return the point with the best score among those whose mean spend is within the budget.

        If several points have this score, the cheapest of them is returned.

        Parameters
        ----------
        budget : float
            Bound on the mean spend per row.

        Returns
        -------
        int
            Index into ``spend``, ``score`` and ``labels``.

        Raises
        ------
        ValueError
            If no point is within the budget.
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
        spend = f"{self.spend_name} {self.spend.min():.4g} to {self.spend.max():.4g} {self.unit}".rstrip()
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
    spend: str = "all",
) -> CostCurve:
    """Measure mean spend and score of several models, or of one model under several caps.

    Parameters
    ----------
    models : estimator, sequence of estimators, or dict of label to estimator
        Fitted estimators with a method ``spend``.
    X : array-like of shape (n, d)
        Rows to measure on. Use rows on which no model was fitted.
    y : array-like of shape (n,)
        Targets of the rows.
    scoring : str or callable, default=None
        A scikit-learn scorer's name, a callable ``scorer(estimator, X, y)``, or ``"ndcg@k"`` or ``"precision@k"``,
        which need queries. A larger score is better. By default NDCG@5 if queries are given, otherwise accuracy for
        classifiers and R² for regressors.
    qid : array-like of shape (n,), default=None
        The query of each row.
    caps : iterable of float or None, default=None
        Hard limits on each row's spend, for a single model: one point per cap. A cap of None means no limit.
    labels : sequence of str, default=None
        Name of each point. By default the keys of the dict, the caps, or the class names of the models.
    spend : {"all", "features"}, default="all"
        The spend to measure: all that rows are charged, or only what they are charged for features, without evaluation.

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
    if spend not in ("all", "features"):
        raise ValueError(f"spend is {spend!r}; expected 'all' or 'features'.")
    points = _named_models(models) if caps is None else _capped(models, caps)
    if not points:
        raise ValueError("models and caps give no point; pass at least one fitted estimator and one cap.")
    estimators = [estimator for _, estimator in points]
    if scoring is None:
        scoring = _default_scoring(estimators) if qid is None else "ndcg@5"
    scorer, queries = scorer_of(scoring), {} if qid is None else {"qid": qid}
    return CostCurve(
        spend=np.array([np.mean(_spend(estimator, X, queries, spend)) for estimator in estimators]),
        score=np.array([scorer(estimator, X, y, qid) for estimator in estimators]),
        labels=tuple(labels) if labels is not None else tuple(name for name, _ in points),
        unit=_common_unit(estimators),
        score_name=score_name(scoring),
        spend_name="spend" if spend == "all" else "feature spend",
    )


def _spend(estimator: Any, X: Any, queries: dict[str, Any], kind: str) -> NDArray[np.float64]:
    return estimator.spend(X, **queries) if kind == "all" else estimator.acquire(X, **queries).feature_spend


def area_under_cost_curve(
    curve: CostCurve | ArrayLike,
    score: ArrayLike | None = None,
    *,
    limits: tuple[float, float] | None = None,
    baseline: float = 0.0,
) -> float:
    """Return the mean, over budgets b, of the best score that was measured within b.

    With the limits low and high, and the baseline as the score of a mean spend of 0:

        area     = (integral of score(b) over b from low to high) / (high - low)
        score(b) = max of the baseline and of score_i over the points i with spend_i <= b

    Parameters
    ----------
    curve : CostCurve or array-like of shape (m,)
        The curve, or the mean spends of its points.
    score : array-like of shape (m,), default=None
        Scores of the points, if ``curve`` holds their spends.
    limits : (float, float), default=None
        Smallest and largest budget. By default 0 and the largest spend. To compare curves, pass the same limits.
    baseline : float, default=0.0
        Score of a prediction that spends nothing. It is used for budgets within which no point has a better score. If
        scores may be negative, pass the score of the best constant prediction.

    Returns
    -------
    float
        The mean score, in the unit of the scores.

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
    """A fitted estimator that predicts and spends under a cap. All other attributes are those of the estimator."""

    _CAPPED_METHODS = frozenset({"acquire", "decision_function", "predict", "predict_proba", "spend"})

    def __init__(self, estimator: Any, cap: float | None):
        self._estimator = estimator
        self._cap = cap

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._estimator, name)
        if name in self._CAPPED_METHODS:  # scorers read the method's __name__
            return update_wrapper(partial(attribute, cap=self._cap), attribute)
        return attribute


def _capped(model: Any, caps: Iterable[float | None]) -> list[tuple[str, Any]]:
    named = _named_models(model)
    if len(named) != 1:
        raise ValueError(
            f"caps is given, but models holds {len(named)} models; expected one. Make one curve per model."
        )
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


def _default_scoring(estimators: list[Any]) -> str:
    if all(map(is_classifier, estimators)):
        return "accuracy"
    if all(map(is_regressor, estimators)):
        return "r2"
    raise ValueError("models are not all classifiers or all regressors; pass scoring= to say how to score them.")


def score_name(scoring: str | Callable) -> str:
    """Return the name of a score in plots and tables."""
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return _SCORE_NAMES.get(name, name.replace("_", " "))


def _common_unit(estimators: list[Any]) -> str:
    units = {getattr(getattr(estimator, "cost_model_", None), "unit", "") for estimator in estimators}
    if len(units) > 1:
        raise ValueError(f"models spend in different units, {sorted(units)}. Pass models with the same unit.")
    return units.pop()


def _as_curve(curve: CostCurve | ArrayLike, score: ArrayLike | None) -> CostCurve:
    if isinstance(curve, CostCurve):
        if score is not None:
            raise ValueError(
                "score is given together with a CostCurve, which has scores already. Pass only one of them."
            )
        return curve
    if score is None:
        raise ValueError("score is None; expected one score per spend, or a CostCurve as the first argument.")
    return CostCurve(np.asarray(curve), np.asarray(score))


def _checked_numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
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
