"""Synthetic problems in which knowing what to buy next depends on what has been seen.

`make_quadrants` is the regression problem of Xu et al. (2014), JMLR 15, section 6.1. `make_ltr` is web-search
ranking with the published prices of the Yahoo! Learning to Rank features, whose licence keeps the real rows
from being shared.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_scalar

from thrifty.costs import CostModel
from thrifty.datasets.yahoo import draw_yahoo_prices

_QUADRANTS = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])  # signs of (x, z), in the order of the dear columns
_QUADRANT_MEANS = _QUADRANTS @ [-5.0, -10.0]  # negative z lies higher; near labels are near quadrants
_QUADRANT_PRICES = {"sign(x)": 1, "sign(z)": 1, "z++": 10, "z+-": 10, "z-+": 10, "z--": 10}


def make_quadrants(n_samples: int = 1000, *, random_state: int | np.random.Generator | None = None) -> Bunch:
    """Regression on four quadrants: two cheap signs tell which one of four dear features is worth buying.

    Points are uniform on [-1, 1] x [-1, 1]. The signs of x and z cost 1 each. Of the four features at cost
    10, the one of the row's own quadrant equals the label exactly; the other three are fresh draws from the
    distribution of all labels, so that a value alone never tells whether it can be trusted. A perfect
    prediction costs at least 12 per row.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    random_state : int, numpy Generator or None, default=None
        Seed of the draw.

    Returns
    -------
    Bunch
        X (n_samples, 6), y, costs, names, description, points (n_samples, 2) and quadrant (n_samples,), the
        position among the dear columns of the one that tells the label.

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
    rng = np.random.default_rng(random_state)
    points = rng.uniform(-1, 1, size=(n_samples, 2))
    signs = np.where(points > 0, 1, -1)
    quadrant = (signs @ [-2, -1] + 3) // 2
    y = _QUADRANT_MEANS[quadrant] + rng.standard_normal(n_samples)
    dear = _QUADRANT_MEANS[rng.integers(4, size=(n_samples, 4))] + rng.standard_normal((n_samples, 4))
    dear[np.arange(n_samples), quadrant] = y
    return Bunch(
        X=np.hstack([signs, dear]),
        y=y,
        costs=CostModel(_QUADRANT_PRICES),
        names=list(_QUADRANT_PRICES),
        description=(
            f"Quadrants (Xu et al. 2014, section 6.1): {n_samples} rows x 6 features. Two signs at cost 1 "
            "tell the quadrant, whose own feature at cost 10 equals the label. A perfect prediction costs 12."
        ),
        points=points,
        quadrant=quadrant,
    )


_GRADE_SHARES = [0.26, 0.36, 0.28, 0.08, 0.02]
_N_REGIONS = 4  # told by two bits
_COMMON_ASPECTS = 4  # of relevance, wherever the row lies
_REGION_ASPECTS = 2  # of relevance, in one region only
_N_ASPECTS = _COMMON_ASPECTS + _N_REGIONS * _REGION_ASPECTS
_RELEVANCE_VARIANCE = {"level": 0.35, "common": 0.2, "region": 0.35, "chance": 0.1}
_QUERY_VARIANCE = 0.2  # of an aspect: documents of one query are alike
_BLOCK_ROWS = 8192


def make_ltr(
    n_queries: int = 200,
    docs_per_query: int = 24,
    n_features: int = 519,
    *,
    dtype: Any = np.float64,
    random_state: int | np.random.Generator | None = None,
) -> Bunch:
    """Web-search ranking with the prices of the Yahoo! Learning to Rank features.

    Each document has hidden aspects (how well its text matches, how well it is linked, ...). Every feature is
    a noisy reading of one aspect, more precise on average the dearer it is, so features of one aspect are
    correlated. Every query lies in one of four regions, whose documents are more or less relevant on the
    whole. Four aspects count everywhere, two more count in one region only, and a few of the cheapest
    features tell the region: what is worth buying differs from row to row.

    Parameters
    ----------
    n_queries : int, default=200
        Number of queries.
    docs_per_query : int, default=24
        Mean number of documents per query; each query has at least one.
    n_features : int, default=519
        Number of features. The price classes 1, 5, 20, 50, 100, 150, 200 keep their published shares
        (123, 31, 191, 125, 16, 32, 1 of 519).
    dtype : numpy float64 or float32, default=float64
        Type of X.
    random_state : int, numpy Generator or None, default=None
        Seed of the draw.

    Returns
    -------
    Bunch
        X, y (grades 0 to 4, most of them low), qid (rows of one query are consecutive), costs, names,
        description and region (the region of each row).

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
        X=_read(hidden, _draw_loadings(prices, rng), np.dtype(dtype), rng),
        y=_grade(hidden, region, rng),
        costs=CostModel(dict(zip(names, prices.tolist(), strict=True)), unit="weak-learner evaluations"),
        names=names,
        description=(
            f"Synthetic ranking: {len(qid)} documents of {n_queries} queries x {n_features} features, grades "
            "0-4, priced as the Yahoo! Learning to Rank features (Xu et al. 2014, section 6.2)."
        ),
        qid=qid,
        region=region,
    )


def _draw_queries(n_queries: int, mean_size: int, rng: np.random.Generator) -> np.ndarray:
    """The query of each row; sizes are spread about their mean as widely as in search logs."""
    sizes = 1 + rng.negative_binomial(3, 3 / (2 + mean_size), size=n_queries)
    return np.repeat(np.arange(n_queries), sizes)


def _draw_aspects(qid: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Hidden aspects of each row, of unit variance, partly shared by the documents of a query."""
    of_query = rng.standard_normal((qid[-1] + 1, _N_ASPECTS))[qid]
    of_document = rng.standard_normal((len(qid), _N_ASPECTS))
    return np.sqrt(_QUERY_VARIANCE) * of_query + np.sqrt(1 - _QUERY_VARIANCE) * of_document


def _grade(hidden: np.ndarray, region: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Grades by the rank of relevance: the region's level, the aspects that count in it, and chance."""
    common = np.full((_N_REGIONS, _COMMON_ASPECTS), np.sqrt(_RELEVANCE_VARIANCE["common"] / _COMMON_ASPECTS))
    own = np.full(_REGION_ASPECTS, np.sqrt(_RELEVANCE_VARIANCE["region"] / _REGION_ASPECTS))
    level = np.tile(np.sqrt(_RELEVANCE_VARIANCE["level"] / 5) * np.array([1, 2]), (_N_REGIONS, 1))
    weights = np.hstack([common, np.kron(np.eye(_N_REGIONS), own), level])
    relevance = np.einsum("ij,ij->i", hidden, weights[region])
    relevance += np.sqrt(_RELEVANCE_VARIANCE["chance"]) * rng.standard_normal(len(region))
    return np.digitize(relevance, np.quantile(relevance, np.cumsum(_GRADE_SHARES)[:-1]))


def _draw_loadings(prices: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How strongly each feature reads each aspect, and each of the two bits that tell the region."""
    n_features = len(prices)
    loadings = np.zeros((_N_ASPECTS + 2, n_features))
    loadings[:_N_ASPECTS] = 0.05 * rng.standard_normal((_N_ASPECTS, n_features))
    by_price = np.argsort(prices, kind="stable")
    precision = (0.2 + 0.07 * np.log2(prices[by_price])) * rng.uniform(0.5, 1.5, size=n_features)
    loadings[np.arange(n_features) % _N_ASPECTS, by_price] = precision.clip(max=0.95)
    tells_region = by_price[: 2 * max(1, n_features // 80)]
    loadings[:, tells_region] = 0
    loadings[_N_ASPECTS + np.arange(len(tells_region)) % 2, tells_region] = 0.9
    return loadings


def _read(hidden: np.ndarray, loadings: np.ndarray, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Features: ``hidden @ loadings`` plus noise up to unit variance, in blocks so that X is all it holds."""
    X = rng.standard_normal((len(hidden), loadings.shape[1]), dtype=dtype)
    X *= np.sqrt((1 - np.square(loadings).sum(axis=0)).clip(min=0.05)).astype(dtype)
    loadings = loadings.astype(dtype)
    for start in range(0, len(X), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        X[rows] += hidden[rows].astype(dtype) @ loadings
    return X
