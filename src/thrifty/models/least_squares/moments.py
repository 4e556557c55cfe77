"""Second moments of the rows at a node. Greedy least squares needs no other information about the rows.

The work is kept small in three ways:

- X'y and the column variances take one pass over the rows of the node each.
- A column of X'X is computed when its feature is selected, with one pass per column. Once many columns are needed,
  one blocked symmetric product computes all of them faster.
- The moments of a child are those of its parent minus those of its sibling. So a level of the tree takes half a pass.

All sums are taken of x - origin, at first with the means of the whole training set as origin, so that subtractions
lose few digits. If the rows of a node lie so far from the origin that too few digits of a column's variance are left,
the moments of the node are computed again with its own means as origin.

The rows themselves stay at home: `node_rows` has the functions that read them. In the comments, w is the weight of a
row, x its features and y its targets.
"""

from collections.abc import Callable, Sequence

import numpy as np

from thrifty.models.homes import Here, Home, evenly_spaced
from thrifty.models.least_squares.calibration import prior_of, prior_sums
from thrifty.models.least_squares.node_rows import (
    Members,
    PerColumn,
    RowBlock,
    Sums,
    all_members,
    filled,
    full_product,
    gram_columns,
    n_members,
    present_totals,
    ranges,
    rows_at,
    sums_by_passes,
    totals,
    weighted_rows,
)

# A pass over the rows runs at the speed of memory, the full product at the speed of BLAS 3. On current machines the
# full product takes as long as about n_features / 24 passes.
PASSES_PER_PRODUCT = 24
SMALLEST_SHARE = 1e-4  # a variance that is a smaller share of the terms it was computed from may be rounding error
ROUNDING = 1e-14  # standard deviation, relative to the mean, that rounding can give to a constant column


class FilledRows:
    """Training rows whose missing values (NaN) are replaced by column means.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Features; they may contain NaN.
    targets : ndarray of shape (n, n_targets)
        Targets.
    count : ndarray of shape (n,)
        How often each row counts.
    centred : bool, default=True
        Whether models of the rows have an intercept. Otherwise moments are taken about zero.

    Attributes
    ----------
    home : Home of RowBlock
        Where the rows live. If nothing is missing, it has the given arrays.
    shape : tuple of int
        The number of rows and of features.
    weight : float
        The sum of the counts.
    fill : ndarray of shape (n_features,)
        The weighted column means, which also replace NaN at prediction; 0 for a column without any value.
    origin : PerColumn
        What moments are taken about: the weighted means, or zeros if `centred` is False.
    """

    def __init__(self, X: np.ndarray, targets: np.ndarray, count: np.ndarray, centred: bool = True):
        self._describe(Here(RowBlock(X, targets, count)), centred)

    @classmethod
    def at(
        cls, home: Home[RowBlock], centred: bool = True, settle: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> "FilledRows":
        """Return the rows that live somewhere, with NaN replaced there; `settle` rounds the means."""
        data = cls.__new__(cls)
        data._describe(home, centred, settle or np.asarray)
        return data

    def _describe(
        self, home: Home[RowBlock], centred: bool, settle: Callable[[np.ndarray], np.ndarray] = np.asarray
    ) -> None:
        n_rows, self.weight, sums, target_sums = home.sum(totals)
        self.fill = settle(sums / self.weight)
        if np.isnan(self.fill).any():
            present, sums = home.sum(present_totals)
            self.fill = settle(np.divide(sums, present, out=np.zeros(len(sums)), where=present > 0))
            home = home.map(filled, self.fill)
        self.home, self.centred, self.shape = home, centred, (n_rows, len(sums))
        zeros = PerColumn(np.zeros(len(sums)), np.zeros(len(target_sums)))
        self.origin = PerColumn(self.fill, target_sums / self.weight) if centred else zeros

    @property
    def X(self) -> np.ndarray:  # noqa: N802 - the field's name
        """Features without NaN, if all rows are in this process."""
        return self.home.block.X

    @property
    def targets(self) -> np.ndarray:
        """Targets, if all rows are in this process."""
        return self.home.block.targets

    @property
    def count(self) -> np.ndarray:
        """How often each row counts, if all rows are in this process."""
        return self.home.block.count

    def prior(self, classification: bool) -> np.ndarray:
        """Return the scores of a row without any feature: prior log-odds, or the weighted mean of the targets."""
        return prior_of(self.home.sum(prior_sums), classification)


class Moments:
    """Weighted second moments of some rows.

    Parameters
    ----------
    data : FilledRows
        The training rows.
    members : Home of Members, default=None
        The rows at the node. By default all rows.
    held : sequence of int, default=()
        Features whose columns of X'X are needed in any case.
    ahead : float, default=0
        Expected number of further columns of X'X that will be needed.
    origin : PerColumn, default=None
        What the moments are taken about. By default the origin of the data.
    """

    def __init__(
        self,
        data: FilledRows,
        members: Home[Members] | None = None,
        held: Sequence[int] = (),
        ahead: float = 0,
        origin: PerColumn | None = None,
    ):
        self.data = data
        self.members = data.home.map(all_members) if members is None else members
        self.origin = origin or data.origin
        self._columns: dict[int, np.ndarray] = {}  # the columns of X'X computed so far
        if self._prefers_full_product(len(held) + ahead):
            self._compute_full_product()
        else:
            self._receive(Sums(*self.rows.sum(sums_by_passes, self.origin)))
            self.require_columns(held)
        self._magnitude = PerColumn(self.squares, self.target_squares)  # what rounding errors are relative to

    @property
    def rows(self) -> Home:
        """Where the rows are, with the members beside them."""
        return self.data.home.beside(self.members)

    def _receive(self, sums: Sums) -> None:
        self.weight, self.sums, self.squares, self.cross, self.target_sums, self.target_squares = sums

    def _compute_full_product(self) -> None:
        """Compute the same sums, and all columns of X'X, from one symmetric product."""
        d = self.data.shape[1]
        gram = self.rows.sum(full_product, self.origin)
        diagonal = gram.diagonal()
        self._receive(
            Sums(
                float(diagonal[d]),
                gram[d, :d],
                diagonal[:d].copy(),
                gram[:d, d + 1 :],
                gram[d, d + 1 :],
                diagonal[d + 1 :].copy(),
            )
        )
        self._columns = dict(enumerate(gram[:d, :d]))

    def without(self, part: "Moments", members: Home[Members]) -> "Moments":
        """Return the moments of the remaining rows after the rows of `part` are removed.

        Parameters
        ----------
        part : Moments
            Moments of a part of these rows, about the same origin.
        members : Home of Members
            The remaining rows.

        Returns
        -------
        Moments
        """
        rest = object.__new__(Moments)
        rest.data, rest.members, rest.origin = self.data, members, self.origin
        rest._magnitude = self._magnitude
        for name in ("weight", "sums", "cross", "squares", "target_sums", "target_squares"):
            setattr(rest, name, getattr(self, name) - getattr(part, name))
        known = self._columns.keys() & part._columns.keys()
        rest._columns = {f: self._columns[f] - part._columns[f] for f in known}
        return rest

    def made_accurate(self, held: Sequence[int], ahead: float) -> "Moments":
        """Return these moments, or new ones about the node's own means if rounding errors may be too large.

        They may be too large if a column has a variance of zero here although its values differ.
        """
        suspects = np.flatnonzero(self.variances() == 0), np.flatnonzero(self.target_variances() == 0)
        if not any(map(len, suspects)) or not self._some_vary(*suspects):
            return self
        origin = PerColumn(self.mean, self.target_mean) if self.data.centred else self.data.origin
        return Moments(self.data, self.members, held, ahead, origin)

    def _some_vary(self, features: np.ndarray, targets: np.ndarray) -> bool:
        """Tell whether some of these columns are not constant or, without intercept, not zero."""
        found = np.array(self.rows.collect(ranges, features, targets))
        lowest, highest = found[:, 0].min(axis=0), found[:, 1].max(axis=0)
        return bool((highest > lowest).any() if self.data.centred else (lowest.any() or highest.any()))

    def sample(self, size: int, features: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return at most `size` evenly spaced rows.

        Parameters
        ----------
        size : int
        features : list of int

        Returns
        -------
        values : ndarray of shape (n, len(features))
        targets : ndarray of shape (n, n_targets)
        weight : ndarray of shape (n,)
        probability : ndarray of shape (n,)
            Probability of each row of being at the node.
        """
        parts = self.rows.collect(rows_at, evenly_spaced(self.rows.collect(n_members), size), features)
        return tuple(map(np.concatenate, zip(*parts, strict=True)))  # type: ignore[return-value]

    def equivalent_rows(self, scale: PerColumn) -> tuple[np.ndarray, np.ndarray]:
        """Return few rows of weight 1 whose mean second moments about the origin are those of all rows.

        Columns are multiplied by `scale` first, which should give all of them about the same size.

        They are the rows themselves, multiplied by the roots of their weights, if there are fewer rows than columns.
        Otherwise they are the rows of a square root of the matrix of second moments: least squares and the lasso use
        nothing else.

        Returns
        -------
        features : ndarray of shape (n, n_features)
        targets : ndarray of shape (n, n_targets)
        """
        n_rows, d = self.data.shape
        if n_rows <= d + len(self.target_sums):
            parts = self.rows.collect(weighted_rows, self.origin)
            features, targets = map(np.concatenate, zip(*parts, strict=True))
            root = np.sqrt(n_rows / self.weight)
            return features * (root * scale.features), targets * (root * scale.targets)
        gram = self.rows.sum(full_product, self.origin)
        chosen = np.delete(np.arange(len(gram)), d)
        factors = np.concatenate(scale)
        scaled = gram[np.ix_(chosen, chosen)] * factors * factors[:, None]
        sizes, directions = np.linalg.eigh(scaled * (len(chosen) / self.weight))
        rows = np.sqrt(sizes.clip(min=0.0))[:, None] * directions.T
        return rows[:, :d], rows[:, d:]

    @property
    def centring(self) -> float:
        """Factor of every correction for the mean: 1 / weight, or 0 for a model without intercept."""
        return 1.0 / self.weight if self.data.centred else 0.0

    @property
    def mean(self) -> np.ndarray:
        """Weighted means of the features; zeros for a model without intercept."""
        return self.origin.features + self.sums * self.centring

    @property
    def target_mean(self) -> np.ndarray:
        """Weighted means of the targets; zeros for a model without intercept."""
        return self.origin.targets + self.target_sums * self.centring

    def variances(self) -> np.ndarray:
        """Return the centred Σ w x² of each feature; exactly zero if it is constant up to rounding."""
        centred = self.squares - self.sums**2 * self.centring
        return self._zero_if_rounding(centred, self._magnitude.features, self.mean)

    def covariance(self, feature: int) -> np.ndarray:
        """Return the centred Σ w x x_feature of every feature with one of them."""
        self.require_columns([feature])
        return self._columns[feature] - self.sums * (self.sums[feature] * self.centring)

    def covariances(self) -> np.ndarray:
        """Return the centred Σ w x x' of all features, of shape (n_features, n_features)."""
        if len(self._columns) < len(self.sums):
            self._compute_full_product()
        return np.array([self.covariance(feature) for feature in range(len(self.sums))])

    def target_covariances(self) -> np.ndarray:
        """Return the centred Σ w x y', of shape (n_features, n_targets)."""
        return self.cross - np.outer(self.sums, self.target_sums * self.centring)

    def target_variances(self) -> np.ndarray:
        """Return the centred Σ w y² of each target; exactly zero if it is constant up to rounding."""
        centred = self.target_squares - self.target_sums**2 * self.centring
        return self._zero_if_rounding(centred, self._magnitude.targets, self.target_mean)

    def _zero_if_rounding(self, centred: np.ndarray, magnitude: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Return centred sums of squares, with zero where they may be rounding errors."""
        smallest = np.maximum(SMALLEST_SHARE * magnitude, self.weight * (ROUNDING * mean) ** 2)
        return np.where(centred > smallest, centred, 0.0)

    def require_columns(self, features: Sequence[int]) -> None:
        """Compute the columns of X'X of these features, unless they are known."""
        missing = [int(f) for f in features if f not in self._columns]
        if not missing:
            return
        if self._prefers_full_product(len(missing)):
            self._compute_full_product()
        else:
            columns = self.rows.sum(gram_columns, self.origin, missing)
            self._columns |= zip(missing, columns, strict=True)

    def _prefers_full_product(self, n_further: float) -> bool:
        """Tell whether the full product takes less time than single passes, and is small compared with X.

        The size matters because all moments along a path of the tree are in memory at the same time.
        """
        n_rows, n_features = self.data.shape
        is_small = 8 * n_features <= max(n_rows, 512)
        wanted = len(self._columns) + n_further
        return is_small and wanted * PASSES_PER_PRODUCT > n_features > len(self._columns)
