"""Ranking metrics: NDCG@k and precision@k of each query, averaged over the queries.

Both are defined as in Xu et al. (JMLR 2014, section 6). With y_r the label of the document at rank r:

    DCG@k       = sum over r = 1..k of (2^y_r - 1) / log2(1 + r)
    NDCG@k      = DCG@k / (DCG@k of the best possible order)
    precision@k = (number of relevant documents among ranks 1..k) / k

Documents with equal scores get the average over all their orders (McSherry & Najork, ECIR 2008). scikit-learn's
``ndcg_score`` does the same.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LARGEST_LABEL = 1000  # 2^1024 overflows a float


def ndcg_at_k(
    y_true: ArrayLike, y_score: ArrayLike, *, qid: ArrayLike, k: int = 5, average: bool = True
) -> float | NDArray[np.float64]:
    """Return the normalized discounted cumulative gain of the k documents of each query with the best scores.

    NDCG@k is the sum over ranks r = 1..k of (2^y_r - 1) / log2(1 + r), divided by the same sum for the best possible
    order. y_r is the relevance of the document at rank r.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Relevance of each document: 0 for irrelevant, larger is better.
    y_score : array-like of shape (n,)
        Scores that rank the documents, best first.
    qid : array-like of shape (n,)
        The query each document belongs to. Rows need not be sorted by query.
    k : int, default=5
        Number of ranks that count.
    average : bool, default=True
        Return the mean over queries. Otherwise return one value per query, by increasing query id.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1. A query without any relevant document counts 0, as in scikit-learn.

    Examples
    --------
    >>> from thrifty.metrics import ndcg_at_k
    >>> ndcg_at_k([2, 0, 1, 1, 0], [0.9, 0.5, 0.7, 0.1, 0.8], qid=[1, 1, 1, 2, 2], k=1, average=False)
    array([1., 0.])
    """
    y_true, y_score, query = _check_documents(y_true, y_score, qid)
    outside = (y_true < 0) | (y_true > _LARGEST_LABEL)
    if outside.any():
        raise ValueError(f"y_true holds {y_true[outside][0]:g}; expected relevance labels of 0 to {_LARGEST_LABEL}.")
    gain = np.exp2(y_true) - 1
    discount = 1 / np.log2(2 + np.arange(_check_k(k, len(gain))))
    achieved = _discounted_gain(gain, y_score, query, discount)
    ideal = _discounted_gain(gain, gain, query, discount)
    per_query = np.divide(achieved, ideal, out=np.zeros_like(achieved), where=ideal > 0)
    return float(per_query.mean()) if average else per_query


def precision_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike,
    k: int = 5,
    relevant: float = 1,
    average: bool = True,
) -> float | NDArray[np.float64]:
    """Return the share of relevant documents among the k documents of each query with the best scores.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Relevance of each document; 0/1, -1/+1 and graded labels all work.
    y_score : array-like of shape (n,)
        Scores that rank the documents, best first.
    qid : array-like of shape (n,)
        The query each document belongs to. Rows need not be sorted by query.
    k : int, default=5
        Number of ranks that count. The number of relevant documents is divided by k, even if a query has fewer than k
        documents.
    relevant : float, default=1
        Documents with ``y_true >= relevant`` are relevant.
    average : bool, default=True
        Return the mean over queries. Otherwise return one value per query, by increasing query id.

    Returns
    -------
    float or ndarray of shape (n_queries,)
        Between 0 and 1. A query without any relevant document counts 0.

    Examples
    --------
    >>> from thrifty.metrics import precision_at_k
    >>> precision_at_k([1, 0, 1, 1, 0], [0.9, 0.5, 0.7, 0.1, 0.8], qid=[1, 1, 1, 2, 2], k=2)
    0.75
    """
    y_true, y_score, query = _check_documents(y_true, y_score, qid)
    hit = (y_true >= relevant).astype(float)
    per_query = _discounted_gain(hit, y_score, query, np.ones(_check_k(k, len(hit)))) / k
    return float(per_query.mean()) if average else per_query


def _discounted_gain(gain: NDArray, score: NDArray, query: NDArray, discount: NDArray) -> NDArray:
    """Return, for each query, the sum of gain * discount[rank]; documents with equal scores share their ranks."""
    order = np.lexsort((-score, query))
    gain, score, query = gain[order], score[order], query[order]
    new_query = np.append(True, query[1:] != query[:-1])
    new_score = np.append(True, score[1:] != score[:-1])
    first = np.flatnonzero(new_query | new_score)
    last = np.append(first[1:], len(gain))
    tied_query = query[first]
    ranks_before = np.flatnonzero(new_query)[tied_query]
    total = np.append(0, np.cumsum(discount))  # total[r]: sum of the discounts of the first r ranks; constant beyond k
    share = total.take(last - ranks_before, mode="clip") - total.take(first - ranks_before, mode="clip")
    return np.bincount(tied_query, weights=share * np.add.reduceat(gain, first) / (last - first))


def _check_documents(y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike) -> tuple[NDArray, ...]:
    """Check the arguments; return labels and scores as floats, and the queries numbered from 0."""
    columns: dict[str, NDArray[Any]] = {
        "y_true": np.asarray(y_true, dtype=float),
        "y_score": np.asarray(y_score, dtype=float),
        "qid": np.asarray(qid),
    }
    n_documents = columns["y_true"].size
    if n_documents == 0:
        raise ValueError("y_true is empty; expected at least one document.")
    for name, column in columns.items():
        if column.shape != (n_documents,):
            raise ValueError(f"{name} has shape {column.shape}; expected one entry for each of {n_documents} rows.")
        if column.dtype.kind == "f" and np.isnan(column).any():
            raise ValueError(f"{name} is NaN in row {np.isnan(column).argmax()}; expected numbers in every row.")
    return columns["y_true"], columns["y_score"], np.unique(columns["qid"], return_inverse=True)[1]


def _check_k(k: int, n_documents: int) -> int:
    """Check k; return the number of ranks that can count, which is at most the number of documents."""
    if not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k is {k!r}; expected a whole number of ranks, at least 1.")
    return min(int(k), n_documents)
