"""One predictor of masked rows: boosted trees on copies of the rows, each masked by what a state has bought.

Rows with few groups and rows with many groups are in different phases, each with trees of its own. Boosting starts from
a constant or from a linear model, whichever has the smaller loss on held-out rows. If rows are few, a phase is the
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

MORE_ROUNDS = 1.1  # all rows are more than those of a fold, so the final predictor gets a few more rounds


class MaskedCopies(NamedTuple):
    """Copies of training rows, each masked by what a state has bought.

    Attributes
    ----------
    row : ndarray of int, shape (n,)
        The row of each copy.
    bought : ndarray of bool, shape (n, n_groups)
        The groups that it has.
    bag : ndarray of int, shape (n,)
        The ensemble that is fitted on it.
    """

    row: np.ndarray
    bought: np.ndarray
    bag: np.ndarray

    @property
    def n_bags(self) -> int:
        """The number of ensembles."""
        return int(self.bag.max()) + 1


class Phase(NamedTuple):
    """A phase of the predictor.

    Attributes
    ----------
    copies : MaskedCopies
        What it is fitted on.
    last_count : int
        The largest number of groups of a row in it.
    plan : Plan
        How it is boosted.
    is_linear : bool or None
        Whether boosting starts from a linear model; None if the loss of held-out rows should decide.
    """

    copies: MaskedCopies
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
    fitted, decided = [], []
    for phase in phases:
        starts = (False, True) if phase.is_linear is None else (phase.is_linear,)
        codes = rows.masked_codes(phase.copies.row, phase.copies.bought)
        of_start = {is_linear: _fit_folds(rows, codes, phase, is_linear) for is_linear in starts}
        best = min(starts, key=lambda is_linear: np.mean([each.loss for each in of_start[is_linear]]))
        fitted.append(of_start[best])
        decided.append(phase._replace(is_linear=best))
    of_fold = list(zip(*fitted, strict=True))
    return [FoldPredictor(_joined(rows, each, phases), [part.n_rounds for part in each]) for each in of_fold], decided


def fit_predictor(rows: TrainingRows, phases: list[Phase], n_rounds: np.ndarray) -> MaskedPredictor:
    """Fit the predictor to the copies of all rows, with a given number of rounds of each phase."""
    parts = []
    for phase, n in zip(phases, n_rounds.tolist(), strict=True):
        codes = rows.masked_codes(phase.copies.row, phase.copies.bought)
        longer = phase.plan._replace(n_rounds=max(1, round(MORE_ROUNDS * n)), patience=None)
        everyone = np.ones(len(phase.copies.row), dtype=bool)
        parts.append(_fit_part(rows, codes, phase._replace(plan=longer), everyone, bool(phase.is_linear)))
    return _joined(rows, parts, phases)


def _fit_folds(rows: TrainingRows, codes: Codes, phase: Phase, is_linear: bool) -> list[PhasePredictor]:
    """Fit a phase once for each fold, on the copies of the rows of the other folds."""
    fold = rows.fold[phase.copies.row]
    return [_fit_part(rows, codes, phase, fold != k, is_linear) for k in range(rows.n_folds)]


def _fit_part(rows: TrainingRows, codes: Codes, phase: Phase, fitted: np.ndarray, is_linear: bool) -> PhasePredictor:
    """Fit one ensemble for each bag to its fitted copies, and return their average."""
    copies, plan = phase.copies, phase.plan
    start = fit_start(rows, copies.row, copies.bought, fitted) if is_linear else None
    scores = None if start is None else start_scores(rows, start, copies.row, copies.bought)
    boosted = []
    for bag in range(copies.n_bags):
        own = copies.bag == bag
        train, held_out = (np.flatnonzero(own & part).astype(np.uint32) for part in (fitted, ~fitted))
        outputs = rows.outputs(copies.row, scores)
        boosted.append(boost(codes, rows.bins, outputs, train, held_out, plan, rows.random))
    n_rounds, loss = np.mean([(each.n_rounds, each.loss) for each in boosted], axis=0).tolist()
    return PhasePredictor(_average(boosted), start, n_rounds, loss)


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
