"""Order of the nodes of a tree in a plot, from top to bottom: upper child above its parent, lower child below."""

from typing import Any


def children(tree: Any, node: int) -> tuple[int, ...]:
    """Return the children of a node, upper child first; one child if all rows go to the same child."""
    return tuple(dict.fromkeys(int(child) for child in (tree.upper[node], tree.lower[node]) if child >= 0))


def top_to_bottom(tree: Any) -> list[int]:
    """Return all nodes from top to bottom; each node is between its upper and its lower subtree."""
    subtrees: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    for k in reversed(range(tree.n_nodes)):  # children have larger numbers than their parents
        upper, lower = int(tree.upper[k]), int(tree.lower[k])
        above = subtrees[upper] if upper >= 0 else []
        below = subtrees[lower] if lower >= 0 and lower != upper else []
        subtrees[k] = [*above, k, *below]
    return subtrees[0]
