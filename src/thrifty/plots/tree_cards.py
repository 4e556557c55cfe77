"""Content of the cards in the plot of a tree: purchases, costs, numbers of rows, mean labels and routes.

This module computes texts and numbers. It does not draw.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.plots.fitted import tree_of
from thrifty.plots.tree_labels import Labels, labels_of
from thrifty.plots.tree_order import children


@dataclass(frozen=True)
class NodeCard:
    """Content of the card of one node.

    Attributes
    ----------
    node : int
        Number of the node.
    parent : int
        Number of the parent; -1 for the root.
    children : tuple of int
        Numbers of the children, upper child first.
    buys : tuple of str
        Names of the first features that the node buys.
    more : int
        Number of further features that the node buys.
    cost : str
        Text with the cost of the node and the cost of the path from the root.
    rows : str
        Text with the number of rows that reach the node and exit there, and their mean label.
    route : str
        Text with the condition on which rows go to which child.
    n_rows : int
        Number of rows that reach the node.
    n_exits : int
        Number of rows that exit at the node.
    label : tuple of float
        Mean label of the rows that reach the node. Regression: the mean of y. Two classes: the share of the second
        class. More classes: the share of each class. Empty if no row reaches the node or y is unknown.
    """

    node: int
    parent: int
    children: tuple[int, ...]
    buys: tuple[str, ...]
    more: int
    cost: str
    rows: str
    route: str
    n_rows: int
    n_exits: int
    label: tuple[float, ...]


@dataclass(frozen=True)
class TreeCards:
    """Cards of all nodes in node order, the labels, and a summary of the whole tree."""

    cards: tuple[NodeCard, ...]
    labels: Labels
    summary: str


def tree_cards(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    max_features: int = 4,
) -> TreeCards:
    """Send the rows of X through a fitted tree and collect the content of each node's card.

    Parameters
    ----------
    estimator : fitted tree estimator, TableModel or BudgetSearchCV
        A tree, a table model around one, or a search that has chosen one.
    X : array-like of shape (n, d)
        Rows to send through the tree.
    y : array-like of shape (n,), default=None
        Labels of the rows.
    feature_names : sequence of str, default=None
        Names of the columns. None takes the names that the estimator or its cost model has, else "x0", "x1", ...
    max_features : int, default=4
        Number of features that a card names. It counts the others.

    Returns
    -------
    TreeCards
        Cards, labels and summary.
    """
    model, tree, purchases = tree_of(estimator)
    exits = np.asarray(model.acquire(X).exit)
    n_rows, unit = len(exits), model.cost_model_.unit
    labels, names = labels_of(model, y, n_rows), _feature_names(model, feature_names)
    ending = _sum_by_exit(tree, exits, np.column_stack([np.ones(n_rows), labels.targets(n_rows)]))
    passing = _add_descendants(tree, ending)

    def card(k: int) -> NodeCard:
        count, n_exits, bought = int(passing[k, 0]), int(ending[k, 0]), np.flatnonzero(purchases[k])
        mean = tuple((passing[k, 1:] / count).tolist()) if count else ()
        counts = _count_text(count, n_exits, is_leaf=not children(tree, k))
        return NodeCard(
            node=k,
            parent=int(tree.parent[k]),
            children=children(tree, k),
            buys=tuple(names[j] for j in bought[:max_features]),
            more=max(0, len(bought) - max_features),
            cost=_cost_text(tree.step_cost[k], tree.path_cost[k], unit),
            rows=" · ".join(filter(None, (counts, labels.describe(mean)))),
            route=_route_text(tree.upper[k], tree.lower[k], tree.threshold[k]),
            n_rows=count,
            n_exits=n_exits,
            label=mean,
        )

    spend = ending[:, 0] @ tree.path_cost / n_rows
    summary = f"{_rows_text(n_rows)} · mean spend {_amount_text(spend, unit)} per row"
    return TreeCards(tuple(map(card, range(tree.n_nodes))), labels, summary)


def _feature_names(estimator: Any, given: Sequence[str] | None) -> list[str]:
    n_features = estimator.cost_model_.n_features
    if given is None:
        given = getattr(estimator, "feature_names_in_", None)
    if given is None:
        given = estimator.cost_model_.names or [f"x{j}" for j in range(n_features)]
    if len(given) != n_features:
        raise ValueError(
            f"feature_names has {len(given)} entries but the tree has {n_features} features; pass one name per column."
        )
    return [" ".join(str(name).split()) for name in given]


def _sum_by_exit(tree: Any, exits: NDArray, values: NDArray) -> NDArray:
    """Sum the values of the rows that exit at each node. Rows with an exit of -1 do not reach the root."""
    sums = np.zeros((tree.n_nodes, values.shape[1]))
    at_node = exits >= 0
    np.add.at(sums, exits[at_node], values[at_node])
    return sums


def _add_descendants(tree: Any, ending: NDArray) -> NDArray:
    """Add the sums of all descendants to the sum of each node."""
    passing = ending.copy()
    for k in range(tree.n_nodes - 1, 0, -1):  # children have larger numbers than their parents
        passing[tree.parent[k]] += passing[k]
    return passing


def _cost_text(step: float, path: float, unit: str) -> str:
    prefix = "" if unit else "cost "
    if np.isclose(step, path):  # equal costs that are summed in different orders can differ by rounding
        return prefix + _amount_text(path, unit)
    if step == 0:
        return f"{prefix}{_amount_text(path, unit)} so far"
    return f"{prefix}{_amount_text(step, unit)} · {_amount_text(path)} so far"


def _count_text(n_rows: int, n_exits: int, *, is_leaf: bool) -> str:
    if is_leaf and n_rows:
        return _rows_text(n_rows) + (" exits" if n_rows == 1 else " exit")
    return f"{_rows_text(n_rows)}, {n_exits:,} exit" if n_exits else _rows_text(n_rows)


def _route_text(upper: int, lower: int, threshold: float) -> str:
    if upper == lower:
        return "all go on" if upper >= 0 else ""
    bound = f"{threshold:.3g}".replace("-", "\N{MINUS SIGN}")
    if lower < 0:
        return f"on if projection > {bound}, else exit"
    if upper < 0:
        return f"on if projection ≤ {bound}, else exit"
    return f"up if projection > {bound}"


def _rows_text(n_rows: int) -> str:
    return {0: "no rows", 1: "1 row"}.get(n_rows, f"{n_rows:,} rows")


def _amount_text(value: float, unit: str = "") -> str:
    number = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    return f"{number} {unit}".rstrip()
