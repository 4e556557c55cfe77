"""Binning: columns as codes from 0 to 255, on which histograms are computed.

A column is divided into at most 254 bins of about equal weight, or one bin per distinct value if these are few enough.
The threshold between two bins is halfway between the neighbouring values, so a row takes the same path by its codes as
by its values. NaN has its own code. In a categorical column, each frequent category is a bin.
"""

from typing import Any, NamedTuple

import numpy as np

from thrifty.kernels.binning import choose_cuts, code_rows
from thrifty.kernels.histograms import MISSING, OTHER
from thrifty.kernels.threads import over_rows
from thrifty.models.derived import Derivation
from thrifty.models.parameters import is_whole

MAX_BINS = 254
MAX_ROWS = 50_000  # a random sample of this size is enough to choose the edges of the bins


class Bins(NamedTuple):
    """The bins of ``d`` columns.

    The code of a number is the number of edges below it. The code of a category is its position in `categories`.

    Attributes
    ----------
    edges : ndarray of shape (d, 255)
        The edges of each column in ascending order, padded with infinity.
    n_edges : ndarray of int, shape (d,)
        The number of edges of each column.
    categorical : ndarray of bool, shape (d,)
        The columns that hold categories.
    categories : dict
        ``{column: values}``: the frequent categories of each categorical column, in ascending order.
    """

    edges: np.ndarray
    n_edges: np.ndarray
    categorical: np.ndarray
    categories: dict[int, np.ndarray]

    @classmethod
    def of(
        cls, X: np.ndarray, weight: np.ndarray, max_bins: int, categorical: np.ndarray, random: np.random.Generator
    ) -> "Bins":
        """Choose the bins of the columns of X; `weight` are the weights of the rows."""
        if (chosen := sampled_rows(len(X), random)) is not None:
            X, weight = X[chosen], weight[chosen]
        return cls.of_sample(X, weight, max_bins, categorical)

    @classmethod
    def of_sample(cls, X: np.ndarray, weight: np.ndarray, max_bins: int, categorical: np.ndarray) -> "Bins":
        """Choose the bins of columns, given the rows of `sampled_rows` and their weights."""
        d = X.shape[1]
        edges, n_edges = np.full((d, MISSING), np.inf), np.zeros(d, dtype=np.int64)
        equal_weights = bool((weight == weight[0]).all())

        def choose(first: int, last: int) -> None:
            for j in range(first, last):
                if not categorical[j]:
                    chosen = _edges(X[:, j], None if equal_weights else weight, max_bins)
                    edges[j, : len(chosen)], n_edges[j] = chosen, len(chosen)

        over_rows(choose, d, smallest=1)
        frequent = {int(j): _frequent(X[:, j], weight, max_bins) for j in np.flatnonzero(categorical)}
        return cls(edges, n_edges, np.asarray(categorical), frequent)

    @property
    def n_bins(self) -> np.ndarray:
        """The number of codes of each column, without those of missing values and rare categories."""
        counts = self.n_edges + 1
        for j, values in self.categories.items():
            counts[j] = len(values)
        return counts

    def codes(self, X: np.ndarray) -> "Codes":
        """Return the codes of rows."""
        codes = Codes.zeros(*X.shape)
        over_rows(lambda first, last: code_rows(X, self.edges, MISSING, first, last, codes.bytes), len(X))
        for j, values in self.categories.items():
            codes.column(j)[:] = _category_codes(X[:, j], values)
        return codes


class Codes(NamedTuple):
    """The codes of ``n`` rows in blocks of eight columns. The last block is padded with zeros.

    Attributes
    ----------
    bytes : ndarray of uint8, shape (n_blocks, n, 8)
    n_features : int
        The number of columns without padding.
    """

    bytes: np.ndarray
    n_features: int

    @classmethod
    def zeros(cls, n_rows: int, n_features: int) -> "Codes":
        """Return codes that are all 0."""
        return cls(np.zeros(((n_features + 7) // 8, n_rows, 8), dtype=np.uint8), n_features)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.bytes.shape[1]

    @property
    def words(self) -> np.ndarray:
        """The eight codes of a row in a block as one number (n_blocks, n); the first code is the lowest byte."""
        return self.bytes.view("<u8")[:, :, 0]

    def take(self, rows: np.ndarray) -> "Codes":
        """Return the codes of some rows."""
        return Codes(np.ascontiguousarray(self.bytes[:, rows]), self.n_features)

    def column(self, j: int) -> np.ndarray:
        """Return a view of the codes (n,) of one column."""
        return self.bytes[j >> 3, :, j & 7]


def sampled_rows(n_rows: int, random: np.random.Generator) -> np.ndarray | None:
    """Draw the rows that the edges of bins are chosen on, in ascending order; None means all rows.

    By the inequality of Dvoretzky, Kiefer and Wolfowitz, with probability 1 - p the rank of every edge, as a share of
    the rows, is wrong by at most sqrt(log(2 / p) / (2 * MAX_ROWS)): 0.0061 with p = 0.05.
    """
    return None if n_rows <= MAX_ROWS else np.sort(random.choice(n_rows, MAX_ROWS, replace=False))


def check_categories(X: np.ndarray, categorical: np.ndarray, owner: str, names: Any) -> None:
    """Raise ValueError unless categorical columns hold only whole numbers of at least 0, or NaN."""
    if (problem := unusable_category(X, categorical)) is not None:
        refuse_category(*problem, owner, names)


def unusable_category(X: np.ndarray, categorical: np.ndarray) -> tuple[int, float] | None:
    """Return a categorical column and its first value that is not a whole number of at least 0, or None."""
    for j in np.flatnonzero(categorical).tolist():
        values = X[:, j]
        invalid = ~(np.isnan(values) | ((values >= 0) & (values == np.floor(values)) & (values < 2**31)))
        if invalid.any():
            return j, float(values[invalid][0])
    return None


def refuse_category(column: int, value: float, owner: str, names: Any) -> None:
    """Raise ValueError because a value of a categorical column is not a category."""
    raise ValueError(
        f"{owner}: categorical feature {names[column]!r} holds {value:g}; expected whole numbers of at least 0. "
        "Encode its categories first, for instance with scikit-learn's OrdinalEncoder."
    )


def categorical_columns(estimator: Any) -> np.ndarray:
    """Return which columns hold categories, (n_features,) bool, from the parameter categorical_features."""
    given, ids = estimator.categorical_features, list(estimator._feature_ids())
    categorical = np.zeros(len(ids), dtype=bool)
    if given is None:
        return categorical
    listed = np.asarray(given)
    if listed.dtype == bool and listed.shape == categorical.shape:
        return listed
    for each in listed.ravel().tolist():
        column = ids.index(each) if each in ids else each
        known = is_whole(column, 0) and column < len(ids)
        estimator._refuse_unless(known, "categorical_features", given, "names or positions of columns, or a mask")
        categorical[column] = True
    return categorical


def translated_categories(estimator: Any, derivation: Derivation) -> Any:
    """Translate categorical_features to derived columns; one-hot columns are not categorical any more."""
    if estimator.categorical_features is None:
        return None
    listed = np.asarray(estimator.categorical_features)
    given = np.flatnonzero(listed) if listed.dtype == bool else listed
    try:
        columns = [derivation.position(each) for each in given.tolist()]
    except ValueError as error:
        raise ValueError(f"{type(estimator).__name__}: categorical_features lists {error}.") from error
    kept = [column for column in columns if not derivation.one_hot[column]]
    return np.searchsorted(derivation.source, kept).tolist()


def _edges(column: np.ndarray, weight: np.ndarray | None, max_bins: int) -> np.ndarray:
    """Return the edges of the bins of a column, halfway between neighbouring values."""
    values, value_weight = _distinct(column, weight)
    coarse = len(values) > max_bins
    cuts = _cuts(values, value_weight, max_bins) if coarse else np.arange(max(len(values) - 1, 0))
    below, above = values[cuts], values[np.minimum(cuts + 1, len(values) - 1)]
    middle = below + (above - below) / 2
    if coarse:
        middle[(below < 0) & (above > 0)] = 0.0
    return np.where(middle < above, middle, below)  # there is no number between neighbouring floats


def _cuts(values: np.ndarray, value_weight: np.ndarray, max_bins: int) -> np.ndarray:
    """Return the positions of the last value of each bin except the last.

    The bins have about equal weights. If there are negative and other values, one cut is between them.
    """
    cuts = np.empty(max_bins - 1, dtype=np.int64)
    cuts = cuts[: choose_cuts(value_weight, max_bins, cuts)]
    if values[0] < 0 <= values[-1]:  # the sign has a meaning in most data
        zero = np.searchsorted(values, 0.0) - 1
        cuts[np.argmin(np.abs(cuts - zero))] = zero
    return cuts


def _distinct(column: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a column in ascending order without NaN, and the weight of the rows of each."""
    if weight is None:
        values = np.sort(column)  # NaN is last
        row_weight = np.ones(len(values))
    else:
        order = np.argsort(column, kind="stable")
        values, row_weight = column[order], weight[order]
    n_present = np.searchsorted(values, np.nan) if np.isnan(values[-1]) else len(values)
    values, row_weight = values[:n_present].astype(np.float64), row_weight[:n_present]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[:n_present])
    return values[first], np.add.reduceat(row_weight, first) if n_present else row_weight


def _frequent(column: np.ndarray, weight: np.ndarray, max_bins: int) -> np.ndarray:
    """Return the categories with the largest weights, in ascending order."""
    values, value_weight = _distinct(column, weight)
    heaviest = np.argsort(-value_weight, kind="stable")[: min(max_bins, OTHER)]
    return np.sort(values[heaviest])


def _category_codes(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    codes = np.full(len(column), OTHER, dtype=np.uint8)
    position = np.searchsorted(values, column).clip(max=max(len(values) - 1, 0))
    if len(values):
        known = values[position] == column
        codes[known] = position[known]
    codes[np.isnan(column)] = MISSING
    return codes
