"""Routes of hard nodes: which side of a node a row takes, decided by as few columns as possible.

A weight that does not change the path of any training row is dropped from a route, the most expensive first. Rows
that need the column for their answer buy it further down.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.arrays import cast, like, namespace_of, number
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.products import columns_of
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.linear_nodes.tree import END

SMALLEST_GAP = 0.1  # a weight is dropped if this share of the gap between upper and lower rows remains
ROUNDING = 1e-6  # a gap that is a smaller share of the range of the scores counts as zero


@dataclass(frozen=True, eq=False)
class Route:
    """How a node routes rows: to the upper child if ``weights @ x + intercept > threshold``, else to the lower one.

    Attributes
    ----------
    weights : ndarray of shape (d,)
        Weights of the standardised columns.
    intercept, threshold : float
    upper, lower : int
        The children; -1 if rows end here.
    """

    weights: np.ndarray
    intercept: float
    threshold: float
    upper: int
    lower: int


def learned_routes(topology: Topology, parameters: Parameters) -> list[Route]:
    """Return the routes of all nodes as learned."""
    weights = np.einsum("km,kmd->kd", parameters.directions, parameters.weights)
    intercepts = np.einsum("km,km->k", parameters.directions, parameters.intercepts)
    weights[~topology.inner] = 0.0
    return [
        Route(weights[k], float(intercepts[k]), float(parameters.thresholds[k]), int(upper), int(lower))
        for k, (upper, lower) in enumerate(zip(topology.upper, topology.lower, strict=True))
    ]


def needed_routes(
    objective: Objective, parameters: Parameters, learned: list[Route], scores: Any, prices: np.ndarray
) -> list[Route]:
    """Return routes without the weights that do not change the path of any training row.

    The `scores` (n, K * m) are where the rows of the objective are. The parameters are NumPy arrays.
    """
    topology, xp = objective.topology, namespace_of(objective.X)
    n_scores = parameters.directions.shape[1]
    rows = {0: like(np.arange(objective.X.shape[0]), objective.X)}
    nobody = rows[0][:0]
    bought = np.zeros((topology.n_nodes + 1, objective.X.shape[1]), dtype=bool)  # by routes; the last line is for -1
    routes = []
    for k, route in enumerate(learned):
        here = rows.get(k, nobody)
        own = xp.take(scores[:, k * n_scores : (k + 1) * n_scores], here, axis=0)
        projected = own @ like(parameters.directions[k], own)
        above = projected > route.threshold
        rows[route.upper], rows[route.lower] = here[above], here[~above]
        before = bought[topology.parent[k]]
        routes.append(_needed_route(route, objective.X, here, projected, above, prices, before))
        bought[k] = before | (routes[k].weights != 0)
    return routes


def _needed_route(
    route: Route,
    X: Any,
    rows: Any,
    projected: Any,
    above: Any,
    prices: np.ndarray,
    bought: np.ndarray,
) -> Route:
    """Drop the weights of a route that do not change the path of any of its `rows`, the most expensive first.

    `projected` are the scores of the rows along the direction of the node, `above` marks the rows that go up.
    """
    if not rows.shape[0] or route.upper == route.lower:
        return route
    n_above = int(number(namespace_of(above).count_nonzero(above)))
    if n_above in (0, rows.shape[0]):  # all rows go to the same side, so the node does not have to decide
        only = route.upper if n_above else route.lower
        return Route(np.zeros_like(route.weights), 0.0, 0.0, only, only)
    if END in (route.upper, route.lower):  # rows end here, and their answer needs the columns anyway
        return route
    xp, weights, threshold = namespace_of(X), route.weights.copy(), route.threshold
    candidates = np.flatnonzero((weights != 0) & ~bought)
    lowest, highest = _gap(projected, above)
    extent = number(xp.max(projected)) - number(xp.min(projected))
    gap = max(SMALLEST_GAP * (lowest - highest), ROUNDING * extent)
    candidates = candidates[np.lexsort((np.abs(weights[candidates]), -prices[candidates]))]
    columns = columns_of(X, rows, candidates)
    for i, j in enumerate(candidates):
        without = projected - float(weights[j]) * cast(columns[i, :], projected.dtype)
        lowest, highest = _gap(without, above)
        if lowest - highest > gap:
            projected, weights[j], threshold = without, 0.0, 0.5 * (lowest + highest)
    return Route(weights, route.intercept, threshold, route.upper, route.lower)


def _gap(projected: Any, above: Any) -> tuple[float, float]:
    """Return the lowest score of the rows that go up, and the highest of those that go down."""
    xp = namespace_of(projected)
    infinite = xp.full_like(projected, np.inf)
    return number(xp.min(xp.where(above, projected, infinite))), number(xp.max(xp.where(above, -infinite, projected)))


def reachable_nodes(routes: list[Route]) -> dict[int, int]:
    """Return the nodes that a row can reach, parents first, each with its parent (-1 for the root)."""
    parents = {0: END}
    for k, route in enumerate(routes):
        if k in parents:
            parents |= {child: k for child in (route.upper, route.lower) if child != END}
    return dict(sorted(parents.items()))
