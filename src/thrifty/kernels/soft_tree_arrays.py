"""Soft traversal of a tree of linear nodes in functions of the array API standard, for rows on a device.

It computes what `soft_tree` computes, where the symbols are explained, but for all rows and all nodes of a level at
once. Arrays are (K, n), one line per node, so that the nodes of a level lie next to each other. Nodes are numbered
level by level here, from left to right:

    level 0      0                  of level 1:  above = [0, 0]  (positions in level 0)
    level 1    1   2                             is_upper = [True, False]
    level 2   3 4 5 6               of level 0:  upper = [0], lower = [1]  (positions in level 1; -1: no child)
"""

from typing import Any, NamedTuple

import numpy as np

from thrifty.arrays import concatenated

UPPER, LOWER = 0, 1


class Level(NamedTuple):
    """The nodes of a level, and how they are linked to the levels before and after; all arrays are (nodes of level, 1).

    Attributes
    ----------
    first, last : int
        The nodes of the level are first..last.
    above : array of int
        Position of the parent in the level before; it has one axis only.
    is_upper : array of bool
        Whether a node is the upper child of its parent.
    upper, lower : array of int
        Position of the children in the next level, 0 if there is none; they have one axis only.
    has_upper, has_lower : array of bool
        Whether there is a child.
    has_children : bool
        Whether any node of the level has a child.
    """

    first: int
    last: int
    above: Any
    is_upper: Any
    upper: Any
    lower: Any
    has_upper: Any
    has_lower: Any
    has_children: bool


class LevelTree(NamedTuple):
    """Shape of a tree on a device.

    Attributes
    ----------
    levels : list of Level
    order : array of int or None
        The number of each node in the order by level; None if nodes are numbered so.
    number : array of int or None
        The inverse of `order`.
    inner : array of bool, shape (K, 1)
        The nodes with a child, by level.
    ends : array of float, shape (K, 2)
        1 for each terminal element, by level.
    ends_inside : bool
        Whether an inner node has a terminal element.
    """

    levels: list[Level]
    order: Any
    number: Any
    inner: Any
    ends: Any
    ends_inside: bool


def level_tree(upper: np.ndarray, lower: np.ndarray, depth: np.ndarray, place: Any) -> LevelTree:
    """Return the shape of a tree, with its arrays where ``place(array)`` puts them."""
    order = np.argsort(depth, kind="stable")
    number = np.argsort(order)
    upper, lower = (np.where(side < 0, -1, number[side])[order] for side in (upper, lower))
    edges = np.searchsorted(depth[order], np.arange(depth.max() + 2))
    parent, is_upper = np.full(len(order), -1), np.zeros(len(order), dtype=bool)
    for side, children in ((True, upper), (False, lower)):
        parent[children[children >= 0]], is_upper[children[children >= 0]] = np.flatnonzero(children >= 0), side
    inner = (upper >= 0) | (lower >= 0)
    ends = np.column_stack([upper < 0, (lower < 0) & inner])
    levels = []
    for level in range(len(edges) - 1):
        first, last = int(edges[level]), int(edges[level + 1])
        here, before = slice(first, last), int(edges[level - 1]) if level else 0
        levels.append(
            Level(
                first,
                last,
                place(np.maximum(parent[here] - before, 0)),
                place(is_upper[here, None]),
                place(np.maximum(upper[here] - last, 0)),
                place(np.maximum(lower[here] - last, 0)),
                place(upper[here, None] >= 0),
                place(lower[here, None] >= 0),
                bool(inner[here].any()),
            )
        )
    in_order = bool((order == np.arange(len(order))).all())
    return LevelTree(
        levels,
        None if in_order else place(order),
        None if in_order else place(number),
        place(inner[:, None]),
        place(ends.astype(float)),
        bool((ends.any(axis=1) & inner).any()),
    )


def descend(
    xp: Any, tree: LevelTree, scores: Any, weight: Any, directions: Any, thresholds: Any, sharpness: float
) -> tuple[Any, Any, Any, Any]:
    """Return sigma (n, K), reach (n, K), mass (K,) and exit_mass (K, 2), given scores (n, K * m)."""
    sigma = sigmoid(xp, sharpness * (_projected(xp, scores, directions) - thresholds[:, None]))
    sigma = _by_level(xp, tree, sigma)
    reach = [xp.ones_like(sigma[:1, :])]
    for before, level in zip(tree.levels, tree.levels[1:], strict=False):
        up = xp.take(sigma[before.first : before.last, :], level.above, axis=0)
        reach.append(xp.take(reach[-1], level.above, axis=0) * xp.where(level.is_upper, up, 1.0 - up))
    reach_of_all = concatenated(xp, reach)
    mass = reach_of_all @ weight
    exit_mass = mass[:, None] * tree.ends
    if tree.ends_inside:
        up_and_down = xp.stack([(reach_of_all * sigma) @ weight, (reach_of_all * (1.0 - sigma)) @ weight], axis=1)
        exit_mass = xp.where(tree.inner, up_and_down * tree.ends, exit_mass)
    by_node = [_by_node(xp, tree, values) for values in (sigma, reach_of_all, mass, exit_mass)]
    return by_node[0].T, by_node[1].T, by_node[2], by_node[3]


def ascend(
    xp: Any,
    tree: LevelTree,
    scores: Any,
    targets: Any,
    weight: Any,
    loss_weight: Any,
    directions: Any,
    sharpness: float,
    sigma: Any,
    reach: Any,
    node_price: Any,
    exit_price: Any,
    logistic: bool,
    by_exit: bool,
) -> tuple[Any, Any, Any]:
    """Return the expected loss, and the derivatives by scores (n, K * m) and by thresholds (K,)."""
    n_nodes, n_scores = directions.shape
    losses, slopes = losses_at(xp, scores.T, targets, n_nodes, logistic)  # (K, n), (K, m, n)
    sigma, reach = _by_level(xp, tree, sigma.T), _by_level(xp, tree, reach.T)
    by_loss = _by_level(xp, tree, losses) * (loss_weight / weight)
    node_price, exit_price = _by_level(xp, tree, node_price)[:, None], _by_level(xp, tree, exit_price)
    steps, below = [], None  # steps: derivative by the share that goes up
    for level in reversed(tree.levels):
        here = slice(level.first, level.last)
        loss, price = by_loss[here, :], node_price[here, :]
        at_exit = loss if by_exit else 0.0 * loss
        leave_up, leave_down = (exit_price[here, side][:, None] + at_exit for side in (UPPER, LOWER))
        if level.has_children:
            up = sigma[here, :]
            above = xp.where(level.has_upper, xp.take(below, level.upper, axis=0), leave_up)
            under = xp.where(level.has_lower, xp.take(below, level.lower, axis=0), leave_down)
            inside = price + up * above + (1.0 - up) * under
            inside = inside if by_exit else inside + loss
            inner = tree.inner[here, :]
            below = xp.where(inner, inside, price + exit_price[here, UPPER][:, None] + loss)
            steps.append(xp.where(inner, above - under, 0.0 * loss))
        else:
            below = price + exit_price[here, UPPER][:, None] + loss
            steps.append(xp.zeros_like(loss))
    by_projection = concatenated(xp, steps[::-1]) * (weight * sharpness) * reach * sigma * (1.0 - sigma)
    counted = reach
    if by_exit and tree.ends_inside:
        leaving = sigma * tree.ends[:, UPPER][:, None] + (1.0 - sigma) * tree.ends[:, LOWER][:, None]
        counted = reach * xp.where(tree.inner, leaving, xp.ones_like(sigma))
    elif by_exit:
        counted = reach * xp.where(tree.inner, xp.zeros_like(sigma), xp.ones_like(sigma))
    counted, by_projection = _by_node(xp, tree, counted) * loss_weight, _by_node(xp, tree, by_projection)
    total = xp.sum(counted * losses)
    by_score = counted[:, None, :] * slopes + by_projection[:, None, :] * directions[:, :, None]
    by_score = xp.reshape(by_score, (n_nodes * n_scores, scores.shape[0]))
    return total, by_score.T, -xp.sum(by_projection, axis=1)


def losses_at(xp: Any, scores: Any, targets: Any, n_nodes: int, logistic: bool) -> tuple[Any, Any]:
    """Return the losses (K, n) and their derivatives (K, m, n), given scores (K * m, n) and targets (n, m)."""
    n_rows, n_scores = targets.shape
    scores, targets = xp.reshape(scores, (n_nodes, n_scores, n_rows)), targets.T[None, :, :]
    if not logistic:
        errors = scores - targets
        return xp.sum(errors * errors, axis=1), 2.0 * errors
    if n_scores == 1:
        margins = targets * scores
        small = xp.exp(-xp.abs(margins))
        wrong = xp.where(margins > 0, small / (1.0 + small), 1.0 / (1.0 + small))
        losses = xp.log1p(small) + 0.5 * (xp.abs(margins) - margins)
        return losses[:, 0, :], -targets * wrong
    shifted = scores - xp.max(scores, axis=1, keepdims=True)
    powers = xp.exp(shifted)
    total = xp.sum(powers, axis=1, keepdims=True)
    return xp.log(total)[:, 0, :] - xp.sum(targets * shifted, axis=1), powers / total - targets


def sigmoid(xp: Any, values: Any) -> Any:
    """Return 1 / (1 + exp(-values)) without overflow."""
    small = xp.exp(-xp.abs(values))
    return xp.where(values >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def _projected(xp: Any, scores: Any, directions: Any) -> Any:
    """Return the scores along the direction of each node: (K, n)."""
    n_nodes, n_scores = directions.shape
    by_node = xp.reshape(scores.T, (n_nodes, n_scores, scores.shape[0]))
    return xp.sum(by_node * directions[:, :, None], axis=1)


def _by_level(xp: Any, tree: LevelTree, values: Any) -> Any:
    """Sort the lines of an array, one per node, by level."""
    return values if tree.order is None else xp.take(values, tree.order, axis=0)


def _by_node(xp: Any, tree: LevelTree, values: Any) -> Any:
    """Sort the lines of an array, one per node by level, by the number of the node."""
    return values if tree.number is None else xp.take(values, tree.number, axis=0)
