"""Lookahead at the root: the group that every row should buy first, found by simulating the whole policy.

A group may be worth nothing by itself and still be the right first purchase, because it says what to buy next. So each
group is forced to be bought first, the policy goes on from there, and the losses of both walks are compared at equal
spends.
"""

import numpy as np

from thrifty.kernels.adaptive.structures import NOTHING, Policy
from thrifty.models.adaptive.simulation import Walks, walk
from thrifty.models.adaptive.training_rows import TrainingRows

HORIZON = 10  # stages
N_SPENDS = 20  # at which losses are compared
FEW_ROWS, MANY_ROWS, N_FINALISTS = 250, 2000, 4  # a race: all groups on few rows, the best ones on many
MIN_Z = 2.0  # standard errors by which the first purchase has to be better


def best_first_group(rows: TrainingRows, policies: list[Policy], sample: np.ndarray) -> int | None:
    """Return the group that every row should buy first, or None if no group is significantly better.

    Parameters
    ----------
    rows : TrainingRows
    policies : list of Policy
        One for each fold.
    sample : ndarray of int
        The rows to walk.
    """
    policies = shortened(policies)
    shuffled, groups = rows.random.permutation(sample), np.flatnonzero(rows.prices > 0).tolist()
    row = shuffled[:FEW_ROWS]
    gains = _with_first(rows, policies, row, groups)
    if len(sample) > len(row):
        means = np.average(gains, axis=1, weights=rows.weight[row])
        groups = [groups[place] for place in np.argsort(means)[::-1][:N_FINALISTS]]
        row = shuffled[:MANY_ROWS]
        gains = _with_first(rows, policies, row, groups)
    z = np.array([z_score(each, rows.weight[row]) for each in gains])
    return groups[z.argmax()] if z.max(initial=-np.inf) > MIN_Z else None


def shortened(policies: list[Policy]) -> list[Policy]:
    """Return policies that end after HORIZON stages."""
    return [policy._replace(n_at_stage=policy.n_at_stage[:HORIZON]) for policy in policies]


def improvement(rows: TrainingRows, before: Walks, after: Walks) -> np.ndarray:
    """Return by how much smaller the losses of rows (n,) are on other walks, averaged over equal spends."""
    spends = np.linspace(0.0, before.spend[:, -1].mean(), N_SPENDS + 1)[1:]
    return _mean_loss(rows, before, spends) - _mean_loss(rows, after, spends)


def _with_first(rows: TrainingRows, policies: list[Policy], row: np.ndarray, groups: list[int]) -> np.ndarray:
    """Return by how much the losses of rows fall if each group is bought first, (len(groups), len(row))."""
    usual, n_stages = walk(rows, policies, row), policies[0].n_at_stage.size
    gains = np.empty((len(groups), len(row)))
    for gain, group in zip(gains, groups, strict=True):
        forced = np.full((len(row), n_stages), NOTHING, dtype=np.int64)
        forced[:, 0] = group
        gain[:] = improvement(rows, usual, walk(rows, policies, row, forced))
    return gains


def _mean_loss(rows: TrainingRows, walks: Walks, spends: np.ndarray) -> np.ndarray:
    """Return the loss of each row, averaged over spends: at each, the row answers before the stage that exceeds it."""
    loss = walks.losses(rows)
    last = (walks.spend[:, :, None] <= spends + 1e-9).sum(axis=1) - 1
    return np.take_along_axis(loss, last, axis=1).mean(axis=1)


def z_score(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted mean of values, divided by its standard error."""
    mean = np.average(values, weights=weight)
    error = np.sqrt(np.sum(np.square(weight * (values - mean)))) / weight.sum()
    if error > 0:
        return float(mean / error)
    return float(np.sign(mean)) * np.inf if mean else 0.0
