"""A test of whether a data set is suitable for CSTC.

CSTC sends rows with different labels to different classifiers. This helps if different labels need different features.
The test fits a sparse linear classifier to each pair of neighbouring labels, and compares the sets of features that
the classifiers weigh. With A and B such sets, their Jaccard index is |A and B| / |A or B|. In the matrix of these
indices, values should fall with the distance from the diagonal.

Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation Cost.
JMLR 15, section 6.8.
"""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_scalar, check_X_y
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight

CLEAR_TREND = -0.5  # largest rank correlation that counts as a clear decrease
NO_SIGNAL = 1e-12  # a gradient that is smaller, per unit of weight, is rounding error
# Before scikit-learn 1.8 an l1 penalty is requested by name, from then on by its ratio
L1: dict[str, Any] = {"penalty": "l1"} if LogisticRegression().l1_ratio is None else {"l1_ratio": 1}
# liblinear also penalises the intercept. A large scale makes this penalty negligible.
SOLVER: dict[str, Any] = {"solver": "liblinear", "intercept_scaling": 1000.0, "tol": 1e-6, "max_iter": 1000}


@dataclass(frozen=True, eq=False, repr=False)
class CSTCCriterion:
    """Result of `cstc_criterion`: the features that classifiers of neighbouring labels have in common.

    Parameters
    ----------
    pairs : tuple of (label, label)
        The two labels that each classifier separates, in ascending order.
    supports : ndarray of bool, shape (n_pairs, n_features)
        The features that each classifier weighs.
    jaccard : ndarray of shape (n_pairs, n_pairs)
        Jaccard index of each two supports: the number of features that both classifiers weigh, divided by the number
        that at least one of them weighs.

    Attributes
    ----------
    trend : float
        Rank correlation of the Jaccard index with the distance of two classifiers.
    verdict : str
        The result in a sentence.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 6.8.

    Examples
    --------
    >>> from thrifty import cstc_criterion
    >>> from thrifty.datasets import make_ltr
    >>> data = make_ltr(n_queries=200, n_features=60, random_state=0)
    >>> criterion = cstc_criterion(data.X, data.y)
    >>> round(criterion.trend, 2)
    -0.94
    >>> criterion.jaccard.shape
    (4, 4)
    """

    pairs: tuple[tuple[Any, Any], ...]
    supports: np.ndarray
    jaccard: np.ndarray

    @property
    def trend(self) -> float:
        """Spearman's rank correlation of jaccard[i, j] with the distance j - i, over all i < j.

        -1 if the Jaccard index falls with every step away from the diagonal, about 0 if the distance does not matter.
        NaN for three labels, because their two classifiers have only one distance.
        """
        first, second = np.triu_indices(len(self.pairs), k=1)
        distance, overlap = second - first, self.jaccard[first, second]
        if len(overlap) == 1:
            return float("nan")
        return float(spearmanr(distance, overlap).statistic) if np.ptp(overlap) else 0.0

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        n_empty, n_pairs = int((~self.supports.any(axis=1)).sum()), len(self.pairs)
        if n_empty:
            return (
                f"{n_empty} of {n_pairs} classifiers find no feature that separates their labels, so the test is "
                "inconclusive."
            )
        near, far = np.diagonal(self.jaccard, offset=1).mean(), self.jaccard[0, -1]
        if n_pairs == 2:
            return f"The two classifiers share {near:.0%} of their features; a trend needs at least four labels."
        outcome = "and here it does" if self.trend <= CLEAR_TREND else "but here it does not clearly do so"
        return (
            f"CSTC assumes that overlap falls with the distance of labels, {outcome}: neighbouring classifiers share "
            f"{near:.0%} of their features, the two furthest apart {far:.0%} (rank correlation {self.trend:.2f})."
        )

    def __repr__(self) -> str:
        sizes, n_features = self.supports.sum(axis=1), self.supports.shape[1]
        return (
            f"CSTCCriterion({len(self.pairs)} classifiers from {self.pairs[0]} to {self.pairs[-1]}, which weigh "
            f"{sizes.min()} to {sizes.max()} of {n_features} features, trend {self.trend:.2f})"
        )


def cstc_criterion(
    X: Any, y: Any, sample_weight: Any = None, *, penalty: float = 0.2, n_bins: int | None = None
) -> CSTCCriterion:
    """Test whether a data set is suitable for CSTC.

    Each two neighbouring labels are separated by a logistic classifier with an l1 penalty, on columns of unit
    variance. CSTC assumes that classifiers of nearby labels weigh similar features, and that this similarity falls
    with the distance of the labels. Costs are not used.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        NaN is replaced by the mean of the column.
    y : array-like of shape (n,)
        At least three labels in a meaningful order, such as grades.
    sample_weight : array-like of shape (n,), optional
        Weight of each row, by default 1.
    penalty : float, default=0.2
        Strength of the l1 penalty, between 0 and 1, relative to the smallest penalty at which a classifier weighs no
        feature. Because it is relative, it has the same effect on pairs with few and with many rows.
    n_bins : int, optional
        Cut a continuous y at its quantiles into this many labels.

    Returns
    -------
    CSTCCriterion
        With pairs, supports, jaccard, trend and verdict. `thrifty.plots.JaccardDisplay` draws it.

    Notes
    -----
    The test is only a hint. It compares labels that are one step apart, so it can miss data that are suitable for a
    tree. In `make_quadrants`, which CSTC solves perfectly, the same feature separates the two lowest labels and the two
    highest labels.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 6.8.

    Examples
    --------
    >>> from thrifty import cstc_criterion
    >>> from thrifty.datasets import make_ltr
    >>> data = make_ltr(n_queries=200, n_features=60, random_state=0)
    >>> criterion = cstc_criterion(data.X, data.y)
    >>> criterion.pairs
    ((0, 1), (1, 2), (2, 3), (3, 4))
    >>> print(criterion.verdict)
    CSTC assumes that overlap falls with the distance of labels, and here it does: neighbouring classifiers share 45%
    of their features, the two furthest apart 28% (rank correlation -0.94).
    """
    check_scalar(penalty, "penalty", Real, min_val=0, max_val=1, include_boundaries="neither")
    X, y = check_X_y(X, y, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    labels, codes = _labels(y) if n_bins is None else _quantile_bins(y, weight, n_bins)
    if len(labels) < 3:
        raise ValueError(
            f"cstc_criterion: y has {len(labels)} label(s), {labels}; expected at least 3, because the test compares "
            "at least two classifiers."
        )
    supports = np.array([_support(X, codes - lower, weight, penalty) for lower in range(len(labels) - 1)])
    return CSTCCriterion(tuple(pairwise(labels)), supports, jaccard_matrix(supports))


def jaccard_matrix(supports: np.ndarray) -> np.ndarray:
    """Return the Jaccard index of each two classifiers: shared features / features of at least one of them.

    Parameters
    ----------
    supports : ndarray of bool, shape (n_classifiers, n_features)
        The features that each classifier weighs.

    Returns
    -------
    ndarray of shape (n_classifiers, n_classifiers)
        1 on the diagonal, and for two classifiers that both weigh no feature.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.models.expected_cost.criterion import jaccard_matrix
    >>> jaccard_matrix(np.array([[True, True, False], [False, True, True]])).round(2)
    array([[1.  , 0.33],
           [0.33, 1.  ]])
    """
    members = np.asarray(supports, dtype=float)
    shared = members @ members.T
    sizes = members.sum(axis=1)
    either = sizes[:, None] + sizes - shared
    return np.divide(shared, either, out=np.ones_like(shared), where=either > 0)


def _labels(y: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return the labels in ascending order, and the position of the label of each row."""
    if type_of_target(y) == "continuous":
        raise ValueError("cstc_criterion: y is continuous; pass n_bins to cut it into labels.")
    labels, codes = np.unique(y, return_inverse=True)
    return labels.tolist(), codes


def _quantile_bins(y: np.ndarray, weight: np.ndarray, n_bins: int) -> tuple[list[str], np.ndarray]:
    """Return the names of bins of about equal weight, and the bin of each row; ties can make the bins fewer."""
    check_scalar(n_bins, "n_bins", Integral, min_val=3)
    order = np.argsort(y)
    reached = np.cumsum(weight[order])
    uppers = y[order][np.searchsorted(reached, reached[-1] * np.arange(1, n_bins) / n_bins)]
    edges = np.unique(uppers[uppers < y.max()])
    words = [f"{edge:.3g}" for edge in edges]
    within = [f"{low} to {high}" for low, high in pairwise(words)]
    return [f"≤ {words[0]}", *within, f"> {words[-1]}"] if words else ["all"], np.searchsorted(edges, y)


def _support(X: np.ndarray, above: np.ndarray, weight: np.ndarray, penalty: float) -> np.ndarray:
    """Mark the features that separate the rows where `above` is 1 from those where it is 0; other rows are not used."""
    rows = (above == 0) | (above == 1)
    is_upper, weight = above[rows], weight[rows]
    with np.errstate(invalid="ignore"):  # a column that is all NaN has no mean
        columns = StandardScaler().fit_transform(X[rows], sample_weight=weight)
    np.nan_to_num(columns, copy=False, nan=0.0)
    slopes = columns.T @ (weight * (is_upper - np.average(is_upper, weights=weight)))
    largest = np.abs(slopes).max()  # the smallest penalty at which all weights are zero
    if largest <= NO_SIGNAL * weight.sum():
        return np.zeros(X.shape[1], dtype=bool)
    model = LogisticRegression(**L1, **SOLVER, C=1 / (penalty * largest), random_state=0)
    return model.fit(columns, is_upper, sample_weight=weight).coef_[0] != 0
