"""Growth of a whole tree in one call, for free features and few rows.

`thrifty.models.growing.priced_growth` grows the same trees node by node, with prices and threads. There, a split costs
more time than its histograms unless a node has many rows.

    m    words of a row; see `thrifty.kernels.histograms`
    k    nodes of the tree
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from thrifty.kernels.histograms import (
    MISSING,
    N_CODES,
    best_splits,
    can_split,
    category_order,
    fill_histograms,
    take_away,
)
from thrifty.kernels.tree_rows import LEAF, partition


class Size(NamedTuple):
    """The largest depth of a tree, and its largest number of leaves."""

    max_depth: int
    max_leaves: int


class Nodes(NamedTuple):
    """The nodes of a tree. A node comes before its children.

    Attributes
    ----------
    feature : ndarray of int, shape (k,)
        The feature that a node splits on, or LEAF.
    threshold : ndarray of shape (k,)
    left, right : ndarray of int, shape (k,)
        The children.
    missing_left : ndarray of bool, shape (k,)
    goes_left : ndarray of bool, shape (k, 256)
        The codes that go left, for splits on categorical features; without such features, an array without rows.
    bag_span, rest_span : ndarray of int, shape (k, 2)
        The positions of the rows of each node in the bag and in the rest, from the first to the last, exclusively.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    goes_left: np.ndarray
    bag_span: np.ndarray
    rest_span: np.ndarray


class _Open(NamedTuple):
    """What is known of nodes that can still be split: their sums, and their best split."""

    depth: np.ndarray  # (k,)
    total: np.ndarray  # (k, m) sum of the words of the rows
    slot: np.ndarray  # (k,) position of the histogram
    net_gain: np.ndarray  # (k,) -inf if a node cannot be split
    feature: np.ndarray  # (k,)
    position: np.ndarray  # (k,)
    missing_left: np.ndarray  # (k,)


class _Spare(NamedTuple):
    """Memory that is written again and again."""

    rows: np.ndarray  # as many as the bag or the rest
    words: np.ndarray
    no_words: np.ndarray  # of the rest
    goes_left: np.ndarray  # (256,) 1 if a code goes left
    found: np.ndarray  # (d, 3) best split of each feature


@njit(cache=True, nogil=True)
def grow_tree(columns, size, rules, bag, rest, packed, min_gain, features, pool):
    """Grow a tree: of all possible splits, the one with the largest gain is made first.

    Parameters
    ----------
    columns : Columns
        The coded rows.
    size : Size
    rules : SplitRules
    bag, rest : ndarray of uint32
        The rows that the tree is grown on, and others that are only sent down the tree. Both are reordered.
    packed : Packed
        The derivatives of the bag. The words are reordered.
    min_gain : float
        A split must gain more, in loss per row.
    features : ndarray of int
        The features that the tree may split on, in ascending order.
    pool : ndarray of int64, shape (n, d, 256, m)
        Memory for histograms, with any content.

    Returns
    -------
    nodes : Nodes
    saved : float
        The sum of the gains, in loss per row.
    pool : ndarray
        The memory for the next tree. It is larger if there were more open nodes than histograms.
    """
    nodes, open_nodes = _empty_nodes(columns, size, bag, rest, packed.words)
    spare = _spare_memory(columns, bag, rest, packed.words)
    fixed = columns, features, packed, rules
    free_slots = [slot for slot in range(1, len(pool))]  # noqa: C416  Numba does not convert a range to a list
    if can_split(open_nodes.total[0], packed.scales, rules):
        fill_histograms(columns, bag, packed.words, features, pool[0])
        _choose_split(0, pool[0], fixed, spare.found, open_nodes)
    n_nodes, n_leaves, saved = 1, 1, 0.0
    while n_leaves < size.max_leaves:
        node = _best_node(open_nodes.net_gain, n_nodes)
        if not open_nodes.net_gain[node] > min_gain:
            break
        saved += open_nodes.net_gain[node]
        if not free_slots:
            free_slots.extend(range(len(pool), 2 * len(pool)))
            pool = _twice_as_large(pool)
        children = _split(node, n_nodes, pool, free_slots.pop(), fixed, bag, rest, spare, nodes, open_nodes)
        n_nodes, n_leaves = n_nodes + 2, n_leaves + 1
        if open_nodes.depth[node] + 1 < size.max_depth and n_leaves < size.max_leaves:
            _search_children(children, pool, fixed, bag, spare.found, nodes, open_nodes)
        for child in children:
            if not open_nodes.net_gain[child] > min_gain:
                free_slots.append(open_nodes.slot[child])
    return _first_nodes(nodes, n_nodes), saved, pool


@njit(cache=True, nogil=True)
def _best_node(net_gain, n_nodes):
    """Return the node with the largest gain; if several are equal, the first."""
    best = 0
    for node in range(1, n_nodes):
        if net_gain[node] > net_gain[best]:
            best = node
    return best


@njit(cache=True, nogil=True)
def _choose_split(node, histogram, fixed, found, open_nodes):
    """Find the best split of a node; if features gain the same, that of the feature with the smallest tie rank."""
    columns, features, packed, rules = fixed
    best_splits(histogram, open_nodes.total[node], columns, features, packed.scales, rules, found)
    chosen, best = -1, -np.inf
    for j in features:
        gain = found[j, 0] / packed.weight
        if gain > best or (gain == best and chosen >= 0 and columns.tie_rank[j] < columns.tie_rank[chosen]):
            chosen, best = j, gain
    if chosen >= 0:
        open_nodes.net_gain[node], open_nodes.feature[node] = best, chosen
        open_nodes.position[node], open_nodes.missing_left[node] = int(found[chosen, 1]), found[chosen, 2] > 0


@njit(cache=True, nogil=True)
def _split(node, left, pool, new_slot, fixed, bag, rest, spare, nodes, open_nodes):
    """Make the best split of a node. Return its children, the one with fewer rows of the bag first.

    The larger child gets the slot of the node.
    """
    columns, _, packed, _ = fixed
    slot, right = open_nodes.slot[node], left + 1
    _write_split(node, pool[slot], columns, packed.scales, spare.goes_left, nodes, open_nodes)
    j = nodes.feature[node]
    code, words, no_words = columns.bytes[j >> 3, :, j & 7], packed.words, spare.no_words
    first, last = nodes.bag_span[node, 0], nodes.bag_span[node, 1]
    n_left = partition(code, spare.goes_left, bag[first:last], words[first:last], spare.rows, spare.words)
    _cut(nodes.bag_span, node, left, n_left)
    open_nodes.total[left] = _sum(words[first : first + n_left])
    open_nodes.total[right] = open_nodes.total[node] - open_nodes.total[left]
    small, large = (left, right) if 2 * n_left <= last - first else (right, left)
    first, last = nodes.rest_span[node, 0], nodes.rest_span[node, 1]
    n_left = partition(code, spare.goes_left, rest[first:last], no_words[first:last], spare.rows, no_words)
    _cut(nodes.rest_span, node, left, n_left)
    nodes.left[node], nodes.right[node] = left, right
    open_nodes.depth[left : right + 1] = open_nodes.depth[node] + 1
    open_nodes.slot[small], open_nodes.slot[large] = new_slot, slot
    open_nodes.net_gain[node] = -np.inf
    return small, large


@njit(cache=True, nogil=True)
def _write_split(node, histogram, columns, scales, goes_left, nodes, open_nodes):
    """Write the best split of a node into the tree, and which codes go left."""
    j, position = open_nodes.feature[node], open_nodes.position[node]
    goes_left[:] = 0
    if columns.categorical[j]:
        order = np.empty(N_CODES, np.int64)
        category_order(histogram[j], columns.n_bins[j], scales, order)
        for b in order[: position + 1]:
            goes_left[b] = 1
        nodes.goes_left[node] = goes_left > 0
    else:
        goes_left[: position + 1] = 1
        nodes.threshold[node] = columns.edges[j, position]
    nodes.feature[node], nodes.missing_left[node] = j, open_nodes.missing_left[node]
    goes_left[MISSING] = open_nodes.missing_left[node]


@njit(cache=True, nogil=True)
def _cut(span, node, left, n_left):
    """Divide the rows of a node between its children `left` and `left` + 1."""
    middle = span[node, 0] + n_left
    span[left, 0], span[left, 1] = span[node, 0], middle
    span[left + 1, 0], span[left + 1, 1] = middle, span[node, 1]


@njit(cache=True, nogil=True)
def _search_children(children, pool, fixed, bag, found, nodes, open_nodes):
    """Find the best splits of the smaller and the larger child of a node.

    The histogram of the larger child is that of the node, which is in its slot, minus that of the smaller child.
    """
    columns, features, packed, rules = fixed
    small, large = children
    of_small, of_large = pool[open_nodes.slot[small]], pool[open_nodes.slot[large]]
    split_small = can_split(open_nodes.total[small], packed.scales, rules)
    split_large = can_split(open_nodes.total[large], packed.scales, rules)
    if split_small or split_large:
        first, last = nodes.bag_span[small, 0], nodes.bag_span[small, 1]
        fill_histograms(columns, bag[first:last], packed.words[first:last], features, of_small)
    if split_small:
        _choose_split(small, of_small, fixed, found, open_nodes)
    if split_large:
        take_away(of_large, of_small, features, columns.n_bins)
        _choose_split(large, of_large, fixed, found, open_nodes)


@njit(cache=True, nogil=True)
def _empty_nodes(columns, size, bag, rest, words):
    """Return memory for all nodes, in which the root is complete."""
    k = 2 * min(size.max_leaves, max(bag.size, 1)) - 1
    if size.max_depth < 30:
        k = min(k, 2 ** (size.max_depth + 1) - 1)
    k = max(k, 3)
    n_sides = k if columns.categorical.any() else 0
    nodes = Nodes(
        np.full(k, LEAF),
        np.zeros(k),
        np.zeros(k, np.int64),
        np.zeros(k, np.int64),
        np.ones(k, np.bool_),
        np.empty((n_sides, N_CODES), np.bool_),
        np.empty((k, 2), np.int64),
        np.empty((k, 2), np.int64),
    )
    m = words.shape[1]
    open_nodes = _Open(
        np.zeros(k, np.int64),
        np.empty((k, m), np.int64),
        np.zeros(k, np.int64),
        np.full(k, -np.inf),
        np.empty(k, np.int64),
        np.empty(k, np.int64),
        np.empty(k, np.bool_),
    )
    nodes.bag_span[0, 0], nodes.bag_span[0, 1] = 0, bag.size
    nodes.rest_span[0, 0], nodes.rest_span[0, 1] = 0, rest.size
    open_nodes.total[0] = _sum(words)
    return nodes, open_nodes


@njit(cache=True, nogil=True)
def _first_nodes(nodes, n):
    """Return copies of the first nodes, so that the memory of the others is freed."""
    return Nodes(
        nodes.feature[:n].copy(),
        nodes.threshold[:n].copy(),
        nodes.left[:n].copy(),
        nodes.right[:n].copy(),
        nodes.missing_left[:n].copy(),
        nodes.goes_left[:n].copy(),
        nodes.bag_span[:n].copy(),
        nodes.rest_span[:n].copy(),
    )


@njit(cache=True, nogil=True)
def _spare_memory(columns, bag, rest, words):
    """Return memory for the splits of a tree, with any content."""
    return _Spare(
        np.empty(max(bag.size, rest.size), bag.dtype),
        np.empty_like(words),
        np.empty((rest.size, 0), np.int64),
        np.empty(N_CODES, np.int64),
        np.empty((len(columns.n_bins), 3)),
    )


@njit(cache=True, nogil=True)
def _twice_as_large(pool):
    """Return a copy of the histograms, with room for as many more."""
    larger = np.empty((2 * len(pool), *pool.shape[1:]), pool.dtype)
    larger[: len(pool)] = pool
    return larger


@njit(cache=True, nogil=True)
def _sum(words):
    """Return the sum of the words of some rows."""
    total = np.zeros(words.shape[1], np.int64)
    for r in range(len(words)):
        for m in range(words.shape[1]):
            total[m] += words[r, m]
    return total
