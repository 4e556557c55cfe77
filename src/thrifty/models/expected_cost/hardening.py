"""Hardening: from soft parameters to the nodes of the tree that predicts.

In training a row reaches every node with some probability. In prediction it takes one path and pays for the columns
that the path buys. A node then has two tasks, and hardening separates them:

- Routing. Weights that do not change the path of any training row are dropped (`routes`), unless the tree is wanted as
  learned (None) or as printed ("paper").
- Answering. Where rows end, the node predicts with a model that is fitted again without the cost penalty
  (`fine_tuning`), unless the tree is wanted as learned.

Both leave every training row on its path. The scores of classifiers are then calibrated, node by node.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from thrifty.models.expected_cost.fine_tuning import (
    Answer,
    as_log_odds,
    fit_answer,
    loss_shares,
    refit_answer,
    shrink_to_parent,
)
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.routes import Route, learned_routes, needed_routes, reachable_nodes
from thrifty.models.expected_cost.row_blocks import reach_at
from thrifty.models.expected_cost.standardised import Scales
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.linear_nodes.tree import END, LinearNode

FineTune = Literal["auto", "support", "held", "refit", "paper"] | None
WITH_NEEDED_ROUTES = ("support", "held", "refit")
MANY_ROWS, ROWS_PER_WEIGHT = 3000, 10  # from these numbers of rows on, "auto" does not shrink


@dataclass(frozen=True, eq=False)
class HardNode:
    """A node of the tree that predicts.

    Attributes
    ----------
    buys : ndarray of int
        The standardised columns that a row buys here.
    answer : Answer
    route : Route
        Its children are positions in the list of hard nodes.
    parent : int
        Position of the parent, -1 for the root.
    learned : ndarray of bool, shape (d,)
        The standardised columns that the node weighs before fine-tuning.
    """

    buys: np.ndarray
    answer: Answer
    route: Route
    parent: int
    learned: np.ndarray


def harden(
    objective: Objective,
    parameters: Parameters,
    prices: np.ndarray,
    *,
    fine_tune: FineTune,
    calibrate: bool,
    n_rows: float,
) -> list[HardNode]:
    """Return the nodes of the tree that predicts, over the standardised columns, parents first.

    Parameters
    ----------
    objective : Objective
    parameters : Parameters
    prices : ndarray of shape (d,)
        Prices of the columns; of the weights that a route does not need, the most expensive are dropped first.
    fine_tune : {"auto", "support", "held", "refit", "paper"} or None
        None routes and answers as learned.
    calibrate : bool
        Whether scores are converted to calibrated log-odds.
    n_rows : float
        Number of rows that the weights of the objective, which sum to 1, stand for.

    Returns
    -------
    list of HardNode
    """
    soft, learned = objective.traverse(parameters), parameters.on_host()
    supports = learned.squares() > 0
    if fine_tune == "auto":
        fine_tune = usual_fine_tune(n_rows, supports[objective.topology.ends.any(axis=1)])
    routes = learned_routes(objective.topology, learned)
    if fine_tune in WITH_NEEDED_ROUTES:
        routes = needed_routes(objective, learned, routes, soft, prices)
    parents = reachable_nodes(routes)
    position = {END: END} | {k: i for i, k in enumerate(parents)}
    held = {END: np.arange(0)}
    answers: dict[int, Answer] = {}
    nodes = []
    for k, parent in parents.items():
        route, reach = routes[k], soft.rows.map(reach_at, k)
        answer = Answer(parameters.weights[k, ...], parameters.intercepts[k, ...])
        if fine_tune == "paper" and END in (route.upper, route.lower):
            answer = refit_answer(objective, np.flatnonzero(supports[k]), loss_shares(objective, soft, k))
        elif fine_tune in WITH_NEEDED_ROUTES:
            columns = _answer_columns(supports[k], route, held[parent], prices, fine_tune)
            answer = fit_answer(objective, *columns, reach)
            if parent != END and fine_tune != "refit":
                n_routing = int(np.count_nonzero(routes[parent].weights)) + 1
                answer = shrink_to_parent(answers[parent], answer, objective, reach, n_rows, n_routing)
        answers[k] = answer
        buys = np.setdiff1d(np.flatnonzero(answer.reads | (route.weights != 0)), held[parent])
        held[k] = np.append(held[parent], buys)
        final = as_log_odds(answer, objective, reach, n_rows) if calibrate else answer
        route = replace(route, upper=position[route.upper], lower=position[route.lower])
        nodes.append(HardNode(buys, final.on_host(), route, position[parent], supports[k]))
    return nodes


def usual_fine_tune(n_rows: float, supports: np.ndarray) -> FineTune:
    """Return "refit" for many rows, both in all and per weight of the nodes where rows end, otherwise "support"."""
    n_weights = int(np.count_nonzero(supports))
    return "refit" if n_rows >= max(MANY_ROWS, ROWS_PER_WEIGHT * n_weights) else "support"


def linear_nodes(nodes: list[HardNode], scales: Scales) -> list[LinearNode]:
    """Return the nodes in terms of X and the targets as given, as a `LinearTree` takes them.

    A node buys in the order of the columns of X.
    """
    held: list[np.ndarray] = []
    linear = []
    for node in nodes:
        before = np.arange(0) if node.parent == END else held[node.parent]
        bought = node.buys[np.argsort(scales.columns[node.buys])]
        held.append(np.append(before, bought))
        mean, deviation = scales.mean[held[-1]], scales.deviation[held[-1]]
        weights = node.answer.weights * scales.target_deviation
        intercepts = node.answer.intercepts * scales.target_deviation + scales.target_mean
        scores, projection = weights[:, held[-1]] / deviation, node.route.weights[held[-1]] / deviation
        linear.append(
            LinearNode(
                buys=scales.columns[bought].tolist(),
                scores=scores,
                score_intercept=intercepts - scores @ mean,
                projection=projection,
                projection_intercept=node.route.intercept - float(projection @ mean),
                threshold=node.route.threshold,
                upper=node.route.upper,
                lower=node.route.lower,
            )
        )
    return linear


def _answer_columns(
    own: np.ndarray, route: Route, before: np.ndarray, prices: np.ndarray, fine_tune: FineTune
) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns that an answer may weigh, and mark those of all columns that are optional.

    Where rows end, an answer may weigh the columns in the support of the node, marked in `own`; with "held" also the
    columns `before` that the path has bought. Elsewhere it may weigh what a row holds after routing. Columns that
    still have to be paid for are optional.
    """
    ends = END in (route.upper, route.lower)
    allowed = own if ends and fine_tune != "held" else route.weights != 0
    if ends and fine_tune == "held":
        allowed = allowed | own
    if not ends or fine_tune == "held":
        allowed = allowed.copy()
        allowed[before] = True
    optional = prices > 0
    optional[[*before, *np.flatnonzero(route.weights)]] = False
    return np.flatnonzero(allowed), optional
