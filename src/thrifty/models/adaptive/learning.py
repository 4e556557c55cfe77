"""Learning of the policy: rounds of gains, lookahead and refits, each kept only if it is better on held-out rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from thrifty.kernels.adaptive.structures import Policy
from thrifty.models.adaptive.boosting import Plan
from thrifty.models.adaptive.forward_order import forward_order
from thrifty.models.adaptive.gains import Gains, fit_gains, no_gains, restricted
from thrifty.models.adaptive.lookahead import best_first_group, improvement, shortened, z_score
from thrifty.models.adaptive.order import default_order
from thrifty.models.adaptive.policy import MaskedPredictor, PurchasePolicy, position_among
from thrifty.models.adaptive.predictor import MaskedCopies, Phase, fit_predictor, fit_predictors
from thrifty.models.adaptive.simulation import Walks, walk
from thrifty.models.adaptive.states import copies_along_order, copies_on_policy, explored
from thrifty.models.adaptive.stopping import Stopped, default_cost_weights, fit_stops, stops_of, with_rule
from thrifty.models.adaptive.training_rows import TrainingRows
from thrifty.models.forests.forest import Forest

ACCEPTED_ERRORS = 1.0  # standard errors by which a round has to be better
PROMISING_ERRORS = 1.0  # the same before new predictors are fitted
PATIENCE_OF_SCOUT = 7  # rounds
COMPARED_ROWS = 2_000  # on which policies are compared before predictors are fitted to the states of the better one
COPIES_OF_SCOUT, SPEED_OF_SCOUT = 4, 2.5  # copies of each row, and the learning rate as a multiple of the usual one
REFIT_ROWS = 2_000  # on which the spend of the final model is measured
MAX_CANDIDATES = 100  # groups that may be bought out of order; the first ones of the default order
STATES_PER_ROW = 2  # on which gains are learned
FEWEST_STATES, MOST_STATES = 1_000, 20_000
LAST_STAGE = 12  # of these states
BORDER, OVERLAP = 8, 2  # groups: the predictor of rows with more groups has trees of its own
FEWEST_GROUPS_OF_TWO_PHASES = 16
NO_GROUPS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Settings:
    """How the policy is learned.

    Attributes
    ----------
    early, late : Plan
        The boosting of the predictor for rows with few groups, and for rows with many.
    n_rounds : int
        The largest number of rounds that improve the policy.
    n_copies : int
        Masked copies of each row that an ensemble of the predictor is fitted on.
    n_bags : int
        The number of ensembles that the predictor averages.
    max_steps : int
        The number of single purchases; then rows buy several groups at a time.
    max_rows : int
        The policy is learned on a random sample of this size if there are more rows; then the predictor is fitted on
        all rows, and the stops on the walks of the sample.
    """

    early: Plan
    late: Plan
    n_rounds: int
    n_copies: int
    n_bags: int
    max_steps: int
    max_rows: int


class Route(NamedTuple):
    """In which order rows buy.

    Attributes
    ----------
    order : ndarray of int, shape (n_groups,)
        The default order.
    first : ndarray of int
        The groups that every row buys first.
    """

    order: np.ndarray
    first: np.ndarray


@dataclass(frozen=True, eq=False)
class Attempt:
    """A policy during learning, with the walks of rows by models of other folds.

    Attributes
    ----------
    phases : list of Phase
        The masked rows that the predictors are fitted on.
    predictors : list of MaskedPredictor
        One for each fold.
    gains : Gains
    route : Route
    walks : Walks
    stopped : Stopped
    """

    phases: list[Phase]
    predictors: list[MaskedPredictor]
    gains: Gains
    route: Route
    walks: Walks
    stopped: Stopped


@dataclass(frozen=True, eq=False)
class Learned:
    """The result.

    Attributes
    ----------
    policy : PurchasePolicy
        Fitted on all rows.
    row : ndarray of int
        The rows that walked by models of other folds.
    stopped : Stopped
        Their stops.
    refit_row : ndarray of int
        Rows that walked by the final model.
    refit : Stopped
        Their stops.
    n_rounds : int
        How many rounds improved the policy.
    """

    policy: PurchasePolicy
    row: np.ndarray
    stopped: Stopped
    refit_row: np.ndarray
    refit: Stopped
    n_rounds: int


class Learner:
    """Learns a policy from training rows.

    Parameters
    ----------
    rows : TrainingRows
    settings : Settings
    advance : callable
        Called with a text after each step.
    """

    def __init__(self, rows: TrainingRows, settings: Settings, advance: Callable[[str], None]):
        self.all_rows, self.settings, self.advance = rows, settings, advance
        self.walking = rows.sample(settings.max_rows)  # positions in `self.all_rows`
        self.rows = rows = rows.take(self.walking) if len(self.walking) < len(rows) else rows
        self.sample = np.arange(len(rows))  # positions in `self.rows` of the rows that walk
        self.order, n_useful = default_order(rows)
        self.n_at_stage = stage_sizes(int((rows.prices > 0).sum()), settings.max_steps)
        bought = self.order if rows.n_groups <= MAX_CANDIDATES else self.order[: min(n_useful, MAX_CANDIDATES)]
        self.groups = np.sort(bought[rows.prices[bought] > 0])
        advance("order")

    def learn(self) -> Learned:
        """Return the learned policy."""
        best, n_rounds, gains = self._default(), 0, None
        while n_rounds < self.settings.n_rounds and len(self.groups) > 1:
            gains, worthwhile = self._gains(best, self.groups)
            challenger = self._improved(best, gains, worthwhile)
            if challenger is None or not is_better(self.rows, challenger, best):
                break
            best, n_rounds, gains = challenger, n_rounds + 1, None
        if self.rows is not self.all_rows:
            best = self._on_all_rows(best)
        if not best.gains.candidates.size:  # the gain of the default group explains purchases
            gains = gains or self._gains(best, NO_GROUPS)[0]
            best = replace(best, gains=restricted(gains, NO_GROUPS))
        predictor = fit_predictor(self.rows, best.phases)
        self.advance("final predictor")
        policy = self._policy(predictor, best.gains.of_all, best.gains.candidates, best.route)
        stopped = with_rule(self.rows, best.walks, best.stopped)
        self.advance("final stops")
        refit_row = self.sample[:: max(1, len(self.sample) // REFIT_ROWS)]
        walks = walk(self.rows, [policy.training_arrays] * self.rows.n_folds, refit_row)
        return Learned(policy, best.walks.row, stopped, refit_row, stops_of(self.rows, walks, stopped), n_rounds)

    def _default(self) -> Attempt:
        """Return the policy that follows a default order: the first one, or a better one by forward selection.

        Predictors that are cheaper to fit compare the two orders, and decide how boosting starts.
        """
        rows, gains, route = self.rows, no_gains(self.rows), Route(self.order, NO_GROUPS)
        scouts, phases = fit_predictors(
            rows, self._phases_of(partial(copies_along_order, rows, self.order), scout=True)
        )
        self.advance("scouts")
        policies = self._fold_policies(scouts, gains, route)
        n_steps = int((self.n_at_stage == 1).sum())
        other = route._replace(order=forward_order(rows, policies, self.sample, route.order, n_steps))
        if self._improvement(policies, self._fold_policies(scouts, gains, other)) > 0:
            route = other
        self.advance("forward selection")
        along = partial(copies_along_order, rows, route.order)
        return self._attempt(self._phases_of(along, phases), gains, route)

    def _on_all_rows(self, attempt: Attempt) -> Attempt:
        """Return a policy that was learned on a sample, with predictors that are fitted on all rows."""
        policies, order = self._policies(attempt), attempt.route.order
        self.rows, self.sample = self.all_rows, self.walking
        if attempt.gains.candidates.size or attempt.route.first.size:
            copies: Callable[..., MaskedCopies] = partial(copies_on_policy, self.rows, policies, order)
        else:
            copies = partial(copies_along_order, self.rows, order)
        return self._attempt(self._phases_of(copies, attempt.phases), attempt.gains, attempt.route)

    def _improvement(self, usual: list[Policy], challenger: list[Policy]) -> float:
        """Return by how many standard errors the loss falls at equal spends under other policies."""
        row = self.sample[:: max(1, len(self.sample) // COMPARED_ROWS)]
        before, after = (walk(self.rows, shortened(each), row) for each in (usual, challenger))
        return z_score(improvement(self.rows, before, after), self.rows.weight[row])

    def _improved(self, attempt: Attempt, gains: Gains, worthwhile: np.ndarray) -> Attempt | None:
        """Return the policy that buys by expected gains; None if it would not differ, or is not promising."""
        rows = self.rows
        group, route = None, attempt.route
        if not route.first.size:
            group = best_first_group(rows, self._policies(attempt, gains), self.sample)
            self.advance("lookahead")
        if group is None:  # after a new first purchase, what is worthwhile changes
            gains = restricted(gains, worthwhile)
            if not worthwhile.size:
                return None
        else:
            route = route._replace(first=np.array([group], dtype=np.int64))
        policies = self._policies(attempt, gains, route)
        if self._improvement(self._policies(attempt), policies) < PROMISING_ERRORS:
            return None  # fitting predictors to its states takes longer than all before
        phases = self._phases_of(partial(copies_on_policy, rows, policies, route.order), attempt.phases)
        return self._attempt(phases, gains, route)

    def _phases_of(
        self, copies: Callable[..., MaskedCopies], before: list[Phase] | None = None, *, scout: bool = False
    ) -> list[Phase]:
        """Return the phases with their copies; phases that were fitted before decide about linear starts."""
        n_bags, n_copies = self.settings.n_bags, self.settings.n_copies
        if scout:
            n_bags, n_copies = 1, min(n_copies, COPIES_OF_SCOUT)
        phases = []
        for k, (stages, last_count, plan) in enumerate(self._phases()):
            bags = [copies(stages, n_copies) for _ in range(n_bags)]
            used = faster(plan, n_copies / self.settings.n_copies) if scout else plan
            phases.append(Phase(bags, last_count, used, before[k].is_linear if before else None))
        return phases

    def _phases(self) -> list[tuple[tuple[int, int], int, Plan]]:
        """Return the phases of the predictor: which stages copies are from, the largest number of groups, and the plan.

        Copies of neighbouring phases overlap, because rows at the border are like those of both.
        """
        early, late, n_groups = self.settings.early, self.settings.late, self.rows.n_groups
        n_free = int((self.rows.prices == 0).sum())
        n_priced = n_groups - n_free
        if n_priced < FEWEST_GROUPS_OF_TWO_PHASES:
            return [((0, n_priced), n_groups, early)]
        return [((0, BORDER + OVERLAP), n_free + BORDER, early), ((BORDER - OVERLAP, n_priced), n_groups, late)]

    def _gains(self, attempt: Attempt, groups: np.ndarray) -> tuple[Gains, np.ndarray]:
        """Regress the gains of groups on states around the walks of an attempt; see `fit_gains`."""
        n_states = int(np.clip(STATES_PER_ROW * len(self.sample), FEWEST_STATES, MOST_STATES))
        row, policies = self.sample[np.arange(n_states) % len(self.sample)], self._policies(attempt)
        bought = explored(self.rows, policies, row, n_forced=2, share_forced=0.7, stages=(0, LAST_STAGE))
        fitted = fit_gains(self.rows, policies, groups, row, bought)
        self.advance("gains")
        return fitted

    def _attempt(self, phases: list[Phase], gains: Gains, route: Route) -> Attempt:
        """Fit predictors, walk, and learn when to stop."""
        predictors, phases = fit_predictors(self.rows, phases)
        self.advance("predictors")
        walks = walk(self.rows, self._fold_policies(predictors, gains, route), self.sample)
        weights = default_cost_weights(walks.losses(self.rows), walks.spend, self.rows.weight[self.sample])
        stopped = fit_stops(self.rows, walks, weights)
        self.advance("stops")
        return Attempt(phases, predictors, gains, route, walks, stopped)

    def _policies(self, attempt: Attempt, gains: Gains | None = None, route: Route | None = None) -> list[Policy]:
        """Return the policies of an attempt, one for each fold, with other gains or another route if they are given."""
        return self._fold_policies(attempt.predictors, gains or attempt.gains, route or attempt.route)

    def _fold_policies(self, predictors: list[MaskedPredictor], gains: Gains, route: Route) -> list[Policy]:
        return [
            self._policy(each, of_fold, gains.candidates, route).training_arrays
            for each, of_fold in zip(predictors, gains.of_fold, strict=True)
        ]

    def _policy(
        self, predictor: MaskedPredictor, gains: Forest, candidates: np.ndarray, route: Route
    ) -> PurchasePolicy:
        return PurchasePolicy(
            self.rows.factors,
            predictor,
            gains,
            candidates,
            route.first,
            route.order,
            self.n_at_stage,
            self.rows.fill,
            not self.rows.objective.n_classes,
        )


def stage_sizes(n_groups: int, max_steps: int) -> np.ndarray:
    """Return how many groups each stage buys: one at first, then 4, 8, 16, ... until nothing is left."""
    sizes = [1] * min(n_groups, max_steps)
    size = 4
    while (left := n_groups - sum(sizes)) > 0:
        sizes.append(min(size, left))
        size *= 2
    return np.array(sizes, dtype=np.int64)


def faster(plan: Plan, share: float) -> Plan:
    """Return a plan with fewer trees, for a share of the copies."""
    limits = replace(plan.limits, min_samples_leaf=share * plan.limits.min_samples_leaf)
    rate, patience = min(SPEED_OF_SCOUT * plan.learning_rate, 1.0), plan.patience
    return plan._replace(
        learning_rate=rate, limits=limits, patience=None if patience is None else max(1, patience // 2)
    )


def is_better(rows: TrainingRows, challenger: Attempt, best: Attempt) -> bool:
    """Tell whether a policy is better than another by ACCEPTED_ERRORS on rows that were not fitted.

    At each cost weight w of the challenger, the objective loss + w * spend of a row is divided by its mean under the
    other policy, so that all cost weights count alike. The differences of the two policies are averaged over cost
    weights.
    """
    weight = rows.weight[best.walks.row]
    differences = []
    for column, cost_weight in enumerate(challenger.stopped.cost_weights[:-1]):
        loss, spend = best.stopped.outcome(*position_among(best.stopped.cost_weights, cost_weight))
        new_loss, new_spend = challenger.stopped.outcome(column)
        before, after = loss + cost_weight * spend, new_loss + cost_weight * new_spend
        differences.append((before - after) / max(float(np.average(before, weights=weight)), 1e-300))
    difference = np.mean(differences, axis=0)
    mean = float(np.average(difference, weights=weight))
    error = float(np.sqrt(np.sum(np.square(weight * (difference - mean))))) / float(weight.sum())
    return mean > ACCEPTED_ERRORS * error
