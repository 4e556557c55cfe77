"""Routes of hard nodes: which side of a node a row takes, decided by as few columns as possible.

A weight that does not change the path of any training row is dropped from a route, the most expensive first. Rows
that need the column for their answer buy it further down.
"""

from dataclasses import dataclass

import numpy as np

from thrifty.models.expected_cost.objective import Objective
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
    objective: Objective, parameters: Parameters, learned: list[Route], scores: np.ndarray, prices: np.ndarray
) -> list[Route]:
    """Return routes without the weights that do not change the path of any training row."""
    topology = objective.topology
    scores = scores.reshape(len(scores), *parameters.intercepts.shape)
    rows = {0: np.arange(len(scores))}
    bought = np.zeros((topology.n_nodes + 1, objective.X.shape[1]), dtype=bool)  # by routes; the last line is for -1
    routes = []
    for k, route in enumerate(learned):
        here = rows.get(k, np.arange(0))
        projected = scores[here, k] @ parameters.directions[k]
        above = projected > route.threshold
        rows[route.upper], rows[route.lower] = here[above], here[~above]
        before = bought[topology.parent[k]]
        routes.append(_needed_route(route, objective.X, here, projected, above, prices, before))
        bought[k] = before | (routes[k].weights != 0)
    return routes


def _needed_route(
    route: Route,
    X: np.ndarray,
    rows: np.ndarray,
    projected: np.ndarray,
    above: np.ndarray,
    prices: np.ndarray,
    bought: np.ndarray,
) -> Route:
    """Drop the weights of a route that do not change the path of any of its `rows`, the most expensive first.

    `projected` are the scores of the rows along the direction of the node, `above` marks the rows that go up.
    """
    if not len(rows) or route.upper == route.lower:
        return route
    if above.all() or not above.any():  # all rows go to the same side, so the node does not have to decide
        only = route.upper if above.all() else route.lower
        return Route(np.zeros_like(route.weights), 0.0, 0.0, only, only)
    if END in (route.upper, route.lower):  # rows end here, and their answer needs the columns anyway
        return route
    weights, threshold = route.weights.copy(), route.threshold
    candidates = np.flatnonzero((weights != 0) & ~bought)
    gap = max(SMALLEST_GAP * (projected[above].min() - projected[~above].max()), ROUNDING * np.ptp(projected))
    candidates = candidates[np.lexsort((np.abs(weights[candidates]), -prices[candidates]))]
    for j, values in zip(candidates, np.ascontiguousarray(X[np.ix_(rows, candidates)].T), strict=True):
        without = projected - weights[j] * values
        lowest, highest = without[above].min(), without[~above].max()
        if lowest - highest > gap:
            projected, weights[j], threshold = without, 0.0, float(0.5 * (lowest + highest))
    return Route(weights, route.intercept, threshold, route.upper, route.lower)


def reachable_nodes(routes: list[Route]) -> dict[int, int]:
    """Return the nodes that a row can reach, parents first, each with its parent (-1 for the root)."""
    parents = {0: END}
    for k, route in enumerate(routes):
        if k in parents:
            parents |= {child: k for child in (route.upper, route.lower) if child != END}
    return dict(sorted(parents.items()))
