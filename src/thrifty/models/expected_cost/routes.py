"""Routes of hard nodes: which side of a node a row takes, decided by as few columns as possible.

A weight that does not change the path of any training row is dropped from a route, the most expensive first. Rows
that need the column for their answer buy it further down.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thrifty.arrays import cast, like, namespace_of, number
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.products import columns_of
from thrifty.models.expected_cost.row_blocks import TrainingRows
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.traversal import SoftRows, Traversal
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.homes import Home
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


class Sides(NamedTuple):
    """The rows of a block at a node.

    Attributes
    ----------
    rows : array of int
        Their positions in the block.
    projected : array
        Their scores along the direction of the node; without the weights that have been dropped.
    above : array of bool
        Which of them go up.
    """

    rows: Any
    projected: Any
    above: Any


def needed_routes(
    objective: Objective, parameters: Parameters, learned: list[Route], soft: Traversal, prices: np.ndarray
) -> list[Route]:
    """Return routes without the weights that do not change the path of any training row.

    `soft` are the rows of the objective, sent down the tree. The parameters are NumPy arrays.
    """
    topology = objective.topology
    rows = {0: objective.rows.map(_all_positions)}
    nobody = objective.rows.map(_no_positions)
    bought = np.zeros((topology.n_nodes + 1, objective.n_columns), dtype=bool)  # by routes; the last line is for -1
    routes = []
    for k, route in enumerate(learned):
        here = soft.rows.beside(rows.get(k, nobody)).map(_sides, k, parameters.directions[k], route.threshold)
        rows[route.upper], rows[route.lower] = here.map(_on_side, True), here.map(_on_side, False)
        before = bought[topology.parent[k]]
        routes.append(_needed_route(route, objective.rows, here, prices, before))
        bought[k] = before | (routes[k].weights != 0)
    return routes


def _needed_route(
    route: Route, rows: Home[TrainingRows], here: Home[Sides], prices: np.ndarray, bought: np.ndarray
) -> Route:
    """Drop the weights of a route that do not change the path of any row at its node, the most expensive first."""
    if route.upper == route.lower:
        return route
    n_rows, n_above = here.sum(_counts)
    if not n_rows:
        return route
    if n_above in (0, n_rows):  # all rows go to the same side, so the node does not have to decide
        only = route.upper if n_above else route.lower
        return Route(np.zeros_like(route.weights), 0.0, 0.0, only, only)
    if END in (route.upper, route.lower):  # rows end here, and their answer needs the columns anyway
        return route
    weights, threshold = route.weights.copy(), route.threshold
    candidates = np.flatnonzero((weights != 0) & ~bought)
    lowest, highest = _gap(here.collect(_edges))
    ends = np.array(here.collect(_ends))
    gap = max(SMALLEST_GAP * (lowest - highest), ROUNDING * float(ends[:, 1].max() - ends[:, 0].min()))
    candidates = candidates[np.lexsort((np.abs(weights[candidates]), -prices[candidates]))]
    columns = rows.beside(here).map(_columns_at, candidates)
    for i, j in enumerate(candidates):
        without = here.beside(columns).map(_without, i, float(weights[j]))
        lowest, highest = _gap(without.collect(_edges))
        if lowest - highest > gap:
            here, weights[j], threshold = without, 0.0, 0.5 * (lowest + highest)
    return Route(weights, route.intercept, threshold, route.upper, route.lower)


def _gap(edges: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the lowest score of the rows that go up, and the highest of those that go down, given those of blocks."""
    lowest, highest = zip(*edges, strict=True)
    return min(lowest), max(highest)


def _all_positions(rows: TrainingRows) -> Any:
    return like(np.arange(rows.X.shape[0]), rows.X)


def _no_positions(rows: TrainingRows) -> Any:
    return like(np.arange(0), rows.X)


def _sides(soft: SoftRows, rows: Any, k: int, direction: np.ndarray, threshold: float) -> Sides:
    """Return which of some rows go up at a node."""
    n_scores = len(direction)
    own = namespace_of(rows).take(soft.scores[:, k * n_scores : (k + 1) * n_scores], rows, axis=0)
    projected = own @ like(direction, own)
    return Sides(rows, projected, projected > threshold)


def _on_side(here: Sides, upper: bool) -> Any:
    """Return the positions of the rows that go to one side."""
    return here.rows[here.above if upper else ~here.above]


def _counts(here: Sides) -> tuple[int, int]:
    """Return the number of rows, and how many of them go up."""
    return int(here.rows.shape[0]), int(number(namespace_of(here.above).count_nonzero(here.above)))


def _ends(here: Sides) -> tuple[float, float]:
    """Return the lowest and the highest score."""
    if not here.rows.shape[0]:
        return np.inf, -np.inf
    xp = namespace_of(here.projected)
    return number(xp.min(here.projected)), number(xp.max(here.projected))


def _edges(here: Sides) -> tuple[float, float]:
    """Return the lowest score of the rows that go up, and the highest of those that go down."""
    if not here.rows.shape[0]:
        return np.inf, -np.inf
    projected, above = here.projected, here.above
    xp = namespace_of(projected)
    infinite = xp.full_like(projected, np.inf)
    return number(xp.min(xp.where(above, projected, infinite))), number(xp.max(xp.where(above, -infinite, projected)))


def _columns_at(rows: TrainingRows, here: Sides, columns: np.ndarray) -> Any:
    """Return the values of the rows at a node, one line for each column."""
    return columns_of(rows.X, here.rows, columns)


def _without(here: Sides, columns: Any, i: int, weight: float) -> Sides:
    """Return the rows with scores from which the contribution of a column is subtracted."""
    return here._replace(projected=here.projected - weight * cast(columns[i, :], here.projected.dtype))


def reachable_nodes(routes: list[Route]) -> dict[int, int]:
    """Return the nodes that a row can reach, parents first, each with its parent (-1 for the root)."""
    parents = {0: END}
    for k, route in enumerate(routes):
        if k in parents:
            parents |= {child: k for child in (route.upper, route.lower) if child != END}
    return dict(sorted(parents.items()))
