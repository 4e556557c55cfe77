"""Synthetic problems in which the best next purchase depends on the values that are already known.

`make_quadrants` is the regression problem of Xu et al. (2014), JMLR 15, section 6.1. `make_ltr` is a web-search ranking
problem with the published prices of the Yahoo! Learning to Rank features; the licence of the real data does not allow
sharing it. `make_ltr_skewed` and `skew_ranking` create the rare relevance of section 6.3.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_scalar

from thrifty.costs import CostModel
from thrifty.datasets.yahoo import draw_yahoo_prices

_QUADRANT_PRICES = {"sign(x)": 1, "sign(z)": 1, "z++": 10, "z+-": 10, "z-+": 10, "z--": 10}
_MEAN_OF_COLUMN = [0, 3, 1, 2]  # index into label_means (order ++, -+, --, +-) for the columns z++, z+-, z-+, z--


def make_quadrants(
    n_samples: int = 1000,
    *,
    label_means: Sequence[float] = (-15, -5, 15, 5),
    random_state: int | np.random.Generator | None = None,
) -> Bunch:
    """Generate the quadrants problem: two cheap signs show which one of four expensive features equals the label.

    Points (x, z) are uniform on [-1, 1] x [-1, 1]. The label has a normal distribution with standard deviation 1 and a
    mean that depends on the quadrant of the point. The signs of x and z cost 1 each. Four features, one per quadrant,
    cost 10 each. The feature of the row's own quadrant equals the label. The other three are independent draws from the
    distribution of all labels, so that the value of a feature does not show whether it is the label. A perfect
    prediction costs at least 12 per row.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    label_means : sequence of four floats, default=(-15, -5, 15, 5)
        Mean label of each quadrant, in the order (x > 0, z > 0), (x < 0, z > 0), (x < 0, z < 0), (x > 0, z < 0). With
        the default, as in the paper, the labels are low for z > 0 and high for z < 0.
    random_state : int, numpy Generator or None, default=None
        Random state of the data.

    Returns
    -------
    Bunch
        X (n_samples, 6), y (n_samples,), costs (a CostModel), names, description, points (n_samples, 2) and quadrant
        (n_samples,): ``X[i, 2 + quadrant[i]]`` is the label of row i.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014), Classifier cascades and trees for minimizing feature
    evaluation cost, JMLR 15, section 6.1.

    Examples
    --------
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(5, random_state=0)
    >>> data.X.shape, data.costs.total
    ((5, 6), 42.0)
    >>> bool((data.X[range(5), 2 + data.quadrant] == data.y).all())
    True
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    means = _means_by_column(label_means)
    rng = np.random.default_rng(random_state)
    points = rng.uniform(-1, 1, size=(n_samples, 2))
    signs = np.where(points > 0, 1, -1)
    quadrant = (signs @ [-2, -1] + 3) // 2
    y = means[quadrant] + rng.standard_normal(n_samples)
    expensive = means[rng.integers(4, size=(n_samples, 4))] + rng.standard_normal((n_samples, 4))
    expensive[np.arange(n_samples), quadrant] = y
    return Bunch(
        X=np.hstack([signs, expensive]),
        y=y,
        costs=CostModel(_QUADRANT_PRICES),
        names=list(_QUADRANT_PRICES),
        description=(
            f"Quadrants (Xu et al. 2014, section 6.1): {n_samples} rows x 6 features. Two signs at cost 1 "
            "give the quadrant, whose own feature at cost 10 equals the label. A perfect prediction costs 12."
        ),
        points=points,
        quadrant=quadrant,
    )


def _means_by_column(label_means: Sequence[float]) -> np.ndarray:
    """Check the label means and return them in the order of the expensive columns."""
    try:
        means = np.asarray(label_means, dtype=float)
    except (TypeError, ValueError):
        means = np.empty(0)
    if means.shape != (4,) or not np.isfinite(means).all():
        raise ValueError(
            f"make_quadrants: label_means is {label_means!r}; expected four numbers, one for each of the "
            "quadrants ++, -+, --, +- of (x, z). Pass four finite numbers."
        )
    return means[_MEAN_OF_COLUMN]


_GRADE_SHARES = [0.26, 0.36, 0.28, 0.08, 0.02]
_N_REGIONS = 4  # encoded by two bits
_COMMON_ASPECTS = 4  # aspects that matter in all regions
_REGION_ASPECTS = 2  # aspects that matter in one region only, for each region
_N_ASPECTS = _COMMON_ASPECTS + _N_REGIONS * _REGION_ASPECTS
_RELEVANCE_VARIANCE = {"level": 0.35, "common": 0.2, "region": 0.35, "noise": 0.1}
_QUERY_VARIANCE = 0.2  # share of the variance of an aspect that the documents of a query have in common
_BLOCK_ROWS = 8192


def make_ltr(
    n_queries: int = 200,
    docs_per_query: int = 24,
    n_features: int = 519,
    *,
    dtype: Any = np.float64,
    random_state: int | np.random.Generator | None = None,
) -> Bunch:
    """Generate a web-search ranking problem with the prices of the Yahoo! Learning to Rank features.

    Each document has hidden aspects, such as how well its text matches the query. Every feature is a noisy measurement
    of one aspect, so that features of the same aspect are correlated. Expensive features are more precise on average.
    Every query belongs to one of four regions, which differ in their mean relevance. Four aspects matter in all
    regions, two more matter only in one region. A few of the cheapest features show the region. Therefore the best
    features to buy differ from row to row.

    Parameters
    ----------
    n_queries : int, default=200
        Number of queries.
    docs_per_query : int, default=24
        Mean number of documents per query. Each query has at least one document.
    n_features : int, default=519
        Number of features. The prices 1, 5, 20, 50, 100, 150, 200 have their published shares (123, 31, 191, 125, 16,
        32, 1 of 519).
    dtype : numpy float64 or float32, default=float64
        Type of X.
    random_state : int, numpy Generator or None, default=None
        Random state of the data.

    Returns
    -------
    Bunch
        X (n, n_features), y (grades 0 to 4, most of them low), qid (the query of each row; rows of one query are
        consecutive), costs (a CostModel), names, description and region (the region of each row).

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014), Classifier cascades and trees for minimizing feature
    evaluation cost, JMLR 15, section 6.2.

    Examples
    --------
    >>> from thrifty.datasets import make_ltr
    >>> data = make_ltr(n_queries=3, docs_per_query=10, random_state=0)
    >>> data.X.shape[1], len(set(data.qid)), data.costs.total
    (519, 3, 16948.0)
    """
    for name, value in {
        "n_queries": n_queries,
        "docs_per_query": docs_per_query,
        "n_features": n_features,
    }.items():
        check_scalar(value, name, Integral, min_val=1)
    rng = np.random.default_rng(random_state)
    qid = _draw_queries(n_queries, docs_per_query, rng)
    region = rng.integers(_N_REGIONS, size=n_queries)[qid]
    bits = 2 * (region[:, None] >> [0, 1] & 1) - 1
    hidden = np.hstack([_draw_aspects(qid, rng), bits])
    prices = draw_yahoo_prices(n_features, rng)
    names = [f"f{j}" for j in range(n_features)]
    return Bunch(
        X=_draw_features(hidden, _draw_loadings(prices, rng), np.dtype(dtype), rng),
        y=_draw_grades(hidden, region, rng),
        costs=CostModel(dict(zip(names, prices.tolist(), strict=True)), unit="weak-learner evaluations"),
        names=names,
        description=(
            f"Synthetic ranking: {len(qid)} documents of {n_queries} queries x {n_features} features, grades "
            "0-4, with prices of the Yahoo! Learning to Rank features (Xu et al. 2014, section 6.2)."
        ),
        qid=qid,
        region=region,
    )


def make_ltr_skewed(
    n_queries: int = 200,
    docs_per_query: int = 24,
    n_features: int = 519,
    *,
    relevant_from: float = 3,
    n_copies: int = 10,
    dtype: Any = np.float64,
    random_state: int | np.random.Generator | None = None,
) -> Bunch:
    """Generate a web-search ranking problem with rare relevance: about one relevant document to 90 others.

    The rows of `make_ltr` are modified by `skew_ranking`. A tenth of the grades of `make_ltr` are 3 or 4. With ten
    copies of each other document, there are 90 irrelevant rows to one relevant row. The paper reports 100 to one.

    Parameters
    ----------
    n_queries : int, default=200
        Number of queries.
    docs_per_query : int, default=24
        Mean number of documents per query, before copies are made. Each query has at least one document.
    n_features : int, default=519
        Number of features. The prices 1, 5, 20, 50, 100, 150, 200 have their published shares (123, 31, 191, 125, 16,
        32, 1 of 519).
    relevant_from : float, default=3
        Documents of this grade or above are relevant.
    n_copies : int, default=10
        How often each irrelevant document is in the data.
    dtype : numpy float64 or float32, default=float64
        Type of X.
    random_state : int, numpy Generator or None, default=None
        Random state of the data.

    Returns
    -------
    Bunch
        X (n, n_features), y (1: relevant, 0: irrelevant), target_names, qid (the query of each row; rows of one query
        are consecutive), costs (a CostModel), names, description and region (the region of each row).

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014), Classifier cascades and trees for minimizing feature
    evaluation cost, JMLR 15, section 6.3.

    Examples
    --------
    >>> from thrifty.datasets import make_ltr_skewed
    >>> data = make_ltr_skewed(n_queries=100, n_features=20, random_state=0)
    >>> round((data.y == 0).sum() / (data.y == 1).sum())
    90
    """
    graded = make_ltr(n_queries, docs_per_query, n_features, dtype=dtype, random_state=random_state)
    return skew_ranking(graded, relevant_from=relevant_from, n_copies=n_copies)


def skew_ranking(data: Bunch, *, relevant_from: float = 3, n_copies: int = 10) -> Bunch:
    """Convert graded ranking data to a binary problem with rare relevance, by copying irrelevant documents.

    As in the paper, copies are exact and belong to the same query. They are acquired, scored and charged like separate
    documents, and all copies of a document have the same score.

    Parameters
    ----------
    data : Bunch
        Ranking data with X, y and qid, for example from `make_ltr` or `load_mq2008`.
    relevant_from : float, default=3
        Documents of this grade or above are relevant. MQ2008 and OHSUMED have grades 0 to 2.
    n_copies : int, default=10
        How often each irrelevant document is in the result, including the original.

    Returns
    -------
    Bunch
        The fields of `data`, and target_names. y is 1 for relevant documents and 0 for others. Rows are sorted by qid,
        and copies of a document follow each other. Arrays of `data` with one entry per row, such as a mask of test
        rows, are repeated in the same way.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014), Classifier cascades and trees for minimizing feature
    evaluation cost, JMLR 15, section 6.3.

    Examples
    --------
    >>> from thrifty.datasets import make_ltr, skew_ranking
    >>> graded = make_ltr(n_queries=2, docs_per_query=4, n_features=5, random_state=4)
    >>> graded.y
    array([2, 1, 4, 0])
    >>> skewed = skew_ranking(graded, n_copies=3)
    >>> skewed.y
    array([0, 0, 0, 0, 0, 0, 1, 0, 0, 0])
    >>> skewed.qid
    array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    """
    check_scalar(relevant_from, "relevant_from", Real)
    check_scalar(n_copies, "n_copies", Integral, min_val=1)
    relevant = _relevance_mask(data, relevant_from)
    by_query = np.argsort(data.qid, kind="stable")
    rows = np.repeat(by_query, np.where(relevant[by_query], 1, n_copies))
    note = (
        f"Skewed (Xu et al. 2014, section 6.3): grades from {relevant_from:g} are relevant, other documents appear "
        f"{n_copies} times; 1 relevant row to {n_copies * (~relevant).sum() / relevant.sum():.3g} others."
    )
    skewed = {key: value[rows] if _is_per_row(value, len(relevant)) else value for key, value in data.items()}
    skewed |= {"y": relevant[rows].astype(np.int64), "target_names": ["irrelevant", "relevant"]}
    return Bunch(**skewed | {"description": f"{data.get('description', '')}\n{note}".lstrip()})


def _relevance_mask(data: Bunch, relevant_from: float) -> np.ndarray:
    """Return which documents are relevant; raise a ValueError if all or none of them are."""
    if "qid" not in data:
        raise ValueError("skew_ranking: data has no qid. Pass ranking data, for example from make_ltr or load_mq2008.")
    grades = np.asarray(data.y)
    relevant = grades >= relevant_from
    if relevant.all() or not relevant.any():
        raise ValueError(
            f"skew_ranking: relevant_from is {relevant_from!r} but grades run from {grades.min()} to {grades.max()}. "
            "Pass a grade above the lowest and up to the highest."
        )
    return relevant


def _is_per_row(value: Any, n_rows: int) -> bool:
    return isinstance(value, np.ndarray) and value.shape[:1] == (n_rows,)


def _draw_queries(n_queries: int, mean_size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the query of each row; query sizes vary widely (1 + a negative binomial), as in search logs."""
    sizes = 1 + rng.negative_binomial(3, 3 / (2 + mean_size), size=n_queries)
    return np.repeat(np.arange(n_queries), sizes)


def _draw_aspects(qid: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the hidden aspects of each row; they have variance 1, which documents of a query share in part."""
    of_query = rng.standard_normal((qid[-1] + 1, _N_ASPECTS))[qid]
    of_document = rng.standard_normal((len(qid), _N_ASPECTS))
    return np.sqrt(_QUERY_VARIANCE) * of_query + np.sqrt(1 - _QUERY_VARIANCE) * of_document


def _draw_grades(hidden: np.ndarray, region: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return grades, which are quantiles of the relevance.

    relevance = level of the region + weighted sum of the aspects that matter in the region + noise
    """
    common = np.full((_N_REGIONS, _COMMON_ASPECTS), np.sqrt(_RELEVANCE_VARIANCE["common"] / _COMMON_ASPECTS))
    own = np.full(_REGION_ASPECTS, np.sqrt(_RELEVANCE_VARIANCE["region"] / _REGION_ASPECTS))
    level = np.tile(np.sqrt(_RELEVANCE_VARIANCE["level"] / 5) * np.array([1, 2]), (_N_REGIONS, 1))
    weights = np.hstack([common, np.kron(np.eye(_N_REGIONS), own), level])
    relevance = np.einsum("ij,ij->i", hidden, weights[region])
    relevance += np.sqrt(_RELEVANCE_VARIANCE["noise"]) * rng.standard_normal(len(region))
    return np.digitize(relevance, np.quantile(relevance, np.cumsum(_GRADE_SHARES)[:-1]))


def _draw_loadings(prices: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the weight of each aspect, and of each of the two bits of the region, in each feature."""
    n_features = len(prices)
    loadings = np.zeros((_N_ASPECTS + 2, n_features))
    loadings[:_N_ASPECTS] = 0.05 * rng.standard_normal((_N_ASPECTS, n_features))
    by_price = np.argsort(prices, kind="stable")
    precision = (0.2 + 0.07 * np.log2(prices[by_price])) * rng.uniform(0.5, 1.5, size=n_features)
    loadings[np.arange(n_features) % _N_ASPECTS, by_price] = precision.clip(max=0.95)
    shows_region = by_price[: 2 * max(1, n_features // 80)]
    loadings[:, shows_region] = 0
    loadings[_N_ASPECTS + np.arange(len(shows_region)) % 2, shows_region] = 0.9
    return loadings


def _draw_features(hidden: np.ndarray, loadings: np.ndarray, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Return ``hidden @ loadings`` plus noise, with a total variance of about 1; blocks of rows limit the memory."""
    X = rng.standard_normal((len(hidden), loadings.shape[1]), dtype=dtype)
    X *= np.sqrt((1 - np.square(loadings).sum(axis=0)).clip(min=0.05)).astype(dtype)
    loadings = loadings.astype(dtype)
    for start in range(0, len(X), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        X[rows] += hidden[rows].astype(dtype) @ loadings
    return X
