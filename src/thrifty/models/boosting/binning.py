"""Columns as small whole numbers: what a histogram booster sees of its data.

A column is cut into at most 254 bins of about equal weight, one per distinct value while there are few enough. A split
between two bins is a threshold halfway between the values on either side, so a row takes the same path by its codes as
by its values. NaN has a code of its own. Of a categorical column every frequent category is a bin.
"""

from typing import Any, NamedTuple

import numpy as np

from thrifty.kernels.binning import choose_cuts, code_rows
from thrifty.kernels.histograms import MISSING, OTHER
from thrifty.kernels.threads import over_rows

MAX_BINS = 254
ENOUGH_ROWS = 50_000  # to place the cuts by


class Bins(NamedTuple):
    """How columns are coded; ``d`` columns.

    A number's code counts the edges below it; a category's is its place among the `categories` of the column.
    """

    edges: np.ndarray  # (d, 255) ascending, filled up with inf
    n_edges: np.ndarray  # (d,)
    categorical: np.ndarray  # (d,) bool
    categories: dict[int, np.ndarray]  # the frequent categories of each categorical column, ascending

    @classmethod
    def of(
        cls, X: np.ndarray, weight: np.ndarray, max_bins: int, categorical: np.ndarray, random: np.random.Generator
    ) -> "Bins":
        """Cut the columns by what stands in their rows."""
        if len(X) > ENOUGH_ROWS:
            chosen = np.sort(random.choice(len(X), ENOUGH_ROWS, replace=False))
            X, weight = X[chosen], weight[chosen]
        d = X.shape[1]
        edges, n_edges = np.full((d, MISSING), np.inf), np.zeros(d, dtype=np.int64)
        alike = bool((weight == weight[0]).all())

        def cut(first: int, last: int) -> None:
            for j in range(first, last):
                if not categorical[j]:
                    cuts = _edges(X[:, j], None if alike else weight, max_bins)
                    edges[j, : len(cuts)], n_edges[j] = cuts, len(cuts)

        over_rows(cut, d, smallest=1)
        frequent = {int(j): _frequent(X[:, j], weight, max_bins) for j in np.flatnonzero(categorical)}
        return cls(edges, n_edges, np.asarray(categorical), frequent)

    @property
    def n_bins(self) -> np.ndarray:
        """How many codes each column has, those of missing and rare values aside."""
        counts = self.n_edges + 1
        for j, values in self.categories.items():
            counts[j] = len(values)
        return counts

    def codes(self, X: np.ndarray) -> "Codes":
        """Return the codes of rows."""
        codes = Codes.blank(*X.shape)
        over_rows(lambda first, last: code_rows(X, self.edges, MISSING, first, last, codes.bytes), len(X))
        for j, values in self.categories.items():
            codes.column(j)[:] = _category_codes(X[:, j], values)
        return codes


class Codes(NamedTuple):
    """The codes of ``n`` rows in blocks of eight columns; the last block is filled up with zeros."""

    bytes: np.ndarray  # (n_blocks, n, 8) uint8
    n_features: int

    @classmethod
    def blank(cls, n_rows: int, n_features: int) -> "Codes":
        """Return codes to be filled in."""
        return cls(np.zeros(((n_features + 7) // 8, n_rows, 8), dtype=np.uint8), n_features)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.bytes.shape[1]

    @property
    def words(self) -> np.ndarray:
        """The eight codes of a row in a block as one number, (n_blocks, n); the first is the lowest byte."""
        return self.bytes.view("<u8")[:, :, 0]

    def column(self, j: int) -> np.ndarray:
        """Return the codes (n,) of one column, to be read or written."""
        return self.bytes[j >> 3, :, j & 7]


def check_categories(X: np.ndarray, categorical: np.ndarray, owner: str, names: Any) -> None:
    """Refuse categorical columns that hold anything but whole numbers from 0 on, or NaN."""
    for j in np.flatnonzero(categorical):
        values = X[:, j]
        strange = ~(np.isnan(values) | ((values >= 0) & (values == np.floor(values)) & (values < 2**31)))
        if strange.any():
            raise ValueError(
                f"{owner}: categorical feature {names[j]!r} holds {values[strange][0]:g}; expected whole numbers "
                "from 0 on. Encode its categories first, for instance with scikit-learn's OrdinalEncoder."
            )


def _edges(column: np.ndarray, weight: np.ndarray | None, max_bins: int) -> np.ndarray:
    """Return where to cut a column, halfway between neighbouring values."""
    values, mass = _distinct(column, weight)
    coarse = len(values) > max_bins
    cuts = _cuts(values, mass, max_bins) if coarse else np.arange(max(len(values) - 1, 0))
    below, above = values[cuts], values[np.minimum(cuts + 1, len(values) - 1)]
    middle = below + (above - below) / 2
    if coarse:
        middle[(below < 0) & (above > 0)] = 0.0
    return np.where(middle < above, middle, below)  # neighbouring floats have no middle


def _cuts(values: np.ndarray, mass: np.ndarray, max_bins: int) -> np.ndarray:
    """Return after which values to cut: in bins of about equal mass, and between what is below zero and what is not."""
    cuts = np.empty(max_bins - 1, dtype=np.int64)
    cuts = cuts[: choose_cuts(mass, max_bins, cuts)]
    if values[0] < 0 <= values[-1]:  # a sign means something in most data
        zero = np.searchsorted(values, 0.0) - 1
        cuts[np.argmin(np.abs(cuts - zero))] = zero
    return cuts


def _distinct(column: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a column in order, and what the rows of each weigh."""
    if weight is None:
        values = np.sort(column)  # NaN comes last
        mass = np.ones(len(values))
    else:
        order = np.argsort(column, kind="stable")
        values, mass = column[order], weight[order]
    n_present = np.searchsorted(values, np.nan) if np.isnan(values[-1]) else len(values)
    values, mass = values[:n_present].astype(np.float64), mass[:n_present]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[:n_present])
    return values[first], np.add.reduceat(mass, first) if n_present else mass


def _frequent(column: np.ndarray, weight: np.ndarray, max_bins: int) -> np.ndarray:
    values, mass = _distinct(column, weight)
    heaviest = np.argsort(-mass, kind="stable")[: min(max_bins, OTHER)]
    return np.sort(values[heaviest])


def _category_codes(column: np.ndarray, values: np.ndarray) -> np.ndarray:
    codes = np.full(len(column), OTHER, dtype=np.uint8)
    place = np.searchsorted(values, column).clip(max=max(len(values) - 1, 0))
    if len(values):
        known = values[place] == column
        codes[known] = place[known]
    codes[np.isnan(column)] = MISSING
    return codes
