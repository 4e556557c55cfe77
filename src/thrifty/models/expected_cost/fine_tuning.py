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

import numpy as np

from thrifty.models.expected_cost.joint_solver import solve_jointly
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Objective, product
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
    weights : ndarray of shape (m, d)
        Weights of the standardised columns.
    intercepts : ndarray of shape (m,)
    left_out : ndarray of shape (n, m) or None
        Leave-one-out scores of the training rows, if they have been computed.
    """

    weights: np.ndarray
    intercepts: np.ndarray
    left_out: np.ndarray | None = None

    @property
    def reads(self) -> np.ndarray:
        """Mark the columns with a nonzero weight: (d,) bool."""
        return np.asarray(self.weights.any(axis=0))


def fit_answer(objective: Objective, columns: np.ndarray, optional: np.ndarray, reach: np.ndarray) -> Answer:
    """Fit the answer of a node on some columns.

    Parameters
    ----------
    objective : Objective
    columns : ndarray of int
        The columns that the answer may weigh.
    optional : ndarray of bool, shape (d,)
        Columns that are dropped if their share in the variance of the answer is negligible.
    reach : ndarray of shape (n,)
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
    parent: Answer, answer: Answer, objective: Objective, reach: np.ndarray, n_rows: float, n_routing: int
) -> Answer:
    """Mix an answer with the answer of the parent node, by the formula at the top of this module.

    Parameters
    ----------
    parent, answer : Answer
    objective : Objective
    reach : ndarray of shape (n,)
        Probability of each row to reach the node.
    n_rows : float
        Number of rows that the weights of the objective, which sum to 1, stand for.
    n_routing : int
        Number of parameters of the route by which rows get from the parent to the node.

    Returns
    -------
    Answer
    """
    n = n_rows * float(objective.weight @ reach)
    n_parameters = int(answer.reads.sum()) + 1 + n_routing
    own_loss, parent_loss = (_mean_loss(each, objective, reach) for each in (answer, parent))
    noise = 0.5 * len(answer.intercepts) if objective.logistic else own_loss * n / max(n - n_parameters, 1.0)
    gain = n * max(parent_loss - own_loss, 0.0)
    share = 1.0 - n_parameters * noise / gain if gain > 0 else 0.0
    if share > NEARLY_ONE:
        return answer
    pairs = (
        (answer.weights, parent.weights),
        (answer.intercepts, parent.intercepts),
        (left_out_scores(answer, objective, reach), left_out_scores(parent, objective, reach)),
    )
    return Answer(*(max(share, 0.0) * own + min(1.0 - share, 1.0) * of_parent for own, of_parent in pairs))


def _mean_loss(answer: Answer, objective: Objective, reach: np.ndarray) -> float:
    """Return the mean loss of the rows, weighted by their probability to reach the node."""
    columns = np.flatnonzero(answer.reads)
    single = _single_node(objective, columns, reach)
    n_scores = len(answer.intercepts)
    node = Parameters(answer.weights[None, :, columns], answer.intercepts[None], np.zeros(1), np.ones((1, n_scores)))
    loss, *_ = single.backward(node, single.traverse(node), np.zeros(1), np.zeros((1, 2)))
    return loss / max(float(single.loss_weight.sum()), np.finfo(float).tiny)


def _variance_shares(answer: Answer, objective: Objective, reach: np.ndarray) -> np.ndarray:
    """Return the share (d,) of each column in the variance of the answer, correlations ignored."""
    rows, columns = np.flatnonzero(reach > SMALLEST_REACH), np.flatnonzero(answer.reads)
    share = (objective.weight * reach)[rows]
    share = share / max(share.sum(), np.finfo(float).tiny)
    values = objective.X[np.ix_(rows, columns)]
    values -= product(share, values).astype(values.dtype)
    parts = np.zeros(objective.X.shape[1])
    parts[columns] = np.einsum("i,ij,ij->j", share, values, values) * (answer.weights[:, columns] ** 2).sum(axis=0)
    return parts / max(parts.sum(), np.finfo(float).tiny)


def refit_answer(objective: Objective, columns: np.ndarray, reach: np.ndarray) -> Answer:
    """Minimise the loss plus the l1 norm over the weights of some columns, as section 3.5 prints it.

    `reach` (n,) is the share of the loss of each row that counts.
    """
    single = _single_node(objective, columns, reach)
    n_scores = objective.targets.shape[1]
    zeros = Parameters(
        np.zeros((1, n_scores, len(columns))), np.zeros((1, n_scores)), np.zeros(1), np.ones((1, n_scores))
    )
    fitted = fit_leaves(single, zeros, np.array([0]))
    if single.logistic:
        fitted = solve_jointly(single, fitted, max_iter=20).parameters
    weights = np.zeros((n_scores, objective.X.shape[1]))
    weights[:, columns] = fitted.weights[0]
    return Answer(weights, fitted.intercepts[0])


def loss_shares(objective: Objective, soft: Traversal, k: int) -> np.ndarray:
    """Return the share (n,) of the loss of each row that counts at node k: that it gets there or, by exit, leaves."""
    if not objective.by_exit or not objective.topology.inner[k]:
        return soft.reach[:, k]
    leaves_up, leaves_down = objective.topology.ends[k]
    return soft.reach[:, k] * (leaves_up * soft.sigma[:, k] + leaves_down * (1.0 - soft.sigma[:, k]))


def _single_node(objective: Objective, columns: np.ndarray, reach: np.ndarray) -> Objective:
    """Return the objective of a single node without cost, in which rows count by their probability to reach it."""
    rows = np.flatnonzero(reach > SMALLEST_REACH)
    return replace(
        objective,
        X=objective.X[np.ix_(rows, columns)],
        targets=objective.targets[rows],
        weight=objective.weight[rows],
        loss_weight=objective.loss_weight[rows] * reach[rows],
        topology=SINGLE_NODE,
        penalty=objective.penalty.for_columns(columns).with_topology(SINGLE_NODE),
        cost_weight=0.0,
    )


def as_log_odds(answer: Answer, objective: Objective, reach: np.ndarray, n_rows: float) -> Answer:
    """Return the answer with scores converted to log-odds, calibrated on leave-one-out scores.

    Parameters
    ----------
    answer : Answer
    objective : Objective
    reach : ndarray of shape (n,)
        Probability of each row to reach the node.
    n_rows : float
        Number of rows that the weights of the objective, which sum to 1, stand for.

    Returns
    -------
    Answer
    """
    likely = np.flatnonzero(reach > SMALLEST_REACH)
    rows = likely[np.linspace(0, len(likely) - 1, min(len(likely), ENOUGH_ROWS)).astype(int)]
    scores = left_out_scores(answer, objective, reach)[rows]
    slope, offsets = fit_log_odds(scores, objective.targets[rows], n_rows * objective.loss_weight[rows] * reach[rows])
    return Answer(slope * answer.weights, slope * answer.intercepts + offsets)


def left_out_scores(answer: Answer, objective: Objective, reach: np.ndarray) -> np.ndarray:
    """Return the leave-one-out scores (n, m) of the rows that may reach the node, and zeros for all others.

    For logistic loss these are the plain scores.
    """
    if answer.left_out is not None:
        return answer.left_out
    rows, columns = np.flatnonzero(reach > SMALLEST_REACH), np.flatnonzero(answer.reads)
    values = objective.X[np.ix_(rows, columns)].astype(float)
    scores = np.zeros(objective.targets.shape)
    scores[rows] = product(values, answer.weights[:, columns].T) + answer.intercepts
    if not objective.logistic:
        leverages = _leverages(values, (objective.loss_weight * reach)[rows])
        scores[rows] = leave_one_out(scores[rows], objective.targets[rows], leverages)
    return scores


def _leverages(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the leverage of each row: w[i] * a[i]' (A' W A)^-1 a[i], with a[i] the values of row i and a 1."""
    design = np.column_stack([values, np.ones(len(values))])
    gram = design.T @ (weight[:, None] * design)
    gram[np.diag_indices(len(gram))] += 1e-9 * gram.diagonal().max() or 1.0  # 1: no row counts
    return weight * np.einsum("ij,ij->i", design @ np.linalg.inv(gram), design)
