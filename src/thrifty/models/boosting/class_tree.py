"""Classification trees for several classes on coded rows.

Each split is the one that decreases the weighted Gini impurity of a node most:

    gain  =  sum over classes k of  L_k^2 / L  +  R_k^2 / R  -  N_k^2 / N

L_k, R_k and N_k are the weights of class k on the left side, on the right side and at the node; L, R and N are their
sums over the classes. A leaf votes for the class with the largest weight.
"""

from typing import NamedTuple

import numpy as np

from thrifty.kernels.histograms import MISSING, N_CODES
from thrifty.models.forests.forest import Tree
from thrifty.models.growing.binning import Bins, Codes
from thrifty.models.growing.grown_tree import TreeNodes
from thrifty.models.growing.growth import tie_ranks
from thrifty.models.growing.limits import Limits

TIE = 1e-9  # relative difference below which two sums of weights count as equal
NO_GAIN = 1e-12  # a gain below this share of the weight of a node may be a rounding error


class _Split(NamedTuple):
    """A split of a node: codes up to `position` of a feature go left."""

    gain: float
    feature: int = -1
    position: int = -1
    missing_left: bool = True


class ClassTreeGrower:
    """Grows trees on the same coded rows and classes, for different weights of the rows.

    Parameters
    ----------
    codes : Codes
        The rows.
    bins : Bins
        The bins that the codes stand for.
    labels : ndarray of int, shape (n,)
        The class of each row, from 0.
    count : ndarray of shape (n,)
        How many rows each row counts as.
    limits : Limits
        A leaf must have at least the share ``min_samples_leaf / count of the node`` of the weight of its parent.
    """

    def __init__(self, codes: Codes, bins: Bins, labels: np.ndarray, count: np.ndarray, limits: Limits):
        self.codes, self.bins, self.labels, self.count, self.limits = codes, bins, labels, count, limits
        self.n_classes = int(labels.max()) + 1
        self._tie_rank = tie_ranks(codes, bins.edges)

    def grow(self, weight: np.ndarray) -> tuple[Tree, np.ndarray]:
        """Grow a tree for rows of these weights.

        Returns
        -------
        tree : Tree
            Its leaves have one value per class: 1 for the class that they vote for, otherwise 0.
        votes : ndarray of int8, shape (n, n_classes)
            The values that the rows get.
        """
        self._weight = weight
        nodes, leaves = TreeNodes(), {}
        growing = [(nodes.add_leaf(), np.arange(len(weight)), 0)]
        while growing:
            node, rows, depth = growing.pop()
            split = self._best_split(rows) if depth != self.limits.max_depth else None
            if split is None:
                leaves[node] = rows
                continue
            goes_left = self._write(nodes, node, split, rows)
            nodes.left[node], nodes.right[node] = nodes.add_leaf(), nodes.add_leaf()
            growing.append((nodes.right[node], rows[~goes_left], depth + 1))
            growing.append((nodes.left[node], rows[goes_left], depth + 1))
        return self._voting(nodes, leaves)

    def _best_split(self, rows: np.ndarray) -> _Split | None:
        """Return the split with the largest gain, or None if no split is allowed or gains anything."""
        total = self._class_weights(self.labels[rows], rows, self.n_classes)
        splits = [self._best_of_feature(j, rows, total) for j in range(self.codes.n_features)]
        largest = max(split.gain for split in splits)
        if not largest > NO_GAIN * total.sum():
            return None
        equal = [split for split in splits if split.gain >= largest * (1 - TIE)]
        return min(equal, key=lambda split: self._tie_rank[split.feature])

    def _best_of_feature(self, j: int, rows: np.ndarray, total: np.ndarray) -> _Split:
        cells = self.codes.column(j)[rows].astype(np.int64) * self.n_classes + self.labels[rows]
        table = self._class_weights(cells, rows, N_CODES * self.n_classes).reshape(N_CODES, self.n_classes)
        below, missing = np.cumsum(table[: self.bins.n_bins[j]], axis=0), table[MISSING]
        least = self.limits.min_samples_leaf / self.count[rows].sum() * total.sum() * (1 - TIE)
        sides = (False, True) if missing.any() else (False,)
        best = _Split(-np.inf)
        for missing_left in sides:
            gains = _gains(below + missing * missing_left, total, least)
            position = int(np.argmax(gains >= gains.max() * (1 - TIE)))
            if gains[position] > best.gain:
                heavier_left = bool(2 * below[position].sum() >= total.sum())
                best = _Split(float(gains[position]), j, position, missing_left if len(sides) > 1 else heavier_left)
        return best

    def _class_weights(self, cells: np.ndarray, rows: np.ndarray, n_cells: int) -> np.ndarray:
        return np.bincount(cells, self._weight[rows], n_cells)

    def _write(self, nodes: TreeNodes, node: int, split: _Split, rows: np.ndarray) -> np.ndarray:
        """Write a split into the tree and return which rows go left."""
        nodes.feature[node], nodes.missing_left[node] = split.feature, split.missing_left
        nodes.threshold[node] = float(self.bins.edges[split.feature, split.position])
        code = self.codes.column(split.feature)[rows]
        return np.where(code == MISSING, split.missing_left, code <= split.position)

    def _voting(self, nodes: TreeNodes, leaves: dict[int, np.ndarray]) -> tuple[Tree, np.ndarray]:
        value = np.zeros((len(nodes.feature), self.n_classes))
        votes = np.zeros((len(self.labels), self.n_classes), dtype=np.int8)
        for leaf, rows in leaves.items():
            by_class = self._class_weights(self.labels[rows], rows, self.n_classes)
            winner = int(np.argmax(by_class >= by_class.max() * (1 - TIE)))
            value[leaf, winner] = votes[rows, winner] = 1
        return nodes.as_tree(value), votes


def _gains(left: np.ndarray, total: np.ndarray, least: float) -> np.ndarray:
    """Return the gain of each position, given the class weights (n_positions, n_classes) on its left side."""
    right = total - left
    on_left, on_right = left.sum(axis=1), right.sum(axis=1)
    allowed = np.minimum(on_left, on_right) >= least
    gains = np.full(len(left), -np.inf)
    after = (left[allowed] ** 2).sum(axis=1) / on_left[allowed] + (right[allowed] ** 2).sum(axis=1) / on_right[allowed]
    gains[allowed] = after - (total**2).sum() / total.sum()
    return gains
