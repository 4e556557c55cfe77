"""Simulated purchases of training rows, each decided by models that were not fitted on the row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.kernels.adaptive.simulation import simulate_rows
from thrifty.kernels.adaptive.structures import NOTHING, Policy
from thrifty.kernels.threads import over_rows
from thrifty.models.adaptive.training_rows import TrainingRows

SMALLEST_BLOCK = 64  # rows of a thread


@dataclass(frozen=True, eq=False)
class Walks:
    """The walks of rows through all stages, without stopping.

    Attributes
    ----------
    row : ndarray of int, shape (n,)
        The training row of each walk.
    scores : ndarray of shape (n, n_stages + 1, n_scores)
        The scores before each stage, and at the end.
    described : ndarray of shape (n, n_stages + 1, n_described)
        The features that describe the state before each stage.
    spend : ndarray of shape (n, n_stages + 1)
        What was spent before each stage.
    stage_of : ndarray of int, shape (n, n_groups)
        After how many stages a row has each group.
    """

    row: np.ndarray
    scores: np.ndarray
    described: np.ndarray
    spend: np.ndarray
    stage_of: np.ndarray

    @property
    def n_stages(self) -> int:
        """The number of stages."""
        return self.scores.shape[1] - 1

    def bought(self, stage: int | np.ndarray) -> np.ndarray:
        """Return which groups (n, n_groups) rows have after a number of stages, one number or one for each row."""
        return self.stage_of <= np.reshape(stage, (-1, 1))

    def losses(self, rows: TrainingRows) -> np.ndarray:
        """Return the losses (n, n_stages + 1) of answering before each stage."""
        return rows.objective.losses(self.scores, rows.targets[self.row])


def walk(
    rows: TrainingRows,
    policies: Sequence[Policy],
    row: np.ndarray,
    forced: np.ndarray | None = None,
    until: np.ndarray | None = None,
) -> Walks:
    """Let training rows walk through the stages, each with the policy of its fold.

    Parameters
    ----------
    rows : TrainingRows
    policies : sequence of Policy
        One for each fold, which was not fitted on the rows of this fold.
    row : ndarray of int, shape (n,)
        The rows to walk.
    forced : ndarray of int, shape (n, n_stages), optional
        A group to buy at a stage, whatever the policy says; NOTHING lets the policy decide.
    until : ndarray of int, shape (n,), optional
        How many stages each row walks; all by default. Later stages of the result are not meaningful.
    """
    n, example = len(row), policies[0]
    n_stages, n_described = example.n_at_stage.size, n_described_of(rows)
    if forced is None:
        forced = np.full((n, n_stages), NOTHING, dtype=np.int64)
    if until is None:
        until = np.full(n, n_stages, dtype=np.int64)
    walks = Walks(
        row,
        np.empty((n, n_stages + 1, rows.n_scores)),
        np.empty((n, n_stages + 1, n_described)),
        np.zeros((n, n_stages + 1)),
        np.empty((n, rows.n_groups), dtype=np.int64),
    )
    for k, policy in enumerate(policies):
        _walk_fold(rows, policy, np.flatnonzero(rows.fold[row] == k), forced, until, walks)
    np.divide(walks.spend, example.scale, out=walks.spend)  # from ticks
    return walks


def _walk_fold(
    rows: TrainingRows, policy: Policy, members: np.ndarray, forced: np.ndarray, until: np.ndarray, walks: Walks
) -> None:
    """Let the members of a fold walk, and write their walks."""
    outputs = (walks.scores, walks.described, walks.spend, walks.stage_of)
    parts = tuple(np.zeros((len(members), *array.shape[1:]), dtype=array.dtype) for array in outputs)
    row, wanted, n_walked = walks.row[members], np.ascontiguousarray(forced[members]), until[members]
    over_rows(
        lambda first, last: simulate_rows(policy, rows.X, row, wanted, n_walked, first, last, *parts),
        len(members),
        smallest=SMALLEST_BLOCK,
    )
    for array, part in zip(outputs, parts, strict=True):
        array[members] = part


def n_described_of(rows: TrainingRows) -> int:
    """Return the number of features that describe a state; see `thrifty.kernels.adaptive`."""
    if not rows.objective.n_classes:
        return 5
    return 6 if rows.n_scores == 1 else rows.n_scores + 5
