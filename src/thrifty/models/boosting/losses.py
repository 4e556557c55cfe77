"""What boosting descends on: losses of raw scores, with their first and second derivatives.

A loss knows its targets and weights. `derivatives` is called once a round with the scores (n, n_scores) of all rows
and returns gradients and curvatures of the same shape, each times the row's weight; `value` is the mean loss of some
rows. Rows that are only looked on (out of the bag, held out) are rows like any other here.
"""

from typing import ClassVar

import numpy as np
from scipy.special import expit, logsumexp, softmax

from thrifty.kernels.lambdarank import lambda_gradients
from thrifty.metrics import ndcg_at_k


class Loss:
    """A loss of raw scores; `constant_curvature` says that the second derivative is the weight itself."""

    constant_curvature: ClassVar[bool] = False

    def __init__(self, targets: np.ndarray, weight: np.ndarray):
        self.targets, self.weight = targets, weight

    def base(self, rows: slice) -> np.ndarray:
        """Return the best constant scores (n_scores,) of some rows."""
        raise NotImplementedError

    def scale(self, rows: slice) -> float:
        """Return what a fall of the loss by one is worth, for a cost weight to mean the same on all data."""
        return 1.0

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients and curvatures (n_scores, n) of scores (n_scores, n), times the weights."""
        raise NotImplementedError

    def value(self, scores: np.ndarray, rows: slice) -> float:
        """Return the weighted mean loss of some rows."""
        raise NotImplementedError

    def _mean(self, losses: np.ndarray, rows: slice) -> float:
        return float(np.average(losses, weights=self.weight[rows]))


class SquaredError(Loss):
    """Half the squared error; measured in variances of the targets where it is weighed against costs."""

    constant_curvature = True

    def base(self, rows: slice) -> np.ndarray:
        """Return the mean."""
        return np.array([np.average(self.targets[rows], weights=self.weight[rows])])

    def scale(self, rows: slice) -> float:
        """Return the variance of the targets."""
        return float(np.average((self.targets[rows] - self.base(rows)) ** 2, weights=self.weight[rows]))

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals, turned round."""
        return self.weight * (scores - self.targets), self.weight[None]

    def value(self, scores: np.ndarray, rows: slice) -> float:
        """Return half the mean squared error."""
        return self._mean(0.5 * (scores[0, rows] - self.targets[rows]) ** 2, rows)


class LogLoss(Loss):
    """The negative log-likelihood of two classes, 0 and 1, whose log-odds are the score."""

    def base(self, rows: slice) -> np.ndarray:
        """Return the log-odds of the share of ones."""
        share = np.average(self.targets[rows], weights=self.weight[rows])
        return np.array([np.log(share / (1 - share))])

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p - y and p (1 - p)."""
        share = expit(scores)
        return self.weight * (share - self.targets), self.weight * (share * (1 - share))

    def value(self, scores: np.ndarray, rows: slice) -> float:
        """Return the mean negative log-likelihood."""
        odds = scores[0, rows]
        softplus = np.maximum(odds, 0) + np.log1p(np.exp(-np.abs(odds)))
        return self._mean(softplus - self.targets[rows] * odds, rows)


class SoftmaxLoss(Loss):
    """The negative log-likelihood of several classes; targets are one 0/1 line per class, (n_classes, n)."""

    def base(self, rows: slice) -> np.ndarray:
        """Return the log of each class's share."""
        share = np.average(self.targets[:, rows], axis=1, weights=self.weight[rows])
        return np.log(share) - np.log(share).mean()

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p - y and p (1 - p), the latter times k / (k - 1) for what the classes have in common."""
        share = softmax(scores, axis=0)
        n_classes = len(scores)
        curvature = n_classes / (n_classes - 1) * self.weight * (share * (1 - share))
        return self.weight * (share - self.targets), curvature

    def value(self, scores: np.ndarray, rows: slice) -> float:
        """Return the mean negative log-likelihood."""
        likelihood = (self.targets[:, rows] * scores[:, rows]).sum(axis=0) - logsumexp(scores[:, rows], axis=0)
        return self._mean(-likelihood, rows)


class LambdaRank(Loss):
    """Pairs of documents of a query, each weighed by what swapping them would do to NDCG (Burges, 2010).

    There is no loss of which these are the derivatives; `value` is what NDCG@5 lacks to 1.
    """

    TRUNCATION = 30  # pairs count in which at least one document is ranked this high

    def __init__(self, targets: np.ndarray, weight: np.ndarray, qid: np.ndarray):
        super().__init__(targets, weight)
        self.query = np.unique(qid, return_inverse=True)[1]
        self._order = np.argsort(self.query, kind="stable")
        self._starts = np.append(0, np.cumsum(np.bincount(self.query)))
        self._gain = np.exp2(targets) - 1.0
        longest = int(np.diff(self._starts).max())
        self._discount = 1.0 / np.log2(2.0 + np.arange(longest))

    def base(self, rows: slice) -> np.ndarray:
        """Return zero: only differences within a query matter."""
        return np.zeros(1)

    def derivatives(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums over pairs of the logistic loss's derivatives times the change of NDCG."""
        gradient, curvature = np.zeros((2, scores.shape[1]))
        lambda_gradients(
            scores[0], self._gain, self._order, self._starts, self._discount, self.TRUNCATION, gradient, curvature
        )
        return (self.weight * gradient)[None], (self.weight * curvature)[None]

    def value(self, scores: np.ndarray, rows: slice) -> float:
        """Return 1 - NDCG@5."""
        return 1.0 - float(ndcg_at_k(self.targets[rows], scores[0, rows], qid=self.query[rows], k=5))
