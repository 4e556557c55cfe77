"""Second moments of the rows at a node. Greedy least squares needs no other information about the rows.

The work is kept small in three ways:

- X'y and the column variances take one pass over the rows of the node each.
- A column of X'X is computed when its feature is selected, with one pass per column. Once many columns are needed,
  one blocked symmetric product computes all of them faster.
- The moments of a child are those of its parent minus those of its sibling. So a level of the tree takes half a pass.

All sums are taken of x - origin, at first with the means of the whole training set as origin, so that subtractions
lose few digits. If the rows of a node lie so far from the origin that too few digits of a column's variance are left,
the moments of the node are computed again with its own means as origin.

In the comments, w is the weight of a row, x its features and y its targets.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thrifty.kernels.moments import gather, products, squares
from thrifty.kernels.threads import over_rows

# A pass over the rows runs at the speed of memory, the full product at the speed of BLAS 3. On current machines the
# full product takes as long as about n_features / 24 passes.
PASSES_PER_PRODUCT = 24
SMALLEST_SHARE = 1e-4  # a variance that is a smaller share of the terms it was computed from may be rounding error
ROUNDING = 1e-14  # standard deviation, relative to the mean, that rounding can give to a constant column
BLOCK_ROWS = 8192  # rows copied at a time for the full product


class PerColumn(NamedTuple):
    """One number for each feature and one for each target, such as an origin or sums of squares."""

    features: np.ndarray
    targets: np.ndarray


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
    X : ndarray of shape (n, n_features)
        Features without NaN. This is the given array if nothing is missing.
    fill : ndarray of shape (n_features,)
        The weighted column means, which also replace NaN at prediction; 0 for a column without any value.
    origin : PerColumn
        What moments are taken about: the weighted means, or zeros if `centred` is False.
    """

    def __init__(self, X: np.ndarray, targets: np.ndarray, count: np.ndarray, centred: bool = True):
        self.count, self.centred = count, centred
        self.fill = _products(X, np.arange(len(X)), np.zeros(X.shape[1]), count[:, None])[0] / count.sum()
        if np.isnan(self.fill).any():
            X, self.fill = _filled(X, count)
        self.X = X
        self.targets = targets
        zeros = PerColumn(np.zeros(X.shape[1]), np.zeros(targets.shape[1]))
        self.origin = PerColumn(self.fill, count @ targets / count.sum()) if centred else zeros


class Moments:
    """Weighted second moments of some rows.

    Parameters
    ----------
    data : FilledRows
        The training rows.
    rows : ndarray of int
        Positions of the rows at the node.
    weight : ndarray of shape (n_rows_at_node,)
        Weight of each row at the node: its count times its probability of being there.
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
        rows: np.ndarray,
        weight: np.ndarray,
        held: Sequence[int] = (),
        ahead: float = 0,
        origin: PerColumn | None = None,
    ):
        self.data, self.rows, self.row_weight = data, rows, weight
        self.origin = origin or data.origin
        self.weight = weight.sum()
        self._columns: dict[int, np.ndarray] = {}  # the columns of X'X computed so far
        if self._prefers_full_product(len(held) + ahead):
            self._compute_full_product()
        else:
            self._compute_by_passes()
            self.require_columns(held)
        self._magnitude = PerColumn(self.squares, self.target_squares)  # what rounding errors are relative to

    def _compute_by_passes(self) -> None:
        targets = self.data.targets[self.rows] - self.origin.targets
        factors = self.row_weight[:, None] * np.column_stack([np.ones(len(targets)), targets])
        sums = _products(self.data.X, self.rows, self.origin.features, factors)
        self.sums, self.cross = sums[0], sums[1:].T  # Σ w x and Σ w x y'
        self.squares = _squares(self.data.X, self.rows, self.origin.features, self.row_weight)  # Σ w x²
        self.target_sums = self.row_weight @ targets
        self.target_squares = self.row_weight @ targets**2

    def _compute_full_product(self) -> None:
        """Compute the same sums, and all columns of X'X, from one symmetric product."""
        d = self.data.X.shape[1]
        gram = self._full_product()
        self.sums, self.cross, self.squares = gram[d, :d], gram[:d, d + 1 :], gram.diagonal()[:d].copy()
        self.target_sums, self.target_squares = gram[d, d + 1 :], gram.diagonal()[d + 1 :].copy()
        self._columns = dict(enumerate(gram[:d, :d]))

    def without(self, part: "Moments", rows: np.ndarray, weight: np.ndarray) -> "Moments":
        """Return the moments of the remaining rows after the rows of `part` are removed.

        Parameters
        ----------
        part : Moments
            Moments of a part of these rows, about the same origin.
        rows, weight : ndarray
            The remaining rows and their weights.

        Returns
        -------
        Moments
        """
        rest = object.__new__(Moments)
        rest.data, rest.rows, rest.row_weight, rest.origin = self.data, rows, weight, self.origin
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
        columns = [self.data.X[:, f] for f in np.flatnonzero(self.variances() == 0)]
        columns += [self.data.targets[:, t] for t in np.flatnonzero(self.target_variances() == 0)]
        if not any(self._varies(column) for column in columns):
            return self
        origin = PerColumn(self.mean, self.target_mean) if self.data.centred else self.data.origin
        return Moments(self.data, self.rows, self.row_weight, held, ahead, origin)

    def _varies(self, column: np.ndarray) -> bool:
        values = column[self.rows]
        return bool(np.ptp(values) > 0 if self.data.centred else values.any())

    def sample(self, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return at most `size` evenly spaced rows, their weights, and their probabilities of being at the node."""
        chosen = np.linspace(0, len(self.rows) - 1, min(size, len(self.rows))).astype(int)
        rows, weight = self.rows[chosen], self.row_weight[chosen]
        return rows, weight, weight / self.data.count[rows]

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
        missing = [f for f in features if f not in self._columns]
        if self._prefers_full_product(len(missing)):
            self._compute_full_product()
        elif missing:
            factors = self.row_weight[:, None] * (
                self.data.X[self.rows[:, None], missing] - self.origin.features[missing]
            )
            columns = _products(self.data.X, self.rows, self.origin.features, factors)
            self._columns |= zip(missing, columns, strict=True)

    def _prefers_full_product(self, n_further: float) -> bool:
        """Tell whether the full product takes less time than single passes, and is small compared with X.

        The size matters because all moments along a path of the tree are in memory at the same time.
        """
        n_rows, n_features = self.data.X.shape
        is_small = 8 * n_features <= max(n_rows, 512)
        wanted = len(self._columns) + n_further
        return is_small and wanted * PASSES_PER_PRODUCT > n_features > len(self._columns)

    def _full_product(self) -> np.ndarray:
        """Return Σ w z z' for z = (x, 1, y)."""
        d = self.data.X.shape[1]
        width = d + 1 + self.data.targets.shape[1]
        scale = np.sqrt(self.row_weight)
        gram = np.zeros((width, width))
        block = np.empty((min(BLOCK_ROWS, len(self.rows)), width))
        for first in range(0, len(self.rows), BLOCK_ROWS):
            part = slice(first, first + BLOCK_ROWS)
            rows, z = self.rows[part], block[: len(self.rows) - first]
            _gather(self.data.X, rows, self.origin.features, scale[part], z)
            z[:, d] = scale[part]
            z[:, d + 1 :] = scale[part, None] * (self.data.targets[rows] - self.origin.targets)
            gram += z.T @ z  # NumPy recognises the symmetric product and computes only half of it
        return gram


def _filled(X: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a copy of X with NaN replaced by column means, and the means; 0 for a column without any value."""
    missing = np.isnan(X)
    present = count @ ~missing
    means = np.divide(count @ np.where(missing, 0.0, X), present, out=np.zeros(X.shape[1]), where=present > 0)
    return np.where(missing, means, X), means


def _gather(X: np.ndarray, rows: np.ndarray, shift: np.ndarray, scale: np.ndarray, block: np.ndarray) -> None:
    """Write scale * (X[rows] - shift) into the first columns of `block`."""
    over_rows(lambda first, last: gather(X, rows, shift, scale, first, last, block), len(rows))


def _products(X: np.ndarray, rows: np.ndarray, shift: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return factors' (X[rows] - shift), of shape (n_factors, n_features)."""
    return _sum_over_blocks(products, X, rows, shift, factors, (factors.shape[1], X.shape[1]))


def _squares(X: np.ndarray, rows: np.ndarray, shift: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted sums of (X[rows] - shift)**2 over the rows."""
    return _sum_over_blocks(squares, X, rows, shift, weight, (X.shape[1],))


def _sum_over_blocks(
    kernel: Any, X: np.ndarray, rows: np.ndarray, shift: np.ndarray, factors: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """Run a kernel that adds to its output on blocks of rows, each with its own output, and return the sum."""

    def work(first: int, last: int) -> np.ndarray:
        out = np.zeros(shape)
        kernel(X, rows, shift, factors, first, last, out)
        return out

    return sum(over_rows(work, len(rows)), np.zeros(shape))
