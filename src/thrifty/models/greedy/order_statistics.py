"""Weighted order statistics of values that live in blocks: exact, without moving or sorting all values together.

Each block sorts its own values once. A statistic is then found in a few rounds. In a round, each block proposes some of
its values in the interval that is left, the weights of all rows up to each proposal are summed over the blocks, and the
interval shrinks to that between two proposals. The number of rows in it falls by a factor of PROPOSALS per round.
"""

from typing import NamedTuple

import numpy as np

from thrifty.models.homes import Home
from thrifty.models.least_squares.node_rows import Members

PROPOSALS = 1024  # values of all blocks together that a round compares
FEWEST_PROPOSALS = 16  # of a block


class Ordered(NamedTuple):
    """The values of a block in ascending order, and the weight of the rows up to each of them."""

    values: np.ndarray
    weight_to: np.ndarray


def ordered(members: Members, values: np.ndarray) -> Ordered:
    """Sort the values of the rows at a node."""
    order = np.argsort(values)
    return Ordered(values[order], np.cumsum(members.weight[order]))


class OrderStatistics:
    """Order statistics of weighted values.

    Parameters
    ----------
    home : Home of Ordered
        Where the values live.

    Attributes
    ----------
    total : float
        The weight of all rows.
    """

    def __init__(self, home: Home[Ordered]):
        self._home = home
        self._n_proposals = max(FEWEST_PROPOSALS, PROPOSALS // home.n_blocks)
        self.total = float(home.sum(_total))

    def around(self, value: float) -> tuple[float, float]:
        """Return the weight of the rows with at most this value, and the smallest larger value, or infinity."""
        found = self._home.collect(_around, value)
        return float(sum(weight for weight, _ in found)), min(above for _, above in found)

    def last_below(self, value: float) -> float:
        """Return the largest smaller value, or minus infinity."""
        return max(self._home.collect(_last_below, value))

    def first_reaching(self, weight: float) -> float:
        """Return the smallest value for which the rows with at most this value have this weight, or the largest one."""
        low, high = -np.inf, np.inf  # the answer is above `low` and at most `high`
        while True:
            proposed = self._home.collect(_proposals, low, high, self._n_proposals)
            values = np.unique(np.concatenate([each for each, _ in proposed]))
            if not len(values):
                return high if high < np.inf else low
            reaches = self._home.sum(_weight_to, values) >= weight
            first = int(np.argmax(reaches)) if reaches.any() else len(values)
            low, high = values[first - 1] if first else low, values[first] if first < len(values) else high
            if all(complete for _, complete in proposed):
                return high if high < np.inf else low


def _total(block: Ordered) -> float:
    return block.weight_to[-1] if len(block.weight_to) else 0.0


def _weight_to(block: Ordered, values: np.ndarray) -> np.ndarray:
    at = np.searchsorted(block.values, values, side="right")
    return np.where(at > 0, block.weight_to[at - 1], 0.0) if len(block.values) else np.zeros(len(values))


def _around(block: Ordered, value: float) -> tuple[float, float]:
    at = int(np.searchsorted(block.values, value, side="right"))
    following = float(block.values[at]) if at < len(block.values) else np.inf
    return float(block.weight_to[at - 1]) if at > 0 else 0.0, following


def _last_below(block: Ordered, value: float) -> float:
    at = np.searchsorted(block.values, value, side="left")
    return float(block.values[at - 1]) if at > 0 else -np.inf


def _proposals(block: Ordered, low: float, high: float, most: int) -> tuple[np.ndarray, bool]:
    """Return evenly spaced values strictly between two values, and whether these are all values there."""
    first = int(np.searchsorted(block.values, low, side="right"))
    last = int(np.searchsorted(block.values, high, side="left"))
    chosen = np.linspace(first, last - 1, min(most, last - first)).astype(int)
    return block.values[chosen], last - first <= most
