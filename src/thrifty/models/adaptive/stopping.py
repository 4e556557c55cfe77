"""When to stop: backward induction over the walks of training rows.

With the loss L_t of answering before stage t and the spend C_t until then, a row that goes on at cost weight w gains

    D_t  =  (L_t + w C_t)  -  (L_T + w C_T),        T: the stage at which it stops later on,

compared with answering now. From the last stage to the first, D_t is regressed on the state before stage t, for all
cost weights at once, and a row goes on where the regression is positive. The regression of a fold is fitted on the
other folds, so that the stops of later stages, on which D_t depends, are those of rows that were not fitted. At a cost
weight of 0 rows never stop. Unlike a comparison with the next stage alone, this sees that a purchase may pay only
together with later ones (F. A. Longstaff, E. S. Schwartz, Valuing American options by simulation, Review of Financial
Studies 14, 2001).
"""

from dataclasses import dataclass

import numpy as np

from thrifty.models.adaptive.boosting import Boosted, Plan, constant_tree
from thrifty.models.adaptive.gains import fit_states, state_outputs, state_values
from thrifty.models.adaptive.policy import StoppingRule
from thrifty.models.adaptive.simulation import Walks
from thrifty.models.adaptive.training_rows import States, TrainingRows, bins_of_states
from thrifty.models.growing.limits import Limits

PLAN = Plan(30, 0.15, Limits(3, None, 40.0, 20.0), max_features=0.7)
SMALL_PLAN = Plan(15, 0.15, Limits(2, None, 40.0, 20.0), max_features=0.7)  # for fewer than FEW_ROWS rows
FEW_ROWS = 2000
N_WEIGHTS = 16  # positive cost weights
LARGEST, RANGE = 1.5, 2000.0  # largest cost weight as a multiple of the best rate, and its ratio to the smallest


@dataclass(frozen=True, eq=False)
class Stopped:
    """Walks with stops that were decided by models of other folds.

    Attributes
    ----------
    cost_weights : ndarray of shape (n_weights,)
        In descending order; the last one is 0.
    advantage : ndarray of shape (n, n_stages, n_weights)
        The expected advantage of going on.
    loss, spend : ndarray of shape (n, n_stages + 1)
        Of answering before each stage.
    rule : StoppingRule or None
        Fitted on all rows; None if it was not asked for.
    """

    cost_weights: np.ndarray
    advantage: np.ndarray
    loss: np.ndarray
    spend: np.ndarray
    rule: StoppingRule | None

    def stages(self, column: int, share: float) -> np.ndarray:
        """Return the stage (n,) before which each row stops, at a cost weight between two of those fitted."""
        if column < 0 or self.loss.shape[1] == 1:  # nothing is bought, or everything is free
            return np.zeros(len(self.loss), dtype=np.int64)
        if share > 1.0:  # cost weight 0
            return np.full(len(self.loss), self.loss.shape[1] - 1)
        high = self.advantage[:, :, min(column + 1, self.advantage.shape[2] - 1)]
        stops = (1.0 - share) * self.advantage[:, :, column] + share * high <= 0
        return np.where(stops.any(axis=1), stops.argmax(axis=1), stops.shape[1])

    def outcome(self, column: int, share: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return the losses and spends (n,) of rows at a cost weight between two of those fitted."""
        at = np.arange(len(self.loss)), self.stages(column, share)
        return self.loss[at], self.spend[at]


def default_cost_weights(loss: np.ndarray, spend: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return cost weights in descending order, from one at which hardly anything is bought down to 0.

    The largest is LARGEST times the largest rate at which the mean loss (n, n_stages + 1) falls with the mean spend.
    """
    mean_loss, mean_spend = np.average(loss, axis=0, weights=weight), np.average(spend, axis=0, weights=weight)
    bought = np.diff(mean_spend) > 0
    rates = -np.diff(mean_loss)[bought] / np.diff(mean_spend)[bought]
    total = mean_spend[-1] if mean_spend[-1] > 0 else 1.0
    largest = LARGEST * max(float(rates.max(initial=0.0)), 1e-3 / total)
    return np.append(np.geomspace(largest, largest / RANGE, N_WEIGHTS), 0.0)


def fit_stops(rows: TrainingRows, walks: Walks, cost_weights: np.ndarray, final: bool) -> Stopped:
    """Fit the stopping rules of all stages by backward induction.

    Parameters
    ----------
    rows : TrainingRows
    walks : Walks
        Walks of rows with models of other folds.
    cost_weights : ndarray of shape (n_weights,)
    final : bool
        Whether to fit a rule on all rows too.
    """
    loss, spend, row = walks.losses(rows), walks.spend, walks.row
    plan = PLAN if len(row) >= FEW_ROWS else SMALL_PLAN
    n, n_stages, fold, weight = len(row), walks.n_stages, rows.fold[row], rows.weight[row]
    advantage = np.empty((n, n_stages, len(cost_weights)))
    later_loss, later_spend = (np.repeat(each[:, -1:], len(cost_weights), axis=1) for each in (loss, spend))
    bins = bins_of_states(walks.described[:, :-1].reshape(n * n_stages, -1), rows.random) if n_stages else None
    of_stage: list[Boosted] = []
    for stage in reversed(range(n_stages)):
        assert bins is not None
        described, bought = walks.described[:, stage], walks.bought(stage)
        states = States.of(rows, row, bought, described, bins)
        now = loss[:, stage, None] + cost_weights * spend[:, stage, None]
        gain = now - (later_loss + cost_weights * later_spend)
        values = state_values(rows, row, bought, described)
        for k in range(rows.n_folds):
            others, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            part = states.take(others)
            trees = fit_states(part, gain[others], weight[others], plan, rows.random)
            advantage[own, stage] = state_outputs(trees.forest(), values[own])
        if final:
            of_stage.append(fit_states(states, gain, weight, plan, rows.random))
        goes_on = (advantage[:, stage] > 0) | (cost_weights == 0)
        later_loss = np.where(goes_on, later_loss, loss[:, stage, None])
        later_spend = np.where(goes_on, later_spend, spend[:, stage, None])
    n_features = rows.codes.n_features + walks.described.shape[2]
    rule = _joined(of_stage[::-1], cost_weights, n_features) if final else None
    return Stopped(cost_weights, advantage, loss, spend, rule)


def stops_of(rows: TrainingRows, walks: Walks, fitted: Stopped) -> Stopped:
    """Return the stops of other walks under the rule that was fitted on all rows."""
    rule, n_stages = fitted.rule, walks.n_stages
    assert rule is not None
    advantage = np.empty((len(walks.row), n_stages, len(rule.cost_weights)))
    for stage in range(n_stages):
        values = state_values(rows, walks.row, walks.bought(stage), walks.described[:, stage])
        advantage[:, stage] = rule.advantage(stage, values)
    return Stopped(rule.cost_weights, advantage, walks.losses(rows), walks.spend, rule)


def _joined(of_stage: list[Boosted], cost_weights: np.ndarray, n_features: int) -> StoppingRule:
    """Return the trees of all stages as one rule."""
    n_weights = len(cost_weights)
    trees = [tree for each in of_stage for tree in each.trees] or [constant_tree(n_weights)]
    forest = Boosted(trees, np.zeros(n_weights), n_features).forest()
    stage_start = np.cumsum([0, *(len(each.trees) for each in of_stage)])
    stage_base = np.reshape([each.base for each in of_stage], (len(of_stage), n_weights))
    return StoppingRule(forest, stage_start, stage_base, cost_weights)
