"""Lasso whose penalty is weighted by the costs of the features.

On columns of unit variance, and targets whose variances sum to 1, it minimises

    mean over rows of |y - W x|² / 2  +  cost_weight * sum over features j of cost_j * |w_j|

where x are the features of a row, y its targets, cost_j is the price of feature j alone, and w_j is the column of W
with the weights of feature j. |w_j| is the Euclidean norm, so that several targets (one per class) share one selection.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import lasso_path

from thrifty.costs import CostModel, Ledger
from thrifty.models.least_squares.moments import FilledRows, Moments
from thrifty.models.least_squares.node_rows import PerColumn

SMALLEST_PRICE = 1e-3  # a free feature is penalised too, as if it cost this share of the mean price
SMALLEST_PENALTY = 1e-10  # as a share of the one that selects nothing; a smaller one selects the same features
GRID_POINTS = 50  # cost weights from the one that selects nothing down to the smallest one wanted


class WeightedLasso:
    """The lasso with the penalty of each weight multiplied by the price of its feature.

    It is an ordinary lasso on columns that are divided by their prices, in units of the mean price. Its penalty is the
    cost weight times the mean price.

    Parameters
    ----------
    data : FilledRows
        The training rows.
    cost_model : CostModel
        What the features cost.
    """

    def __init__(self, data: FilledRows, cost_model: CostModel):
        self.data = data
        self.moments = Moments(data)
        prices = _penalty_prices(cost_model)
        self.mean_price = float(prices.mean())
        deviation = np.sqrt(self.moments.variances() / self.moments.weight)
        relative = deviation * (prices / self.mean_price)
        scale = np.divide(1.0, relative, out=np.zeros_like(prices), where=deviation > 0)
        variance = self.moments.target_variances().sum() / self.moments.weight
        target_scale = np.full(data.origin.targets.shape, 1.0 / np.sqrt(variance if variance > 0 else 1.0))
        columns, self.targets = self.moments.equivalent_rows(PerColumn(scale, target_scale))
        self.columns = np.asfortranarray(columns)
        correlations = np.linalg.norm(self.columns.T @ self.targets, axis=1) / len(self.targets)
        self.largest_penalty = float(correlations.max())  # the smallest penalty that selects no feature

    @property
    def usual_cost_weights(self) -> np.ndarray:
        """A hundred cost weights, from the largest useful one down to a thousandth of it."""
        return self.largest_penalty * np.geomspace(1.0, 1e-3, 100) / self.mean_price

    def supports(self, cost_weights: Sequence[float]) -> list[np.ndarray]:
        """Return the features selected at each cost weight, in the order in which they entered.

        Parameters
        ----------
        cost_weights : sequence of float
            In descending order. A cost weight of 0 selects every feature.

        Returns
        -------
        list of ndarray of int
        """
        if self.largest_penalty == 0:  # constant targets, or constant columns
            return [np.arange(0)] * len(cost_weights)
        penalties = np.maximum(np.array(cost_weights) * self.mean_price, SMALLEST_PENALTY * self.largest_penalty)
        penalties[np.array(cost_weights) == 0] = 0.0
        coefficients, grid = self._solution_path(penalties)
        active = (coefficients != 0).any(axis=0)  # (n_features, n_grid)
        entry = np.where(active.any(axis=1), active.argmax(axis=1), active.shape[1])
        order = np.argsort(entry, kind="stable")
        return [order if each == 0 else order[active[order, np.searchsorted(-grid, -each)]] for each in penalties]

    def _solution_path(self, penalties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (n_targets, n_features, n_grid) on a descending grid that contains the penalties."""
        largest, positive = self.largest_penalty, penalties[penalties > 0]
        smallest = positive.min() if positive.size else largest / 1e3
        descent = np.geomspace(max(largest, smallest), smallest, GRID_POINTS)
        grid = np.unique([*descent, *positive])[::-1]
        targets = self.targets if self.targets.shape[1] > 1 else self.targets[:, 0]
        _, coefficients, _ = lasso_path(self.columns, targets, alphas=grid, max_iter=20_000)
        return coefficients.reshape(self.targets.shape[1], -1, len(grid)), grid


def _penalty_prices(cost_model: CostModel) -> np.ndarray:
    """Return what each feature costs alone, at least a small share of the mean; ones if everything is free."""
    prices = Ledger(cost_model).prices
    return np.maximum(prices, SMALLEST_PRICE * prices.mean()) if prices.any() else np.ones_like(prices)
