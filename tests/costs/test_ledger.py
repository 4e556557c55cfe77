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


def test_bill_lists_unpaid_units_and_buys_nothing():
    ledger = Ledger(MODEL)
    assert ledger.bill(3) == [("x0", 0.7), ("x1", 0.1), ("visit", 10.0)]
    assert ledger.bill(3) == [("x0", 0.7), ("x1", 0.1), ("visit", 10.0)]
    assert ledger.spent == 0
    ledger.buy(2)
    assert ledger.bill(1) == [("x1", 0.1)]
    assert ledger.bill(2) == []
    assert ledger.bill(np.int64(3)) == [("x0", 0.7), ("x1", 0.1)]


def test_bill_uses_names_and_exact_unit_costs():
    model = CostModel({"chol": 1 / 3, "fbs": 3.1}, bundles={"blood draw": (["chol", "fbs"], 2.1)})
    bill = Ledger(model).bill(0)
    assert bill == [("chol", model.unit_costs[0]), ("blood draw", model.unit_costs[2])]
    assert [type(price) for _, price in bill] == [float, float]


def test_price_of_buys_nothing():
    ledger = Ledger(MODEL)
    assert ledger.price_of([1, 2]) == 10.3
    assert ledger.price_of(np.array([1, 1, 3])) == 10.8
    assert ledger.price_of([]) == 0
    ledger.prices[:] = 0
    assert ledger.prices.tolist() == [0.7, 10.1, 10.2, 10.8]
    assert ledger.spent == 0


def test_a_copy_is_independent():
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


def test_a_cap_equal_to_the_announced_price_allows_it_even_if_the_price_is_not_a_decimal():
    model = CostModel(np.random.default_rng(0).random(30))
    assert all(Ledger(model).affordable(price)[j] for j, price in enumerate(model.unit_costs))


@pytest.mark.parametrize("feature", [-1, 4])
def test_a_column_that_does_not_exist(feature):
    message = f"feature {feature} does not exist. Pass a column index from 0 to 3."
    ledger = Ledger(MODEL)
    for attempt in (ledger.buy, ledger.bill, lambda j: ledger.price_of([j]), lambda j: Ledger(MODEL, [j])):
        with pytest.raises(CostError) as caught:
            attempt(feature)
        assert str(caught.value) == message


def test_repr_shows_paid_units_and_spend():
    assert repr(Ledger(MODEL, [0])) == "Ledger(1 of 4 units paid, 0.7 spent)"
