"""How a fitted model is scored: scikit-learn's scorers, ranking metrics by query, and the total cost of a case.

Classes may be of any type: scorers by name see the codes 0, 1, ... of the classes in sorted order, so that the positive
one of two classes is the second, ``classes_[1]``.
"""

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.metrics import get_scorer, get_scorer_names, log_loss

from thrifty.costs.error_costs import ErrorCosts
from thrifty.metrics.ranking import ndcg_at_k, precision_at_k

QUERY_METRICS = {"ndcg": ndcg_at_k, "precision": precision_at_k}
TOTAL_COST = "total_cost"
SHORT_NAMES = {"log_loss": "neg_log_loss"}
OF_TWO_CLASSES = {
    "f1": "f1_macro",
    "precision": "precision_macro",
    "recall": "recall_macro",
    "jaccard": "jaccard_macro",
    "roc_auc": "roc_auc_ovr",
}  # and their means over the classes
WITHOUT_LIMIT = ("positive_likelihood_ratio", "mutual_info_score")
OF_NUMBERS = r"r2|explained_variance|d2_absolute_error_score|neg_\w*(error|deviance)"

Scorer = Callable[..., float]  # of (model, X, y, qid, sample_weight=None); larger is better


def query_metric(scoring: Any) -> tuple[str, int] | None:
    """Return the name and the k of a metric by query such as ``"ndcg@5"``; None for any other scoring.

    Examples
    --------
    >>> query_metric("ndcg@5"), query_metric("accuracy")
    (('ndcg', 5), None)
    """
    found = re.fullmatch(r"(ndcg|precision)@([1-9]\d*)", scoring) if isinstance(scoring, str) else None
    return (found[1], int(found[2])) if found else None


def scorer_of(scoring: Any, error_costs: ErrorCosts | None = None) -> Scorer:
    """Return the function that scores a model.

    Parameters
    ----------
    scoring : str or callable
        ``"ndcg@k"`` or ``"precision@k"``, which need queries; ``"total_cost"``, which needs error costs;
        ``"log_loss"``, which is ``"neg_log_loss"``; or anything that scikit-learn's ``get_scorer`` accepts.
    error_costs : ErrorCosts, optional
        What mistakes cost.

    Returns
    -------
    callable
        ``scorer(model, X, y, qid, sample_weight=None)``. A larger score is better. Weights are used by scorers that
        accept them.
    """
    if by_query := query_metric(scoring):
        return _query_scorer(scoring, *by_query)
    if isinstance(scoring, str) and scoring == TOTAL_COST:
        if error_costs is None:
            raise ValueError(f"scoring is {TOTAL_COST!r}, but there are no error costs. Pass error_costs.")
        return _total_cost_scorer(error_costs)
    name = SHORT_NAMES.get(scoring, scoring) if isinstance(scoring, str) else scoring
    try:
        scorer = get_scorer(name)
    except ValueError:
        raise ValueError(
            f"scoring is {scoring!r}; expected a scikit-learn scorer such as 'roc_auc' or 'r2', or 'ndcg@5' "
            f"or 'precision@5' with any number, or {TOTAL_COST!r}."
        ) from None
    return _named_scorer(name, scorer) if isinstance(name, str) else _plain_scorer(scorer)


def best_possible(scoring: Any) -> float:
    """Return the largest value that a score can have; infinity if it is not known.

    Examples
    --------
    >>> best_possible("accuracy"), best_possible("neg_log_loss"), best_possible(max)
    (1.0, 0.0, inf)
    """
    if query_metric(scoring):
        return 1.0
    name = SHORT_NAMES.get(scoring, scoring) if isinstance(scoring, str) else ""
    if name == TOTAL_COST or name.startswith("neg_"):
        return 0.0
    return 1.0 if name in get_scorer_names() and name not in WITHOUT_LIMIT else np.inf


def scoring_for(
    scoring: Any, y: np.ndarray, qid: Any = None, *, has_classes: bool, error_costs: ErrorCosts | None = None
) -> Any:
    """Return the scoring that targets need, and refuse one that cannot score them.

    Metrics of a positive class become their unweighted means over the classes if there are more than two, such as
    ``"f1"`` to ``"f1_macro"``. A scorer by name has to score perfect predictions of the targets.

    Parameters
    ----------
    scoring : str or callable
    y : ndarray of shape (n,)
        The targets.
    qid : ndarray of shape (n,), optional
        The query of each row.
    has_classes : bool
        Whether the targets are classes.
    error_costs : ErrorCosts, optional
        What mistakes cost.

    Returns
    -------
    str or callable

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.metrics.scoring import scoring_for
    >>> scoring_for("f1", np.array(["no", "yes"]), has_classes=True)
    'f1'
    >>> scoring_for("f1", np.array(["red", "green", "blue"]), has_classes=True)
    'f1_macro'
    """
    scorer = scorer_of(scoring, error_costs)
    if not isinstance(scoring, str) or scoring == TOTAL_COST:
        return scoring
    name = SHORT_NAMES.get(scoring, scoring)
    _refuse_other_targets(name, has_classes, qid)
    if has_classes and len(np.unique(y)) > 2 and name in OF_TWO_CLASSES:
        name = OF_TWO_CLASSES[name]
        scorer = scorer_of(name)
    if query_metric(name) is None and (has_classes or qid is None):
        _refuse_unless_it_scores(name, scorer, PerfectPredictions(y, has_classes), y)
    return name


class PerfectPredictions(BaseEstimator):
    """A stand-in for a model that predicts the targets.

    Parameters
    ----------
    y : ndarray of shape (n,)
    has_classes : bool
    """

    def __init__(self, y: np.ndarray, has_classes: bool):
        self.y, self.has_classes = y, has_classes
        if has_classes:
            self.classes_, self._codes = np.unique(y, return_inverse=True)

    def predict(self, X: Any, **options: Any) -> np.ndarray:
        """Return the targets."""
        return self.y

    def predict_proba(self, X: Any, **options: Any) -> np.ndarray:
        """Return probabilities that are largest for the true classes."""
        n = len(self.classes_)
        return 0.1 / n + 0.9 * np.eye(n)[self._codes]

    def decision_function(self, X: Any, **options: Any) -> np.ndarray:
        """Return scores that are largest for the true classes."""
        log = np.log(self.predict_proba(X))
        return log[:, 1] - log[:, 0] if log.shape[1] == 2 else log

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self.has_classes else "regressor"
        return tags


class _ClassCodes(ClassifierMixin, BaseEstimator):
    """A classifier whose classes are replaced by their codes 0, 1, ... in sorted order."""

    def __init__(self, model: Any):
        self._model, self.classes_ = model, np.arange(len(model.classes_))

    def predict(self, X: Any) -> np.ndarray:
        return self.codes(self._model.predict(X))

    def codes(self, y: Any) -> np.ndarray:
        """Return the codes of classes; those that the model does not know have the next code."""
        known, y = self._model.classes_, np.asarray(y)
        places = np.minimum(np.searchsorted(known, y), len(known) - 1)
        return np.where(known[places] == y, places, len(known))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_model"], name)


def _query_scorer(scoring: str, name: str, k: int) -> Scorer:
    metric = QUERY_METRICS[name]

    def score(model: Any, X: Any, y: Any, qid: Any, sample_weight: Any = None) -> float:
        if qid is None:
            raise ValueError(f"scoring={scoring!r} is computed by query, but qid is None. Pass one query per row.")
        return float(metric(y, _ranking_scores(model, X, qid), qid=qid, k=k))

    return score


def _total_cost_scorer(error_costs: ErrorCosts) -> Scorer:
    """Return a scorer by -(mean spend + mean cost of errors)."""

    def score(model: Any, X: Any, y: Any, qid: Any, sample_weight: Any = None) -> float:
        found = model.acquire(X, qid=qid)
        return -float(np.average(found.spend + error_costs.of(y, found.prediction), weights=sample_weight))

    return score


def _plain_scorer(scorer: Callable[..., float]) -> Scorer:
    accepts_weights = _accepts_weights(scorer)

    def score(model: Any, X: Any, y: Any, qid: Any, sample_weight: Any = None) -> float:
        weights = {"sample_weight": sample_weight} if accepts_weights and sample_weight is not None else {}
        return float(scorer(model, X, y, **weights))

    return score


def _named_scorer(name: str, scorer: Callable[..., float]) -> Scorer:
    plain = _plain_scorer(scorer)

    def score(model: Any, X: Any, y: Any, qid: Any, sample_weight: Any = None) -> float:
        if not (is_classifier(model) and hasattr(model, "classes_")):
            return plain(model, X, y, qid, sample_weight)
        coded = _ClassCodes(model)
        if name == "neg_log_loss":  # scikit-learn's scorer needs rows of every class
            probabilities, codes = model.predict_proba(X), coded.codes(y)
            return -float(log_loss(codes, probabilities, labels=coded.classes_, sample_weight=sample_weight))
        return plain(coded, X, coded.codes(y), qid, sample_weight)

    return score


def _accepts_weights(scorer: Any) -> bool:
    function = getattr(scorer, "_score_func", scorer)
    try:
        return "sample_weight" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions that are not written in Python have no signature
        return False


def _refuse_other_targets(name: str, has_classes: bool, qid: Any) -> None:
    if query_metric(name):
        if qid is None:
            raise ValueError(f"scoring={name!r} is computed by query, but qid is None. Pass one query per row.")
        return
    is_of_numbers = re.fullmatch(OF_NUMBERS, name) is not None
    if has_classes and is_of_numbers:
        raise ValueError(
            f"scoring is {name!r}, which compares numbers, but the targets are classes. Pass a score of classes such "
            "as 'accuracy', 'roc_auc' or 'log_loss'."
        )
    if not has_classes and qid is None and not is_of_numbers and name in get_scorer_names():
        raise ValueError(
            f"scoring is {name!r}, which compares classes, but the targets are numbers. Pass a score of numbers such "
            "as 'r2' or 'neg_mean_absolute_error'."
        )


def _refuse_unless_it_scores(name: str, scorer: Scorer, perfect: PerfectPredictions, y: np.ndarray) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scorer(perfect, None, y, None)
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(f"scoring is {name!r}, which cannot score these targets: {reason}") from None


def _ranking_scores(model: Any, X: Any, qid: Any) -> Any:
    """Return the scores by which documents are ranked: log-odds of a classifier, predictions of any other model."""
    return getattr(model, "decision_function", model.predict)(X, qid=qid)
