"""Folds of rows."""

import numpy as np


def folds_by_group(group: np.ndarray, n_folds: int) -> np.ndarray:
    """Return the fold (n,) of each row such that every group is spread over the folds; -1 for a group of one row.

    >>> folds_by_group(np.array([0, 0, 0, 1, 1, 2]), 2)
    array([ 0,  1,  0,  0,  1, -1])
    """
    _, position, size = np.unique(group, return_inverse=True, return_counts=True)
    first = np.cumsum(size) - size
    order = np.argsort(position, kind="stable")
    rank = np.empty(len(group), dtype=int)
    rank[order] = np.arange(len(group)) - first[position[order]]
    return np.where(size[position] > 1, rank % n_folds, -1)
