"""The rows of one tree in this process, and their derivatives as whole numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from thrifty.kernels.histograms import Columns, Packed, fill_histograms, pack_rows
from thrifty.kernels.tree_rows import partition
from thrifty.models.forests.forest import Tree
from thrifty.models.growing.grown_tree import GrownTree, Splits

ROUNDING = 1e-12  # a gain below this share of the largest possible gain is a rounding error

Filler = Callable[[np.ndarray, np.ndarray], None]  # writes the histograms of some features into an array


class TreeRows(Protocol):
    """The rows of one tree, wherever they live: what the growth of a tree needs of them.

    A node has a handle, which only these methods understand.

    Attributes
    ----------
    features : ndarray of int
        The features that the tree may split on, in ascending order.
    packed : Packed
        The scales of the words of the rows, sums over the rows, and the words of the rows that are here.
    min_gain : float
        The gain of a split, in loss per row, that may be a rounding error.
    """

    features: np.ndarray
    packed: Packed
    min_gain: float
    is_far: bool  # whether each sum takes long to arrive, so that `expect` saves time

    @property
    def root(self) -> Any:
        """The handle of the root."""

    @property
    def total(self) -> np.ndarray:
        """The sum (m,) of the words."""

    def size(self, at: Any, total: np.ndarray) -> int:
        """Return how many rows a node has, in any unit; `total` is the sum of their words."""

    def rows_at(self, at: Any) -> Any:
        """Return the rows at a node, as the accounts of the rows take them."""

    def filler(self, at: Any, columns: Columns) -> Filler:
        """Return the function that writes histograms of the rows at a node; threads may call it."""

    def expect(self, at: Any, feature: int, goes_left: np.ndarray, smaller: int) -> None:
        """Prepare for a split that is likely to come: its smaller child, 0 (left) or 1, will need its histograms."""

    def divide(self, at: Any, feature: int, goes_left: np.ndarray, columns: Columns) -> tuple[Any, Any]:
        """Send the rows at a node to its children; `goes_left` (256,) tells which codes of the feature go left."""

    def splits(self, tree: Tree, nodes: list[Any], saved: float) -> Any:
        """Return the splits of a tree that was grown node by node, given the handle of each node."""

    def grown(self, splits: Any, ridge: float) -> Any:
        """Return the tree with the steps of its leaves; `ridge` is added to the Hessian of each."""


class Span(NamedTuple):
    """The rows at a node: a part of the rows that the tree is grown on, and a part of the others."""

    bag: slice
    rest: slice


class Bag:
    """The rows that a tree is grown on, those that are only sent down the tree, and the derivatives of the loss.

    It is a `TreeRows`; so is `ScatteredBag`, for rows in blocks that live elsewhere.

    Parameters
    ----------
    gradient, hessian : ndarray of shape (n,)
        Derivatives of the loss, multiplied by the weights of the rows.
    weight : ndarray of shape (n,)
    rows : ndarray of uint32
        The rows that the tree is grown on. The growth of the tree reorders the array.
    rest : ndarray of uint32
        Other rows. The growth of the tree reorders the array.
    features : ndarray of int
        The features that the tree may split on, in ascending order.
    n_words : int
        The number of words of a row: 1 if Hessians are equal to the weights, otherwise 2.

    Attributes
    ----------
    packed : Packed
        The derivatives of `rows` as words, which the growth of the tree reorders too.
    min_gain : float
        The gain of a split, in loss per row, that may be a rounding error.
    """

    is_far = False

    def __init__(
        self,
        gradient: np.ndarray,
        hessian: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        rest: np.ndarray,
        features: np.ndarray,
        n_words: int,
    ):
        self.gradient, self.hessian, self.rows, self.rest, self.features = gradient, hessian, rows, rest, features
        self.packed = pack_rows(rows, gradient, weight, hessian, n_words)
        self.min_gain = smallest_gain(self.packed)
        self._spare: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # memory that is written again and again

    @property
    def root(self) -> Span:
        """The rows at the root."""
        return Span(slice(0, len(self.rows)), slice(0, len(self.rest)))

    @property
    def total(self) -> np.ndarray:
        """The sum (m,) of the words."""
        return self.packed.words.sum(axis=0)

    def size(self, at: Span, total: np.ndarray) -> int:
        """Return the number of rows at a node that the tree is grown on; `total` is the sum of their words."""
        return at.bag.stop - at.bag.start

    def rows_at(self, at: Span) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows at a node, as `RowAccounts` takes them."""
        return self.rows[at.bag], self.rest[at.rest]

    def filler(self, at: Span, columns: Columns) -> Filler:
        """Return the function that writes histograms of the rows at a node; threads may call it."""
        rows, words = self.rows[at.bag], self.packed.words[at.bag]
        return lambda features, histogram: fill_histograms(columns, rows, words, features, histogram)

    def expect(self, at: Span, feature: int, goes_left: np.ndarray, smaller: int) -> None:
        """Do nothing."""

    def divide(self, at: Span, feature: int, goes_left: np.ndarray, columns: Columns) -> tuple[Span, Span]:
        """Send the rows at a node to its children; `goes_left` (256,) tells which codes of the feature go left."""
        code, goes_left = columns.bytes[feature >> 3, :, feature & 7], goes_left.astype(np.int64)
        spare_rows, spare_words, no_words = self._spare = self._spare or self._spare_memory()
        bag, rest = self.rows_at(at)
        n_bag = partition(code, goes_left, bag, self.packed.words[at.bag], spare_rows, spare_words)
        n_rest = partition(code, goes_left, rest, no_words[at.rest], spare_rows, no_words)
        bags, rests = _cut(at.bag, n_bag), _cut(at.rest, n_rest)
        return Span(bags[0], rests[0]), Span(bags[1], rests[1])

    def _spare_memory(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        spare_rows = np.empty(max(len(self.rows), len(self.rest)), dtype=self.rows.dtype)
        return spare_rows, np.empty_like(self.packed.words), np.empty((len(self.rest), 0), dtype=np.int64)

    def splits(self, tree: Tree, nodes: list[Any], saved: float) -> Splits:
        """Return the splits of a tree that was grown node by node, given the rows at each node."""
        bag, rest = (np.array([(part.start, part.stop) for part in parts]) for parts in zip(*nodes, strict=True))
        return Splits(tree, bag, rest, saved)

    def grown(self, splits: Splits, ridge: float) -> GrownTree:
        """Return the tree with its rows and the steps of its leaves."""
        return GrownTree(splits, self.rows, self.rest, self.gradient, self.hessian, ridge)


def smallest_gain(packed: Packed) -> float:
    """Return the gain of a split, in loss per row, that may be a rounding error."""
    relative = ROUNDING * (packed.abs_gradient / packed.weight) ** 2
    return relative * packed.weight / packed.hessian if packed.hessian > 0 else np.inf


def _cut(rows: slice, n_first: int) -> tuple[slice, slice]:
    """Return the first rows of a slice, and the others."""
    middle = rows.start + n_first
    return slice(rows.start, middle), slice(middle, rows.stop)
