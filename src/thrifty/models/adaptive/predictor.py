"""One predictor of masked rows: boosted trees on copies of the rows, each masked by what a state has bought.

Rows with few groups and rows with many groups are in different phases, each with trees of its own. If rows are few, a
phase is the average of several ensembles, each fitted on copies of its own.
"""

from typing import NamedTuple

import numpy as np

from thrifty.models.adaptive.boosting import Boosted, Plan, boost
from thrifty.models.adaptive.policy import MaskedPredictor
from thrifty.models.adaptive.training_rows import TrainingRows
from thrifty.models.forests.forest import Forest
from thrifty.models.growing.binning import Codes
from thrifty.models.growing.losses import Loss

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
    """A phase of the predictor: its copies, the largest number of groups of a row in it, and how it is boosted."""

    copies: MaskedCopies
    last_count: int
    plan: Plan


class FoldPredictor(NamedTuple):
    """The predictor of a fold, and the number of rounds of each phase."""

    predictor: MaskedPredictor
    n_rounds: list[float]


def fit_predictors(rows: TrainingRows, phases: list[Phase]) -> list[FoldPredictor]:
    """Fit one predictor for each fold, on the copies of the rows of the other folds.

    The loss of the copies of the fold itself decides the number of rounds.
    """
    of_fold: list[list[Boosted]] = [[] for _ in range(rows.n_folds)]
    for copies, _, plan in phases:
        codes, loss = rows.masked_codes(copies.row, copies.bought), rows.loss(copies.row)
        for k, boosted in enumerate(of_fold):
            boosted.append(_averaged(rows, codes, loss, copies, rows.fold[copies.row] != k, plan))
    return [FoldPredictor(_joined(each, phases), [phase.n_rounds for phase in each]) for each in of_fold]


def fit_predictor(rows: TrainingRows, phases: list[Phase], n_rounds: np.ndarray) -> MaskedPredictor:
    """Fit the predictor to the copies of all rows, with a given number of rounds of each phase."""
    boosted = []
    for (copies, _, plan), n in zip(phases, n_rounds.tolist(), strict=True):
        codes, loss = rows.masked_codes(copies.row, copies.bought), rows.loss(copies.row)
        longer = plan._replace(n_rounds=max(1, round(MORE_ROUNDS * n)), patience=None)
        boosted.append(_averaged(rows, codes, loss, copies, np.ones(len(copies.row), dtype=bool), longer))
    return _joined(boosted, phases)


def _joined(boosted: list[Boosted], phases: list[Phase]) -> MaskedPredictor:
    """Return the trees of all phases as one predictor."""
    trees = [tree for each in boosted for tree in each.trees]
    base = np.array([each.base for each in boosted])
    forest = Forest.from_trees(trees, n_features=boosted[0].n_features, base=np.zeros(base.shape[1]))
    phase_start = np.cumsum([0, *(len(each.trees) for each in boosted)])
    return MaskedPredictor(forest, phase_start, base, np.array([phase.last_count for phase in phases], dtype=np.int64))


def _averaged(
    rows: TrainingRows, codes: Codes, loss: Loss, copies: MaskedCopies, fitted: np.ndarray, plan: Plan
) -> Boosted:
    """Fit one ensemble for each bag to its fitted copies, and return their average."""
    boosted = []
    for bag in range(copies.n_bags):
        own = copies.bag == bag
        train, held_out = (np.flatnonzero(own & part).astype(np.uint32) for part in (fitted, ~fitted))
        boosted.append(boost(codes, rows.bins, loss, train, held_out, plan, rows.random))
    n_bags = len(boosted)
    if n_bags == 1:
        return boosted[0]
    trees = [tree._replace(value=tree.value / n_bags) for each in boosted for tree in each.trees]
    n_rounds = float(np.mean([each.n_rounds for each in boosted]))
    return Boosted(trees, boosted[0].base, boosted[0].n_features, n_rounds)
