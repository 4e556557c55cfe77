"""Growth of one tree, node by node, with payments and with threads for large nodes.

Every node keeps the best split of each feature, not only the best split of all. When a purchase makes a feature free,
the net gains of all nodes that can still be split are updated at once, without reading the data again.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.kernels.histograms import (
    MISSING,
    N_CODES,
    OTHER,
    Columns,
    best_splits,
    can_split,
    category_order,
    take_away,
)
from thrifty.kernels.threads import over_rows
from thrifty.models.growing.bag import Filler, TreeRows
from thrifty.models.growing.grown_tree import TreeNodes
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.payments import NoPayments, Payments

CELLS_PER_THREAD = 50_000  # a thread pays off if it has at least this many codes to add to histograms
INDEPENDENT_SPLITS = 16  # of one feature, approximately: neighbouring thresholds have almost the same gain
LARGEST_CORRECTION = 10.0  # of a penalty for the optimism of a bag, as a multiple of the penalty


@dataclass(slots=True, eq=False)
class _Node:
    """A node that can still be split: its rows, and the best split of each feature."""

    position: int  # in the tree
    depth: int
    rows: Any  # the handle of its rows in the bag
    total: np.ndarray  # (m,) sum of the words of its rows
    n_rows: int  # approximately, if its rows are elsewhere
    payments: Any = None  # its payment state
    histogram: np.ndarray | None = None
    best: np.ndarray | None = None  # (d, 3) best split of each feature: gain, position, and 1 if NaN goes left
    feature: int = -1  # of the split with the largest net gain
    net_gain: float = -np.inf


class PricedGrowth:
    """Grows trees and charges for every split, one tree after another.

    Parameters
    ----------
    columns : Columns
        The coded rows.
    categories : dict
        ``{column: values}``: the categories that the codes of categorical columns stand for.
    limits : Limits
    n_words : int
        The number of words of a row.
    all_weight : float
        Weight of all training rows, from which the bag of each tree is drawn.
    """

    def __init__(
        self, columns: Columns, categories: dict[int, np.ndarray], limits: Limits, n_words: int, all_weight: float
    ):
        self._columns, self._categories, self._limits, self._rules = columns, categories, limits, limits.split_rules
        self._n_words, self._all_weight = n_words, all_weight
        self._free_histograms: list[np.ndarray] = []

    def grow(self, bag: TreeRows, payments: Payments | NoPayments) -> Any:
        """Grow a tree, charge `payments` for its splits, and return ``bag.splits`` of it."""
        self._start(bag, payments)
        root = self._new_node(0, bag.root, bag.total)
        root.payments = payments.start_tree(bag.rows_at(bag.root))
        self._find_splits(root, None, None)
        open_nodes, saved, n_leaves = [root], 0.0, 1
        while open_nodes:
            node = max(open_nodes, key=lambda each: each.net_gain)
            if not node.net_gain > bag.min_gain or self._full(n_leaves):
                break
            open_nodes.remove(node)
            saved += node.net_gain
            n_leaves += 1
            open_nodes += [child for child in self._split(node, open_nodes) if child.best is not None]
        for node in open_nodes:
            self._release_histogram(node)
        return bag.splits(self._nodes.as_tree(None), self._rows, saved)

    def _start(self, bag: TreeRows, payments: Payments | NoPayments) -> None:
        self._bag, self._payments, self._nodes = bag, payments, TreeNodes()
        self._rows: list[Any] = []  # of each node
        first_of_block = np.flatnonzero(np.diff(bag.features >> 3, prepend=-1))
        self._block_starts = np.append(first_of_block, len(bag.features))
        self._optimism = self._bag_optimism()

    def _full(self, n_leaves: int) -> bool:
        return self._limits.max_leaf_nodes is not None and n_leaves >= self._limits.max_leaf_nodes

    def _bag_optimism(self) -> float:
        """Return how much larger the best gain per row looks in the bag than on all rows if no split has an effect.

        Without an effect, the gain of a split is about v / 2 times a chi-square variable with one degree of freedom,
        where v = sum(g^2) / sum(h) over the gradients g and Hessians h of the bag. The largest of m independent such
        variables is about 2 log(m). So the best of m splits seems to gain v log(m) / W per row on rows of weight W, and

            optimism = v * log(m) * (1 / W_bag - 1 / W_all),    m = INDEPENDENT_SPLITS * number of features

        A purchase is permanent, so a split on a feature that is not paid must gain this much more, but at most
        LARGEST_CORRECTION times its penalty: features that cost almost nothing are bought as if they were free.
        """
        packed = self._bag.packed
        if packed.weight >= self._all_weight or packed.hessian <= 0:
            return 0.0
        n_splits = INDEPENDENT_SPLITS * len(self._bag.features)
        v = packed.squared_gradient / packed.hessian
        return v * float(np.log(n_splits)) * (1.0 / packed.weight - 1.0 / self._all_weight)

    def _new_node(self, depth: int, rows: Any, total: np.ndarray) -> _Node:
        self._rows.append(rows)
        return _Node(self._nodes.add_leaf(), depth, rows, total, self._bag.size(rows, total))

    # Finding splits

    def _find_splits(self, node: _Node, parent: _Node | None, sibling: _Node | None) -> None:
        """Find the best split of each feature at a node and at its larger sibling.

        The histogram of the sibling is that of the parent minus that of the node.
        """
        node.histogram = self._new_histogram()
        node.best = np.full((len(self._columns.n_bins), 3), -np.inf)
        if sibling is not None and parent is not None:
            sibling.histogram, parent.histogram = parent.histogram, None
            sibling.best = np.full_like(node.best, -np.inf)
        fill = self._bag.filler(node.rows, self._columns)
        over_rows(
            lambda first, last: self._search_blocks(node, sibling, fill, first, last),
            len(self._block_starts) - 1,
            smallest=max(1, CELLS_PER_THREAD // (8 * (node.n_rows + N_CODES))),
        )
        self._choose_feature(node)
        if sibling is not None:
            self._choose_feature(sibling)

    def _search_blocks(self, node: _Node, sibling: _Node | None, fill: Filler, first: int, last: int) -> None:
        """Fill the histograms of blocks first..last and find their best splits."""
        features = self._bag.features[self._block_starts[first] : self._block_starts[last]]
        assert node.histogram is not None
        fill(features, node.histogram)
        self._search(node, features)
        if sibling is not None:
            take_away(sibling.histogram, node.histogram, features, self._columns.n_bins)
            self._search(sibling, features)

    def _search(self, node: _Node, features: np.ndarray) -> None:
        scales = self._bag.packed.scales
        if can_split(node.total, scales, self._rules):
            best_splits(node.histogram, node.total, self._columns, features, scales, self._rules, node.best)

    def _choose_feature(self, node: _Node) -> None:
        """Choose the split with the largest net gain; if several are equal, the one with the smallest penalty."""
        assert node.best is not None
        penalties = self._payments.penalties(node.payments)
        if self._optimism > 0:
            correction = self._optimism * self._payments.unpaid_share(node.payments)
            penalties = penalties + np.minimum(LARGEST_CORRECTION * penalties, correction)
        net_gain = node.best[:, 0] / self._bag.packed.weight - penalties
        node.net_gain = float(net_gain.max())
        equal = np.flatnonzero(net_gain == node.net_gain)
        node.feature = int(equal[np.lexsort((self._columns.tie_rank[equal], penalties[equal]))[0]])

    # Splitting

    def _split(self, node: _Node, open_nodes: list[_Node]) -> list[_Node]:
        goes_left = self._write_split(node)
        left, right = self._children(node, goes_left)
        bag, payments = self._bag, self._payments
        if payments.buy(node.feature, bag.rows_at(node.rows), node.payments):  # the prices at other nodes change
            for other in open_nodes:
                self._choose_feature(other)
        small, large = sorted((left, right), key=lambda child: child.n_rows)
        if self._may_split(left):
            small.payments, large.payments = payments.split_state(node.payments, bag.rows_at(small.rows))
            if bag.is_far:
                self._expect_splits(open_nodes)
            self._find_splits(small, node, large)
        self._release_histogram(node)
        return [left, right]

    def _may_split(self, node: _Node) -> bool:
        return self._limits.max_depth is None or node.depth < self._limits.max_depth

    def _expect_splits(self, open_nodes: list[_Node]) -> None:
        """Tell the bag which splits come next, as far as is known now, so that it gets their histograms together."""
        for node in open_nodes:
            deepest = self._limits.max_depth is not None and node.depth + 1 >= self._limits.max_depth
            if node.net_gain > self._bag.min_gain and not deepest:
                assert node.histogram is not None
                goes_left = self._codes_left(node)
                left = self._bag.size(node.rows, node.histogram[node.feature, goes_left].sum(axis=0))
                self._bag.expect(node.rows, node.feature, goes_left, int(2 * left > node.n_rows))

    def _codes_left(self, node: _Node) -> np.ndarray:
        """Return which codes the best split of a node sends left."""
        assert node.best is not None
        assert node.histogram is not None
        goes_left, position = np.zeros(N_CODES, dtype=bool), int(node.best[node.feature, 1])
        if self._columns.categorical[node.feature]:
            order = np.empty(N_CODES, dtype=np.int64)
            n_bins = self._columns.n_bins[node.feature]
            category_order(node.histogram[node.feature], n_bins, self._bag.packed.scales, order)
            goes_left[order[: position + 1]] = True
        else:
            goes_left[: position + 1] = True
        goes_left[MISSING] = bool(node.best[node.feature, 2])
        return goes_left

    def _write_split(self, node: _Node) -> np.ndarray:
        """Write the best split of a node into the tree and return which codes go left."""
        assert node.best is not None
        j, at, nodes, goes_left = node.feature, node.position, self._nodes, self._codes_left(node)
        if self._columns.categorical[j]:
            nodes.categories[at] = self._categories[j][np.flatnonzero(goes_left[:OTHER])].astype(int).tolist()
        else:
            nodes.threshold[at] = float(self._columns.edges[j, int(node.best[j, 1])])
        nodes.feature[at], nodes.missing_left[at] = j, bool(goes_left[MISSING])
        return goes_left

    def _children(self, node: _Node, goes_left: np.ndarray) -> tuple[_Node, _Node]:
        assert node.histogram is not None
        rows = self._bag.divide(node.rows, node.feature, goes_left, self._columns)
        total = node.histogram[node.feature, goes_left].sum(axis=0)
        left = self._new_node(node.depth + 1, rows[0], total)
        right = self._new_node(node.depth + 1, rows[1], node.total - total)
        self._nodes.left[node.position], self._nodes.right[node.position] = left.position, right.position
        return left, right

    # Histograms are large, so they are used again

    def _new_histogram(self) -> np.ndarray:
        if self._free_histograms:
            return self._free_histograms.pop()
        return np.empty((8 * len(self._columns.words), N_CODES, self._n_words), dtype=np.int64)

    def _release_histogram(self, node: _Node) -> None:
        if node.histogram is not None:
            self._free_histograms.append(node.histogram)
            node.histogram = None
