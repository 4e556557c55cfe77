"""The answers of nodes, fitted anew without the cost penalty (section 3.5).

What to buy is decided by then; the penalty that decided it also shrank the weights, and goes. Features that get no
weight under what is left, the l1 norm, are given up after all.
"""

from dataclasses import dataclass, replace

import numpy as np

from thrifty.models.expected_cost.joint import solve_jointly
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Objective, Parameters
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.least_squares.calibration import ENOUGH_ROWS, fit_log_odds, leave_one_out

PRESENT = 1e-6  # rows less likely than this to be at a node have no say in its answer
TRIVIAL = 1e-3  # share in an answer's variance that is not worth paying for

ALONE = Topology.full(1)


@dataclass(frozen=True, eq=False)
class Answer:
    """A node's answer: weights (m, d) of the standardised columns and intercepts (m,)."""

    weights: np.ndarray
    intercepts: np.ndarray

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
    return answer if len(kept) == len(columns) else _fit(objective, kept, reach)


def _shares(answer: Answer, objective: Objective, reach: np.ndarray) -> np.ndarray:
    """Return each column's share in the variance of the answer, as if columns were uncorrelated."""
    share = objective.weight * reach
    share = share / max(share.sum(), np.finfo(float).tiny)
    parts = np.zeros(objective.X.shape[1])
    for j in np.flatnonzero(answer.reads):
        column = objective.X[:, j]
        parts[j] = share @ (column - share @ column) ** 2 * (answer.weights[:, j] ** 2).sum()
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
    columns = np.flatnonzero(answer.reads)
    values, targets = objective.X[np.ix_(rows, columns)].astype(float), objective.targets[rows]
    scores = values @ answer.weights[:, columns].T + answer.intercepts
    if not objective.logistic:
        scores = leave_one_out(scores, targets, _leverages(objective, reach, likely, columns, values, rows))
    slope, offsets = fit_log_odds(scores, targets, n_rows * objective.loss_weight[rows] * reach[rows])
    return Answer(slope * answer.weights, slope * answer.intercepts + offsets)


def _leverages(
    objective: Objective,
    reach: np.ndarray,
    likely: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
) -> np.ndarray:
    """Return how much of each row's score is its own doing."""
    weight = objective.loss_weight * reach
    design = np.column_stack([objective.X[np.ix_(likely, columns)], np.ones(len(likely))])
    gram = design.T @ (weight[likely, None] * design)
    gram[np.diag_indices(len(gram))] += 1e-9 * gram.diagonal().max()
    own = np.column_stack([values, np.ones(len(rows))])
    return weight[rows] * np.einsum("ij,ij->i", own, np.linalg.solve(gram, own.T).T)
