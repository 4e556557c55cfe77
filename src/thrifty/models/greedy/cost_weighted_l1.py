"""The single cost-weighted l1 model that the tree papers compare with.

One sparse linear model for all rows: squared loss plus ``cost_weight`` times the sum of cost times |weight|, on
columns and targets of unit variance. Features are weighed by what each costs on its own, and several targets (one
per class) share one selection through the group norm. The weights are then refitted on the support without penalty.

Every row buys the same. The support is held as a chain of nested models in the order in which the penalty let the
features in, so that a capped row is answered by the longest affordable prefix.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.linear_model import lasso_path

from thrifty.costs import CostModel, Ledger
from thrifty.models.greedy.answers import log_odds_answer, plain_answer
from thrifty.models.least_squares.calibration import prior_scores
from thrifty.models.least_squares.forward_fit import ForwardFit
from thrifty.models.least_squares.moments import Moments, TrainingRows
from thrifty.models.linear_nodes.estimator import TreeEstimator
from thrifty.models.linear_nodes.tree import END, LinearNode, LinearTree
from thrifty.models.parameters import ascending_cost_weights
from thrifty.models.tasks import BudgetedClassifier, BudgetedRegressor

# A feature that costs nothing still has to earn its place: it is penalised as if it cost this share of the mean.
SMALLEST_PRICE = 1e-3
LONGEST_CHAIN = 32  # prefixes that can answer a capped row
GRID_POINTS = 50  # steps from the penalty that admits nothing down to the one asked for


class _CostWeightedL1(TreeEstimator):
    """The algorithm, whatever the targets."""

    def __init__(self, *, costs: Any = None, cost_weight: float = 0.01):
        self.costs = costs
        self.cost_weight = cost_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Select features under the penalty and refit on them.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        qid : array-like of shape (n,), optional
            The query of each row. The model is fitted to the relevance labels in y and does not use the queries.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        ascending_cost_weights([self.cost_weight], type(self).__name__)
        problem = self._pose(X, y, sample_weight, qid)
        return self._settle(problem, problem.supports([self.cost_weight])[0])

    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        cost_weights: Iterable[float] | None = None,
        qid: Any = None,
    ) -> list[Self]:
        """Return one fitted model per cost weight, from the one that buys least to the one that buys most.

        All come from a single warm-started solution path. By default a hundred cost weights are taken, from the
        smallest that buys nothing to a thousandth of it; where features differ in price by more than that, pass
        smaller ones.
        """
        template = clone(self)
        problem = template._pose(X, y, sample_weight, qid)
        if cost_weights is None:
            cost_weights = problem.usual_weights
        ordered = ascending_cost_weights(cost_weights, type(self).__name__)[::-1]
        settled: dict[tuple[int, ...], Self] = {}  # neighbours on the path often share their support
        models = []
        for weight, support in zip(ordered, problem.supports(ordered), strict=True):
            known = settled.get(tuple(support))
            model = copy(known) if known else copy(template)._settle(problem, support)
            settled[tuple(support)] = model
            models.append(model.set_params(cost_weight=weight))
        return models

    def usual_cost_weights(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Return the cost weights that ``path`` takes by default for these rows, the largest first."""
        return clone(self)._pose(X, y, sample_weight).usual_weights

    def _pose(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> "_Problem":
        rows = self._validated(X, y, sample_weight, qid)
        targets = self._targets(rows.y)
        prior = prior_scores(targets, rows.weight, is_classifier(self))
        return _Problem(TrainingRows(rows.X, targets, rows.weight), self.cost_model_, prior)

    def _settle(self, problem: "_Problem", support: np.ndarray) -> Self:
        """Refit on the support, given in the order it entered, and keep its prefixes as a chain."""
        fit, answer = ForwardFit(problem.moments), log_odds_answer if is_classifier(self) else plain_answer
        nodes: list[LinearNode] = []
        for group in np.array_split(support, min(max(len(support), 1), LONGEST_CHAIN)):
            buys = [int(feature) for feature in np.sort(group) if fit.admit(int(feature))]
            weights, intercepts = answer(fit)
            onward = len(nodes) + 1
            nodes.append(LinearNode(buys, weights, intercepts, weights[0], upper=onward, lower=onward))
        nodes[-1].upper = nodes[-1].lower = END
        self.support_ = np.array(fit.selected, dtype=int)
        self.tree_ = LinearTree(nodes, problem.prior, self.cost_model_, problem.data.fill)
        return self


class _Problem:
    """A lasso whose columns are divided by their prices, which is the lasso with each weight times its price."""

    def __init__(self, data: TrainingRows, cost_model: CostModel, prior: np.ndarray):
        self.data, self.prior = data, prior
        self.moments = Moments(data, np.arange(len(data.X)), data.count)
        prices = Ledger(cost_model).prices  # of each feature on its own
        prices = np.maximum(prices, SMALLEST_PRICE * prices.mean()) if prices.any() else np.ones_like(prices)
        deviation = np.sqrt(self.moments.variances() / self.moments.weight)
        scale = np.divide(1.0, deviation * prices, out=np.zeros_like(prices), where=deviation > 0)
        row_scale = np.sqrt(data.count / data.count.mean())[:, None]
        self.columns = np.asfortranarray(row_scale * (data.X - data.origin.features) * scale)
        variance = self.moments.target_variances().sum() / self.moments.weight
        self.targets = row_scale * (data.targets - data.origin.targets) / np.sqrt(variance if variance > 0 else 1.0)
        correlations = np.linalg.norm(self.columns.T @ self.targets, axis=1) / len(self.targets)
        self.largest_weight = float(correlations.max())  # the smallest cost weight that admits no feature

    @property
    def usual_weights(self) -> np.ndarray:
        """A hundred, down to a thousandth of the largest."""
        return self.largest_weight * np.geomspace(1.0, 1e-3, 100)

    def supports(self, cost_weights: Sequence[float]) -> list[np.ndarray]:
        """Return the features admitted at each (decreasing) cost weight, in the order they came in."""
        if self.largest_weight == 0:  # constant targets, or constant columns
            return [np.arange(0)] * len(cost_weights)
        coefficients, grid = self._solution_path(cost_weights)
        active = (coefficients != 0).any(axis=0)  # (n_features, n_grid)
        entry = np.where(active.any(axis=1), active.argmax(axis=1), active.shape[1])
        order = np.argsort(entry, kind="stable")
        return [
            order if weight == 0 else order[active[order, np.searchsorted(-grid, -weight)]] for weight in cost_weights
        ]

    def _solution_path(self, cost_weights: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (n_targets, n_features, n_grid) on a decreasing grid that holds the cost weights."""
        smallest = min((w for w in cost_weights if w > 0), default=self.largest_weight / 1e3)
        descent = np.geomspace(max(self.largest_weight, smallest), smallest, GRID_POINTS)
        grid = np.unique([*descent, *(w for w in cost_weights if w > 0)])[::-1]
        targets = self.targets if self.targets.shape[1] > 1 else self.targets[:, 0]
        _, coefficients, _ = lasso_path(self.columns, targets, alphas=grid, max_iter=20_000)
        return coefficients.reshape(self.targets.shape[1], -1, len(grid)), grid


class CostWeightedL1Regressor(_CostWeightedL1, BudgetedRegressor):
    """One sparse linear regression for all rows, dear features penalised in proportion to their cost.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    cost_weight : float, default=0.01
        Penalty per unit of cost, on columns and targets of unit variance.

    Attributes
    ----------
    support_ : ndarray of int
        The features bought, in the order in which they entered the model.
    tree_ : LinearTree
        A chain: its k-th node is the model on the features of the first k steps.

    Examples
    --------
    No dear feature of the quadrants serves all rows, so a single model settles for the two signs at 1 each:

    >>> from thrifty import CostWeightedL1Regressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(500, random_state=0)
    >>> models = CostWeightedL1Regressor(costs=data.costs).path(data.X, data.y)
    >>> [float(models[k].spend(data.X).mean()) for k in (0, -1)]
    [0.0, 2.0]
    """


class CostWeightedL1Classifier(_CostWeightedL1, BudgetedClassifier):
    """One sparse linear classifier for all rows, dear features penalised in proportion to their cost.

    Targets are +-1 for two classes and one-hot for more; the refitted scores are calibrated to log-odds.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    cost_weight : float, default=0.01
        Penalty per unit of cost, on columns and targets of unit variance.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of int
        The features bought, in the order in which they entered the model.
    tree_ : LinearTree
        A chain: its k-th node is the model on the features of the first k steps.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Classifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> model = CostWeightedL1Classifier(costs=heart.costs, cost_weight=0.02).fit(heart.X, heart.y)
    >>> [heart.names[j] for j in model.support_[:2]]
    ['cp', 'sex']
    """
