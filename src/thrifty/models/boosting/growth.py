"""Growing one tree: the split that saves most for its price is made first, wherever it is.

A split's net gain is the fall in loss per row that it promises, less the rate times what it has to pay. Every node
keeps the best split of *each* feature, not just of the best one: when a purchase makes a feature free, all nodes that
wait to be split are priced anew at once, without looking at the data again.
"""

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from thrifty.kernels.histograms import (
    MISSING,
    N_CODES,
    add_at,
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
from thrifty.models.boosting.accounts import Accounts, Gratis
from thrifty.models.boosting.binning import Bins, Codes
from thrifty.models.forests.forest import LEAF, Tree

WORTH_A_THREAD = 50_000  # cells of a histogram's data
CUTS = 16  # of a feature, that are about independent of each other
NOISE = 1e-12  # a gain below this share of what there is to gain is rounding


@dataclass(frozen=True)
class Limits:
    """How far trees may grow."""

    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_leaf: float
    ridge: float


@dataclass(slots=True, eq=False)
class _Node:
    """A node that waits to be split: its rows, and the best split of each feature."""

    at: int  # its number in the tree
    depth: int
    bag: slice  # of the rows that the tree is grown on
    rest: slice  # of those that are only sent down it
    total: np.ndarray  # (m,) sum of its words
    state: Any  # of its accounts
    histogram: np.ndarray | None = None
    found: np.ndarray | None = None  # (d, 3) gain, position and direction of NaN for each feature
    feature: int = -1  # of the best split at the current prices
    net: float = -np.inf


@dataclass(eq=False)
class _Drawing:
    """The tree on paper, node by node."""

    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    categories: dict[int, list[int]] = field(default_factory=dict)

    def add(self) -> int:
        """Draw a leaf and return its number."""
        self.feature.append(LEAF)
        self.threshold.append(0.0)
        self.left.append(0)
        self.right.append(0)
        self.missing_left.append(True)
        return len(self.feature) - 1


class Grower:
    """Grows trees on the same coded rows, one after another.

    Parameters
    ----------
    codes : Codes
        The rows.
    bins : Bins
        What the codes stand for.
    accounts : Accounts
        Charged for every split.
    limits : Limits
    constant_curvature : bool
        Whether curvatures are weights.
    all_weight : float
        Of the rows that bags are drawn from.
    """

    def __init__(
        self,
        codes: Codes,
        bins: Bins,
        accounts: Accounts,
        limits: Limits,
        constant_curvature: bool,
        all_weight: float,
    ):
        self.codes, self.bins, self.limits = codes, bins, limits
        self._packed = codes.words
        self.accounts: Accounts | Gratis = accounts
        self._gratis = Gratis(accounts.weight, codes.n_features)
        self._n_bins = bins.n_bins
        self._rank = _ranked(codes, bins.edges)
        self._n_words = 1 if constant_curvature else 2
        self._all_weight = all_weight
        self._idle: list[np.ndarray] = []  # histograms to be used again

    def grow(
        self, gradient: np.ndarray, curvature: np.ndarray, bag: np.ndarray, rest: np.ndarray, features: np.ndarray
    ) -> "GrownTree":
        """Grow a tree on the rows of the bag, split on some features, and send the rest down it.

        Parameters
        ----------
        gradient, curvature : ndarray of shape (n,)
            Derivatives of the loss, times the weight of the row.
        bag, rest : ndarray of int
            Rows; both are reordered.
        features : ndarray of int
        """
        self._gradient, self._curvature, self._features = gradient, curvature, features
        self._bag, self._rest = bag, rest
        blocks, starts = np.unique(features >> 3, return_index=True)
        self._blocks, self._starts = blocks, np.append(starts, len(features))
        self._sparse = 4 * len(features) < 8 * len(blocks)  # so few of each block that it does not pay to fill it
        self._prepare(self.accounts.weight)
        drawing = _Drawing()
        total = self._words.sum(axis=0)
        state = self.accounts.open(bag, self._weight)
        root = _Node(drawing.add(), 0, slice(0, len(bag)), slice(0, len(rest)), total, state)
        self._study(root, None, None)
        waiting, saved = [root], 0.0
        leaves: list[_Node] = []
        while waiting:
            node = max(waiting, key=lambda each: each.net)
            if not node.net > self._least or self._full(len(waiting) + len(leaves)):
                break
            waiting.remove(node)
            saved += node.net
            for child in self._split(node, drawing, waiting):
                (waiting if child.found is not None else leaves).append(child)
        for node in waiting:
            self._put_away(node)
        return self._finish(drawing, waiting + leaves, saved)

    def saving(self, gradient: np.ndarray, curvature: np.ndarray, bag: np.ndarray, features: np.ndarray) -> float:
        """Return the loss per row that a tree on some features would save; nothing is paid."""
        accounts, self.accounts = self.accounts, self._gratis
        try:
            return self.grow(gradient, curvature, bag.copy(), bag[:0].copy(), features).saved
        finally:
            self.accounts = accounts

    def _full(self, n_leaves: int) -> bool:
        return self.limits.max_leaf_nodes is not None and n_leaves >= self.limits.max_leaf_nodes

    def _prepare(self, weight: np.ndarray) -> None:
        """Write the words of the bag, scaled by powers of two so that their sums just fit."""
        bag = self._bag
        gradient, curvature, weight = self._gradient[bag], self._curvature[bag], weight[bag]
        self._weight = float(weight.sum())
        steepness, bend = float(np.abs(gradient).sum()), float(curvature.sum())
        self._scales = np.array([_scale(steepness, 32), _scale(self._weight, 29), _scale(bend, 61)])
        self._least = NOISE * (steepness / self._weight) ** 2 * self._weight / bend if bend > 0 else np.inf
        self._flattery = self._chance(gradient, bend)
        self._words = np.empty((len(bag), self._n_words), dtype=np.int64)
        pack_words(gradient, weight, curvature, self._scales, self._words)
        self._spare = np.empty_like(self._words), np.empty(max(len(bag), len(self._rest)), dtype=bag.dtype)
        self._no_words = np.empty((len(self._rest), 0), dtype=np.int64)

    def _chance(self, gradient: np.ndarray, bend: float) -> float:
        """Return by how much more a bag flatters the best of its splits than all rows would, in loss per row.

        Where nothing is to be gained, a split seems to save half of `spread` times a chi-square, and the best of many
        that times twice their logarithm; per row this is the more, the fewer rows there are. Purchases are forever, so
        they are not made on it.
        """
        if self._weight >= self._all_weight or bend <= 0:
            return 0.0
        spread = float(np.square(gradient).sum()) / bend
        return spread * float(np.log(CUTS * len(self._features))) * (1.0 / self._weight - 1.0 / self._all_weight)

    # Looking for splits

    def _study(self, node: _Node, parent: _Node | None, sibling: _Node | None) -> None:
        """Find the best split of each feature at a node, and at its larger sibling: the parent less the node."""
        node.histogram = self._blank()
        node.found = np.full((self.codes.n_features, 3), -np.inf)
        if sibling is not None and parent is not None:
            sibling.histogram, parent.histogram = parent.histogram, None
            sibling.found = np.full_like(node.found, -np.inf)
        over_rows(
            lambda first, last: self._look(node, sibling, first, last),
            len(self._blocks),
            smallest=max(1, WORTH_A_THREAD // (8 * (node.bag.stop - node.bag.start + N_CODES))),
        )
        self._price(node)
        if sibling is not None:
            self._price(sibling)

    def _look(self, node: _Node, sibling: _Node | None, first: int, last: int) -> None:
        """Fill the histograms of some blocks and search them."""
        rows, words = self._bag[node.bag], self._words[node.bag]
        features = self._features[self._starts[first] : self._starts[last]]
        if self._sparse:
            fill_columns(self.codes.bytes, rows, words, features, node.histogram)
        else:
            fill_histograms(self._packed, rows, words, self._blocks[first:last], node.histogram)
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
            self.limits.ridge,
            node.found,
        )

    def _price(self, node: _Node) -> None:
        """Choose the split of the largest net gain; of equal ones the cheapest."""
        assert node.found is not None
        penalties = self.accounts.penalties(node.state)
        if self._flattery > 0:
            penalties = penalties + self._flattery * self.accounts.unpaid(node.state)
        net = node.found[:, 0] / self._weight - penalties
        node.net = float(net.max())
        best = np.flatnonzero(net == node.net)
        node.feature = int(best[np.lexsort((self._rank[best], penalties[best]))[0]])

    # Making them

    def _split(self, node: _Node, drawing: _Drawing, waiting: list[_Node]) -> list[_Node]:
        goes_left = self._draw(node, drawing)
        left, right = self._children(node, drawing, goes_left)
        repriced = self.accounts.buy(node.feature, (self._bag[node.bag], self._rest[node.rest]), node.state)
        small, large = sorted((left, right), key=lambda child: child.bag.stop - child.bag.start)
        if self.limits.max_depth is None or left.depth < self.limits.max_depth:
            small.state, large.state = self.accounts.divide(node.state, self._bag[small.bag])
            self._study(small, node, large)
        self._put_away(node)
        if repriced:
            for other in waiting:
                self._price(other)
        return [left, right]

    def _draw(self, node: _Node, drawing: _Drawing) -> np.ndarray:
        """Write the split down and return which codes go left."""
        assert node.found is not None
        assert node.histogram is not None
        j, at = node.feature, node.at
        position, missing_left = int(node.found[j, 1]), bool(node.found[j, 2])
        goes_left = np.zeros(N_CODES, dtype=bool)
        if self.bins.categorical[j]:
            order = np.empty(N_CODES, dtype=np.int64)
            category_order(node.histogram[j], self._n_bins[j], self._scales, order)
            chosen = np.sort(order[: position + 1])
            drawing.categories[at] = self.bins.categories[j][chosen].astype(int).tolist()
            goes_left[chosen] = True
        else:
            drawing.threshold[at] = float(self.bins.edges[j, position])
            goes_left[: position + 1] = True
        goes_left[MISSING] = missing_left
        drawing.feature[at], drawing.missing_left[at] = j, missing_left
        return goes_left

    def _children(self, node: _Node, drawing: _Drawing, goes_left: np.ndarray) -> tuple[_Node, _Node]:
        assert node.histogram is not None
        code, spare = self.codes.column(node.feature), self._spare
        counts = goes_left.astype(np.int64)
        in_bag = partition(code, counts, self._bag[node.bag], self._words[node.bag], spare[1], spare[0])
        in_rest = partition(code, counts, self._rest[node.rest], self._no_words[node.rest], spare[1], self._no_words)
        total = node.histogram[node.feature, goes_left].sum(axis=0)
        bag, rest = _cut(node.bag, in_bag), _cut(node.rest, in_rest)
        children = tuple(
            _Node(drawing.add(), node.depth + 1, bag[k], rest[k], words, None)
            for k, words in enumerate((total, node.total - total))
        )
        drawing.left[node.at], drawing.right[node.at] = children[0].at, children[1].at
        return children  # type: ignore[return-value]

    # Histograms are large and needed again at once

    def _blank(self) -> np.ndarray:
        if self._idle:
            return self._idle.pop()
        return np.empty((8 * len(self._packed), N_CODES, self._n_words), dtype=np.int64)

    def _put_away(self, node: _Node) -> None:
        if node.histogram is not None:
            self._idle.append(node.histogram)
            node.histogram = None

    def _finish(self, drawing: _Drawing, leaves: list[_Node], saved: float) -> "GrownTree":
        steps = np.zeros(len(drawing.feature))
        for leaf in leaves if len(leaves) > 1 else []:  # without a split there is nothing to learn
            steps[leaf.at] = leaf_step(self._bag[leaf.bag], self._gradient, self._curvature, self.limits.ridge)
        rows = {leaf.at: (self._bag[leaf.bag], self._rest[leaf.rest]) for leaf in leaves}
        return GrownTree(drawing, steps, rows, saved)


class GrownTree:
    """A tree, the step of each leaf, the rows that ended there, and the net gain of all splits."""

    def __init__(
        self, drawing: _Drawing, steps: np.ndarray, rows: dict[int, tuple[np.ndarray, np.ndarray]], saved: float
    ):
        self._drawing, self._steps, self._rows, self.saved = drawing, steps, rows, saved

    @property
    def n_splits(self) -> int:
        """How many nodes are no leaves."""
        return len(self._steps) // 2

    def add_to(self, scores: np.ndarray, learning_rate: float) -> None:
        """Move the scores of all rows by a share of their leaf's step."""
        for leaf, groups in self._rows.items():
            for rows in groups:
                add_at(rows, learning_rate * self._steps[leaf], scores)

    def as_tree(self, learning_rate: float) -> Tree:
        """Return what is kept of it."""
        drawn = self._drawing
        return Tree(
            np.array(drawn.feature),
            np.array(drawn.threshold),
            np.array(drawn.left),
            np.array(drawn.right),
            learning_rate * self._steps[:, None],
            np.array(drawn.missing_left),
            drawn.categories,
        )


def _ranked(codes: Codes, edges: np.ndarray) -> np.ndarray:
    """Rank features by what stands in them, so that equal gains are settled alike in whatever order they come.

    Edges come first: they stay the same when a row is repeated instead of weighted.
    """
    of_codes = [crc32(codes.column(j)[:4096].tobytes()) for j in range(codes.n_features)]
    of_edges = [crc32(line.tobytes()) for line in edges]
    return np.argsort(np.lexsort((of_codes, of_edges)))


def _scale(total: float, bits: int) -> float:
    """Return the largest power of two that keeps a sum below 2^bits."""
    return 2.0 ** np.floor(bits - np.log2(total)) if total > 0 else 1.0


def _cut(rows: slice, n_first: int) -> tuple[slice, slice]:
    middle = rows.start + n_first
    return slice(rows.start, middle), slice(middle, rows.stop)
