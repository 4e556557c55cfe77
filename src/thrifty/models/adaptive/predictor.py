"""One predictor of masked rows: boosted trees on copies of the rows, each masked by what a state has bought.

Rows with few groups and rows with many groups are in different phases, each with trees of its own. Boosting starts from
a constant, or from a linear model if its loss on held-out rows is clearly smaller; with few rows, if it is not clearly
larger. Then a phase is also the average of several ensembles, each fitted on copies of its own.
"""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thrifty.kernels.threads import in_threads
from thrifty.models.adaptive.boosting import Boosted, Plan, boost
from thrifty.models.adaptive.linear_start import LinearStart, fit_start, standardisation, start_scores
from thrifty.models.adaptive.policy import MaskedPredictor
from thrifty.models.adaptive.training_rows import NO_FOLD, TrainingRows
from thrifty.models.forests.forest import Forest
from thrifty.models.growing.binning import Codes

LEAST_ADVANTAGE = 0.01  # of one start over the other, as a share of the held-out loss
FEW_ROWS = 2_000  # with fewer rows boosting starts from a linear model unless a constant is clearly better
TOLERATED_LOSS = 4.0  # divided by the number of rows: a share of the held-out loss that is not worth more rounds
MORE_ROUNDS = 1.1  # all rows are more than those of a fold, so the final predictor gets a few more rounds


class MaskedCopies(NamedTuple):
    """Copies of training rows, each masked by what a state has bought.

    Attributes
    ----------
    row : ndarray of int, shape (n,)
        The row of each copy.
    bought : ndarray of bool, shape (n, n_groups)
        The groups that it has.
    """

    row: np.ndarray
    bought: np.ndarray


class Phase(NamedTuple):
    """A phase of the predictor.

    Attributes
    ----------
    bags : list of MaskedCopies
        What each of its ensembles is fitted on.
    last_count : int
        The largest number of groups of a row in it.
    plan : Plan
        How it is boosted.
    is_linear : bool or None
        Whether boosting starts from a linear model; None if the loss of held-out rows should decide.
    n_rounds : int
        The number of rounds with the smallest mean loss of held-out rows; 0 before predictors are fitted.
    """

    bags: list[MaskedCopies]
    last_count: int
    plan: Plan
    is_linear: bool | None = None
    n_rounds: int = 0


class Ensembles(NamedTuple):
    """A fitted phase: trees of each bag, and the linear model that they are added to, if there is one."""

    of_bag: list[Boosted]
    start: LinearStart | None

    def first(self, n_rounds: int) -> "Ensembles":
        """Return the trees of the first rounds."""
        return self._replace(of_bag=[each.first(n_rounds) for each in self.of_bag])

    def average(self) -> Boosted:
        """Return trees whose sum is the mean of the sums of all ensembles."""
        one, *others = self.of_bag
        if not others:
            return one
        return one._replace(
            trees=[tree._replace(value=tree.value / len(self.of_bag)) for each in self.of_bag for tree in each.trees]
        )


def fit_predictors(rows: TrainingRows, phases: list[Phase]) -> tuple[list[MaskedPredictor], list[Phase]]:
    """Fit one predictor for each fold, on the copies of the rows of the other folds.

    The losses of the copies of the folds themselves decide the number of rounds, which is the same for all folds, and
    whether boosting starts from a linear model if a phase leaves this open. The phases are returned with this decision.
    """
    jobs = [Job(phase, _codes(rows, phase)) for phase in phases]
    trials = [_trials(job) for job in jobs]
    fitted = iter(_fit_folds(rows, [trial for each in trials for trial in each]))
    best = [_better(rows, [next(fitted) for _ in each]) for each in trials]
    incomplete = [k for k, job in enumerate(jobs) if len(best[k].phase.bags) < len(job.phase.bags)]
    with_all_bags = [Job(phases[k]._replace(is_linear=best[k].phase.is_linear), jobs[k].codes) for k in incomplete]
    for k, each in zip(incomplete, _fit_folds(rows, with_all_bags), strict=True):
        best[k] = each
    parts = zip(*(each.of_fold for each in best), strict=True)
    return [_joined(rows, of_fold, phases) for of_fold in parts], [each.phase for each in best]


def fit_predictor(rows: TrainingRows, phases: list[Phase]) -> MaskedPredictor:
    """Fit the predictor to the copies of all rows, with the number of rounds that was decided for each phase."""
    jobs = []
    for phase in phases:
        longer = phase.plan._replace(n_rounds=round(MORE_ROUNDS * phase.n_rounds), patience=None)
        jobs.append((Job(phase._replace(plan=longer), _codes(rows, phase)), NO_FOLD))
    return _joined(rows, _fit_parts(rows, jobs), phases)


class Job(NamedTuple):
    """A phase to fit, and the codes of its bags."""

    phase: Phase
    codes: list[Codes]


class FittedPhase(NamedTuple):
    """The mean loss of held-out rows, the phase with the number of rounds, and the ensembles of each fold."""

    loss: float
    phase: Phase
    of_fold: list[Ensembles]


def _codes(rows: TrainingRows, phase: Phase) -> list[Codes]:
    return [rows.masked_codes(*copies) for copies in phase.bags]


def _trials(job: Job) -> list[Job]:
    """Return what to fit first: both starts of boosting on the first bag, if the phase leaves the start open."""
    phase, codes = job
    if phase.is_linear is not None:
        return [job]
    return [Job(phase._replace(bags=phase.bags[:1], is_linear=each), codes[:1]) for each in (False, True)]


def _better(rows: TrainingRows, trials: list[FittedPhase]) -> FittedPhase:
    """Return the better start of boosting, from a constant or from a linear model; a single trial is returned as is."""
    constant, linear = trials[0], trials[-1]
    advantage = LEAST_ADVANTAGE if len(rows) >= FEW_ROWS else -LEAST_ADVANTAGE
    return linear if linear.loss < (1.0 - advantage) * constant.loss else constant


def _fit_folds(rows: TrainingRows, jobs: list[Job]) -> list[FittedPhase]:
    """Fit each phase once for each fold, on the copies of the rows of the other folds."""
    parts = iter(_fit_parts(rows, [(job, fold) for job in jobs for fold in range(rows.n_folds)]))
    return [_of_folds(rows, job.phase, [next(parts) for _ in range(rows.n_folds)]) for job in jobs]


def _of_folds(rows: TrainingRows, phase: Phase, parts: list[Ensembles]) -> FittedPhase:
    """Choose the number of rounds, which is the same for all folds."""
    losses = [boosted.losses for part in parts for boosted in part.of_bag]
    n_rounds = round(np.mean([enough_rounds(each, TOLERATED_LOSS / len(rows)) for each in losses]))
    loss = np.mean([each[min(n_rounds, len(each) - 1)] for each in losses])
    return FittedPhase(float(loss), phase._replace(n_rounds=n_rounds), [part.first(n_rounds) for part in parts])


def enough_rounds(losses: list[float], tolerated: float) -> int:
    """Return the smallest number of rounds whose held-out loss exceeds the smallest by at most a share of it.

    The smallest of many losses is partly small by chance. With few rows, this leads to too many trees.
    """
    return int(np.argmax(np.array(losses) <= (1.0 + tolerated) * min(losses)))


def _fit_parts(rows: TrainingRows, jobs: list[tuple[Job, int]]) -> list[Ensembles]:
    """Fit each phase without the rows of a fold, in parallel threads. Each has random numbers of its own."""
    randoms = rows.random.spawn(len(jobs))
    tasks = [partial(_fit_part, rows, *job, fold, random) for (job, fold), random in zip(jobs, randoms, strict=True)]
    with warnings.catch_warnings():  # not in the threads, which share the filters
        warnings.simplefilter("ignore", ConvergenceWarning)  # of linear starts: trees correct what is left
        return in_threads(tasks)


def _fit_part(
    rows: TrainingRows, phase: Phase, codes: list[Codes], fold: int, random: np.random.Generator
) -> Ensembles:
    """Fit one ensemble for each bag, without the rows of a fold."""
    held_out = [rows.fold[copies.row] == fold for copies in phase.bags]
    start = _fit_linear_start(rows, phase.bags, held_out, random) if phase.is_linear else None
    boosted = []
    for copies, of_bag, is_held_out in zip(phase.bags, codes, held_out, strict=True):
        train, rest = (np.flatnonzero(each).astype(np.uint32) for each in (~is_held_out, is_held_out))
        outputs = rows.outputs(copies.row, None if start is None else start_scores(rows, start, *copies))
        boosted.append(boost(of_bag, rows.bins, outputs, train, rest, phase.plan, random))
    return Ensembles(boosted, start)


def _fit_linear_start(
    rows: TrainingRows, bags: list[MaskedCopies], held_out: list[np.ndarray], random: np.random.Generator
) -> LinearStart | None:
    """Fit one linear model to the copies of all bags that are not held out."""
    fitted = ~np.concatenate(held_out)
    row, bought = (np.concatenate(each)[fitted] for each in zip(*bags, strict=True))
    return fit_start(rows, row, bought, random)


def _joined(rows: TrainingRows, parts: Sequence[Ensembles], phases: list[Phase]) -> MaskedPredictor:
    """Return the trees and linear models of all phases as one predictor."""
    n_columns, n_scores = rows.codes.n_features, rows.n_scores
    nothing = LinearStart(np.zeros(n_scores), *np.zeros((2, n_columns, n_scores)))
    starts = [part.start or nothing for part in parts]
    boosted = [part.average() for part in parts]
    trees = [tree for each in boosted for tree in each.trees]
    centre, width = standardisation(rows)
    return MaskedPredictor(
        Forest.from_trees(trees, n_features=n_columns, base=np.zeros(n_scores)),
        np.cumsum([0, *(len(each.trees) for each in boosted)]),
        np.array([each.base + start.base for each, start in zip(boosted, starts, strict=True)]),
        np.array([phase.last_count for phase in phases], dtype=np.int64),
        centre,
        width,
        np.array([start.slope for start in starts]),
        np.array([start.offset for start in starts]),
    )
