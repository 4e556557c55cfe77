"""Pixels that each node of a tree buys, and the vertical positions of the nodes in a plot."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.plots.fitted import purchases_of
from thrifty.plots.tree_order import children, top_to_bottom

NOT_ACQUIRED, HELD, BOUGHT = range(3)
MAX_ROWS_NAMED = 2  # a caption names up to this many exiting rows, and counts more than that


@dataclass(frozen=True, eq=False)
class NodePixels:
    """Pixels that one node buys, and the position of the node in the plot.

    Attributes
    ----------
    node : int
        Number of the node.
    parent : int
        Number of the parent; -1 for the root.
    depth : int
        Depth of the node; 0 for the root.
    slot : float
        Vertical position, counted in images from the top. A node with children has the mean position of its children.
    pixels : ndarray of shape (d,)
        State of each feature: NOT_ACQUIRED, HELD (an ancestor bought it) or BOUGHT (this node buys it).
    exits : tuple of int
        Indices of the rows that exit at this node.
    """

    node: int
    parent: int
    depth: int
    slot: float
    pixels: NDArray[np.int8]
    exits: tuple[int, ...]

    @property
    def caption(self) -> str:
        """Text with the number of bought and held pixels and the rows that exit."""
        held, bought = (int((self.pixels == state).sum()) for state in (HELD, BOUGHT))
        parts = [f"buys {bought or 'nothing'}", f"holds {held}" if held else "", _exits_text(self.exits)]
        return ", ".join(filter(None, parts))


def node_pixels(estimator: Any, X: Any = None, *, learned: bool = False) -> list[NodePixels]:
    """Find the pixels that each node of a fitted tree buys.

    Parameters
    ----------
    estimator : fitted tree estimator
        Object with ``tree_``, ``node_purchases`` and ``acquire``.
    X : array-like of shape (n, d), default=None
        Return only the nodes that a row of X reaches. None returns all nodes.
    learned : bool, default=False
        Whether nodes buy the pixels that they weigh as learned, before fine-tuning.

    Returns
    -------
    list of NodePixels
        In node order.
    """
    purchases, tree = purchases_of(estimator, learned), estimator.tree_
    exits = np.empty(0, dtype=int) if X is None else estimator.acquire(X).exit
    shown = np.ones(tree.n_nodes, dtype=bool) if X is None else _visited(tree, exits)
    slots = _slots(tree, shown)
    held = np.zeros_like(purchases)
    for k in range(1, tree.n_nodes):
        held[k] = held[tree.parent[k]] | purchases[tree.parent[k]]
    return [
        NodePixels(
            node=k,
            parent=int(tree.parent[k]),
            depth=int(tree.depth[k]),
            slot=float(slots[k]),
            pixels=np.select([purchases[k], held[k]], [BOUGHT, HELD], NOT_ACQUIRED).astype(np.int8),
            exits=tuple(np.flatnonzero(exits == k).tolist()),
        )
        for k in np.flatnonzero(shown).tolist()
    ]


def _exits_text(rows: tuple[int, ...]) -> str:
    if len(rows) > MAX_ROWS_NAMED:
        return f"{len(rows):,} rows exit"
    named = " and ".join(map(str, rows))
    return f"row{'s' if len(rows) > 1 else ''} {named} exit{'s' if len(rows) == 1 else ''}" if rows else ""


def _visited(tree: Any, exits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the nodes that at least one row reaches, given the exit node of each row."""
    visited = np.zeros(tree.n_nodes, dtype=bool)
    visited[exits] = True
    for k in range(tree.n_nodes - 1, 0, -1):  # children have larger numbers than their parents
        visited[tree.parent[k]] |= visited[k]
    return visited


def _slots(tree: Any, shown: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the vertical position of each node, counted from the top.

    Nodes without shown children have the positions 0, 1, 2, ...; other nodes have the mean position of their children.
    """
    shown_children = [[child for child in children(tree, k) if shown[child]] for k in range(tree.n_nodes)]
    leaves = [k for k in top_to_bottom(tree) if shown[k] and not shown_children[k]]
    slots = np.zeros(tree.n_nodes)
    slots[leaves] = np.arange(len(leaves))
    for k in range(tree.n_nodes - 1, -1, -1):
        if shown_children[k]:
            slots[k] = slots[shown_children[k]].mean()
    return slots
