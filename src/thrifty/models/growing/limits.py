"""Limits on the growth of a tree."""

from dataclasses import dataclass

from thrifty.kernels.histograms import SplitRules
from thrifty.kernels.tree_growth import Size

UNLIMITED = 2**31


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

    @property
    def size(self) -> Size:
        """The limits on the size of a tree, for kernels."""
        depth, leaves = (UNLIMITED if each is None else int(each) for each in (self.max_depth, self.max_leaf_nodes))
        return Size(depth, leaves)

    @property
    def split_rules(self) -> SplitRules:
        """The limits on each split, for kernels."""
        return SplitRules(float(self.min_samples_leaf), bool(self.by_hessian), float(self.l2_regularization))
