"""Growth of one tree in one call of a kernel, if features are free and rows are few."""

import numpy as np

from thrifty.kernels.histograms import N_CODES, OTHER, Columns
from thrifty.kernels.threads import n_threads
from thrifty.kernels.tree_growth import Nodes, grow_tree
from thrifty.models.forests.forest import LEAF, Tree
from thrifty.models.growing.bag import Bag
from thrifty.models.growing.grown_tree import Splits
from thrifty.models.growing.limits import Limits

CODES_PER_LEAF = 50_000  # if a tree reads more codes per leaf, threads save more time than calls for every node cost
MOST_LEAVES = 40  # in the estimate of the codes that a tree will read
N_HISTOGRAMS = 4  # to start with; the kernel allocates more if it needs them


class FreeGrowth:
    """Grows trees on free features, one after another.

    Parameters
    ----------
    columns : Columns
        The coded rows.
    categories : dict
        ``{column: values}``: the categories that the codes of categorical columns stand for.
    limits : Limits
    n_words : int
        The number of words of a row.
    """

    def __init__(self, columns: Columns, categories: dict[int, np.ndarray], limits: Limits, n_words: int):
        self._columns, self._categories = columns, categories
        self._size, self._rules = limits.size, limits.split_rules
        self._mean_bins = float(columns.n_bins.mean())
        self._n_leaves = min(MOST_LEAVES, self._size.max_leaves, 2 ** min(self._size.max_depth, 10))
        self._histograms = np.empty((N_HISTOGRAMS, 8 * len(columns.words), N_CODES, n_words), dtype=np.int64)

    def is_faster(self, bag: Bag) -> bool:
        """Return whether one thread is faster than several threads, which have to start again at every node.

        A tree reads the codes of its rows, and the bins of all features at each node.
        """
        n_codes = len(bag.features) * (len(bag.rows) + self._n_leaves * self._mean_bins)
        return n_codes <= CODES_PER_LEAF * self._n_leaves or n_threads() == 1

    def grow(self, bag: Bag) -> Splits:
        """Grow a tree."""
        nodes, saved, self._histograms = grow_tree(
            self._columns,
            self._size,
            self._rules,
            bag.rows,
            bag.rest,
            bag.packed,
            bag.min_gain,
            bag.features,
            self._histograms,
        )
        feature, threshold, left, right = nodes[:4]
        tree = Tree(feature, threshold, left, right, None, nodes.missing_left, self._categories_of(nodes))
        return Splits(tree, nodes.bag_span, nodes.rest_span, saved)

    def _categories_of(self, nodes: Nodes) -> dict[int, list[int]]:
        """Return the categories that go left, for each split on a categorical column."""
        if not self._categories:
            return {}
        categorical = (nodes.feature != LEAF) & self._columns.categorical[nodes.feature]
        return {
            node: self._categories[int(nodes.feature[node])][np.flatnonzero(nodes.goes_left[node, :OTHER])]
            .astype(int)
            .tolist()
            for node in np.flatnonzero(categorical).tolist()
        }
