"""Splits of the rows at a node: projection, threshold near the median, moments of the two children."""

import numpy as np

from thrifty.kernels.linear_tree import project_rows
from thrifty.kernels.threads import over_rows
from thrifty.models.least_squares.moments import Moments
from thrifty.models.linear_nodes.tree import LinearNode

TIE = 1e-9  # relative difference below which two sums of weights count as equal


def project(moments: Moments, held: list[int], node: LinearNode) -> np.ndarray:
    """Return the projections of the rows at a node.

    They are computed exactly as at prediction, so that rows on the threshold go to the same child.
    """
    out = np.empty(len(moments.rows))
    features = np.array(held, dtype=np.uint64)

    X, rows, weights, intercept = moments.data.X, moments.rows, node.projection, node.projection_intercept
    over_rows(lambda first, last: project_rows(X, rows, first, last, features, weights, intercept, out), len(out))
    return out


def median_split(values: np.ndarray, weight: np.ndarray, min_side: float) -> float | None:
    """Return the threshold that divides rows into halves; rows above it go to the upper child.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Projections of the rows.
    weight : ndarray of shape (n,)
        Weights of the rows.
    min_side : float
        Smallest total weight on either side of the threshold.

    Returns
    -------
    float or None
        The weighted median. If the median leaves too little on one side, the threshold whose sides are most equal in
        weight. None if no threshold leaves enough on both sides.
    """
    order = np.argsort(values)
    ordered, below = values[order], np.cumsum(weight[order])
    total = below[-1]
    edges = np.flatnonzero(ordered[:-1] < ordered[1:])  # positions after which a threshold is possible
    edges = edges[(below[edges] >= min_side) & (total - below[edges] >= min_side)]
    if not edges.size:
        return None
    median = _weighted_median(ordered, below)
    at_median = np.searchsorted(ordered, median, side="right") - 1
    if at_median in edges:
        return median
    edge = edges[np.abs(below[edges] - total / 2).argmin()]
    middle = (ordered[edge] + ordered[edge + 1]) / 2
    return float(min(middle, np.nextafter(ordered[edge + 1], -np.inf)))  # the middle may round to the upper value


def _weighted_median(ordered: np.ndarray, cumulative: np.ndarray) -> float:
    """Return what ``np.median`` would return if each value were repeated as often as its weight says."""
    half = cumulative[-1] / 2
    left = np.searchsorted(cumulative, half * (1 - TIE))
    right = np.searchsorted(cumulative, half * (1 + TIE))
    return float((ordered[left] + ordered[min(right, len(ordered) - 1)]) / 2)


def child_moments(moments: Moments, above: np.ndarray, held: list[int], ahead: float) -> tuple[Moments, Moments]:
    """Return the moments of the upper and the lower child.

    Those of the lighter child are computed from its rows, those of the other child by subtraction.

    Parameters
    ----------
    moments : Moments
        Moments of the node.
    above : ndarray
        Share of each row at the node that goes to the upper child: 0 or 1, or a probability in a soft tree.
    held : list of int
        Features that the children hold.
    ahead : float
        Expected number of features that a child buys.

    Returns
    -------
    upper, lower : Moments
    """
    shares = (above, 1.0 - above)
    lighter = int(shares[1] @ moments.row_weight < shares[0] @ moments.row_weight)
    (rows, weight), (other_rows, other_weight) = (_rows_with(moments, shares[k]) for k in (lighter, 1 - lighter))
    light = Moments(moments.data, rows, weight, held, ahead, moments.origin)
    heavy = moments.without(light, other_rows, other_weight)
    light, heavy = (child.made_accurate(held, ahead) for child in (light, heavy))
    return (light, heavy) if lighter == 0 else (heavy, light)


def _rows_with(moments: Moments, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows with a positive share, and their weights times their shares."""
    here = share > 0
    return moments.rows[here], (moments.row_weight * share)[here]
