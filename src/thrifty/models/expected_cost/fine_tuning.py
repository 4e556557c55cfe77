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
from typing import Any, NamedTuple

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
from thrifty.models.expected_cost.row_blocks import TrainingRows, reach_at, rows_at_node
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.traversal import SoftRows, Traversal
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.homes import Home, evenly_spaced
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
    left_out : Home of array of shape (n, m), or None
        Leave-one-out scores, beside the training rows, if they have been computed.
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


def fit_answer(objective: Objective, columns: np.ndarray, optional: np.ndarray, reach: Home[Any]) -> Answer:
    """Fit the answer of a node on some columns.

    Parameters
    ----------
    objective : Objective
    columns : ndarray of int
        The columns that the answer may weigh.
    optional : ndarray of bool, shape (d,)
        Columns that are dropped if their share in the variance of the answer is negligible.
    reach : Home of array of shape (n,)
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
    parent: Answer, answer: Answer, objective: Objective, reach: Home[Any], n_rows: float, n_routing: int
) -> Answer:
    """Mix an answer with the answer of the parent node, by the formula at the top of this module.

    Parameters
    ----------
    parent, answer : Answer
    objective : Objective
    reach : Home of array of shape (n,)
        Probability of each row to reach the node.
    n_rows : float
        Number of rows that the weights of the objective, which sum to 1, stand for.
    n_routing : int
        Number of parameters of the route by which rows get from the parent to the node.

    Returns
    -------
    Answer
    """
    n = n_rows * number(objective.rows.beside(reach).sum(_share_of_rows))
    n_parameters = int(answer.reads.sum()) + 1 + n_routing
    own_loss, parent_loss = (_mean_loss(each, objective, reach) for each in (answer, parent))
    noise = 0.5 * answer.intercepts.shape[0] if objective.logistic else own_loss * n / max(n - n_parameters, 1.0)
    gain = n * max(parent_loss - own_loss, 0.0)
    share = 1.0 - n_parameters * noise / gain if gain > 0 else 0.0
    if share > NEARLY_ONE:
        return answer
    share = float(share)
    own_scores, parent_scores = (left_out_scores(each, objective, reach) for each in (answer, parent))
    return Answer(
        _mixed(answer.weights, parent.weights, share),
        _mixed(answer.intercepts, parent.intercepts, share),
        own_scores.beside(parent_scores).map(_mixed, share),
    )


def _mixed(own: Any, of_parent: Any, share: float) -> Any:
    return max(share, 0.0) * own + min(1.0 - share, 1.0) * of_parent


def _share_of_rows(rows: TrainingRows, reach: Any) -> Any:
    return rows.weight @ reach


def _mean_loss(answer: Answer, objective: Objective, reach: Home[Any]) -> float:
    """Return the mean loss of the rows, weighted by their probability to reach the node."""
    single, place = _single_node(objective, answer.columns, reach), objective.place
    weights, n_scores = answer.own_weights[None, ...], answer.intercepts.shape[0]
    node = Parameters(weights, answer.intercepts[None, :], np.zeros(1), np.ones((1, n_scores))).placed(place)
    return number(single.loss(node)) / max(number(single.loss_totals[0]), TINY)


def _variance_shares(answer: Answer, objective: Objective, reach: Home[Any]) -> np.ndarray:
    """Return the share (d,) of each column in the variance of the answer, correlations ignored."""
    columns = answer.columns
    here = objective.rows.beside(reach).map(_at_node, columns, "weight")
    total = here.sum(_total_weight)
    variances = here.sum(_variances, total, here.sum(_means, total))
    parts = np.zeros(objective.n_columns)
    parts[columns] = to_host(variances * namespace_of(variances).sum(answer.own_weights**2, axis=0))
    return parts / max(parts.sum(), TINY)


class NodeRows(NamedTuple):
    """The likely rows of a block at a node.

    Attributes
    ----------
    likely : Selection
        Which rows of the block they are.
    weight : array
        Their weights, multiplied by their probabilities to reach the node.
    values : array
        Their values in some columns.
    """

    likely: Selection
    weight: Any
    values: Any


def _at_node(rows: TrainingRows, reach: Any, columns: np.ndarray, kind: str) -> NodeRows:
    """Return the likely rows at a node; `kind` says which weights of the rows count: "weight" or "loss_weight"."""
    likely = likely_rows(reach)
    weight = namespace_of(reach).take(getattr(rows, kind) * reach, likely.positions)
    return NodeRows(likely, weight, cast(part_of(rows.X, likely.positions, columns), weight.dtype))


def _total_weight(here: NodeRows) -> Any:
    return namespace_of(here.weight).sum(here.weight)


def _means(here: NodeRows, total: Any) -> Any:
    return _shares(here, total) @ here.values


def _variances(here: NodeRows, total: Any, mean: Any) -> Any:
    values = here.values - mean
    return _shares(here, total) @ (values * values)


def _shares(here: NodeRows, total: Any) -> Any:
    """Return the shares of the rows in the total weight of all rows at the node."""
    return here.weight / namespace_of(here.weight).clip(total, TINY, None)


def likely_rows(reach: Any) -> Selection:
    """Return the rows that are not too unlikely to reach a node to count in its fit."""
    return Selection(reach > SMALLEST_REACH)


def refit_answer(objective: Objective, columns: np.ndarray, reach: Home[Any]) -> Answer:
    """Minimise the loss plus the l1 norm over the weights of some columns, as section 3.5 prints it.

    `reach` (n,) is the share of the loss of each row that counts.
    """
    single = _single_node(objective, columns, reach)
    single = replace(single, penalty=single.penalty.for_columns(columns))
    n_scores = objective.n_scores
    zeros = Parameters(
        np.zeros((1, n_scores, len(columns))), np.zeros((1, n_scores)), np.zeros(1), np.ones((1, n_scores))
    )
    fitted = fit_leaves(single, zeros.placed(single.place), np.array([0]))
    if single.logistic:
        fitted = solve_jointly(single, fitted, max_iter=20).parameters
    chosen = Selection(like(np.isin(np.arange(objective.n_columns), columns), objective.place))
    return Answer(chosen.spread(fitted.weights[0, ...]), fitted.intercepts[0, ...])


def loss_shares(objective: Objective, soft: Traversal, k: int) -> Home[Any]:
    """Return the share (n,) of the loss of each row that counts at node k: that it gets there or, by exit, leaves."""
    if not objective.by_exit or not objective.topology.inner[k]:
        return soft.rows.map(reach_at, k)
    return soft.rows.map(_leaving_at, k, objective.topology.ends[k].astype(float).tolist())


def _leaving_at(soft: SoftRows, k: int, ends: list[float]) -> Any:
    """Return the probability of each row to leave at a node; `ends` tells at which of its sides rows leave."""
    leaves_up, leaves_down = ends
    return soft.reach[:, k] * (leaves_up * soft.sigma[:, k] + leaves_down * (1.0 - soft.sigma[:, k]))


def _single_node(objective: Objective, columns: np.ndarray, reach: Home[Any]) -> Objective:
    """Return the objective of a single node without cost, in which rows count by their probability to reach it."""
    rows = objective.rows.beside(reach).map(_rows_at_node, columns)
    return replace(objective.with_topology(SINGLE_NODE), rows=rows, cost_weight=0.0)


def _rows_at_node(rows: TrainingRows, reach: Any, columns: np.ndarray) -> TrainingRows:
    return rows_at_node(rows, reach, likely_rows(reach).positions, columns)


def as_log_odds(answer: Answer, objective: Objective, reach: Home[Any], n_rows: float) -> Answer:
    """Return the answer with scores converted to log-odds, calibrated on leave-one-out scores.

    Parameters
    ----------
    answer : Answer
    objective : Objective
    reach : Home of array of shape (n,)
        Probability of each row to reach the node.
    n_rows : float
        Number of rows that the weights of the objective, which sum to 1, stand for.

    Returns
    -------
    Answer
    """
    rows = objective.rows.beside(reach).beside(left_out_scores(answer, objective, reach))
    parts = rows.collect(_scored, evenly_spaced(rows.collect(_n_likely), ENOUGH_ROWS))
    scores, targets, weight = map(np.concatenate, zip(*parts, strict=True))
    weight = n_rows * weight
    slope, offsets = fit_log_odds(scores, targets, weight)
    return Answer(slope * answer.weights, slope * answer.intercepts + like(offsets, answer.weights))


def _n_likely(rows: TrainingRows, reach: Any, scores: Any) -> int:
    """Return the number of likely rows of a node."""
    return likely_rows(reach).size


def _scored(rows: TrainingRows, reach: Any, scores: Any, chosen: np.ndarray) -> tuple[Any, Any, Any]:
    """Return scores, targets and weights of some of the likely rows of a node, in NumPy arrays."""
    xp = namespace_of(reach)
    at = xp.take(likely_rows(reach).positions, like(chosen, reach))
    weight = xp.take(rows.loss_weight * reach, at)
    return to_host(xp.take(scores, at, axis=0)), to_host(xp.take(rows.targets, at, axis=0)), to_host(weight)


def left_out_scores(answer: Answer, objective: Objective, reach: Home[Any]) -> Home[Any]:
    """Return the leave-one-out scores (n, m) of the rows that may reach the node, and zeros for all others.

    For logistic loss these are the plain scores.
    """
    if answer.left_out is not None:
        return answer.left_out
    here = objective.rows.beside(reach).map(_at_node, answer.columns, "loss_weight")
    inverse = None
    if not objective.logistic:
        gram = here.sum(_products_with_ones)
        gram = with_larger_diagonal(gram, 1e-9 * largest_size(diagonal_of(gram)) or 1.0)  # 1: no row counts
        inverse = namespace_of(gram).linalg.inv(gram)
    return objective.rows.beside(here).map(_left_out, answer.own_weights, answer.intercepts, inverse)


def _left_out(rows: TrainingRows, here: NodeRows, weights: Any, intercepts: Any, inverse: Any) -> Any:
    """Return the leave-one-out scores of a block given the inverse matrix of its moments, or plain scores if None."""
    scores = scores_of(here.values, weights) + intercepts
    if inverse is not None:
        targets = namespace_of(scores).take(rows.targets, here.likely.positions, axis=0)
        scores = leave_one_out(scores, targets, _leverages(here, inverse))
    return here.likely.spread(scores.T).T


def _products_with_ones(here: NodeRows) -> Any:
    """Return A' W A over the likely rows of a node; see `_leverages`."""
    design = _with_ones(here)
    return design.T @ (here.weight[:, None] * design)


def _leverages(here: NodeRows, inverse: Any) -> Any:
    """Return the leverage of each row: w[i] * a[i]' (A' W A)^-1 a[i], with a[i] the values of row i and a 1."""
    design = _with_ones(here)
    products = design @ inverse
    products *= design
    return here.weight * namespace_of(products).sum(products, axis=1)


def _with_ones(here: NodeRows) -> Any:
    """Return the values (n, k) with a column of ones."""
    xp = namespace_of(here.values)
    return concatenated(xp, [here.values, xp.ones_like(here.weight)[:, None]], axis=1)
