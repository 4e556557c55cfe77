"""Splits of the rows at a node: projection, threshold near the median, moments of the two children."""

import numpy as np
from scipy.special import expit

from thrifty.arrays import cast, is_device_array, namespace_of, part_of, to_host
from thrifty.kernels.dot import LANES
from thrifty.kernels.linear_tree import project_rows
from thrifty.kernels.moments_arrays import dot_of_lines
from thrifty.kernels.threads import over_rows
from thrifty.models.greedy.order_statistics import OrderStatistics
from thrifty.models.homes import Home
from thrifty.models.least_squares.moments import Moments
from thrifty.models.least_squares.node_rows import Members, RowBlock
from thrifty.models.linear_nodes.tree import LinearNode

TIE = 1e-9  # relative difference below which two sums of weights count as equal


def project(moments: Moments, held: list[int], node: LinearNode) -> Home[np.ndarray]:
    """Return the projections of the rows at a node, beside the rows.

    They are computed exactly as at prediction, so that rows on the threshold go to the same child.
    """
    features = np.array(held, dtype=np.uint64)
    return moments.rows.map(_projected, features, node.projection, node.projection_intercept)


def _projected(
    block: RowBlock, members: Members, features: np.ndarray, weights: np.ndarray, intercept: float
) -> np.ndarray:
    X, rows, out = block.X, members.rows, np.empty(len(members.rows))
    if is_device_array(X):
        held = cast(part_of(X, rows, features.astype(np.int64)), namespace_of(X).float64)
        return intercept + to_host(dot_of_lines(held, weights, LANES))
    over_rows(lambda first, last: project_rows(X, rows, first, last, features, weights, intercept, out), len(out))
    return out


def median_split(statistics: OrderStatistics, min_side: float) -> float | None:
    """Return the threshold that divides rows into halves; rows above it go to the upper child.

    Parameters
    ----------
    statistics : OrderStatistics
        Those of the projections.
    min_side : float
        Smallest total weight on either side of the threshold.

    Returns
    -------
    float or None
        The weighted median. If the median leaves too little on one side, the threshold whose sides are most equal in
        weight. None if no threshold leaves enough on both sides.
    """
    median = _weighted_median(statistics)
    if _is_edge(statistics.total, *statistics.around(median), min_side):
        return median
    at_half = statistics.first_reaching(statistics.total / 2)
    around = {value: statistics.around(value) for value in (statistics.last_below(at_half), at_half)}
    edges = [value for value in around if _is_edge(statistics.total, *around[value], min_side)]
    if not edges:
        return None
    edge = min(edges, key=lambda value: abs(around[value][0] - statistics.total / 2))
    following = around[edge][1]
    return float(min((edge + following) / 2, np.nextafter(following, -np.inf)))  # the middle may round to `following`


def _is_edge(total: float, below: float, following: float, min_side: float) -> bool:
    """Tell whether a threshold leaves rows, and enough weight, on both sides.

    `below` is the weight of the rows up to the threshold, and `following` the smallest value above it.
    """
    return below > 0 and min(below, total - below) >= min_side and following < np.inf


def _weighted_median(statistics: OrderStatistics) -> float:
    """Return what ``np.median`` would return if each value were repeated as often as its weight says."""
    half = statistics.total / 2
    left = statistics.first_reaching(half * (1 - TIE))
    weight, following = statistics.around(left)
    if weight >= half * (1 + TIE) or following == np.inf:
        return left
    if statistics.around(following)[0] < half * (1 + TIE):
        following = statistics.first_reaching(half * (1 + TIE))
    return (left + following) / 2


def divide(
    moments: Moments, projections: Home[np.ndarray], threshold: float, softness: float, held: list[int], ahead: float
) -> tuple[Moments, Moments]:
    """Return the moments of the upper and the lower child.

    Those of the lighter child are computed from its rows, those of the other child by subtraction.

    Parameters
    ----------
    moments : Moments
        Moments of the node.
    projections : Home of ndarray
        The projections of its rows.
    threshold : float
        The threshold of the node.
    softness : float
        0: each row goes to one child. Otherwise a row goes to the upper child with a probability that is a sigmoid of
        (projection - threshold) / softness.
    held : list of int
        Features that the children hold.
    ahead : float
        Expected number of features that a child buys.

    Returns
    -------
    upper, lower : Moments
    """
    rows = moments.members.beside(projections.map(_shares_above, threshold, softness))
    above, below = rows.sum(_weights_of_sides)
    is_lower = below < above  # the lighter child
    members, others = (rows.map(_side, lower) for lower in (is_lower, not is_lower))
    light = Moments(moments.data, members, held, ahead, moments.origin)
    heavy = moments.without(light, others)
    light, heavy = (child.made_accurate(held, ahead) for child in (light, heavy))
    return (heavy, light) if is_lower else (light, heavy)


def _shares_above(projections: np.ndarray, threshold: float, softness: float) -> np.ndarray:
    """Return the share of each row that goes to the upper child."""
    return expit((projections - threshold) / softness) if softness else (projections > threshold).astype(float)


def _weights_of_sides(members: Members, above: np.ndarray) -> tuple[float, float]:
    return above @ members.weight, (1.0 - above) @ members.weight


def _side(members: Members, above: np.ndarray, lower: bool) -> Members:
    """Return the rows with a positive share in a child, with their weights times their shares."""
    share = 1.0 - above if lower else above
    here = share > 0
    return Members(members.rows[here], (members.weight * share)[here])
