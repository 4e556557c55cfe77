"""From training rows to an optimisation problem."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from thrifty.arrays import host_dtype, is_device_array, namespace_of, to_host
from thrifty.costs import CostModel, Ledger
from thrifty.models.expected_cost.design import Design
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.parameter_rules import (
    refuse_huge_tree,
    refuse_solver_of_host,
    refuse_unused_validation,
    refuse_what_needs_all_rows,
    uses_validation_rows,
)
from thrifty.models.expected_cost.standardised import Scales, standardise
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.held_out import given_rows, hold_out
from thrifty.models.homes import Here, Home
from thrifty.models.least_squares.calibration import prior_of
from thrifty.models.least_squares.node_rows import row_block
from thrifty.models.linear_nodes.mapped_features import node_features
from thrifty.models.rows import Rows

FEWEST_POINTS, MOST_POINTS = 8, 12  # cost weights of a default path
USUAL_RATIO = 2.0  # of neighbouring cost weights, as far as the number of points allows
COPIES, COPIES_PER_NODE = 4, 15  # of X, and numbers for each row and node, that a device holds at a time
ROUTING_MARGIN = 2.0  # a route can gain from columns whose slope at zero is small


@dataclass(frozen=True, eq=False)
class Problem:
    """An objective, and what is needed to make a tree of its solution.

    Attributes
    ----------
    design : Design
        What is fitted.
    objective : Objective
        What the solver minimises, over the standardised training rows.
    cost_model : CostModel
        Costs of the columns that the nodes weigh: the columns of X, or the outputs of a feature map.
    prices : ndarray
        What each of these columns costs on its own.
    scales : Scales
        How columns and targets were standardised.
    prior : ndarray of shape (m,)
        Scores of a row that cannot afford the root.
    n_rows : float
        Total weight of the training rows.
    held_out : Rows or None
        Validation rows, if they are needed.
    """

    design: Design
    objective: Objective
    cost_model: CostModel
    prices: np.ndarray
    scales: Scales
    prior: np.ndarray
    n_rows: float
    held_out: Rows | None

    def with_topology(self, topology: Topology) -> Self:
        """Return the problem of another tree."""
        return replace(self, objective=self.objective.with_topology(topology))

    def with_cost_weight(self, cost_weight: float) -> Self:
        """Return the problem with another cost weight."""
        return replace(self, objective=replace(self.objective, cost_weight=cost_weight))

    def usual_cost_weights(self) -> list[float]:
        """Return the cost weights of a default path in ascending order; only `cost_weight` if nothing has a price.

        At the largest one usually nothing is bought. At the smallest one the penalty of the most expensive column is
        the slope of the loss, 2 / sqrt(n) for squared loss, that a column without any relation to the target has by
        chance: columns that are not bought there do not improve the model.
        """
        if not self.prices.any():
            return [self.objective.cost_weight]
        by_chance = self.objective.slope_scale / np.sqrt(self.n_rows)
        smallest = by_chance / self.prices.max()
        largest = max(self.objective.largest_cost_weight(), USUAL_RATIO * smallest)
        if self.objective.topology.n_nodes > 1:
            largest *= ROUTING_MARGIN
        n_points = 1 + int(np.ceil(np.log(largest / smallest) / np.log(USUAL_RATIO)))
        return np.geomspace(smallest, largest, int(np.clip(n_points, FEWEST_POINTS, MOST_POINTS))).tolist()

    def buys(self, parameters: Parameters) -> bool:
        """Tell whether some node weighs a column that has a price."""
        used = to_host(namespace_of(parameters.weights).any(parameters.squares() > 0, axis=0))
        return bool(used[self._priced].any())

    def without_purchases(self, parameters: Parameters) -> Parameters:
        """Return the parameters with zero weights of all columns that have a price.

        If no column is left, all nodes have the scores at which a constant has the least loss.
        """
        objective, before = self.objective, parameters.on_host()
        changed = replace(before, weights=np.where(self._priced, 0.0, before.weights))
        if not changed.weights.any():
            weight, targets = map(to_host, objective.loss_totals)
            constant = self.prior if objective.logistic else targets / weight
            changed = replace(changed, intercepts=np.tile(constant, (len(before.weights), 1)))
        return changed.placed(objective.place)

    @property
    def _priced(self) -> np.ndarray:
        """Mark the standardised columns that have a price."""
        return self.prices[self.scales.columns] > 0


def pose(estimator: Any, rows: Home[Rows], validation: Any) -> Problem:
    """Return the problem that an estimator solves for training rows.

    Parameters
    ----------
    estimator : ExpectedCostEstimator
        Its classes and its feature map are set.
    rows : Home of Rows
        Where the training rows live.
    validation : tuple or None
        Validation rows as passed to ``fit``. They are refused if the estimator does not need any. None holds out a
        share of the training rows if it does.

    Returns
    -------
    Problem
    """
    refuse_unused_validation(estimator, validation)
    if not isinstance(rows, Here):
        refuse_what_needs_all_rows(estimator, validation)
    encoder, held_out = estimator._encoder(rows), None
    if uses_validation_rows(estimator):
        rows, held_out = _held_out(estimator, rows) if validation is None else (rows, given_rows(estimator, validation))
        held_out = replace(held_out, X=to_host(held_out.X))
    located, cost_model = node_features(estimator, rows)
    blocks = located.map(row_block, encoder, estimator.device, type(estimator).__name__)
    if isinstance(blocks, Here) and is_device_array(blocks.block.X):
        refuse_solver_of_host(estimator)
    refuse_huge_tree(estimator, estimator._n_nodes(), cost_model.n_features, estimator._n_scores())
    design = estimator._design(cost_model)
    prices, classification = Ledger(cost_model).prices, is_classifier(estimator)
    prior = prior_of(design.prior_sums(blocks), classification)
    data = standardise(blocks, prices, _private(cost_model), scale_targets=not classification)
    return Problem(
        design=design,
        objective=design.objective(data, cost_model),
        cost_model=cost_model,
        prices=prices,
        scales=data.scales,
        prior=prior,
        n_rows=float(rows.sum(_weight_of)),
        held_out=held_out,
    )


def _held_out(estimator: Any, rows: Home[Rows]) -> tuple[Home[Rows], Rows]:
    """Return the rows to fit and the rows that are held out; refuse to fit if all rows of a class are held out."""
    kept, held_out = hold_out(estimator, rows.block)
    if is_classifier(estimator) and (missing := np.setdiff1d(estimator.classes_, kept.y).tolist()):
        raise ValueError(
            f"{type(estimator).__name__}: all rows of class {missing[0]!r} are held out for validation. "
            "Pass validation=(X, y, qid), or another random_state."
        )
    return Here(kept), held_out


def _weight_of(rows: Rows) -> float:
    return rows.weight.sum()


def bytes_of_fit(estimator: Any, rows: Rows) -> int:
    """Return about how many bytes of a device a fit needs: some copies of X, and numbers for each row and node."""
    n_rows, n_columns = rows.X.shape
    n_scores = len(getattr(estimator, "classes_", ())) if is_classifier(estimator) else 1
    n_numbers = COPIES_PER_NODE * estimator._n_nodes() * (n_scores if n_scores > 2 else 1)
    return n_rows * (COPIES * n_columns * host_dtype(rows.X).itemsize + 8 * n_numbers)


def _private(cost_model: CostModel) -> np.ndarray:
    """Mark the columns that share no unit with other columns."""
    requirement = cost_model.sparse_requirement
    shared = requirement.sum(axis=0) > 1
    return np.logical_not(requirement @ shared)
