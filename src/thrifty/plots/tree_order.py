"""The nodes of a tree as a picture shows them: from top to bottom, upper children above, lower children below."""

from typing import Any


def children(tree: Any, node: int) -> tuple[int, ...]:
    """The node's children, the upper one first; those of a pass-through node are one."""
    return tuple(dict.fromkeys(int(child) for child in (tree.upper[node], tree.lower[node]) if child >= 0))


def top_to_bottom(tree: Any) -> list[int]:
    """All nodes, each between what lies above it and what lies below it."""
    subtrees: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    for k in reversed(range(tree.n_nodes)):  # children have larger numbers than their parents
        upper, lower = int(tree.upper[k]), int(tree.lower[k])
        above = subtrees[upper] if upper >= 0 else []
        below = subtrees[lower] if lower >= 0 and lower != upper else []
        subtrees[k] = [*above, k, *below]
    return subtrees[0]
