"""Orders of terms: greedy as by hand, per cost, and as listed."""

import numpy as np
import pytest

from reference import stopping as reference
from thrifty import CostModel
from thrifty.models.stopping.order import Prices, given_order, order_terms
from thrifty.models.stopping.sample import Sample

RANDOM = np.random.default_rng(0)
VALUES = RANDOM.normal(size=(120, 7)) @ RANDOM.normal(size=(7, 7))
WEIGHTS = np.array([[0.3, -2.0, 0.0001, 1.0, 0.5, -0.7, 0.1]])


def sample(values=VALUES, count=None):
    n = len(values)
    scores = values @ WEIGHTS.T + 0.5
    return Sample(values, scores, np.ones(n) if count is None else count, np.sign(scores), WEIGHTS, np.array([0.5]))


def prices(costs, evaluation=0.0):
    model = CostModel(costs) if not isinstance(costs, CostModel) else costs
    return lambda terms: Prices(model.requirement[terms], model.unit_costs, np.full(len(terms), evaluation))


def ordered(kind, costs, evaluation=0.0, seed=0, **of):
    return order_terms(kind, sample(**of), prices(costs, evaluation), np.random.RandomState(seed)).tolist()


def test_greedy_is_what_trying_every_column_finds():
    expected = reference.greedy_order(VALUES, sample().scores[:, 0])
    assert ordered("greedy", np.ones(7))[:6] == expected[:6]
    assert ordered("greedy", np.zeros(7), evaluation=2.0)[:6] == expected[:6]


def test_greedy_counts_rows_as_often_as_they_weigh():
    count = np.where(np.arange(120) < 30, 9.0, 1.0)
    repeated = np.repeat(VALUES, count.astype(int), axis=0)
    assert ordered("greedy", np.ones(7), count=count) == ordered("greedy", np.ones(7), values=repeated)


def test_a_dear_term_comes_later():
    cheap = ordered("greedy", np.ones(7))
    dear = np.ones(7)
    dear[cheap[0]] = 1e6
    for kind in ("greedy", "cost"):
        assert ordered(kind, dear)[-1] == cheap[0]


def test_what_a_bundle_has_paid_for_is_free():
    """Terms 0 and 2 are weak, but free once 1, which shares their bundle, is bought."""
    costs = CostModel([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0], bundles={"panel": ([0, 1, 2], 1.0)})
    assert set(ordered("cost", costs)[:3]) == {0, 1, 2}


def test_plain_orders():
    assert ordered("weight", np.ones(7)) == np.argsort(-np.abs(WEIGHTS[0])).tolist()
    strength = np.abs(WEIGHTS[0]) * VALUES.std(axis=0)
    assert ordered("cost", np.ones(7)) == np.argsort(-strength).tolist()
    assert ordered("random", np.ones(7), seed=3) == np.random.RandomState(3).permutation(7).tolist()
    assert ordered("random", np.ones(7), seed=3) != ordered("random", np.ones(7), seed=4)


def test_prices_fall_as_units_are_paid():
    model = CostModel([1.0, 2.0, 4.0], bundles={"panel": ([0, 2], 8.0)})
    account = Prices(model.requirement, model.unit_costs, np.full(3, 0.5))
    np.testing.assert_allclose(account.now, [9.5, 2.5, 12.5])
    account.buy(0)
    np.testing.assert_allclose(account.now, [0.5, 2.5, 4.5])
    account.buy(0)
    np.testing.assert_allclose(account.now, [0.5, 2.5, 4.5])


def test_a_list_is_in_the_numbers_of_the_predictor():
    np.testing.assert_array_equal(given_order([5, 3, 0, 9], np.array([0, 3, 9]), "Me"), [1, 0, 2])


@pytest.mark.parametrize("order", [[0, 0, 1, 2], [0.5, 1], [[0, 1, 2]], [0, 2]])
def test_a_senseless_list_is_named(order):
    with pytest.raises(ValueError, match="Me: order "):
        given_order(order, np.arange(3), "Me")
