import numpy as np
import pytest

from thrifty.costs import CostModel, Ledger
from thrifty.exceptions import CostError

MODEL = CostModel([0.7, 0.1, 0.2, None], bundles={"visit": ([1, 2], 10.0)}, requires={3: [0, 1]})


def test_buying_twice_costs_nothing():
    ledger = Ledger(MODEL)
    assert [ledger.buy(1), ledger.buy(1), ledger.buy(2), ledger.buy(3), ledger.buy(0)] == [
        10.1,
        0,
        0.2,
        0.7,
        0,
    ]
    assert ledger.spent == MODEL.total == 11
    assert ledger.prices.tolist() == [0, 0, 0, 0]


def test_pricing_buys_nothing():
    ledger = Ledger(MODEL)
    assert ledger.price_of([1, 2]) == 10.3
    assert ledger.price_of(np.array([1, 1, 3])) == 10.8
    assert ledger.price_of([]) == 0
    ledger.prices[:] = 0
    assert ledger.prices.tolist() == [0.7, 10.1, 10.2, 10.8]
    assert ledger.spent == 0


def test_a_copy_goes_its_own_way():
    ledger = Ledger(MODEL, acquired=np.array([0]))
    twin = ledger.copy()
    twin.buy(1)
    assert (ledger.spent, twin.spent) == (0.7, 10.8)
    assert ledger.prices.tolist() == [0, 10.1, 10.2, 10.1]
    assert twin.prices.tolist() == [0, 0, 0.2, 0]
    assert ledger.buy(3) == 10.1


def test_affordable_compares_exactly():
    ledger = Ledger(CostModel([0.7, 0.1, 0.2]), acquired=[0])
    assert 0.7 + 0.1 < 0.8
    assert ledger.affordable(0.8).tolist() == [True, True, False]
    assert ledger.affordable(0.1, since=0.7).tolist() == [True, True, False]
    assert ledger.affordable(0.2, since=ledger.spent).tolist() == [True, True, True]
    assert ledger.affordable(0.0999, since=ledger.spent).tolist() == [True, False, False]
    assert ledger.affordable(0.6).tolist() == [False, False, False]


def test_a_cap_of_one_price_admits_it_even_if_it_is_no_decimal():
    prices = np.random.default_rng(0).random(30)
    assert all(Ledger(CostModel(prices)).affordable(price)[j] for j, price in enumerate(prices))


@pytest.mark.parametrize("feature", [-1, 4])
def test_a_column_that_does_not_exist(feature):
    message = f"feature {feature} does not exist. Pass a column index from 0 to 3."
    for attempt in (Ledger(MODEL).buy, lambda j: Ledger(MODEL, [j]), lambda j: Ledger(MODEL).price_of([j])):
        with pytest.raises(CostError) as caught:
            attempt(feature)
        assert str(caught.value) == message


def test_repr_tells_how_far_it_is():
    assert repr(Ledger(MODEL, [0])) == "Ledger(1 of 4 units paid, 0.7 spent)"
