"""How a fitted model is scored: scikit-learn's scorers, and ranking metrics computed query by query."""

import re
from collections.abc import Callable
from typing import Any

from sklearn.metrics import get_scorer

from thrifty.metrics.ranking import ndcg_at_k, precision_at_k

QUERY_METRICS = {"ndcg": ndcg_at_k, "precision": precision_at_k}

Scorer = Callable[[Any, Any, Any, Any], float]  # of (model, X, y, qid); larger is better


def query_metric(scoring: Any) -> tuple[str, int] | None:
    """Return the name and the k of a metric by query such as ``"ndcg@5"``; None for any other scoring.

    Examples
    --------
    >>> query_metric("ndcg@5"), query_metric("accuracy")
    (('ndcg', 5), None)
    """
    found = re.fullmatch(r"(ndcg|precision)@([1-9]\d*)", scoring) if isinstance(scoring, str) else None
    return (found[1], int(found[2])) if found else None


def scorer_of(scoring: Any) -> Scorer:
    """Return the function that scores a model.

    Parameters
    ----------
    scoring : str or callable
        ``"ndcg@k"`` or ``"precision@k"``, which need queries, or anything that scikit-learn's ``get_scorer`` accepts.

    Returns
    -------
    callable
        ``scorer(model, X, y, qid)``. A larger score is better.
    """
    if by_query := query_metric(scoring):
        metric, k = QUERY_METRICS[by_query[0]], by_query[1]

        def score_by_query(model: Any, X: Any, y: Any, qid: Any) -> float:
            if qid is None:
                raise ValueError(f"scoring={scoring!r} is computed by query, but qid is None. Pass one query per row.")
            return float(metric(y, _ranking_scores(model, X, qid), qid=qid, k=k))

        return score_by_query
    try:
        scorer = get_scorer(scoring)
    except ValueError:
        raise ValueError(
            f"scoring is {scoring!r}; expected a scikit-learn scorer such as 'roc_auc' or 'r2', or 'ndcg@5' "
            "or 'precision@5' with any number."
        ) from None
    return lambda model, X, y, qid: float(scorer(model, X, y))


def _ranking_scores(model: Any, X: Any, qid: Any) -> Any:
    """Return the scores by which documents are ranked: log-odds of a classifier, predictions of any other model."""
    return getattr(model, "decision_function", model.predict)(X, qid=qid)
