"""From soft parameters to the tree that answers: hard routes, fine-tuned answers, no purchase without a use.

A fitted node has two tasks, and here they part ways. It routes, which needs only what some row's way depends on: a
weight that changes no row's way is dropped, and what it stood for is bought further down by those who need it. And
it answers, by a classifier fitted anew without cost on what is bought anyway (section 3.5), and drawn towards the
answer of the node before it where its rows are few.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from thrifty.models.expected_cost.fine_tuning import Answer, draw_towards, fit_answer
from thrifty.models.expected_cost.objective import Objective, Parameters
from thrifty.models.expected_cost.standardised import Scales
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.linear_nodes.tree import END, LinearNode

SAME_GAP = 0.1  # share of the gap between those above and below that has to stay for a weight to be dropped
ROUNDING = 1e-6  # gaps of less than this share of the scores' range are none

FineTune = Literal["support", "held"] | None
Finish = Callable[[Answer, np.ndarray], Answer]  # turns an answer into scores, given who reaches the node


@dataclass(frozen=True, eq=False)
class Route:
    """How a node routes: weights (d,) of the standardised columns, an intercept, and the children above and below."""

    weights: np.ndarray
    intercept: float
    threshold: float
    upper: int
    lower: int


@dataclass(frozen=True, eq=False)
class HardNode:
    """A node of the tree that answers; the children in its route are places in the list of nodes."""

    buys: np.ndarray
    answer: Answer
    route: Route
    parent: int


def harden(
    objective: Objective,
    parameters: Parameters,
    prices: np.ndarray,
    fine_tune: FineTune,
    finish: Finish,
    n_rows: float,
) -> list[HardNode]:
    """Return the nodes of the tree that answers, parents first, over the standardised columns.

    `prices` of the columns say which of them are worth most to be dropped, `n_rows` how many rows the weights of the
    objective stand for. Without fine-tuning the tree routes and answers just as it was learned.
    """
    soft = objective.traverse(parameters)
    routes = _learned_routes(objective.topology, parameters)
    if fine_tune is not None:
        routes = _needed_routes(objective, parameters, routes, soft.scores, prices)
    parents = _parents(routes)
    place = {END: END} | {k: i for i, k in enumerate(parents)}
    held = {END: np.arange(0)}
    answers: dict[int, Answer] = {}
    nodes = []
    for k, parent in parents.items():
        route, before, reach = routes[k], held[parent], soft.reach[:, k]
        answer = _answer(objective, parameters, k, route, before, reach, prices, fine_tune)
        if fine_tune is not None and parent != END:
            n_routing = int(np.count_nonzero(routes[parent].weights)) + 1
            answer = draw_towards(answers[parent], answer, objective, reach, n_rows, n_routing)
        answers[k] = answer
        buys = np.setdiff1d(np.flatnonzero(answer.reads | (route.weights != 0)), before)
        held[k] = np.append(before, buys)
        onward = replace(route, upper=place[route.upper], lower=place[route.lower])
        nodes.append(HardNode(buys, finish(answer, reach), onward, place[parent]))
    return nodes


def linear_nodes(nodes: list[HardNode], scales: Scales) -> list[LinearNode]:
    """Return the nodes as a `LinearTree` takes them: reading the columns as they are, buying in their order in X."""
    held: list[np.ndarray] = []
    linear = []
    for node in nodes:
        before = np.arange(0) if node.parent == END else held[node.parent]
        bought = node.buys[np.argsort(scales.columns[node.buys])]
        held.append(np.append(before, bought))
        mean, deviation = scales.mean[held[-1]], scales.deviation[held[-1]]
        scores, projection = node.answer.weights[:, held[-1]] / deviation, node.route.weights[held[-1]] / deviation
        linear.append(
            LinearNode(
                buys=scales.columns[bought].tolist(),
                scores=scores,
                score_intercept=node.answer.intercepts - scores @ mean,
                projection=projection,
                projection_intercept=node.route.intercept - float(projection @ mean),
                threshold=node.route.threshold,
                upper=node.route.upper,
                lower=node.route.lower,
            )
        )
    return linear


def _answer(
    objective: Objective,
    parameters: Parameters,
    k: int,
    route: Route,
    before: np.ndarray,
    reach: np.ndarray,
    prices: np.ndarray,
    fine_tune: FineTune,
) -> Answer:
    """Return a node's answer: where rows end, from its own support; elsewhere from what is held in any case."""
    ends = END in (route.upper, route.lower)
    own = parameters.squares()[k] > 0
    if fine_tune is None:
        return Answer(parameters.weights[k], parameters.intercepts[k])
    allowed = own if ends and fine_tune == "support" else route.weights != 0
    if ends and fine_tune == "held":
        allowed = allowed | own
    if not ends or fine_tune == "held":
        allowed = allowed.copy()
        allowed[before] = True
    needless = prices > 0
    needless[[*before, *np.flatnonzero(route.weights)]] = False  # paid for in any case
    return fit_answer(objective, np.flatnonzero(allowed), reach, needless)


def _learned_routes(topology: Topology, parameters: Parameters) -> list[Route]:
    """Return the nodes' routes as they were learned."""
    weights = np.einsum("km,kmd->kd", parameters.directions, parameters.weights)
    intercepts = np.einsum("km,km->k", parameters.directions, parameters.intercepts)
    weights[~topology.inner] = 0.0
    return [
        Route(weights[k], float(intercepts[k]), float(parameters.thresholds[k]), int(up), int(down))
        for k, (up, down) in enumerate(zip(topology.upper, topology.lower, strict=True))
    ]


def _needed_routes(
    objective: Objective, parameters: Parameters, learned: list[Route], scores: np.ndarray, prices: np.ndarray
) -> list[Route]:
    """Return routes that read only what the way of some training row depends on; parents come first."""
    topology = objective.topology
    scores = scores.reshape(len(scores), *parameters.intercepts.shape)
    rows = {0: np.arange(len(scores))}
    bought = np.zeros((topology.n_nodes + 1, objective.X.shape[1]), dtype=bool)  # on the way; before the root nothing
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
    """Drop from a route, the dearest first, what changes no row's way."""
    if not len(rows) or route.upper == route.lower:
        return route
    if above.all() or not above.any():  # nothing to decide
        only = route.upper if above.all() else route.lower
        return Route(np.zeros_like(route.weights), 0.0, 0.0, only, only)
    if END in (route.upper, route.lower):  # the answer needs them in any case
        return route
    weights, threshold = route.weights.copy(), route.threshold
    candidates = np.flatnonzero((weights != 0) & ~bought)
    least_gap = max(SAME_GAP * (projected[above].min() - projected[~above].max()), ROUNDING * np.ptp(projected))
    candidates = candidates[np.lexsort((np.abs(weights[candidates]), -prices[candidates]))]
    for j, values in zip(candidates, np.ascontiguousarray(X[np.ix_(rows, candidates)].T), strict=True):
        without = projected - weights[j] * values
        lowest, highest = without[above].min(), without[~above].max()
        if lowest - highest > least_gap:
            projected, weights[j], threshold = without, 0.0, float(0.5 * (lowest + highest))
    return Route(weights, route.intercept, threshold, route.upper, route.lower)


def _parents(routes: list[Route]) -> dict[int, int]:
    """Return the nodes that a row can get to, parents first, each with the node before it."""
    parents = {0: END}
    for k, route in enumerate(routes):
        if k in parents:
            parents |= {child: k for child in (route.upper, route.lower) if child != END}
    return dict(sorted(parents.items()))
