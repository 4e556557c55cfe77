"""Groups of features that are bought together, and their prices."""

import numpy as np
import pytest

from thrifty import CostModel
from thrifty.models.factors import Factors

PRICED = CostModel([1.0, 2.5, 0.0, 4.0, 0.7], bundles={"panel": ((1, 3), 2.2), "scan": ((3, 4), 6.1)})
IMAGE = CostModel(
    {"age": 1.0, "h0": None, "h1": None, "x0": None, "x1": None, "fee": 0.5},
    bundles={"hog": (["h0", "h1"], 8.0), "scan": (["x0", "x1"], 5.0), "visit": (["x1", "fee"], 3.0)},
)


def test_a_bundle_without_prices_of_its_members_is_a_factor():
    assert Factors.of(IMAGE, None, "here").groups == ((0,), (1, 2), (3,), (4,), (5,))
    assert Factors.of(PRICED, None, "here").groups == ((0,), (1,), (2,), (3,), (4,))


def test_a_feature_that_is_not_listed_is_a_factor_of_its_own():
    factors = Factors.of(IMAGE, [["fee", "age"], [3, 4]], "here")
    assert factors.groups == ((0, 5), (1,), (2,), (3, 4))
    assert factors.columns.tolist() == [0, 5, 1, 2, 3, 4]
    mask = factors.acquired_columns(np.array([[True, False, False, True]]))
    assert mask.tolist() == [[True, False, False, True, True, True]]


def test_a_flag_follows_the_columns_of_each_factor():
    factors = Factors.of(IMAGE, [["fee", "age"], [3, 4]], "here", flagged=True)
    assert factors.starts.tolist() == [0, 3, 5, 7, 10]
    assert factors.places.tolist() == [0, 1, 3, 5, 7, 8]
    acquired = np.array([[True, False, False, True]])
    assert np.flatnonzero(factors.to_columns(acquired)).tolist() == [0, 1, 2, 7, 8, 9]
    plain = Factors(factors.groups, IMAGE)
    np.testing.assert_array_equal(factors.acquired_columns(acquired), plain.acquired_columns(acquired))
    assert factors.ticks(acquired) == plain.ticks(acquired)


def test_columns_may_come_in_another_order():
    factors = Factors.of(IMAGE, [["fee", "age"]], "here", column_order=[5, 4, 3, 2, 1, 0])
    assert factors.groups == ((5, 0), (4,), (3,), (2,), (1,))


@pytest.mark.parametrize("declared", [None, [[0, 3], [1, 2]]])
@pytest.mark.parametrize("costs", [PRICED, IMAGE])
def test_costs_are_those_of_the_cost_model(costs, declared):
    factors = Factors.of(costs, declared, "here")
    acquired = np.random.default_rng(0).random((40, len(factors))) < 0.4
    columns = factors.acquired_columns(acquired)
    ticks = factors.ticks(acquired)
    np.testing.assert_array_equal(factors.spend(ticks), costs.of(columns))
    np.testing.assert_allclose(factors.share(ticks), costs.of(columns) / costs.total)
    for f in range(len(factors)):
        after = acquired.copy()
        after[:, f] = True
        added = costs.of(factors.acquired_columns(after)) - costs.of(columns)
        not_acquired = ~acquired[:, f]
        price = factors.prices_after(acquired)[not_acquired, f] * costs.total
        np.testing.assert_allclose(price, added[not_acquired], atol=1e-12)


def test_free_factors():
    assert Factors.of(PRICED, None, "here").free.tolist() == [2]
    everything = Factors.of(CostModel([0.0, 0.0]), None, "here")
    assert everything.free.tolist() == [0, 1]
    assert everything.share(np.array([0.0])).tolist() == [0.0]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ([[0, 1], [1, 2]], "here: factors lists feature 1 twice. Put it into one factor."),
        ([["age", 0]], "here: factors lists feature 0 twice"),
        (
            [["weight"]],
            "here: factors lists 'weight', which is not a feature. Pass the name of a feature, or its index",
        ),
        ([[6]], "here: factors lists 6, which is not a feature"),
        ([[0], []], "expected lists of features that are bought together"),
        (["age"], "expected lists of features that are bought together"),
        (3, "here: factors is 3; expected lists of features"),
    ],
)
def test_invalid_factors_are_refused(declared, message):
    with pytest.raises(ValueError, match=message):
        Factors.of(IMAGE, declared, "here")
