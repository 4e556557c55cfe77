"""Least squares with features added one at a time, by a pivoted Cholesky factorisation of the covariance matrix.

For every feature that is not in the model, two numbers are kept: the variance that the model does not explain, and the
covariance of this unexplained part with the targets. They give the gain in R² of eq. (11) of Kusner et al. (2014):

    gain of feature j = |covariance of j with the targets|² / (unexplained variance of j * variance of the targets)

Adding a feature to a model of k features updates these numbers in O(k d) operations, independent of the number of
rows. The paper uses a Gram-Schmidt process on X; this is the same process on X'X.
"""

import numpy as np
from scipy.linalg import solve_triangular

from thrifty.models.least_squares.moments import Moments

COLLINEAR = 1e-10  # an unexplained share of a feature's variance below this may be rounding error


class ForwardFit:
    """A least-squares model of a node's targets on the features added so far.

    Parameters
    ----------
    moments : Moments
        Moments of the rows that the model is fitted to.

    Attributes
    ----------
    selected : list of int
        The features in the model, in the order in which they were added.
    r2 : float
        Share of the total variance of the targets that the model explains.
    """

    def __init__(self, moments: Moments):
        self.moments = moments
        self._variance = moments.variances()
        self._unexplained = self._variance.copy()  # variance of each feature that the model does not explain
        self._cross = moments.target_covariances()  # covariance of this unexplained part with the targets
        self._target_variance = moments.target_variances().sum()
        self._explained = 0.0
        self._factor = np.empty((8, len(self._variance)))  # rows of L^-1 X'X, where L is the Cholesky factor
        self._loadings = np.empty((8, self._cross.shape[1]))  # rows of L^-1 X'y
        self.selected: list[int] = []

    @property
    def r2(self) -> float:
        """Share of the total variance of the targets that the model explains; 1 if the targets are constant."""
        return self._explained / self._target_variance if self._target_variance > 0 else 1.0

    def usable(self) -> np.ndarray:
        """Mark the features that are not in the model and, up to rounding, not a linear combination of its features."""
        return self._unexplained > COLLINEAR * self._variance

    def gains(self) -> np.ndarray:
        """Return by how much each feature would increase R²; 0 for features that are not usable."""
        gains = np.zeros(len(self._unexplained))
        usable = self.usable()
        if self._target_variance > 0:
            explained = np.einsum("ij,ij->i", self._cross[usable], self._cross[usable])
            gains[usable] = explained / (self._unexplained[usable] * self._target_variance)
        return gains

    def add(self, feature: int) -> None:
        """Add a usable feature to the model."""
        k = len(self.selected)
        if k == len(self._factor):
            self._factor = np.concatenate([self._factor, np.empty_like(self._factor)])
            self._loadings = np.concatenate([self._loadings, np.empty_like(self._loadings)])
        norm = np.sqrt(self._unexplained[feature])
        line = (self.moments.covariance(feature) - self._factor[:k, feature] @ self._factor[:k]) / norm
        loading = self._cross[feature] / norm
        self._factor[k], self._loadings[k] = line, loading
        self._unexplained -= line * line
        self._unexplained[feature] = 0.0
        self._cross -= np.outer(line, loading)
        self._explained += loading @ loading
        self.selected.append(feature)

    def add_if_usable(self, feature: int) -> bool:
        """Add a feature to the model if it is usable, and return whether it was added."""
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
        """Return the leverage x' (Σ w x x')^-1 x of each row, where x contains 1 if there is an intercept.

        Parameters
        ----------
        values : ndarray of shape (n, n_selected)
            The selected features of the rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        centred = values - self.moments.mean[self.selected]
        whitened = solve_triangular(self._cholesky(), centred.T, lower=True)
        return np.einsum("ij,ij->j", whitened, whitened) + self.moments.centring

    def unexplained_covariances(self, features: np.ndarray) -> np.ndarray:
        """Return the covariance matrix of those parts of some features that the model does not explain."""
        explained = self._factor[: len(self.selected), features]
        return self.moments.covariances()[np.ix_(features, features)] - explained.T @ explained

    def _cholesky(self) -> np.ndarray:
        return np.tril(self._factor[: len(self.selected), self.selected].T)
