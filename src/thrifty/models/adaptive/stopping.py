"""When to stop: backward induction over the walks of training rows.

With the loss L_t of answering before stage t and the spend C_t until then, a row that goes on at cost weight w gains

    D_t  =  (L_t + w C_t)  -  (L_T + w C_T),        T: the stage at which it stops later on,

compared with answering now. From the last stage to the first, D_t is regressed on the state before stage t, for all
cost weights at once, and a row goes on where the regression is positive. The regression of a fold is fitted on the
other folds, so that the stops of later stages, on which D_t depends, are those of rows that were not fitted. At a cost
weight of 0 rows never stop. With few rows, the losses in D_t are means of those for the target of the row and of those
expected if targets are drawn from the final prediction, which was fitted on other rows: single targets vary too much.
Unlike a comparison with the next stage alone, this sees that a purchase may pay only
together with later ones (F. A. Longstaff, E. S. Schwartz, Valuing American options by simulation, Review of Financial
Studies 14, 2001).
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import expit, softmax

from thrifty.kernels.threads import in_threads
from thrifty.models.adaptive.boosting import Boosted, Plan, constant_tree
from thrifty.models.adaptive.gains import fit_states, held_out_outputs, state_values
from thrifty.models.adaptive.policy import StoppingRule
from thrifty.models.adaptive.simulation import Walks
from thrifty.models.adaptive.training_rows import States, TrainingRows, bins_of_states
from thrifty.models.growing.limits import Limits

PLAN = Plan(20, 0.2, Limits(3, None, 40.0, 20.0), max_features=0.7)
SMALL_PLAN = Plan(10, 0.2, Limits(2, None, 40.0, 20.0), max_features=0.7)  # for fewer than FEW_ROWS rows
FEW_ROWS = 2000
SHARE_OF_FINAL = 0.5  # of the losses expected under the final prediction, with fewer rows
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


def fit_stops(rows: TrainingRows, walks: Walks, cost_weights: np.ndarray) -> Stopped:
    """Decide the stops of rows by backward induction, each with regressions that were fitted on the other folds.

    Parameters
    ----------
    rows : TrainingRows
    walks : Walks
        Walks of rows with models of other folds.
    cost_weights : ndarray of shape (n_weights,)
    """
    induction = Induction(rows, walks, cost_weights)
    advantage = np.empty((len(walks.row), walks.n_stages, len(cost_weights)))
    for stage in reversed(range(walks.n_stages)):
        advantage[:, stage] = induction.regressed_of_folds(stage)
        induction.stop(stage, advantage[:, stage])
    return Stopped(cost_weights, advantage, induction.loss, induction.spend, None)


def with_rule(rows: TrainingRows, walks: Walks, stopped: Stopped) -> Stopped:
    """Fit the rule on all rows, given their stops by `fit_stops`."""
    induction = Induction(rows, walks, stopped.cost_weights)
    of_stage: list[Boosted] = []
    for stage in reversed(range(walks.n_stages)):
        of_stage.append(induction.regression(stage))
        induction.stop(stage, stopped.advantage[:, stage])
    n_features = rows.codes.n_features + walks.described.shape[2]
    return replace(stopped, rule=_joined(of_stage[::-1], stopped.cost_weights, n_features))


class Induction:
    """The losses and spends of rows that go on, from the last stage to the first.

    Parameters
    ----------
    rows : TrainingRows
    walks : Walks
    cost_weights : ndarray of shape (n_weights,)

    Attributes
    ----------
    loss, spend : ndarray of shape (n, n_stages + 1)
        Of answering before each stage.
    judged : ndarray of shape (n, n_stages + 1)
        The losses that gains are computed with; with few rows they vary less than `loss`.
    """

    def __init__(self, rows: TrainingRows, walks: Walks, cost_weights: np.ndarray):
        self.loss, self.spend = walks.losses(rows), walks.spend
        share = SHARE_OF_FINAL if len(walks.row) < FEW_ROWS else 0.0
        self.judged = self.loss + share * (losses_under_final(rows, walks) - self.loss) if share else self.loss
        self._rows, self._walks, self._cost_weights = rows, walks, cost_weights
        self._weight, self._fold = rows.weight[walks.row], rows.fold[walks.row]
        self._plan = PLAN if len(walks.row) >= FEW_ROWS else SMALL_PLAN
        later = (np.repeat(each[:, -1:], len(cost_weights), axis=1) for each in (self.judged, self.spend))
        self._later_loss, self._later_spend = later
        described = walks.described[:, :-1].reshape(-1, walks.described.shape[2])
        self._bins = bins_of_states(described, rows.random) if len(described) else None

    def regressed_of_folds(self, stage: int) -> np.ndarray:
        """Return the expected gains of going on (n, n_weights) by regressions that were fitted on the other folds."""
        states, gain, n_folds = self._states(stage), self._gain(stage), self._rows.n_folds
        expected = np.empty_like(gain)

        def expect(fold: int, random: np.random.Generator) -> None:
            own, others = np.flatnonzero(self._fold == fold), np.flatnonzero(self._fold != fold)
            expected[own] = held_out_outputs(states, gain, self._weight, others, self._plan, random, own)

        in_threads([partial(expect, *each) for each in enumerate(self._rows.random.spawn(n_folds))])
        return expected

    def regression(self, stage: int) -> Boosted:
        """Return the regression of the gains of going on that is fitted on all rows."""
        return fit_states(self._states(stage), self._gain(stage), self._weight, self._plan, self._rows.random)

    def stop(self, stage: int, advantage: np.ndarray) -> None:
        """Let rows answer before a stage unless their advantage of going on (n, n_weights) is positive."""
        goes_on = (advantage > 0) | (self._cost_weights == 0)
        self._later_loss = np.where(goes_on, self._later_loss, self.judged[:, stage, None])
        self._later_spend = np.where(goes_on, self._later_spend, self.spend[:, stage, None])

    def _gain(self, stage: int) -> np.ndarray:
        now = self.judged[:, stage, None] + self._cost_weights * self.spend[:, stage, None]
        return now - (self._later_loss + self._cost_weights * self._later_spend)

    def _states(self, stage: int) -> States:
        assert self._bins is not None
        walks = self._walks
        return States.of(self._rows, walks.row, walks.bought(stage), walks.described[:, stage], self._bins)


def losses_under_final(rows: TrainingRows, walks: Walks) -> np.ndarray:
    """Return the losses (n, n_stages + 1) expected if targets are drawn from the final predictions of the walks.

    The variance of the targets of a regression is left out, because it is the same at all stages.
    """
    final, scores, n_classes = walks.scores[:, -1], walks.scores, rows.objective.n_classes
    if not n_classes:
        return rows.objective.losses(scores, np.ascontiguousarray(final[:, 0]))
    positive = expit(final)
    share = np.hstack([1.0 - positive, positive]) if n_classes == 2 else softmax(final, axis=1)
    expected = np.zeros(scores.shape[:2])
    for k in range(n_classes):
        expected += share[:, k, None] * rows.objective.losses(scores, np.full(len(scores), float(k)))
    return expected


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
    forest = Boosted(trees, np.zeros(n_weights), n_features, [], []).forest()
    stage_start = np.cumsum([0, *(len(each.trees) for each in of_stage)])
    stage_base = np.reshape([each.base for each in of_stage], (len(of_stage), n_weights))
    return StoppingRule(forest, stage_start, stage_base, cost_weights)
