"""Growth of trees: of all possible splits, the one with the largest net gain is made first.

net gain  =  gain / W  -  penalty

gain      decrease of the quadratic approximation of the loss, summed over the rows of the node:
          1/2 * (G_l^2 / (H_l + r) + G_r^2 / (H_r + r) - G^2 / (H + r)), with the sums G of gradients and H of
          Hessians of the left child, the right child and the node, and the L2 regularization r
W         weight of all rows that the tree is grown on
penalty   rate * price of the feature, in loss per row; see `thrifty.models.growing.payments`
"""

from typing import Any
from zlib import crc32

import numpy as np

from thrifty.kernels.histograms import Columns
from thrifty.models.growing.bag import Bag, TreeRows
from thrifty.models.growing.binning import Bins, Codes
from thrifty.models.growing.free_growth import FreeGrowth
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.payments import NoPayments, Payments
from thrifty.models.growing.priced_growth import PricedGrowth

RANKED_ROWS = 4096  # whose codes decide between equal gains


class Grower:
    """Grows trees on the same coded rows, one after another.

    Parameters
    ----------
    codes : Codes
        The rows; the first rows if they are elsewhere.
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
        self.codes, self.payments, self.limits = codes, payments, limits
        self._no_payments = NoPayments(codes.n_features)
        self.n_words = 1 if constant_hessian else 2
        tie_rank = tie_ranks(codes, bins.edges)
        columns = Columns(codes.words, codes.bytes, bins.n_bins, bins.edges, bins.categorical, tie_rank)
        self._free = FreeGrowth(columns, bins.categories, limits, self.n_words)
        self._priced = PricedGrowth(columns, bins.categories, limits, self.n_words, all_weight)

    def grow(self, bag: TreeRows) -> Any:
        """Grow a tree.

        Parameters
        ----------
        bag : TreeRows
            The rows, with ``n_words`` words each.

        Returns
        -------
        GrownTree or ScatteredTree
        """
        return self._grow(bag, self.payments)

    def saving(self, bag: TreeRows) -> float:
        """Return the loss per row that a tree would save if its features were free; nothing is charged."""
        return float(self._grow(bag, self._no_payments).saved)

    def _grow(self, bag: TreeRows, payments: Payments | NoPayments) -> Any:
        if isinstance(bag, Bag) and isinstance(payments, NoPayments) and self._free.is_faster(bag):
            splits: Any = self._free.grow(bag)
        else:
            splits = self._priced.grow(bag, payments)
        grown = bag.grown(splits, self.limits.l2_regularization)
        payments.settle(grown)
        return grown


def tie_ranks(codes: Codes, edges: np.ndarray) -> np.ndarray:
    """Return a rank of each feature that depends on its values but not on its position, to decide between equal gains.

    Edges are compared first, because they stay the same if a row is repeated instead of weighted.
    """
    of_codes = [crc32(codes.column(j)[:RANKED_ROWS].tobytes()) for j in range(codes.n_features)]
    of_edges = [crc32(line.tobytes()) for line in edges]
    return np.argsort(np.lexsort((of_codes, of_edges)))
