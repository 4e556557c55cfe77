"""The rows of one tree, and their derivatives as whole numbers."""

import numpy as np

from thrifty.kernels.histograms import pack_rows

ROUNDING = 1e-12  # a gain below this share of the largest possible gain is a rounding error


class Bag:
    """The rows that a tree is grown on, those that are only sent down the tree, and the derivatives of the loss.

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
        relative = ROUNDING * (self.packed.abs_gradient / self.packed.weight) ** 2
        self.min_gain = relative * self.packed.weight / self.packed.hessian if self.packed.hessian > 0 else np.inf
