"""Which states the predictor and the gains are learned on: those that rows reach, and others around them.

Perturbed prefixes of the default order serve as long as there is no policy. Then rows follow the policy, and some of
them buy a random group at a random stage instead.
"""

from collections.abc import Sequence

import numpy as np

from thrifty.kernels.adaptive.structures import NOTHING, Policy
from thrifty.models.adaptive.predictor import MaskedCopies
from thrifty.models.adaptive.simulation import walk
from thrifty.models.adaptive.training_rows import TrainingRows

NOISE = ((0.0, 0.35), (2.0, 0.25), (8.0, 0.25), (np.inf, 0.15))  # scale of the perturbation, and its share
FIRST_STAGES = 8  # in which random purchases are forced
SHARE_OF_RANDOM = 0.1  # of the copies of the predictor


def perturbed_prefixes(
    rows: TrainingRows, row: np.ndarray, order: np.ndarray, smallest: int, largest: int
) -> np.ndarray:
    """Return masks (n, n_groups): the first groups of a noisy copy of the default order, and all free groups.

    The number of groups with a price is random, from `smallest` to `largest`. The position of each group gets Gumbel
    noise. If its scale is infinite, the order is random.
    """
    n, n_groups, is_free = len(row), len(order), rows.prices == 0
    position = np.empty(n_groups)
    position[order] = np.arange(n_groups)
    scales, shares = map(np.array, zip(*NOISE, strict=True))
    scale = np.minimum(rows.random.choice(scales, size=n, p=shares), 1e3 * n_groups)
    noisy = position + scale[:, None] * rows.random.gumbel(size=(n, n_groups))
    noisy[:, is_free] = np.inf  # every row has them
    n_priced = n_groups - int(is_free.sum())
    size = rows.random.integers(min(smallest, n_priced), min(largest, n_priced) + 1, size=n)
    rank = noisy.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return (rank < size[:, None]) | is_free


def explored(
    rows: TrainingRows,
    policies: Sequence[Policy],
    row: np.ndarray,
    *,
    n_forced: int,
    share_forced: float,
    stages: tuple[int, int],
) -> np.ndarray:
    """Return masks (n, n_groups) of states on the walks of rows, some of which were forced to buy random groups.

    Parameters
    ----------
    rows : TrainingRows
    policies : sequence of Policy
        One for each fold.
    row : ndarray of int, shape (n,)
    n_forced : int
        How many random groups a walk is forced to buy, at most.
    share_forced : float
        Share of the walks that are forced; the others follow the policy.
    stages : tuple of int
        The state is that after a random number of stages, from the first to the second of these.
    """
    random, n, n_stages = rows.random, len(row), policies[0].n_at_stage.size
    forced = np.full((n, n_stages), NOTHING, dtype=np.int64)
    for _ in range(n_forced if n_stages else 0):
        stage = random.integers(0, min(FIRST_STAGES, n_stages), size=n)
        forced[np.arange(n), stage] = random.integers(0, rows.n_groups, size=n)
    forced[random.random(n) >= share_forced] = NOTHING
    first, last = (min(each, n_stages) for each in stages)
    until = random.integers(first, last + 1, size=n)
    return walk(rows, policies, row, forced, until).bought(until)


def copies_along_order(rows: TrainingRows, order: np.ndarray, stages: tuple[int, int], n_copies: int) -> MaskedCopies:
    """Return masked copies of all rows for the predictor, along the default order and around it."""
    row = np.repeat(np.arange(len(rows)), n_copies)
    return MaskedCopies(row, perturbed_prefixes(rows, row, order, *stages))


def copies_on_policy(
    rows: TrainingRows, policies: Sequence[Policy], order: np.ndarray, stages: tuple[int, int], n_copies: int
) -> MaskedCopies:
    """Return masked copies of all rows for the predictor: on the policy, near it, and a few anywhere."""
    row = np.repeat(np.arange(len(rows)), n_copies)
    bought = explored(rows, policies, row, n_forced=1, share_forced=0.5, stages=stages)
    anywhere = rows.random.random(len(row)) < SHARE_OF_RANDOM
    bought[anywhere] = perturbed_prefixes(rows, row[anywhere], order, *stages)
    return MaskedCopies(row, bought)
