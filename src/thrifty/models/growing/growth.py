"""Growth of one tree: of all possible splits, the one with the largest net gain is made first.

    net gain  =  gain / W  -  penalty

    gain      decrease of the quadratic approximation of the loss, summed over the rows of the node:
              1/2 * (G_l^2 / (H_l + r) + G_r^2 / (H_r + r) - G^2 / (H + r)), with the sums G of gradients and H of
              Hessians of the left child, the right child and the node, and the L2 regularization r
    W         weight of all rows that the tree is grown on
    penalty   rate * price of the feature, in loss per row; see `thrifty.models.growing.payments`

Every node keeps the best split of each feature, not only the best split of all. When a purchase makes a feature free,
the net gains of all nodes that can still be split are updated at once, without reading the data again.
"""

from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from thrifty.kernels.histograms import (
    MISSING,
    N_CODES,
    best_splits,
    category_order,
    fill_columns,
    fill_histograms,
    leaf_step,
    pack_words,
    partition,
    take_away,
)
from thrifty.kernels.threads import over_rows
from thrifty.models.growing.binning import Bins, Codes
from thrifty.models.growing.grown_tree import GrownTree, TreeNodes
from thrifty.models.growing.payments import NoPayments, Payments

CELLS_PER_THREAD = 50_000  # a thread pays off if it has at least this many codes to add to histograms
INDEPENDENT_SPLITS = 16  # of one feature, approximately: neighbouring thresholds have almost the same gain
LARGEST_CORRECTION = 10.0  # of a penalty for the optimism of a bag, as a multiple of the penalty
ROUNDING = 1e-12  # a gain below this share of the largest possible gain is a rounding error


@dataclass(frozen=True)
class Limits:
    """Limits on the growth of a tree.

    Attributes
    ----------
    max_depth : int or None
    max_leaf_nodes : int or None
    min_samples_leaf : float
        The least weight of the rows of a leaf; without weights, their number. A leaf must also have the same share of
        the Hessian of its parent.
    l2_regularization : float
        Added to the Hessian of every leaf.
    by_hessian : bool
        Whether only the share of the Hessian counts.
    """

    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_leaf: float
    l2_regularization: float
    by_hessian: bool = False


@dataclass(slots=True, eq=False)
class _Node:
    """A node that can still be split: its rows, and the best split of each feature."""

    position: int  # in the tree
    depth: int
    bag: slice  # its part of the rows that the tree is grown on
    rest: slice  # its part of the other rows
    total: np.ndarray  # (m,) sum of the words of its rows
    payments: Any  # its payment state
    histogram: np.ndarray | None = None
    best: np.ndarray | None = None  # (d, 3) best split of each feature: gain, position, and 1 if NaN goes left
    feature: int = -1  # of the split with the largest net gain
    net_gain: float = -np.inf


class Grower:
    """Grows trees on the same coded rows, one after another.

    Parameters
    ----------
    codes : Codes
        The rows.
    bins : Bins
        The bins that the codes stand for.
    payments : Payments
        Charged for every split.
    limits : Limits
    constant_hessian : bool
        Whether Hessians are equal to the weights.
    all_weight : float
        Weight of all training rows, from which the bag of each tree is drawn.
    """

    def __init__(
        self,
        codes: Codes,
        bins: Bins,
        payments: Payments | NoPayments,
        limits: Limits,
        constant_hessian: bool,
        all_weight: float,
    ):
        self.codes, self.bins, self.limits = codes, bins, limits
        self._packed_codes = codes.words
        self.payments: Payments | NoPayments = payments
        self._no_payments = NoPayments(payments.weight, codes.n_features)
        self._n_bins = bins.n_bins
        self._tie_rank = tie_ranks(codes, bins.edges)
        self._n_words = 1 if constant_hessian else 2
        self._all_weight = all_weight
        self._free_histograms: list[np.ndarray] = []

    def grow(
        self, gradient: np.ndarray, hessian: np.ndarray, bag: np.ndarray, rest: np.ndarray, features: np.ndarray
    ) -> GrownTree:
        """Grow a tree.

        Parameters
        ----------
        gradient, hessian : ndarray of shape (n,)
            Derivatives of the loss, multiplied by the weights of the rows.
        bag : ndarray of uint32
            The rows that the tree is grown on. The array is reordered.
        rest : ndarray of uint32
            Other rows, which are only sent down the tree. The array is reordered.
        features : ndarray of int
            The features that the tree may split on, in ascending order.

        Returns
        -------
        GrownTree
        """
        self._gradient, self._hessian, self._features = gradient, hessian, features
        self._bag, self._rest = bag, rest
        blocks, starts = np.unique(features >> 3, return_index=True)
        self._blocks, self._starts = blocks, np.append(starts, len(features))
        self._few_per_block = 4 * len(features) < 8 * len(blocks)  # then single columns are faster than whole blocks
        self._prepare(self.payments.weight)
        nodes = TreeNodes()
        total = self._words.sum(axis=0)
        state = self.payments.start_tree((bag, rest))
        root = _Node(nodes.add_leaf(), 0, slice(0, len(bag)), slice(0, len(rest)), total, state)
        self._find_splits(root, None, None)
        open_nodes, saved = [root], 0.0
        leaves: list[_Node] = []
        while open_nodes:
            node = max(open_nodes, key=lambda each: each.net_gain)
            if not node.net_gain > self._min_gain or self._full(len(open_nodes) + len(leaves)):
                break
            open_nodes.remove(node)
            saved += node.net_gain
            for child in self._split(node, nodes, open_nodes):
                (open_nodes if child.best is not None else leaves).append(child)
        for node in open_nodes:
            self._release_histogram(node)
        return self._finish(nodes, open_nodes + leaves, saved)

    def saving(self, gradient: np.ndarray, hessian: np.ndarray, bag: np.ndarray, features: np.ndarray) -> float:
        """Return the loss per row that a tree on these features would save if they were free; nothing is charged."""
        payments, self.payments = self.payments, self._no_payments
        try:
            return self.grow(gradient, hessian, bag.copy(), bag[:0].copy(), features).saved
        finally:
            self.payments = payments

    def _full(self, n_leaves: int) -> bool:
        return self.limits.max_leaf_nodes is not None and n_leaves >= self.limits.max_leaf_nodes

    def _prepare(self, weight: np.ndarray) -> None:
        """Pack the derivatives of the bag into words, scaled by powers of two so that their sums just fit."""
        bag = self._bag
        gradient, hessian, weight = self._gradient[bag], self._hessian[bag], weight[bag]
        self._weight = float(weight.sum())
        abs_gradient_sum, hessian_sum = float(np.abs(gradient).sum()), float(hessian.sum())
        self._scales = np.array([_scale(abs_gradient_sum, 32), _scale(self._weight, 29), _scale(hessian_sum, 61)])
        relative = ROUNDING * (abs_gradient_sum / self._weight) ** 2
        self._min_gain = relative * self._weight / hessian_sum if hessian_sum > 0 else np.inf
        self._optimism = self._bag_optimism(gradient, hessian_sum)
        self._words = np.empty((len(bag), self._n_words), dtype=np.int64)
        pack_words(gradient, weight, hessian, self._scales, self._words)
        self._spare = np.empty_like(self._words), np.empty(max(len(bag), len(self._rest)), dtype=bag.dtype)
        self._no_words = np.empty((len(self._rest), 0), dtype=np.int64)

    def _bag_optimism(self, gradient: np.ndarray, hessian_sum: float) -> float:
        """Return how much larger the best gain per row looks in the bag than on all rows if no split has an effect.

        Without an effect, the gain of a split is about v / 2 times a chi-square variable with one degree of freedom,
        where v = sum(g^2) / sum(h) over the gradients g and Hessians h of the bag. The largest of m independent such
        variables is about 2 log(m). So the best of m splits seems to gain v log(m) / W per row on rows of weight W, and

            optimism = v * log(m) * (1 / W_bag - 1 / W_all),    m = INDEPENDENT_SPLITS * number of features

        A purchase is permanent, so a split on a feature that is not paid must gain this much more, but at most
        LARGEST_CORRECTION times its penalty: features that cost almost nothing are bought as if they were free.
        """
        if self._weight >= self._all_weight or hessian_sum <= 0:
            return 0.0
        v = float(np.square(gradient).sum()) / hessian_sum
        n_splits = INDEPENDENT_SPLITS * len(self._features)
        return v * float(np.log(n_splits)) * (1.0 / self._weight - 1.0 / self._all_weight)

    # Finding splits

    def _find_splits(self, node: _Node, parent: _Node | None, sibling: _Node | None) -> None:
        """Find the best split of each feature at a node and at its larger sibling.

        The histogram of the sibling is that of the parent minus that of the node.
        """
        node.histogram = self._new_histogram()
        node.best = np.full((self.codes.n_features, 3), -np.inf)
        if sibling is not None and parent is not None:
            sibling.histogram, parent.histogram = parent.histogram, None
            sibling.best = np.full_like(node.best, -np.inf)
        over_rows(
            lambda first, last: self._search_blocks(node, sibling, first, last),
            len(self._blocks),
            smallest=max(1, CELLS_PER_THREAD // (8 * (node.bag.stop - node.bag.start + N_CODES))),
        )
        self._choose_feature(node)
        if sibling is not None:
            self._choose_feature(sibling)

    def _search_blocks(self, node: _Node, sibling: _Node | None, first: int, last: int) -> None:
        """Fill the histograms of blocks first..last and find their best splits."""
        rows, words = self._bag[node.bag], self._words[node.bag]
        features = self._features[self._starts[first] : self._starts[last]]
        if self._few_per_block:
            fill_columns(self.codes.bytes, rows, words, features, node.histogram)
        else:
            fill_histograms(self._packed_codes, rows, words, self._blocks[first:last], node.histogram)
        self._search(node, features)
        if sibling is not None:
            take_away(sibling.histogram, node.histogram, features)
            self._search(sibling, features)

    def _search(self, node: _Node, features: np.ndarray) -> None:
        best_splits(
            node.histogram,
            node.total,
            self._n_bins,
            self.bins.categorical,
            features,
            self._scales,
            self.limits.min_samples_leaf,
            self.limits.by_hessian,
            self.limits.l2_regularization,
            node.best,
        )

    def _choose_feature(self, node: _Node) -> None:
        """Choose the split with the largest net gain; if several are equal, the one with the smallest penalty."""
        assert node.best is not None
        penalties = self.payments.penalties(node.payments)
        if self._optimism > 0:
            correction = self._optimism * self.payments.unpaid_share(node.payments)
            penalties = penalties + np.minimum(LARGEST_CORRECTION * penalties, correction)
        net_gain = node.best[:, 0] / self._weight - penalties
        node.net_gain = float(net_gain.max())
        equal = np.flatnonzero(net_gain == node.net_gain)
        node.feature = int(equal[np.lexsort((self._tie_rank[equal], penalties[equal]))[0]])

    # Splitting

    def _split(self, node: _Node, nodes: TreeNodes, open_nodes: list[_Node]) -> list[_Node]:
        goes_left = self._write_split(node, nodes)
        left, right = self._children(node, nodes, goes_left)
        prices_change = self.payments.buy(node.feature, (self._bag[node.bag], self._rest[node.rest]), node.payments)
        small, large = sorted((left, right), key=lambda child: child.bag.stop - child.bag.start)
        if self.limits.max_depth is None or left.depth < self.limits.max_depth:
            smaller = self._bag[small.bag], self._rest[small.rest]
            small.payments, large.payments = self.payments.split_state(node.payments, smaller)
            self._find_splits(small, node, large)
        self._release_histogram(node)
        if prices_change:
            for other in open_nodes:
                self._choose_feature(other)
        return [left, right]

    def _write_split(self, node: _Node, nodes: TreeNodes) -> np.ndarray:
        """Write the best split of a node into the tree and return which codes go left."""
        assert node.best is not None
        assert node.histogram is not None
        j, at = node.feature, node.position
        position, missing_left = int(node.best[j, 1]), bool(node.best[j, 2])
        goes_left = np.zeros(N_CODES, dtype=bool)
        if self.bins.categorical[j]:
            order = np.empty(N_CODES, dtype=np.int64)
            category_order(node.histogram[j], self._n_bins[j], self._scales, order)
            chosen = np.sort(order[: position + 1])
            nodes.categories[at] = self.bins.categories[j][chosen].astype(int).tolist()
            goes_left[chosen] = True
        else:
            nodes.threshold[at] = float(self.bins.edges[j, position])
            goes_left[: position + 1] = True
        goes_left[MISSING] = missing_left
        nodes.feature[at], nodes.missing_left[at] = j, missing_left
        return goes_left

    def _children(self, node: _Node, nodes: TreeNodes, goes_left: np.ndarray) -> tuple[_Node, _Node]:
        assert node.histogram is not None
        code, (spare_words, spare_rows) = self.codes.column(node.feature), self._spare
        as_counts = goes_left.astype(np.int64)
        bag, rest, words, no_words = self._bag, self._rest, self._words, self._no_words
        n_bag = partition(code, as_counts, bag[node.bag], words[node.bag], spare_rows, spare_words)
        n_rest = partition(code, as_counts, rest[node.rest], no_words[node.rest], spare_rows, no_words)
        total = node.histogram[node.feature, goes_left].sum(axis=0)
        bags, rests = _cut(node.bag, n_bag), _cut(node.rest, n_rest)
        left, right = (
            _Node(nodes.add_leaf(), node.depth + 1, bags[k], rests[k], child_total, None)
            for k, child_total in enumerate((total, node.total - total))
        )
        nodes.left[node.position], nodes.right[node.position] = left.position, right.position
        return left, right

    # Histograms are large, so they are used again

    def _new_histogram(self) -> np.ndarray:
        if self._free_histograms:
            return self._free_histograms.pop()
        return np.empty((8 * len(self._packed_codes), N_CODES, self._n_words), dtype=np.int64)

    def _release_histogram(self, node: _Node) -> None:
        if node.histogram is not None:
            self._free_histograms.append(node.histogram)
            node.histogram = None

    def _finish(self, nodes: TreeNodes, leaves: list[_Node], saved: float) -> GrownTree:
        steps = np.zeros(len(nodes.feature))
        for leaf in leaves if len(leaves) > 1 else []:  # a tree without a split changes nothing
            rows = self._bag[leaf.bag]
            steps[leaf.position] = leaf_step(rows, self._gradient, self._hessian, self.limits.l2_regularization)
        rows_of = {leaf.position: (self._bag[leaf.bag], self._rest[leaf.rest]) for leaf in leaves}
        return GrownTree(nodes, steps, rows_of, saved)


def tie_ranks(codes: Codes, edges: np.ndarray) -> np.ndarray:
    """Return a rank of each feature that depends on its values but not on its position, to decide between equal gains.

    Edges are compared first, because they stay the same if a row is repeated instead of weighted.
    """
    of_codes = [crc32(codes.column(j)[:4096].tobytes()) for j in range(codes.n_features)]
    of_edges = [crc32(line.tobytes()) for line in edges]
    return np.argsort(np.lexsort((of_codes, of_edges)))


def _scale(total: float, bits: int) -> float:
    """Return the largest power of two by which a sum can be multiplied so that it stays below 2^bits."""
    return 2.0 ** np.floor(bits - np.log2(total)) if total > 0 else 1.0


def _cut(rows: slice, n_first: int) -> tuple[slice, slice]:
    """Return the first rows of a slice, and the others."""
    middle = rows.start + n_first
    return slice(rows.start, middle), slice(middle, rows.stop)
