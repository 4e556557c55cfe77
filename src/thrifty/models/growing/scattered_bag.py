"""The rows of one tree in blocks that live elsewhere: only sums over the rows travel.

`ScatteredBag` has the methods of `Bag`, so growth does not know where the rows are. A histogram is the sum of those of
the blocks. Sums of whole numbers do not depend on their order, so the histograms, and the splits, are those of a `Bag`
of all rows. Each block keeps the rows and the words of every leaf. Splits are sent to the blocks together with the next
request for histograms. That request is also for the splits that growth expects at other nodes: usually one request
serves a level of the tree. If a price changes, an expected split may not come. Then its children are forgotten.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from thrifty.kernels.histograms import (
    MISSING,
    N_CODES,
    WEIGHT_MASK,
    Columns,
    Packed,
    derivative_sums,
    fill_histograms,
    packed_words,
    word_scales,
)
from thrifty.kernels.payments import pay
from thrifty.kernels.tree_rows import add_steps, newton_step, sums_of_derivatives, write_sides
from thrifty.models.forests.forest import LEAF, Tree
from thrifty.models.growing.bag import Filler, smallest_gain
from thrifty.models.growing.binning import Codes
from thrifty.models.growing.grown_tree import Grown
from thrifty.models.homes import Home, PerBlock

ONE_LEAF = np.array([LEAF])


class BlockOfRows(Protocol):
    """A block of coded rows."""

    @property
    def codes(self) -> Codes:
        """The codes of the rows."""

    @property
    def n_bins(self) -> np.ndarray:
        """The number of bins of each column."""

    @property
    def n_train(self) -> int:
        """The number of training rows, which come before the held-out rows."""

    @property
    def weight(self) -> np.ndarray:
        """The weight of each row; 0 for held-out rows."""


class NodeRows(NamedTuple):
    """The rows of a block that are at a node: those that the tree is grown on, their words, and the other rows."""

    rows: np.ndarray
    words: np.ndarray
    rest: np.ndarray


class Division(NamedTuple):
    """A split, as a block carries it out: the node, its children, and the codes of the feature that go left."""

    node: int
    left: int
    right: int
    feature: int
    goes_left: np.ndarray

    def is_same(self, feature: int, goes_left: np.ndarray) -> bool:
        """Return whether a split is this one."""
        return self.feature == feature and bool((self.goes_left == goes_left).all())


Leaves = dict[int, NodeRows]  # of a block: the rows at each leaf, and at others whose split is only expected


class ScatteredRows(NamedTuple):
    """The rows at a node."""

    bag: "ScatteredBag"
    node: int


class ScatteredBag:
    """The rows that a tree is grown on, in blocks.

    Parameters
    ----------
    home : Home of BlockOfRows
    derivatives : Home of tuple
        Gradients and Hessians (n_scores, n) of the rows of each block.
    drawn : Home of tuple
        The rows of each block that the tree is grown on, and the other rows.
    score : int
        The score that the tree adds to.
    n_words : int
        The number of words of a row.
    features : ndarray of int
        The features that the tree may split on, in ascending order.
    has_rest : bool, default=True
        Whether the other rows are sent down the tree.

    Attributes
    ----------
    packed : Packed
        The scales of the words and sums over the rows; no words.
    total : ndarray of shape (m,)
        The sum of the words.
    """

    is_far = True

    def __init__(
        self,
        home: Home[BlockOfRows],
        derivatives: Home[Any],
        drawn: Home[Any],
        score: int,
        n_words: int,
        features: np.ndarray,
        has_rest: bool = True,
    ):
        self.home, self.features = home, features
        self._derivatives, self._score = derivatives, score
        rows = home.beside(derivatives).beside(drawn)
        absolute, squared, weight, hessian = rows.sum(sums_at_root, score)
        scales = word_scales(absolute, weight, hessian)
        self.packed = Packed(np.empty((0, n_words), np.int64), scales, absolute, squared, weight, hessian)
        self.min_gain = smallest_gain(self.packed)
        self._leaves = rows.map_small(root_alone, score, scales, n_words, has_rest)
        self._divisions: list[Division] = []  # that the blocks have not carried out yet
        self._finished: list[int] = []  # nodes whose rows are not needed any more
        self._expected: dict[int, Division] = {}
        self._wanted: list[int] = []  # smaller children of expected splits
        self._n_nodes = 1
        self.total, sums = home.beside(self._leaves).sum(total_and_histogram, features)
        self._sums = {0: sums}  # histograms that have arrived and are not used yet

    @property
    def root(self) -> int:
        """The rows at the root."""
        return 0

    @property
    def leaves(self) -> Home[Leaves]:
        """The rows at each leaf, after all splits so far."""
        return self._leaves_now(has_words=True)

    def _leaves_now(self, has_words: bool) -> Home[Leaves]:
        """Return the rows at each leaf; words are only needed for further histograms."""
        if self._divisions:
            self._leaves = self.home.beside(self._leaves).map_small(divided, self._divisions, self._finished, has_words)
            self._divisions, self._finished = [], []
        return self._leaves

    def size(self, at: int, total: np.ndarray) -> int:
        """Return the weight of the rows at a node in units of their words, because their number is not known here."""
        return int(total[0] & WEIGHT_MASK)

    def rows_at(self, at: int) -> ScatteredRows:
        """Return the rows at a node, as `ScatteredAccounts` takes them."""
        return ScatteredRows(self, at)

    def filler(self, at: int, columns: Columns) -> Filler:
        """Return the function that writes histograms of the rows at a node, which are added up now."""
        if at not in self._sums:
            nodes, self._wanted = [at, *self._wanted], []
            arrived = self.home.beside(self.leaves).sum(node_histograms, nodes, self.features)
            self._sums |= zip(nodes, arrived, strict=True)
        sums = self._sums.pop(at)
        used = used_codes(columns.n_bins, self.features)
        sums_of = np.zeros((*used.shape, sums.shape[1]), dtype=np.int64)
        sums_of[used] = sums

        def fill(features: np.ndarray, histogram: np.ndarray) -> None:
            histogram[features] = sums_of[features]

        return fill

    def expect(self, at: int, feature: int, goes_left: np.ndarray, smaller: int) -> None:
        """Send the rows at a node also to the children of an expected split."""
        known = self._expected.get(at)
        if known is None or not known.is_same(feature, goes_left):
            division = self._expected[at] = self._division(at, feature, goes_left)
            self._wanted.append((division.left, division.right)[smaller])

    def divide(self, at: int, feature: int, goes_left: np.ndarray, columns: Columns) -> tuple[int, int]:
        """Send the rows at a node to its children when their histograms are needed."""
        division = self._expected.pop(at, None)
        if division is None or not division.is_same(feature, goes_left):
            division = self._division(at, feature, goes_left)
        self._finished.append(at)
        return division.left, division.right

    def _division(self, at: int, feature: int, goes_left: np.ndarray) -> Division:
        division = Division(at, self._n_nodes, self._n_nodes + 1, feature, goes_left)
        self._divisions.append(division)
        self._n_nodes += 2
        return division

    def splits(self, tree: Tree, nodes: list[int], saved: float) -> tuple[Tree, list[int], float]:
        """Return what `grown` takes."""
        return tree, nodes, saved

    def grown(self, splits: tuple[Tree, list[int], float], ridge: float) -> "ScatteredTree":
        """Return the tree with the steps of its leaves, which take one sum over the blocks."""
        tree, numbers, saved = splits
        steps = np.zeros(len(tree.feature))
        if len(steps) > 1:
            nodes = np.flatnonzero(tree.feature == LEAF)
            ridges = PerBlock([ridge] + [0.0] * (self.home.n_blocks - 1))
            leaves = [numbers[node] for node in nodes.tolist()]
            sums = self._derivatives.beside(self._leaves_now(has_words=False)).sum(
                leaf_sums, self._score, leaves, ridges
            )
            steps[nodes] = [newton_step(*each) for each in sums]
        return ScatteredTree(tree, saved, steps, numbers, self)


class ScatteredTree(Grown):
    """A tree that was grown on rows in blocks; `numbers` are what the bag calls its nodes."""

    def __init__(self, tree: Tree, saved: float, steps: np.ndarray, numbers: list[int], bag: ScatteredBag):
        super().__init__(tree, saved, steps)
        self._numbers, self.bag = numbers, bag

    def paths(self, units_of: Sequence[np.ndarray]) -> dict[int, list[int]]:
        """Return, for each leaf of the bag, the units that the features on its path require, in their order."""
        of_node: dict[int, list[int]] = {0: []}
        tree = self._tree
        for node, feature in enumerate(tree.feature.tolist()):
            if feature != LEAF:
                path = of_node.pop(node)
                path = path + [unit for unit in units_of[feature].tolist() if unit not in path]
                of_node[int(tree.left[node])] = of_node[int(tree.right[node])] = path
        return {self._numbers[node]: path for node, path in of_node.items()}

    def leaf_steps(self, learning_rate: float) -> dict[int, float]:
        """Return the step of each leaf of the bag, times the learning rate."""
        leaves = np.flatnonzero(self._tree.feature == LEAF).tolist()
        return {self._numbers[node]: learning_rate * self._steps[node] for node in leaves}

    @classmethod
    def added(cls, trees: Sequence[Any], scores: Home[np.ndarray], learning_rate: float) -> Home[np.ndarray]:
        """Return the scores (n_scores, n) of each block with the steps of one tree for each score added."""
        for tree in trees:
            scores = scores.beside(tree.bag.leaves) if tree.n_splits else scores
        steps = [tree.leaf_steps(learning_rate) if tree.n_splits else None for tree in trees]
        return scores.map_small(stepped, steps)


class ScatteredAccounts:
    """What each row has paid, beside the rows. Rows pay for their paths when a tree is complete.

    Parameters
    ----------
    home : Home of BlockOfRows
    unit_costs : ndarray of shape (n_units,)
    """

    def __init__(self, home: Home[BlockOfRows], unit_costs: np.ndarray):
        self._home, self._unit_costs = home, unit_costs
        self._accounts = self._before = home.map_small(open_account)
        self.weight = float(home.sum(weight_of_rows))

    def start_round(self) -> None:
        """Remember the present state for `undo_round`."""
        self._before = self._accounts

    def undo_round(self) -> None:
        """Give back all that was paid since the round started."""
        self._accounts = self._before

    def charge(self, units: list[int], rows: Any) -> None:
        """Do nothing, because `settle` charges the rows of a whole tree."""

    def settle(self, tree: ScatteredTree, units_of: Sequence[np.ndarray]) -> None:
        """Charge each row for the units that its path through a tree requires."""
        paths = tree.paths(units_of)
        if any(paths.values()):
            rows = self._accounts.beside(tree.bag.leaves)
            self._accounts = rows.map_small(charged, paths, self._unit_costs)

    def paid_at(self, units: np.ndarray, rows: ScatteredRows, paid_by_all: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weight of the rows at a node, and for each unit the weight of those that have paid it."""
        home = self._home.beside(self._accounts).beside(rows.bag.leaves)
        weight, paid = home.sum(weight_paid, rows.node, units, len(self._unit_costs))
        return weight, np.where(paid_by_all, weight, paid)

    def mean_spend(self) -> float:
        """Return the weighted mean spend of all training rows."""
        return self.spend_sums()[0] / self.weight

    def spend_sums(self) -> tuple[float, float, float, int]:
        """Return what `RowAccounts.spend_sums` does."""
        spend, held_out_spend, n_held_out = self._home.beside(self._accounts).sum(spends)
        return spend, self.weight, held_out_spend, n_held_out


class Account(NamedTuple):
    """What the rows of a block have paid: their spend, and for each unit that some have paid, which of them."""

    spend: np.ndarray
    paid: dict[int, np.ndarray]


def used_codes(n_bins: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return which codes (d, 256) of some features have a place in histograms: those of bins and of missing values."""
    used = np.zeros((8 * ((len(n_bins) + 7) // 8), N_CODES), dtype=bool)
    used[features] = np.arange(N_CODES) < n_bins[features, None]
    used[features, MISSING] = True
    return used


# Functions of one block


def sums_at_root(block: BlockOfRows, derivatives: Any, drawn: Any, score: int) -> tuple[float, ...]:
    """Return the sums of |gradients|, of their squares, of weights and of Hessians over the rows of a tree."""
    gradient, hessian = (each[score] for each in derivatives)
    return derivative_sums(drawn[0], gradient, block.weight, hessian)


def root_alone(
    block: BlockOfRows, derivatives: Any, drawn: Any, score: int, scales: np.ndarray, n_words: int, has_rest: bool
) -> Leaves:
    """Return the rows of a tree without splits."""
    gradient, hessian = (each[score] for each in derivatives)
    bag, rest = drawn
    words = packed_words(bag, gradient, block.weight, hessian, scales, n_words)
    return {0: NodeRows(bag, words, rest[: len(rest) * has_rest])}


def total_and_histogram(block: BlockOfRows, leaves: Leaves, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the words at the root, and their histogram."""
    return leaves[0].words.sum(axis=0), node_histogram(block, leaves, 0, features)


def node_histogram(block: BlockOfRows, leaves: Leaves, node: int, features: np.ndarray) -> np.ndarray:
    """Return the sums (k, m) of the words at a node, for each code that some features use; see `used_codes`."""
    codes, at = block.codes, leaves[node]
    none = np.empty((0, 0)), np.empty(0, dtype=bool), np.empty(0, dtype=np.int64)
    columns = Columns(codes.words, codes.bytes, block.n_bins, *none)
    histogram = np.empty((8 * len(codes.words), N_CODES, at.words.shape[1]), dtype=np.int64)
    fill_histograms(columns, at.rows, at.words, features, histogram)
    return histogram[used_codes(block.n_bins, features)]


def node_histograms(block: BlockOfRows, leaves: Leaves, nodes: list[int], features: np.ndarray) -> np.ndarray:
    """Return the sums (n_nodes, k, m) of `node_histogram` of some nodes."""
    return np.array([node_histogram(block, leaves, node, features) for node in nodes])


def divided(
    block: BlockOfRows, leaves: Leaves, divisions: list[Division], finished: list[int], has_words: bool
) -> Leaves:
    """Return the leaves after some splits, without nodes that are finished."""
    leaves = dict(leaves)
    for node, left, right, feature, goes_left in divisions:
        at, code, as_counts = leaves[node], block.codes.column(feature), goes_left.astype(np.int64)
        words = at.words if has_words else _no_words(at.rows)
        bags, rests = _sides(code, as_counts, at.rows, words), _sides(code, as_counts, at.rest, _no_words(at.rest))
        for child, bag, rest in zip((left, right), bags, rests, strict=True):
            leaves[child] = NodeRows(*bag, rest[0])
    return {node: at for node, at in leaves.items() if node not in finished}


def _sides(
    code: np.ndarray, goes_left: np.ndarray, rows: np.ndarray, words: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return the rows and the words of the left side, and those of the right side.

    They are parts of new arrays for all rows. The system gives memory only to what is written.
    """
    left, right = ((np.empty_like(rows), np.empty_like(words)) for _ in range(2))
    n_left = write_sides(code, goes_left, rows, words, *left, *right)
    n_right = len(rows) - n_left
    return (left[0][:n_left], left[1][:n_left]), (right[0][:n_right], right[1][:n_right])


def _no_words(rows: np.ndarray) -> np.ndarray:
    return np.empty((len(rows), 0), dtype=np.int64)


def leaf_sums(derivatives: Any, leaves: Leaves, score: int, nodes: list[int], ridge: float) -> np.ndarray:
    """Return the sums (n_leaves, 2) of gradients and Hessians at each leaf; those of Hessians start from `ridge`."""
    gradient, hessian = (each[score] for each in derivatives)
    return np.array([sums_of_derivatives(leaves[node].rows, gradient, hessian, ridge) for node in nodes])


def stepped(scores: np.ndarray, *leaves_and_steps: Any) -> np.ndarray:
    """Return scores (n_scores, n) with the steps of trees added; the last argument has the steps of each tree."""
    *leaves, all_steps = leaves_and_steps
    scores, left = scores.copy(), iter(leaves)
    for line, steps in zip(scores, all_steps, strict=True):
        if steps is not None:
            at = next(left)
            for node, step in steps.items():
                for rows in (at[node].rows, at[node].rest):
                    add_steps(ONE_LEAF, np.array([[0, len(rows)]]), rows, np.array([step]), line)
    return scores


def open_account(block: BlockOfRows) -> Account:
    """Return the account of rows that have paid nothing."""
    return Account(np.zeros(len(block.weight)), {})


def charged(account: Account, leaves: Leaves, paths: dict[int, list[int]], unit_costs: np.ndarray) -> Account:
    """Return the account after the rows at each leaf have paid the units of its path."""
    spend, paid = account.spend.copy(), dict(account.paid)
    for unit in {unit for path in paths.values() for unit in path}:
        paid[unit] = paid[unit].copy() if unit in paid else np.zeros(len(spend), dtype=bool)
    who_pays = np.empty(len(spend), dtype=np.uint32)
    for node, path in paths.items():
        for rows in (leaves[node].rows, leaves[node].rest):
            for unit in path:
                pay(paid[unit], rows, unit_costs[unit], spend, who_pays)
    return Account(spend, paid)


def weight_paid(
    block: BlockOfRows, account: Account, leaves: Leaves, node: int, units: np.ndarray, n_units: int
) -> tuple[float, np.ndarray]:
    """Return the weight of the rows at a node, and for some units the weight of those that have paid the unit."""
    paid = np.zeros(n_units)
    rows = np.concatenate([leaves[node].rows, leaves[node].rest])
    weight = block.weight[rows]
    for unit in units.tolist():
        if unit in account.paid:
            paid[unit] = weight[account.paid[unit][rows]].sum()
    return float(weight.sum()), paid


def weight_of_rows(block: BlockOfRows) -> float:
    """Return the weight of the training rows."""
    return float(block.weight.sum())


def spends(block: BlockOfRows, account: Account) -> tuple[float, float, int]:
    """Return the weighted spend of the training rows, and the spend and the number of the held-out rows."""
    held_out = account.spend[block.n_train :]
    return float(block.weight @ account.spend), float(held_out.sum()), len(held_out)
