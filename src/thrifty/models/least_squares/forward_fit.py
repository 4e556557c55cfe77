"""Least squares grown one feature at a time: a pivoted Cholesky factorisation of the node's covariance.

For every column that is not in the model yet, the part of it that the model cannot explain is known only through
two numbers, its variance and its covariance with the targets. They give the gain in R² of eq. (11) of Kusner et al.
(2014), and adding a feature updates them in O(k d), whatever the number of rows. This is the paper's Gram-Schmidt
process, carried out on X'X instead of X.
"""

import numpy as np
from scipy.linalg import solve_triangular

from thrifty.models.least_squares.moments import Moments

COLLINEAR = 1e-10  # share of a column's variance below which the rest of it counts as rounding error


class ForwardFit:
    """A least-squares model with intercept of a node's targets on the features added so far.

    Attributes
    ----------
    moments : Moments
        Of the rows it is fitted to.
    selected : list of int
        The features in the model, in the order they were added.
    r2 : float
        Share of the targets' total variance explained.
    """

    def __init__(self, moments: Moments):
        self.moments = moments
        self._variance = moments.variances()
        self._rest = self._variance.copy()  # variance of each column that the model cannot explain
        self._cross = moments.target_covariances()  # its covariance with the targets
        self._target_variance = moments.target_variances().sum()
        self._explained = 0.0
        self._factor = np.empty((8, len(self._rest)))  # rows of L^-1 X'X, L the Cholesky factor
        self._loadings = np.empty((8, self._cross.shape[1]))  # rows of L^-1 X'y
        self.selected: list[int] = []

    @property
    def r2(self) -> float:
        """Share of the targets' total variance explained; 1 if there is none to explain."""
        return self._explained / self._target_variance if self._target_variance > 0 else 1.0

    def usable(self) -> np.ndarray:
        """Mark the columns that are neither in the model nor, to working precision, a combination of it."""
        return self._rest > COLLINEAR * self._variance

    def gains(self) -> np.ndarray:
        """Return what each column would add to R², zero for those not usable."""
        gains = np.zeros(len(self._rest))
        usable = self.usable()
        if self._target_variance > 0:
            explained = np.einsum("ij,ij->i", self._cross[usable], self._cross[usable])
            gains[usable] = explained / (self._rest[usable] * self._target_variance)
        return gains

    def add(self, feature: int) -> None:
        """Bring a feature into the model."""
        k = len(self.selected)
        if k == len(self._factor):
            self._factor = np.concatenate([self._factor, np.empty_like(self._factor)])
            self._loadings = np.concatenate([self._loadings, np.empty_like(self._loadings)])
        norm = np.sqrt(self._rest[feature])
        line = (self.moments.covariance(feature) - self._factor[:k, feature] @ self._factor[:k]) / norm
        loading = self._cross[feature] / norm
        self._factor[k], self._loadings[k] = line, loading
        self._rest -= line * line
        self._rest[feature] = 0.0
        self._cross -= np.outer(line, loading)
        self._explained += loading @ loading
        self.selected.append(feature)

    def admit(self, feature: int) -> bool:
        """Bring a feature into the model if it is usable, and tell whether it was."""
        usable = bool(self.usable()[feature])
        if usable:
            self.add(feature)
        return usable

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (n_targets, n_selected) and intercepts (n_targets,) in the units of X and the targets."""
        weights = solve_triangular(self._cholesky(), self._loadings[: len(self.selected)], lower=True, trans="T").T
        return weights, self.moments.target_mean - weights @ self.moments.mean[self.selected]

    def score_covariance(self) -> np.ndarray:
        """Return the centred Σ w s s' of the model's scores s, of shape (n_targets, n_targets)."""
        loadings = self._loadings[: len(self.selected)]
        return loadings.T @ loadings

    def leverages(self, values: np.ndarray) -> np.ndarray:
        """Return x' (Σ w x x')^-1 x, intercept included, of rows given by their selected features."""
        centred = values - self.moments.mean[self.selected]
        whitened = solve_triangular(self._cholesky(), centred.T, lower=True)
        return np.einsum("ij,ij->j", whitened, whitened) + self.moments.centring

    def smallest_eigenvalue(self) -> float:
        """Return lambda_min of the correlation matrix of the selected features; 1 for an empty model."""
        if not self.selected:
            return 1.0
        scaled = self._cholesky() / np.sqrt(self._variance[self.selected])[:, None]
        return float(max(np.linalg.eigvalsh(scaled @ scaled.T)[0], 0.0))

    def _cholesky(self) -> np.ndarray:
        return np.tril(self._factor[: len(self.selected), self.selected].T)
