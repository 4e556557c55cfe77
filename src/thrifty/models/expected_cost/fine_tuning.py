"""The answers of nodes, fitted anew without the cost penalty (section 3.5).

What to buy is decided by then; the penalty that decided it also shrank the weights, and goes. Features that get no
weight under what is left, the l1 norm, are given up after all.

Below the root an answer is drawn towards that of the node before it, the more so the less it gains by being fitted
anew for its number of parameters (positive-part James-Stein). Few rows would else be answered by what is peculiar to
them, the more as they were also routed by what tells them apart.
"""

from dataclasses import dataclass, replace

import numpy as np

from thrifty.models.expected_cost.joint import solve_jointly
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Objective, Parameters, product
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.least_squares.calibration import ENOUGH_ROWS, fit_log_odds, leave_one_out

PRESENT = 1e-6  # rows less likely than this to be at a node have no say in its answer
TRIVIAL = 1e-3  # share in an answer's variance that is not worth paying for
NEARLY = 0.99  # own share from which on an answer is not drawn towards another

ALONE = Topology.full(1)


@dataclass(frozen=True, eq=False)
class Answer:
    """A node's answer: weights (m, d) of the standardised columns and intercepts (m,)."""

    weights: np.ndarray
    intercepts: np.ndarray
    left_out: np.ndarray | None = None  # (n, m) scores that the rows of the node would get had they been left out

    @property
    def reads(self) -> np.ndarray:
        """Mark the columns that it depends on."""
        return np.asarray(self.weights.any(axis=0))


def fit_answer(objective: Objective, columns: np.ndarray, reach: np.ndarray, needless: np.ndarray) -> Answer:
    """Return the classifier of some columns that suits the rows best, by their probability of reaching a node.

    Columns marked `needless` are given up if hardly any of what varies in the answer is theirs.
    """
    answer = _fit(objective, columns, reach)
    kept = columns[~(needless[columns] & (_shares(answer, objective, reach)[columns] < TRIVIAL))]
    answer = answer if len(kept) == len(columns) else _fit(objective, kept, reach)
    return replace(answer, left_out=left_out(answer, objective, reach))


def draw_towards(
    before: Answer, answer: Answer, objective: Objective, reach: np.ndarray, n_rows: float, n_routing: int
) -> Answer:
    """Return a mixture of an answer and that of the node before it.

    The share of the former is 1 - parameters / (likelihood ratio), or 0. Parameters are those of the answer and the
    `n_routing` of the route that chose its rows; `n_rows` is how many rows the weights of the objective stand for.
    """
    n = n_rows * float(objective.weight @ reach)
    n_parameters = int(answer.reads.sum()) + 1 + n_routing
    own_loss, loss_before = (_mean_loss(each, objective, reach) for each in (answer, before))
    noise = 0.5 * len(answer.intercepts) if objective.logistic else own_loss * n / max(n - n_parameters, 1.0)
    gain = n * max(loss_before - own_loss, 0.0)
    own = 1.0 - n_parameters * noise / gain if gain > 0 else 0.0
    if own > NEARLY:
        return answer
    pairs = (
        (answer.weights, before.weights),
        (answer.intercepts, before.intercepts),
        (left_out(answer, objective, reach), left_out(before, objective, reach)),
    )
    return Answer(*(max(own, 0.0) * ours + min(1.0 - own, 1.0) * theirs for ours, theirs in pairs))


def _mean_loss(answer: Answer, objective: Objective, reach: np.ndarray) -> float:
    """Return the mean loss of the rows, by their probability of reaching a node."""
    columns = np.flatnonzero(answer.reads)
    alone = _alone(objective, columns, reach)
    n_scores = len(answer.intercepts)
    node = Parameters(answer.weights[None, :, columns], answer.intercepts[None], np.zeros(1), np.ones((1, n_scores)))
    loss, *_ = alone.traverse(node).pull_back(np.zeros(1), np.zeros((1, 2)))
    return loss / max(float(alone.loss_weight.sum()), np.finfo(float).tiny)


def _shares(answer: Answer, objective: Objective, reach: np.ndarray) -> np.ndarray:
    """Return each column's share in the variance of the answer, as if columns were uncorrelated."""
    rows, columns = np.flatnonzero(reach > PRESENT), np.flatnonzero(answer.reads)
    share = (objective.weight * reach)[rows]
    share = share / max(share.sum(), np.finfo(float).tiny)
    values = objective.X[np.ix_(rows, columns)]
    values -= product(share, values).astype(values.dtype)
    parts = np.zeros(objective.X.shape[1])
    parts[columns] = np.einsum("i,ij,ij->j", share, values, values) * (answer.weights[:, columns] ** 2).sum(axis=0)
    return parts / max(parts.sum(), np.finfo(float).tiny)


def _fit(objective: Objective, columns: np.ndarray, reach: np.ndarray) -> Answer:
    alone = _alone(objective, columns, reach)
    n_scores = objective.targets.shape[1]
    blank = Parameters(
        np.zeros((1, n_scores, len(columns))), np.zeros((1, n_scores)), np.zeros(1), np.ones((1, n_scores))
    )
    fitted = fit_leaves(alone, blank, np.array([0]))
    if alone.logistic:
        fitted = solve_jointly(alone, fitted, max_iter=20).parameters
    weights = np.zeros((n_scores, objective.X.shape[1]))
    weights[:, columns] = fitted.weights[0]
    return Answer(weights, fitted.intercepts[0])


def _alone(objective: Objective, columns: np.ndarray, reach: np.ndarray) -> Objective:
    """Return the problem of a single node that sees each row with some probability, at no cost."""
    rows = np.flatnonzero(reach > PRESENT)
    return replace(
        objective,
        X=objective.X[np.ix_(rows, columns)],
        targets=objective.targets[rows],
        weight=objective.weight[rows],
        loss_weight=objective.loss_weight[rows] * reach[rows],
        topology=ALONE,
        penalty=objective.penalty.on(columns).along(ALONE),
        cost_weight=0.0,
    )


def as_log_odds(answer: Answer, objective: Objective, reach: np.ndarray, n_rows: float) -> Answer:
    """Return the answer whose scores are log-odds, fitted on the scores that rows would get had they been left out.

    `n_rows` is how many rows the weights of the objective stand for.
    """
    likely = np.flatnonzero(reach > PRESENT)
    rows = likely[np.linspace(0, len(likely) - 1, min(len(likely), ENOUGH_ROWS)).astype(int)]
    scores = left_out(answer, objective, reach)[rows]
    slope, offsets = fit_log_odds(scores, objective.targets[rows], n_rows * objective.loss_weight[rows] * reach[rows])
    return Answer(slope * answer.weights, slope * answer.intercepts + offsets)


def left_out(answer: Answer, objective: Objective, reach: np.ndarray) -> np.ndarray:
    """Return the scores (n, m) that rows who may reach the node would get had they been left out of its fit."""
    if answer.left_out is not None:
        return answer.left_out
    rows, columns = np.flatnonzero(reach > PRESENT), np.flatnonzero(answer.reads)
    values = objective.X[np.ix_(rows, columns)].astype(float)
    scores = np.zeros(objective.targets.shape)
    scores[rows] = product(values, answer.weights[:, columns].T) + answer.intercepts
    if not objective.logistic:
        leverages = _leverages(values, (objective.loss_weight * reach)[rows])
        scores[rows] = leave_one_out(scores[rows], objective.targets[rows], leverages)
    return scores


def _leverages(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return how much of each row's score is its own doing."""
    design = np.column_stack([values, np.ones(len(values))])
    gram = design.T @ (weight[:, None] * design)
    gram[np.diag_indices(len(gram))] += 1e-9 * gram.diagonal().max()
    return weight * np.einsum("ij,ij->i", design @ np.linalg.inv(gram), design)
