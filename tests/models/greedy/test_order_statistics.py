"""Order statistics of values in blocks compared with those of all values sorted together."""

import numpy as np
import pytest

from thrifty.models.greedy.order_statistics import OrderStatistics, ordered
from thrifty.models.greedy.splits import median_split
from thrifty.models.homes import Here, PerBlock, added, argument_of
from thrifty.models.least_squares.node_rows import Members


class Blocks(Here):
    """Several blocks in this process."""

    def __init__(self, blocks):
        super().__init__(*blocks)

    @property
    def n_blocks(self):
        return len(self._parts)

    def collect(self, work, *arguments):
        return [work(block, *(argument_of(each, k) for each in arguments)) for k, block in enumerate(self._parts)]

    def sum(self, work, *arguments):
        return added(self.collect(work, *arguments))


def divided(values, weight, cuts):
    pairs = zip(np.split(values, cuts), np.split(weight, cuts), strict=True)
    return Blocks([ordered(Members(np.arange(len(v)), w), v) for v, w in pairs])


def values_of(kind, random):
    values = random.normal(size=9000)
    return {"distinct": values, "few": np.round(values), "two": np.sign(values), "one": np.ones(9000)}[kind]


@pytest.mark.parametrize("kind", ["distinct", "few", "two", "one"])
@pytest.mark.parametrize("cuts", [[], [10, 10, 4000]])
def test_statistics_are_exact(kind, cuts):
    random = np.random.default_rng(0)
    values, weight = values_of(kind, random), random.integers(1, 5, 9000).astype(float)
    statistics = OrderStatistics(divided(values, weight, cuts))
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weight[order])
    assert statistics.total == weight.sum()
    for share in (0.001, 0.3, 0.5, 0.9, 1.0):
        expected = values[order][np.searchsorted(up_to, share * weight.sum())]
        assert statistics.first_reaching(share * weight.sum()) == expected
        below, above = values[values < expected], values[values > expected]
        assert statistics.last_below(expected) == below.max(initial=-np.inf)
        assert statistics.around(expected) == (weight[values <= expected].sum(), above.min(initial=np.inf))
    assert statistics.first_reaching(2 * weight.sum()) == values.max()


@pytest.mark.parametrize("kind", ["distinct", "few", "two", "one"])
@pytest.mark.parametrize("min_side", [1, 3000, 4600])
def test_the_split_does_not_depend_on_blocks(kind, min_side):
    random = np.random.default_rng(1)
    values, weight = values_of(kind, random), random.integers(1, 3, 9000).astype(float)
    one, several = (median_split(OrderStatistics(divided(values, weight, cuts)), min_side) for cuts in ([], [5, 7000]))
    assert one == several
    if kind == "distinct" and min_side < 4600:
        assert one == np.median(np.repeat(values, weight.astype(int)))


def test_an_argument_for_each_block():
    blocks = Blocks([np.ones(2), np.ones(3)])
    assert blocks.collect(lambda block, factor: block.sum() * factor, PerBlock([1, 10])) == [2.0, 30.0]
