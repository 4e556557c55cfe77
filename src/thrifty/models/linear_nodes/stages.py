"""The stages of a tree of linear nodes, for its outline."""

from collections.abc import Callable

import numpy as np

from thrifty.models.linear_nodes.tree import END, ROOT, LinearTree
from thrifty.models.outline import Columns, Stage

MAX_TERMS = 4  # terms of a rule that are shown
ROUNDING = 1e-12  # a threshold below this share of the largest weight is a rounding error


def stages_of(
    tree: LinearTree,
    columns: Columns,
    purchases: np.ndarray,
    label: Callable[[int], str],
    exits: np.ndarray | None,
) -> Stage:
    """Return the first stage of a tree, with all stages after it.

    Parameters
    ----------
    tree : LinearTree
    columns : Columns
        The columns that are bought.
    purchases : ndarray of bool, shape (n_nodes, n_bought)
        The columns that a row buys on arriving at each node.
    label : callable
        Returns the name of a feature that the nodes are linear in, given its position.
    exits : ndarray of int or None
        Where some rows ended, to compute the share of rows at each stage.

    Returns
    -------
    Stage
    """
    if exits is not None and exits.max() >= tree.n_nodes:
        raise ValueError(f"exits holds {exits.max()}, but the tree has nodes 0 to {tree.n_nodes - 1}.")
    return _StageReader(tree, columns, purchases, label, exits).stage(ROOT, "every row")


class _StageReader:
    """Converts nodes of a tree to stages; consecutive nodes with no decision between them become one stage."""

    def __init__(
        self,
        tree: LinearTree,
        columns: Columns,
        purchases: np.ndarray,
        label: Callable[[int], str],
        exits: np.ndarray | None,
    ):
        self.tree, self.columns, self.purchases, self.label, self.exits = tree, columns, purchases, label, exits

    def stage(self, node: int, who: str) -> Stage:
        tree, parent = self.tree, int(self.tree.parent[node])
        share = self._share(node)
        while tree.upper[node] == tree.lower[node] != END:
            node = int(tree.upper[node])
        cost, paid = float(tree.price_between(parent, node)), float(tree.path_cost[node])
        names = self.columns.marked(self._held(node) & ~self._held(parent))
        if tree.upper[node] == tree.lower[node]:
            return Stage(who, names, cost, paid, share)
        children = [self._child(node, int(tree.upper[node]), "yes"), self._child(node, int(tree.lower[node]), "no")]
        return Stage(who, names, cost, paid, share, self._rule(node), children)

    def _child(self, node: int, child: int, answer: str) -> Stage:
        if child != END:
            return self.stage(child, answer)
        share = None if self.exits is None else float(np.mean(self.exits == node))
        return Stage(answer, [], 0.0, float(self.tree.path_cost[node]), share)

    def _held(self, node: int) -> np.ndarray:
        """Mark the columns that a row holds at a node."""
        held = np.zeros(self.purchases.shape[1], dtype=bool)
        while node != END:
            held |= self.purchases[node]
            node = int(self.tree.parent[node])
        return held

    def _share(self, node: int) -> float | None:
        """Return the share of rows that end at a node or below it."""
        if self.exits is None:
            return None
        below = np.zeros(self.tree.n_nodes, dtype=bool)
        below[node] = True
        for k in range(node + 1, self.tree.n_nodes):  # children have larger numbers than their parents
            below[k] = below[self.tree.parent[k]]
        return float(np.mean((self.exits != END) & below[self.exits]))

    def _rule(self, node: int) -> str:
        """Return the inequality that sends a row to the upper child, with the largest weights first."""
        arrays = self.tree.arrays
        path = slice(*arrays.at[node : node + 2].tolist())
        weights, features = arrays.projection[path], arrays.features[path].astype(int)
        largest = np.argsort(-np.abs(weights), kind="stable")[:MAX_TERMS]
        terms = " ".join(f"{weights[k]:+.3g} {self.label(int(features[k]))}" for k in largest if weights[k])
        rest = " ..." if np.count_nonzero(weights) > MAX_TERMS else ""
        bound = arrays.threshold[node] - arrays.projection_intercept[node]
        negligible = abs(bound) <= ROUNDING * np.abs(weights).max(initial=0.0)
        return f"{terms.removeprefix('+')}{rest} > {0.0 if negligible else bound:.3g}"
