"""Losses of raw scores, with their gradients and Hessians (first and second derivatives).

A loss holds the targets and weights of all rows. Scores have shape (n_scores, n). Gradients and Hessians have the same
shape and are multiplied by the weights of the rows. Rows that a tree is not grown on (rows left out of a subsample,
held-out rows) are treated like all others.

Base scores, scales and values are ratios of sums over rows. So rows may be divided into blocks, each with a loss of its
own, and the sums of the blocks are added.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp, softmax

from thrifty.kernels.lambdarank import lambda_gradients
from thrifty.kernels.log_loss import log_loss_derivatives, sum_of_log_losses
from thrifty.kernels.threads import over_rows
from thrifty.metrics import ndcg_at_k

Rows = slice | np.ndarray  # which rows of a loss, as an index of arrays


class Loss:
    """Base of the losses.

    Parameters
    ----------
    targets : ndarray of shape (n,) or (n_scores, n)
    weight : ndarray of shape (n,)

    Attributes
    ----------
    constant_hessian : bool
        Whether the Hessian of a row is its weight, for all scores.
    """

    constant_hessian: ClassVar[bool] = False

    def __init__(self, targets: np.ndarray, weight: np.ndarray):
        self.targets, self.weight = targets, weight

    @classmethod
    def joined(cls, losses: Sequence["Loss"]) -> "Loss":
        """Return the loss of the rows of several blocks."""
        return cls(
            np.concatenate([each.targets for each in losses], axis=-1), np.concatenate([each.weight for each in losses])
        )

    def base(self, rows: Rows) -> np.ndarray:
        """Return the constant scores (n_scores,) with the smallest loss on some rows."""
        return self.base_of(*self.target_sums(rows))

    @staticmethod
    def base_of(targets: np.ndarray, weight: float) -> np.ndarray:
        """Return the constant scores with the smallest loss, given the sums of `target_sums`."""
        raise NotImplementedError

    def target_sums(self, rows: Rows) -> tuple[np.ndarray, float]:
        """Return the weighted sums (n_scores,) of the targets of some rows, and the sum of the weights."""
        weight = self.weight[rows]
        return np.multiply(np.atleast_2d(self.targets[..., rows]), weight).sum(axis=1), weight.sum()

    def scale(self, rows: Rows) -> float:
        """Return the unit of the loss in which cost weights are given."""
        return ratio(*self.scale_sums(rows, self.base(rows)))

    def scale_sums(self, rows: Rows, base: np.ndarray) -> tuple[float, float]:
        """Return two sums over rows, given the base scores of all rows; the unit of the loss is their ratio."""
        return 1.0, 1.0

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients and Hessians (n_scores, n), multiplied by the weights."""
        raise NotImplementedError

    def value(self, scores: np.ndarray, rows: Rows) -> float:
        """Return the weighted mean loss of some rows."""
        return ratio(*self.value_sums(scores, rows))

    def value_sums(self, scores: np.ndarray, rows: Rows) -> tuple[float, float]:
        """Return the weighted sum of the losses of some rows, and the sum of the weights."""
        raise NotImplementedError

    def _weighted(self, losses: np.ndarray, rows: Rows) -> tuple[float, float]:
        weight = self.weight[rows]
        return np.multiply(losses, weight).sum(), weight.sum()


def ratio(total: float, weight: float) -> float:
    """Return a mean, given a sum over rows and the sum of their weights."""
    return float(total / weight)


class SquaredError(Loss):
    """Half the squared error, (score - target)^2 / 2. Cost weights are in units of the variance of the targets."""

    constant_hessian = True

    @staticmethod
    def base_of(targets: np.ndarray, weight: float) -> np.ndarray:
        """Return the weighted mean of the targets."""
        return targets / weight

    def scale_sums(self, rows: Rows, base: np.ndarray) -> tuple[float, float]:
        """Return the weighted sum of squared deviations from the mean, and the sum of the weights."""
        return self._weighted((self.targets[rows] - base) ** 2, rows)

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return score - target, and 1."""
        return self.weight * (scores - self.targets), self.weight[None]

    def value_sums(self, scores: np.ndarray, rows: Rows) -> tuple[float, float]:
        """Return half the sum of squared errors, and the sum of the weights."""
        return self._weighted(0.5 * (scores[0, rows] - self.targets[rows]) ** 2, rows)


class LogLoss(Loss):
    """Negative log-likelihood of two classes, with targets 0 and 1. The score is the log-odds of class 1."""

    @staticmethod
    def base_of(targets: np.ndarray, weight: float) -> np.ndarray:
        """Return the log-odds of the share of class 1."""
        share = targets / weight
        return np.log(share / (1 - share))

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p - y and p (1 - p), where p is the probability of class 1."""
        gradient, hessian = np.empty((2, *scores.shape))
        rows = scores[0], self.targets, self.weight
        over_rows(
            lambda first, last: log_loss_derivatives(*rows, first, last, gradient[0], hessian[0]), len(self.weight)
        )
        return gradient, hessian

    def value_sums(self, scores: np.ndarray, rows: Rows) -> tuple[float, float]:
        """Return the weighted sum of negative log-likelihoods, and the sum of the weights."""
        return sum_of_log_losses(scores[0, rows], self.targets[rows], self.weight[rows])


class SoftmaxLoss(Loss):
    """Negative log-likelihood of several classes. The targets (n_classes, n) are one-hot, one row per class."""

    @staticmethod
    def base_of(targets: np.ndarray, weight: float) -> np.ndarray:
        """Return the logarithm of the share of each class, with a mean of 0."""
        share = targets / weight
        return np.log(share) - np.log(share).mean()

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p - y and k / (k - 1) * p (1 - p), where p are the probabilities of the k classes.

        The factor k / (k - 1) accounts for the fact that a constant added to the scores of all classes changes
        nothing, so that k scores have only k - 1 degrees of freedom.
        """
        probability = softmax(scores, axis=0)
        n_classes = len(scores)
        hessian = n_classes / (n_classes - 1) * self.weight * (probability * (1 - probability))
        return self.weight * (probability - self.targets), hessian

    def value_sums(self, scores: np.ndarray, rows: Rows) -> tuple[float, float]:
        """Return the weighted sum of negative log-likelihoods, and the sum of the weights."""
        log_likelihood = (self.targets[:, rows] * scores[:, rows]).sum(axis=0) - logsumexp(scores[:, rows], axis=0)
        return self._weighted(-log_likelihood, rows)


class LambdaRank(Loss):
    """LambdaRank: pairs of documents of a query, weighted by how much swapping them changes NDCG.

    For documents i, j of a query, i more relevant than j, with scores s_i, s_j:

        lambda_ij = |change of NDCG if i and j swap ranks| / (1 + exp(s_i - s_j))

    The gradient of a document is the sum of -lambda_ij over the pairs in which it is document i, and of +lambda_ij
    over those in which it is j. `thrifty.kernels.lambdarank` gives the Hessian and the normalisations. No function has
    these derivatives, so `value` returns 1 - NDCG@5 instead. It compares rows, so it cannot be computed block by block.

    Parameters
    ----------
    targets : ndarray of shape (n,)
        Relevance labels. A document of label l has the gain 2^l - 1.
    weight : ndarray of shape (n,)
    qid : ndarray of shape (n,)
        The query of each row.

    References
    ----------
    C. J. C. Burges. From RankNet to LambdaRank to LambdaMART: an overview. Microsoft Research, 2010.
    """

    TRUNCATION = 30  # only pairs with a document among the first TRUNCATION ranks count

    def __init__(self, targets: np.ndarray, weight: np.ndarray, qid: np.ndarray):
        super().__init__(targets, weight)
        self.query = np.unique(qid, return_inverse=True)[1]
        self._order = np.argsort(self.query, kind="stable")
        self._starts = np.append(0, np.cumsum(np.bincount(self.query)))
        self._gain = np.exp2(targets) - 1.0
        longest = int(np.diff(self._starts).max())
        self._discount = 1.0 / np.log2(2.0 + np.arange(longest))

    @staticmethod
    def base_of(targets: np.ndarray, weight: float) -> np.ndarray:
        """Return 0, because only differences within a query matter."""
        return np.zeros(1)

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums over pairs of the lambdas and of their derivatives."""
        gradient, hessian = np.zeros((2, scores.shape[1]))
        lambda_gradients(
            scores[0], self._gain, self._order, self._starts, self._discount, self.TRUNCATION, gradient, hessian
        )
        return (self.weight * gradient)[None], (self.weight * hessian)[None]

    def value_sums(self, scores: np.ndarray, rows: Rows) -> tuple[float, float]:
        """Return 1 - NDCG@5, and 1."""
        return 1.0 - float(ndcg_at_k(self.targets[rows], scores[0, rows], qid=self.query[rows], k=5)), 1.0
