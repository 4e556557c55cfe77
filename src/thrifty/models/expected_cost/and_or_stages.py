"""Initial parameters and fine-tuning of the stages of an AND-OR cascade."""

from dataclasses import replace
from typing import Any

import numpy as np

from thrifty.models.expected_cost.and_or_objective import AndOrObjective
from thrifty.models.expected_cost.fine_tuning import Answer, as_log_odds, fit_answer
from thrifty.models.expected_cost.hardening import FineTune
from thrifty.models.expected_cost.initial_parameters import MAX_ROWS
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.homes import Here


def initial_stages(objective: AndOrObjective) -> Parameters:
    """Fit the stages from first to last, each to separate the rare rows from those that no earlier stage rejects."""
    sample: Any = objective.sample(MAX_ROWS)
    n_stages, n_columns = objective.allowed.shape
    parameters = Parameters(
        weights=np.zeros((n_stages, 1, n_columns)),
        intercepts=np.zeros((n_stages, 1)),
        thresholds=np.full(n_stages, -np.inf),  # during this fit, every row reaches every stage
        directions=np.full((n_stages, 1), objective.upper_sign),
    )
    remaining = np.ones(len(sample.X), dtype=bool)
    for k in range(n_stages):
        parameters.weights[k, 0] = objective.allowed[k]
        weighted = replace(sample.rows.block, loss_weight=_balanced(sample, remaining))
        rows = replace(sample, rows=Here(weighted))
        parameters = fit_leaves(rows, parameters, np.array([k]), warm_start=True)
        if not parameters.weights[k].any():
            parameters.intercepts[k] = objective.upper_sign  # a stage without weights accepts all rows
        remaining &= objective.upper_sign * sample.scores(parameters)[:, k] > 0
    return replace(parameters, thresholds=np.zeros(n_stages))


def _balanced(objective: AndOrObjective, remaining: np.ndarray) -> np.ndarray:
    """Return weights of the rare rows and of the remaining others, with the same total for both groups."""
    weight = objective.loss_weight * (objective.rare | remaining)
    for group in (objective.rare, ~objective.rare):
        weight[group] *= 0.5 * objective.loss_weight.sum() / max(weight[group].sum(), np.finfo(float).tiny)
    return weight


def tuned_stages(
    objective: AndOrObjective, parameters: Parameters, prices: np.ndarray, n_rows: float, fine_tune: FineTune
) -> Parameters:
    """Return stages that score in log-odds and reject exactly the rows that they rejected before.

    The last stage is fitted again without the cost penalty, unless `fine_tune` is None. Then the score s of each stage
    is calibrated to log-odds a * s + b. A stage rejected rows with s <= 0 (for an upper sign of 1), that is with
    log-odds of at most b. So b becomes its threshold. If b > 0, the log-odds are reduced by b and the threshold is 0,
    because a rejected row must not be predicted to be of the rare class.

    Parameters
    ----------
    objective : AndOrObjective
    parameters : Parameters
    prices : ndarray of shape (d,)
        Price of each column.
    n_rows : float
        Number of rows that the weights of the objective, which sum to 1, stand for.
    fine_tune : {"auto", "support", "held", "refit", "paper"} or None
        The columns of the last stage: those that it weighs, or with "held" those that any stage weighs. All but "paper"
        drop negligible ones. None does not fit it again.

    Returns
    -------
    Parameters
    """
    reach = objective.traverse(parameters).reach
    reach[:, ~reach.any(axis=0)] = 1.0  # a stage that no row reaches is calibrated on all rows
    answers = [Answer(*stage) for stage in zip(parameters.weights, parameters.intercepts, strict=True)]
    if fine_tune is not None:
        answers[-1] = _last_answer(objective, parameters, reach[:, -1], prices, fine_tune)
    tuned = [as_log_odds(answer, objective, Here(reach[:, k]), n_rows) for k, answer in enumerate(answers)]
    weights, intercepts = np.array([t.weights for t in tuned]), np.array([t.intercepts for t in tuned])
    sign = objective.upper_sign
    offsets = sign * (intercepts - _slopes(parameters.weights, weights) * parameters.intercepts)[:, 0]
    offsets[-1] = 0.0  # the last stage rejects no row
    intercepts -= sign * np.maximum(offsets, 0.0)[:, None]
    return Parameters(weights, intercepts, np.minimum(offsets, 0.0), parameters.directions)


def _last_answer(
    objective: AndOrObjective, parameters: Parameters, reach: np.ndarray, prices: np.ndarray, fine_tune: FineTune
) -> Answer:
    """Fit the last stage again, without the cost penalty."""
    weighed = parameters.squares() > 0
    columns = np.flatnonzero(weighed.any(axis=0) if fine_tune == "held" else weighed[-1])
    optional = (prices > 0) & ~weighed[:-1].any(axis=0) & (fine_tune != "paper")
    return fit_answer(objective.plain(), columns, optional, Here(reach))


def _slopes(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the factors (K, 1) between weights (K, 1, d); 1 for stages without weights."""
    lengths = np.linalg.norm(before, axis=2)
    return np.divide(np.linalg.norm(after, axis=2), lengths, out=np.ones_like(lengths), where=lengths > 0)
