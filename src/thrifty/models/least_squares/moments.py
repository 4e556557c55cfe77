"""Second moments of the rows at a node: all that greedy least squares needs to know of them.

Three ways to pay for as little as possible:

- X'y and the column variances take a pass over the node's rows each;
- columns of X'X are computed when a feature is selected, a pass each, until so many have been asked for that one
  blocked symmetric product of everything is the cheaper way;
- a child's moments are its parent's minus its sibling's, so that a level of the tree costs half a pass.

Sums are taken about an origin, at first the means of the whole training set, so that little cancels. Where a node's
rows lie so far from it, or its sibling's so much farther, that too little of a column's variance is left after the
subtractions, the node's moments are taken anew about its own means.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thrifty.kernels.moments import gather, products, squares
from thrifty.kernels.threads import over_rows

# A column is a pass at memory speed, the full product runs at BLAS-3 speed: on current machines the latter costs
# as much as about d / 24 passes.
PASSES_PER_PRODUCT = 24
TRUSTED = 1e-4  # smallest share of what was summed up that may be left of a column as its variance
NOISE = 1e-14  # spread, relative to its mean, that a constant column can show through rounding
BLOCK_ROWS = 8192  # rows copied at a time for the full product


class PerColumn(NamedTuple):
    """One number for each feature and each target: an origin that moments are taken about, or second moments."""

    features: np.ndarray
    targets: np.ndarray


class TrainingRows:
    """The rows a model is fitted on: features, targets (n, n_targets) and how many times each row counts.

    Missing values (NaN) are replaced by the mean of their column, which `fill` keeps for prediction. With
    ``centred=False`` moments are about zero, for models without intercept.
    """

    def __init__(self, X: np.ndarray, targets: np.ndarray, count: np.ndarray, centred: bool = True):
        self.count, self.centred = count, centred
        self.fill = _products(X, np.arange(len(X)), np.zeros(X.shape[1]), count[:, None])[0] / count.sum()
        if np.isnan(self.fill).any():
            X, self.fill = _filled(X, count)
        self.X = X
        self.targets = targets
        nowhere = PerColumn(np.zeros(X.shape[1]), np.zeros(targets.shape[1]))
        self.origin = PerColumn(self.fill, count @ targets / count.sum()) if centred else nowhere


class Moments:
    """Weighted second moments of some rows.

    Parameters
    ----------
    data : TrainingRows
    rows : ndarray of int
        Which of them are at the node.
    weight : ndarray, one per row in `rows`
        How much each counts (its count times its probability of being here).
    held : sequence of int
        Columns of X'X that will be needed in any case.
    ahead : float
        About how many more will be asked for.
    origin : PerColumn, optional
        What they are taken about; that of the data by default.
    """

    def __init__(
        self,
        data: TrainingRows,
        rows: np.ndarray,
        weight: np.ndarray,
        held: Sequence[int] = (),
        ahead: float = 0,
        origin: PerColumn | None = None,
    ):
        self.data, self.rows, self.row_weight = data, rows, weight
        self.origin = origin or data.origin
        self.weight = weight.sum()
        self._columns: dict[int, np.ndarray] = {}  # of X'X, as far as they are known
        if self._better_all_at_once(len(held) + ahead):
            self._take_full_product()
        else:
            self._take_passes()
            self.want(held)
        self._summed_up = PerColumn(self.squares, self.target_squares)  # what rounding errors are relative to

    def _take_passes(self) -> None:
        targets = self.data.targets[self.rows] - self.origin.targets
        factors = self.row_weight[:, None] * np.column_stack([np.ones(len(targets)), targets])
        sums = _products(self.data.X, self.rows, self.origin.features, factors)
        self.sums, self.cross = sums[0], sums[1:].T  # Σ w x and Σ w x y'
        self.squares = _squares(self.data.X, self.rows, self.origin.features, self.row_weight)  # Σ w x²
        self.target_sums = self.row_weight @ targets
        self.target_squares = self.row_weight @ targets**2

    def _take_full_product(self) -> None:
        """Take the same from the full product, in which a column of ones and the targets ride along."""
        d = self.data.X.shape[1]
        gram = self._full_product()
        self.sums, self.cross, self.squares = gram[d, :d], gram[:d, d + 1 :], gram.diagonal()[:d].copy()
        self.target_sums, self.target_squares = gram[d, d + 1 :], gram.diagonal()[d + 1 :].copy()
        self._columns = dict(enumerate(gram[:d, :d]))

    def without(self, part: "Moments", rows: np.ndarray, weight: np.ndarray) -> "Moments":
        """Return the moments of what is left when `part` of these rows is taken away."""
        rest = object.__new__(Moments)
        rest.data, rest.rows, rest.row_weight, rest.origin = self.data, rows, weight, self.origin
        rest._summed_up = self._summed_up
        for name in ("weight", "sums", "cross", "squares", "target_sums", "target_squares"):
            setattr(rest, name, getattr(self, name) - getattr(part, name))
        known = self._columns.keys() & part._columns.keys()
        rest._columns = {f: self._columns[f] - part._columns[f] for f in known}
        return rest

    def trusted(self, held: Sequence[int], ahead: float) -> "Moments":
        """Return these moments or, if rounding may have spoilt them, new ones about the node's own means."""
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
        """Return at most `size` of the rows, evenly spread, what each weighs, and the probability that it is here."""
        chosen = np.linspace(0, len(self.rows) - 1, min(size, len(self.rows))).astype(int)
        rows, weight = self.rows[chosen], self.row_weight[chosen]
        return rows, weight, weight / self.data.count[rows]

    @property
    def centring(self) -> float:
        """Factor of every correction for the mean: 1 / weight, or 0 for a model without intercept."""
        return 1.0 / self.weight if self.data.centred else 0.0

    @property
    def mean(self) -> np.ndarray:
        """Column means of these rows; zero without intercept."""
        return self.origin.features + self.sums * self.centring

    @property
    def target_mean(self) -> np.ndarray:
        """Means of the targets of these rows; zero without intercept."""
        return self.origin.targets + self.target_sums * self.centring

    def variances(self) -> np.ndarray:
        """Centred Σ w x² of each column; exactly zero where a column is constant to working precision."""
        return self._varying(self.squares - self.sums**2 * self.centring, self._summed_up.features, self.mean)

    def covariance(self, feature: int) -> np.ndarray:
        """Centred Σ w x x_feature of every column with one of them."""
        self.want([feature])
        return self._columns[feature] - self.sums * (self.sums[feature] * self.centring)

    def target_covariances(self) -> np.ndarray:
        """Centred Σ w x y', of shape (n_features, n_targets)."""
        return self.cross - np.outer(self.sums, self.target_sums * self.centring)

    def target_variances(self) -> np.ndarray:
        """Centred Σ w y² of each target; exactly zero where it is constant to working precision."""
        left = self.target_squares - self.target_sums**2 * self.centring
        return self._varying(left, self._summed_up.targets, self.target_mean)

    def _varying(self, left: np.ndarray, summed_up: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Return what is left of second moments after the subtractions, or zero where it may be rounding error."""
        return np.where(left > np.maximum(TRUSTED * summed_up, self.weight * (NOISE * mean) ** 2), left, 0.0)

    def want(self, features: Sequence[int]) -> None:
        """Make sure that these columns of X'X are there."""
        missing = [f for f in features if f not in self._columns]
        if self._better_all_at_once(len(missing)):
            self._take_full_product()
        elif missing:
            factors = self.row_weight[:, None] * (
                self.data.X[self.rows[:, None], missing] - self.origin.features[missing]
            )
            columns = _products(self.data.X, self.rows, self.origin.features, factors)
            self._columns |= zip(missing, columns, strict=True)

    def _better_all_at_once(self, n_further: float) -> bool:
        """Tell whether the full product is the cheaper way by now, and small beside X (a path holds several)."""
        n_rows, n_features = self.data.X.shape
        fits = 8 * n_features <= max(n_rows, 512)
        wanted = len(self._columns) + n_further
        return fits and wanted * PASSES_PER_PRODUCT > n_features > len(self._columns)

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
            gram += z.T @ z  # NumPy knows a symmetric product when it sees one, and does half the work
        return gram


def _filled(X: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a copy of X with NaN replaced by column means, and the means; 0 for a column with no value at all."""
    missing = np.isnan(X)
    present = count @ ~missing
    means = np.divide(count @ np.where(missing, 0.0, X), present, out=np.zeros(X.shape[1]), where=present > 0)
    return np.where(missing, means, X), means


def _gather(X: np.ndarray, rows: np.ndarray, shift: np.ndarray, scale: np.ndarray, block: np.ndarray) -> None:
    """Write scale * (X[rows] - shift) into the first columns of `block`."""
    over_rows(lambda first, last: gather(X, rows, shift, scale, first, last, block), len(rows))


def _products(X: np.ndarray, rows: np.ndarray, shift: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return factors' (X[rows] - shift), of shape (n_factors, n_features)."""
    return _summed(products, X, rows, shift, factors, (factors.shape[1], X.shape[1]))


def _squares(X: np.ndarray, rows: np.ndarray, shift: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted sums of (X[rows] - shift)**2 over the rows."""
    return _summed(squares, X, rows, shift, weight, (X.shape[1],))


def _summed(kernel: Any, X: np.ndarray, rows: np.ndarray, shift: np.ndarray, factors: np.ndarray, shape: Any) -> Any:
    """Run a kernel that adds to its output on row blocks, each with an output of its own, and add those up."""

    def work(first: int, last: int) -> np.ndarray:
        out = np.zeros(shape)
        kernel(X, rows, shift, factors, first, last, out)
        return out

    return sum(over_rows(work, len(rows)), np.zeros(shape))
