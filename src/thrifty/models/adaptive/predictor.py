"""One predictor of masked rows: boosted trees on copies of the rows, each masked by what a state has bought.

Rows with few groups and rows with many groups are in different phases, each with trees of its own. Boosting starts from
a constant, or from a linear model if its loss on held-out rows is clearly smaller. If rows are few, a phase is the
average of several ensembles, each fitted on copies of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thrifty.models.adaptive.boosting import Boosted, Plan, boost
from thrifty.models.adaptive.linear_start import LinearStart, fit_start, standardisation, start_scores
from thrifty.models.adaptive.policy import MaskedPredictor
from thrifty.models.adaptive.training_rows import TrainingRows
from thrifty.models.forests.forest import Forest
from thrifty.models.growing.binning import Codes

NO_FOLD = -1
LEAST_ADVANTAGE = 0.01  # of a linear start over a constant one, as a share of the held-out loss
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
    """

    bags: list[MaskedCopies]
    last_count: int
    plan: Plan
    is_linear: bool | None = None


class PhasePredictor(NamedTuple):
    """A fitted phase: trees, the linear model that they are added to, the number of rounds, and the held-out loss."""

    boosted: Boosted
    start: LinearStart | None
    n_rounds: float
    loss: float


class FoldPredictor(NamedTuple):
    """The predictor of a fold, and the number of rounds of each phase."""

    predictor: MaskedPredictor
    n_rounds: list[float]


def fit_predictors(rows: TrainingRows, phases: list[Phase]) -> tuple[list[FoldPredictor], list[Phase]]:
    """Fit one predictor for each fold, on the copies of the rows of the other folds.

    The loss of the copies of the fold itself decides the number of rounds, and whether boosting starts from a linear
    model if a phase leaves this open. The phases are returned with this decision.
    """
    decided, fitted = zip(*(_fit_phase(rows, phase) for phase in phases), strict=True)
    of_fold = list(zip(*fitted, strict=True))
    predictors = [_joined(rows, each, phases) for each in of_fold]
    n_rounds = [[part.n_rounds for part in each] for each in of_fold]
    return [FoldPredictor(*each) for each in zip(predictors, n_rounds, strict=True)], list(decided)


def fit_predictor(rows: TrainingRows, phases: list[Phase], n_rounds: np.ndarray) -> MaskedPredictor:
    """Fit the predictor to the copies of all rows, with a given number of rounds of each phase."""
    parts = []
    for phase, n in zip(phases, n_rounds.tolist(), strict=True):
        longer = phase.plan._replace(n_rounds=max(1, round(MORE_ROUNDS * n)), patience=None)
        parts.append(_fit_part(rows, phase._replace(plan=longer), _codes(rows, phase)))
    return _joined(rows, parts, phases)


def _fit_phase(rows: TrainingRows, phase: Phase) -> tuple[Phase, list[PhasePredictor]]:
    """Fit a phase once for each fold. If it leaves the start of boosting open, the first ensemble decides about it."""
    codes = _codes(rows, phase)
    if phase.is_linear is not None:
        return phase, _fit_folds(rows, phase, codes)
    starts = [phase._replace(bags=phase.bags[:1], is_linear=each) for each in (False, True)]
    fitted = [_fit_folds(rows, each, codes[:1]) for each in starts]
    constant, linear = (np.mean([part.loss for part in parts]) for parts in fitted)
    is_linear = bool(linear < (1.0 - LEAST_ADVANTAGE) * constant)
    decided = phase._replace(is_linear=is_linear)
    return decided, fitted[is_linear] if len(phase.bags) == 1 else _fit_folds(rows, decided, codes)


def _codes(rows: TrainingRows, phase: Phase) -> list[Codes]:
    return [rows.masked_codes(*copies) for copies in phase.bags]


def _fit_folds(rows: TrainingRows, phase: Phase, codes: list[Codes]) -> list[PhasePredictor]:
    """Fit a phase once for each fold, on the copies of the rows of the other folds."""
    return [_fit_part(rows, phase, codes, fold) for fold in range(rows.n_folds)]


def _fit_part(rows: TrainingRows, phase: Phase, codes: list[Codes], fold: int = NO_FOLD) -> PhasePredictor:
    """Fit one ensemble for each bag, without the rows of a fold, and return their average."""
    held_out = [rows.fold[copies.row] == fold for copies in phase.bags]
    start = _fit_linear_start(rows, phase.bags, held_out) if phase.is_linear else None
    boosted = []
    for copies, of_bag, is_held_out in zip(phase.bags, codes, held_out, strict=True):
        train, rest = (np.flatnonzero(each).astype(np.uint32) for each in (~is_held_out, is_held_out))
        outputs = rows.outputs(copies.row, None if start is None else start_scores(rows, start, *copies))
        boosted.append(boost(of_bag, rows.bins, outputs, train, rest, phase.plan, rows.random))
    n_rounds, loss = np.mean([(each.n_rounds, each.loss) for each in boosted], axis=0).tolist()
    return PhasePredictor(_average(boosted), start, n_rounds, loss)


def _fit_linear_start(rows: TrainingRows, bags: list[MaskedCopies], held_out: list[np.ndarray]) -> LinearStart | None:
    """Fit one linear model to the copies of all bags that are not held out."""
    fitted = ~np.concatenate(held_out)
    row, bought = (np.concatenate(each)[fitted] for each in zip(*bags, strict=True))
    return fit_start(rows, row, bought)


def _average(boosted: list[Boosted]) -> Boosted:
    """Return trees whose sum is the mean of the sums of several ensembles with the same base."""
    if len(boosted) == 1:
        return boosted[0]
    trees = [tree._replace(value=tree.value / len(boosted)) for each in boosted for tree in each.trees]
    return boosted[0]._replace(trees=trees)


def _joined(rows: TrainingRows, parts: Sequence[PhasePredictor], phases: list[Phase]) -> MaskedPredictor:
    """Return the trees and linear models of all phases as one predictor."""
    n_columns, n_scores = rows.codes.n_features, rows.n_scores
    nothing = LinearStart(np.zeros(n_scores), *np.zeros((2, n_columns, n_scores)))
    starts = [part.start or nothing for part in parts]
    trees = [tree for part in parts for tree in part.boosted.trees]
    centre, width = standardisation(rows)
    return MaskedPredictor(
        Forest.from_trees(trees, n_features=n_columns, base=np.zeros(n_scores)),
        np.cumsum([0, *(len(part.boosted.trees) for part in parts)]),
        np.array([part.boosted.base + start.base for part, start in zip(parts, starts, strict=True)]),
        np.array([phase.last_count for phase in phases], dtype=np.int64),
        centre,
        width,
        np.array([start.slope for start in starts]),
        np.array([start.offset for start in starts]),
    )
