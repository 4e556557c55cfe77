"""The final linear models of nodes, fitted again without the cost penalty (section 3.5).

The cost penalty decides which columns a node weighs, but it also shrinks the weights. So the model of a node, its
answer, is fitted again on the same columns without the cost penalty; the l1 norm stays, and columns that get no
weight under it are dropped.

A node below the root is fitted to fewer rows, which were also selected by their scores, so its answer can overfit.
Unless there are many rows, it is therefore mixed with the answer of its parent (positive-part James-Stein estimator):

    share * own answer + (1 - share) * answer of the parent
    share = max(0, 1 - p * v / (n * (L_parent - L_own)))

n is the number of rows at the node, L the mean loss on them of either answer, and p the number of parameters per
score, those of the route to the node included. v is the noise per parameter: the residual variance
L_own * n / (n - p) for squared loss, m / 2 for logistic loss with m scores. So p * v is the decrease of the loss that
is expected from p useless parameters.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thrifty.arrays import (
    TINY,
    Selection,
    cast,
    concatenated,
    diagonal_of,
    largest_size,
    like,
    namespace_of,
    number,
    part_of,
    to_host,
    with_larger_diagonal,
)
from thrifty.models.expected_cost.joint_solver import solve_jointly
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.products import scores_of
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.traversal import Traversal
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.least_squares.calibration import ENOUGH_ROWS, fit_log_odds, leave_one_out

SMALLEST_REACH = 1e-6  # rows that reach a node with a smaller probability are left out of its fit
SMALLEST_SHARE = 1e-3  # a column with a smaller share in the variance of an answer is not worth its price
NEARLY_ONE = 0.99  # above this share, an answer is not mixed with that of its parent

SINGLE_NODE = Topology.full(1)


@dataclass(frozen=True, eq=False)
class Answer:
    """The linear model by which a node predicts.

    Attributes
    ----------
    weights : array of shape (m, d)
        Weights of the standardised columns; like the intercepts on the device of the objective.
    intercepts : array of shape (m,)
    left_out : array of shape (n, m) or None
        Leave-one-out scores of the training rows, if they have been computed.
    """

    weights: Any
    intercepts: Any
    left_out: Any = None

    @property
    def reads(self) -> np.ndarray:
        """Mark the columns with a nonzero weight: (d,) bool."""
        return to_host(namespace_of(self.weights).any(self.weights != 0, axis=0))

    @property
    def columns(self) -> np.ndarray:
        """Positions of the columns with a nonzero weight."""
        return np.flatnonzero(self.reads)

    @property
    def own_weights(self) -> Any:
        """Weights of the columns with a nonzero weight: (m, k)."""
        return namespace_of(self.weights).take(self.weights, like(self.columns, self.weights), axis=1)

    def on_host(self) -> "Answer":
        """Return the answer in NumPy arrays, without leave-one-out scores."""
        return Answer(to_host(self.weights), to_host(self.intercepts))


def fit_answer(objective: Objective, columns: np.ndarray, optional: np.ndarray, reach: Any) -> Answer:
    """Fit the answer of a node on some columns.

    Parameters
    ----------
    objective : Objective
    columns : ndarray of int
        The columns that the answer may weigh.
    optional : ndarray of bool, shape (d,)
        Columns that are dropped if their share in the variance of the answer is negligible.
    reach : array of shape (n,)
        Probability of each row to reach the node.

    Returns
    -------
    Answer
    """
    answer = refit_answer(objective, columns, reach)
    kept = columns[~(optional[columns] & (_variance_shares(answer, objective, reach)[columns] < SMALLEST_SHARE))]
    answer = answer if len(kept) == len(columns) else refit_answer(objective, kept, reach)
    return replace(answer, left_out=left_out_scores(answer, objective, reach))


def shrink_to_parent(
    parent: Answer, answer: Answer, objective: Objective, reach: Any, n_rows: float, n_routing: int
) -> Answer:
    """Mix an answer with the answer of the parent node, by the formula at the top of this module.

    Parameters
    ----------
    parent, answer : Answer
    objective : Objective
    reach : array of shape (n,)
        Probability of each row to reach the node.
    n_rows : float
        Number of rows that the weights of the objective, which sum to 1, stand for.
    n_routing : int
        Number of parameters of the route by which rows get from the parent to the node.

    Returns
    -------
    Answer
    """
    n = n_rows * number(objective.weight @ reach)
    n_parameters = int(answer.reads.sum()) + 1 + n_routing
    own_loss, parent_loss = (_mean_loss(each, objective, reach) for each in (answer, parent))
    noise = 0.5 * answer.intercepts.shape[0] if objective.logistic else own_loss * n / max(n - n_parameters, 1.0)
    gain = n * max(parent_loss - own_loss, 0.0)
    share = 1.0 - n_parameters * noise / gain if gain > 0 else 0.0
    if share > NEARLY_ONE:
        return answer
    pairs = (
        (answer.weights, parent.weights),
        (answer.intercepts, parent.intercepts),
        (left_out_scores(answer, objective, reach), left_out_scores(parent, objective, reach)),
    )
    share = float(share)
    return Answer(*(max(share, 0.0) * own + min(1.0 - share, 1.0) * of_parent for own, of_parent in pairs))


def _mean_loss(answer: Answer, objective: Objective, reach: Any) -> float:
    """Return the mean loss of the rows, weighted by their probability to reach the node."""
    single = _single_node(objective, answer.columns, reach)
    place = single.weight
    weights, n_scores = answer.own_weights[None, ...], answer.intercepts.shape[0]
    node = Parameters(weights, answer.intercepts[None, :], np.zeros(1), np.ones((1, n_scores))).placed(place)
    no_price = like(np.zeros(1), place), like(np.zeros((1, 2)), place)
    loss, *_ = single.backward(node, single.traverse(node), *no_price)
    return number(loss) / max(number(namespace_of(place).sum(single.loss_weight)), TINY)


def _variance_shares(answer: Answer, objective: Objective, reach: Any) -> np.ndarray:
    """Return the share (d,) of each column in the variance of the answer, correlations ignored."""
    rows, columns = _likely(reach).positions, answer.columns
    xp = namespace_of(reach)
    share = xp.take(objective.weight * reach, rows)
    share = share / xp.clip(xp.sum(share), TINY, None)
    values = cast(part_of(objective.X, rows, columns), share.dtype)
    values = values - share @ values
    parts = np.zeros(objective.X.shape[1])
    parts[columns] = to_host((share @ (values * values)) * xp.sum(answer.own_weights**2, axis=0))
    return parts / max(parts.sum(), TINY)


def _likely(reach: Any) -> Selection:
    """Return the rows that are not too unlikely to reach a node to count in its fit."""
    return Selection(reach > SMALLEST_REACH)


def refit_answer(objective: Objective, columns: np.ndarray, reach: Any) -> Answer:
    """Minimise the loss plus the l1 norm over the weights of some columns, as section 3.5 prints it.

    `reach` (n,) is the share of the loss of each row that counts.
    """
    single = _single_node(objective, columns, reach)
    n_scores = objective.targets.shape[1]
    zeros = Parameters(
        np.zeros((1, n_scores, len(columns))), np.zeros((1, n_scores)), np.zeros(1), np.ones((1, n_scores))
    )
    fitted = fit_leaves(single, zeros.placed(single.X), np.array([0]))
    if single.logistic:
        fitted = solve_jointly(single, fitted, max_iter=20).parameters
    chosen = Selection(like(np.isin(np.arange(objective.X.shape[1]), columns), objective.X))
    return Answer(chosen.spread(fitted.weights[0, ...]), fitted.intercepts[0, ...])


def loss_shares(objective: Objective, soft: Traversal, k: int) -> Any:
    """Return the share (n,) of the loss of each row that counts at node k: that it gets there or, by exit, leaves."""
    if not objective.by_exit or not objective.topology.inner[k]:
        return soft.reach[:, k]
    leaves_up, leaves_down = objective.topology.ends[k].astype(float).tolist()
    return soft.reach[:, k] * (leaves_up * soft.sigma[:, k] + leaves_down * (1.0 - soft.sigma[:, k]))


def _single_node(objective: Objective, columns: np.ndarray, reach: Any) -> Objective:
    """Return the objective of a single node without cost, in which rows count by their probability to reach it."""
    xp, rows = namespace_of(reach), _likely(reach).positions
    return replace(
        objective,
        X=part_of(objective.X, rows, columns),
        targets=xp.take(objective.targets, rows, axis=0),
        weight=xp.take(objective.weight, rows),
        loss_weight=xp.take(objective.loss_weight * reach, rows),
        topology=SINGLE_NODE,
        penalty=objective.penalty.for_columns(columns).with_topology(SINGLE_NODE),
        cost_weight=0.0,
    )


def as_log_odds(answer: Answer, objective: Objective, reach: Any, n_rows: float) -> Answer:
    """Return the answer with scores converted to log-odds, calibrated on leave-one-out scores.

    Parameters
    ----------
    answer : Answer
    objective : Objective
    reach : array of shape (n,)
        Probability of each row to reach the node.
    n_rows : float
        Number of rows that the weights of the objective, which sum to 1, stand for.

    Returns
    -------
    Answer
    """
    xp, likely = namespace_of(reach), _likely(reach)
    chosen = np.linspace(0, likely.size - 1, min(likely.size, ENOUGH_ROWS)).astype(int)
    rows = xp.take(likely.positions, like(chosen, reach))
    scores, targets = (
        to_host(xp.take(each, rows, axis=0)) for each in (left_out_scores(answer, objective, reach), objective.targets)
    )
    weight = n_rows * to_host(xp.take(objective.loss_weight * reach, rows))
    slope, offsets = fit_log_odds(scores, targets, weight)
    return Answer(slope * answer.weights, slope * answer.intercepts + like(offsets, answer.weights))


def left_out_scores(answer: Answer, objective: Objective, reach: Any) -> Any:
    """Return the leave-one-out scores (n, m) of the rows that may reach the node, and zeros for all others.

    For logistic loss these are the plain scores.
    """
    if answer.left_out is not None:
        return answer.left_out
    xp, likely = namespace_of(reach), _likely(reach)
    weights = answer.own_weights
    values = cast(part_of(objective.X, likely.positions, answer.columns), weights.dtype)
    scores = scores_of(values, weights) + answer.intercepts
    if not objective.logistic:
        leverages = _leverages(values, xp.take(objective.loss_weight * reach, likely.positions))
        scores = leave_one_out(scores, xp.take(objective.targets, likely.positions, axis=0), leverages)
    return likely.spread(scores.T).T


def _leverages(values: Any, weight: Any) -> Any:
    """Return the leverage of each row: w[i] * a[i]' (A' W A)^-1 a[i], with a[i] the values of row i and a 1."""
    xp = namespace_of(values)
    design = concatenated(xp, [values, xp.ones_like(weight)[:, None]], axis=1)
    gram = design.T @ (weight[:, None] * design)
    gram = with_larger_diagonal(gram, 1e-9 * largest_size(diagonal_of(gram)) or 1.0)  # 1: no row counts
    products = design @ xp.linalg.inv(gram)
    products *= design
    return weight * xp.sum(products, axis=1)
