"""Blocks of the rows of an objective, and the sums over rows that it consists of.

The functions here are functions of one block; `thrifty.models.homes` adds what they return over the blocks. So rows,
scores and probabilities stay where the rows live. In each evaluation the parameters go there, and only the value and
sums by node come back.
"""

from dataclasses import dataclass, replace
from typing import Any

from thrifty.arrays import TINY, cast, like, namespace_of, part_of
from thrifty.models.expected_cost.products import column_slopes
from thrifty.models.expected_cost.traversal import SoftRows, SoftTree
from thrifty.models.expected_cost.tree_parameters import Parameters


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """A block of standardised training rows.

    Attributes
    ----------
    X : array of shape (n, d)
        Columns with mean 0 and unit variance.
    targets : array of shape (n, m)
    weight : array of shape (n,)
        Share of each row in the expected cost. The shares of all blocks sum to 1.
    loss_weight : array of shape (n,)
        Weight of each row in the loss: `weight` times the weight of its class.
    keys : ndarray of shape (n,), complex, or None
        Numbers by which the rows of all blocks can be sorted into one canonical order; see `row_sample`.
    """

    X: Any
    targets: Any
    weight: Any
    loss_weight: Any
    keys: Any = None

    def take(self, positions: Any) -> "TrainingRows":
        """Return the rows at some positions."""
        xp, index = namespace_of(self.X), like(positions, self.X)
        names = ("X", "targets", "weight", "loss_weight")
        keys = None if self.keys is None else self.keys[positions]
        return TrainingRows(**{name: xp.take(getattr(self, name), index, axis=0) for name in names}, keys=keys)


def n_rows_of(rows: TrainingRows) -> int:
    """Return the number of rows."""
    return int(rows.X.shape[0])


def with_columns(rows: TrainingRows, positions: Any) -> TrainingRows:
    """Return a block that has only some columns."""
    return replace(rows, X=namespace_of(rows.X).take(rows.X, positions, axis=1))


def rows_at_node(rows: TrainingRows, reach: Any, likely: Any, columns: Any) -> TrainingRows:
    """Return the likely rows of a node with some columns; in the loss they count by their probability to reach it."""
    xp = namespace_of(reach)
    return TrainingRows(
        X=part_of(rows.X, likely, columns),
        targets=xp.take(rows.targets, likely, axis=0),
        weight=xp.take(rows.weight, likely),
        loss_weight=xp.take(rows.loss_weight * reach, likely),
    )


# The passes of an evaluation


def traversed(rows: TrainingRows, tree: SoftTree, parameters: Parameters) -> SoftRows:
    """Send the rows softly down the tree."""
    return tree.descend(rows, parameters)


def masses_at(soft: SoftRows) -> tuple[Any, Any]:
    """Return the masses of nodes and terminal elements."""
    return soft.mass, soft.exit_mass


def masses_of(rows: TrainingRows, tree: SoftTree, parameters: Parameters) -> tuple[Any, Any]:
    """Return the masses of nodes and terminal elements."""
    return masses_at(tree.descend(rows, parameters))


def loss_of(
    rows: TrainingRows, tree: SoftTree, parameters: Parameters, node_price: Any, exit_price: Any
) -> tuple[Any, Any, Any]:
    """Return the expected loss, and the masses of nodes and terminal elements."""
    soft = tree.descend(rows, parameters)
    return tree.ascend(rows, soft, parameters, node_price, exit_price)[0], soft.mass, soft.exit_mass


def passed(
    rows: TrainingRows, tree: SoftTree, parameters: Parameters, node_price: Any, exit_price: Any
) -> tuple[Any, ...]:
    """Return the masses, and what `slopes_of` returns."""
    soft = tree.descend(rows, parameters)
    return soft.mass, soft.exit_mass, *slopes_of(rows, soft, tree, parameters, node_price, exit_price)


def slopes_of(
    rows: TrainingRows, soft: SoftRows, tree: SoftTree, parameters: Parameters, node_price: Any, exit_price: Any
) -> tuple[Any, Any, Any, Any]:
    """Return the expected loss and the derivatives by weights (K * m, d), intercepts (K * m,) and thresholds (K,)."""
    loss, by_score, by_threshold = tree.ascend(rows, soft, parameters, node_price, exit_price)
    return loss, column_slopes(by_score, rows.X), namespace_of(by_score).sum(by_score, axis=0), by_threshold


def reach_at(soft: SoftRows, k: int) -> Any:
    """Return the probability of each row to reach a node."""
    return soft.reach[:, k]


# Scales of the loss


def loss_totals(rows: TrainingRows) -> tuple[Any, Any]:
    """Return the sum of the loss weights, and the weighted sums of the targets."""
    return namespace_of(rows.X).sum(rows.loss_weight), rows.loss_weight @ rows.targets


def target_squares(rows: TrainingRows) -> Any:
    """Return the weighted sum of the squared targets."""
    return rows.loss_weight @ namespace_of(rows.X).sum(rows.targets**2, axis=1)


def slopes_at_zero(rows: TrainingRows, target_mean: Any) -> Any:
    """Return the weighted sums (m, d) of columns times centred targets."""
    return column_slopes(rows.loss_weight[:, None] * (rows.targets - target_mean), rows.X)


# Least squares


def leaf_weight(rows: TrainingRows, soft: SoftRows, k: int) -> Any:
    """Return the total loss weight of a leaf."""
    return namespace_of(rows.X).sum(rows.loss_weight * soft.reach[:, k])


def leaf_means(rows: TrainingRows, soft: SoftRows, k: int, total: Any) -> tuple[Any, Any]:
    """Return the weighted means of the columns and targets at a leaf, given its total weight."""
    weight = rows.loss_weight * soft.reach[:, k]
    share = weight / namespace_of(weight).clip(total, TINY, None)
    return share @ cast(rows.X, weight.dtype), share @ rows.targets


def leaf_products(rows: TrainingRows, soft: SoftRows, k: int, mean: Any, target_mean: Any) -> tuple[Any, Any]:
    """Return the weighted second moments (d, d) of the columns at a leaf, and those with the targets (d, m)."""
    weight = rows.loss_weight * soft.reach[:, k]
    root = namespace_of(weight).sqrt(weight)[:, None]
    centred = root * (cast(rows.X, weight.dtype) - mean)
    return centred.T @ centred, centred.T @ (root * (rows.targets - target_mean))
