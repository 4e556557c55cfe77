"""The curve of loss against spend: one operating point for every cost weight, measured on rows that were not fitted.

For a budget, the point is chosen by an upper confidence bound on the mean spend of a future batch of rows. With the
mean m and the variance v of the spends of n training rows, a batch of n / BATCH_SHARE rows has a mean of at most

    m  +  z * sqrt(v / n + BATCH_SHARE * v / n)        with probability `confidence`,

where z is the quantile of the normal distribution. If the mean spends of the folds differ more than their rows explain,
v / n is replaced by the variance of these means, divided by the number of folds. If the final model, which is fitted on
all rows, spends more on training rows than the models of the folds, its mean takes the place of m.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import norm

from thrifty.models.adaptive.policy import position_among
from thrifty.models.adaptive.stopping import Stopped
from thrifty.models.soundness import require
from thrifty.stored import Array, stored

POINTS_PER_INTERVAL = 8  # between two cost weights for which stops were fitted
BATCH_SHARE = 4.0


@stored(
    cost_weight=Array("float64", "n_points", low=0),
    spend=Array("float64", "n_points", low=0, finite=True),
    refit_spend=Array("float64", "n_points", low=0, finite=True),
    spend_error=Array("float64", "n_points", low=0, finite=True),
    loss=Array("float64", "n_points", finite=True),
    loss_error=Array("float64", "n_points", low=0, finite=True),
)
@dataclass(frozen=True, eq=False)
class OperatingCurve:
    """Mean spend and loss of rows that were not fitted, at many cost weights.

    Attributes
    ----------
    cost_weight : ndarray of shape (n_points,)
        In descending order, from infinity (nothing is bought) to 0.
    spend : ndarray of shape (n_points,)
        Mean spend.
    refit_spend : ndarray of shape (n_points,)
        Mean spend of training rows under the final model, which was fitted on all rows.
    spend_error : ndarray of shape (n_points,)
        Standard deviation of the mean spend of a future batch; see the module.
    loss : ndarray of shape (n_points,)
        Mean loss: negative log-likelihood in nats, half the squared error in units of the variance of the targets, or
        the cost of errors.
    loss_error : ndarray of shape (n_points,)
        Standard error of the difference between `loss` and the smallest loss of the curve.
    """

    cost_weight: np.ndarray
    spend: np.ndarray
    refit_spend: np.ndarray
    spend_error: np.ndarray
    loss: np.ndarray
    loss_error: np.ndarray

    def __post_init__(self) -> None:
        require(len(self.cost_weight) > 0, "its curve is empty")
        require(not np.isnan(self.cost_weight).any(), "its curve has no cost weights")

    @classmethod
    def of(
        cls, stopped: Stopped, weight: np.ndarray, fold: np.ndarray, refit: Stopped, refit_weight: np.ndarray
    ) -> "OperatingCurve":
        """Measure the curve on walks whose stops were decided by models of other folds, and on those of the refit."""
        weights = np.concatenate([[np.inf], _between(stopped.cost_weights)])
        positions = [position_among(stopped.cost_weights, each) for each in weights]
        outcomes = [stopped.outcome(*each) for each in positions]
        losses, spends = (np.array(each) for each in zip(*outcomes, strict=True))
        refit_spends = [np.average(refit.outcome(*each)[1], weights=refit_weight) for each in positions]
        mean_loss = np.average(losses, axis=1, weights=weight)
        excess = losses - losses[mean_loss.argmin()]
        return cls(
            weights,
            np.average(spends, axis=1, weights=weight),
            np.array(refit_spends),
            np.array([_batch_deviation(each, weight, fold) for each in spends]),
            mean_loss,
            np.array([_standard_error(each, weight) for each in excess]),
        )

    def spend_at(self, cost_weight: float) -> float:
        """Return the mean spend at a cost weight."""
        return float(np.interp(self._place(cost_weight), np.arange(len(self.spend)), self.spend))

    def bound_at(self, cost_weight: float, confidence: float) -> float:
        """Return the upper confidence bound on the mean spend of a future batch at a cost weight."""
        return float(np.interp(self._place(cost_weight), np.arange(len(self.spend)), self._bounds(confidence)))

    def for_budget(self, budget: float, confidence: float) -> float | None:
        """Return the cost weight with the smallest loss whose bound is within the budget; None if there is none."""
        within = np.flatnonzero(self._bounds(confidence) <= budget)
        return float(self.cost_weight[within[self.loss[within].argmin()]]) if within.size else None

    def economical(self) -> float:
        """Return the largest cost weight whose loss is within a standard error of the smallest loss."""
        good = self.loss <= self.loss.min() + self.loss_error
        return float(self.cost_weight[int(np.argmax(good))])

    def _bounds(self, confidence: float) -> np.ndarray:
        return np.maximum(self.spend, self.refit_spend) + norm.ppf(confidence) * self.spend_error

    def _place(self, cost_weight: float) -> float:
        """Return the place of a cost weight on the curve, in points."""
        if cost_weight > self.cost_weight[1]:
            return 0.0
        column, share = position_among(self.cost_weight[1:], cost_weight)
        return 1.0 + column + min(share, 1.0)


def _between(cost_weights: np.ndarray) -> np.ndarray:
    """Return a finer list of cost weights."""
    finer = []
    for high, low in pairwise(cost_weights.tolist()):
        shares = np.arange(POINTS_PER_INTERVAL) / POINTS_PER_INTERVAL
        finer.append(high * (low / high) ** shares if low > 0 else (1.0 - shares) * high)
    return np.concatenate([*finer, cost_weights[-1:]])


def _standard_error(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the standard error of a weighted mean."""
    mean = np.average(values, weights=weight)
    return float(np.sqrt(np.sum(np.square(weight * (values - mean)))) / weight.sum())


def _batch_deviation(spend: np.ndarray, weight: np.ndarray, fold: np.ndarray) -> float:
    """Return the standard deviation of the mean spend of a future batch around the measured mean."""
    of_rows = _standard_error(spend, weight) ** 2
    folds = [np.average(spend[fold == k], weights=weight[fold == k]) for k in np.unique(fold)]
    of_folds = np.var(folds, ddof=1) / len(folds) if len(folds) > 1 else 0.0
    return float(np.sqrt(max(of_rows, of_folds) + BATCH_SHARE * of_rows))
