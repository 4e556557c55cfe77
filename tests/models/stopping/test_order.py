"""Orders of terms: greedy against a brute-force search, per cost, and as listed."""

import numpy as np
import pytest

from reference import stopping as reference
from thrifty import CostModel
from thrifty.models.stopping.order import given_order, order_terms
from thrifty.models.stopping.term_sample import TermSample

RANDOM = np.random.default_rng(0)
VALUES = RANDOM.normal(size=(120, 7)) @ RANDOM.normal(size=(7, 7))
WEIGHTS = np.array([[0.3, -2.0, 0.0001, 1.0, 0.5, -0.7, 0.1]])


def sample(values=VALUES, count=None):
    n = len(values)
    scores = values @ WEIGHTS.T + 0.5
    return TermSample(values, scores, np.ones(n) if count is None else count, np.sign(scores), WEIGHTS, np.array([0.5]))


def ordered(kind, costs, evaluation=0.0, seed=0, **of):
    model = CostModel(costs) if not isinstance(costs, CostModel) else costs
    evaluation_costs = np.broadcast_to(evaluation, 7)
    return order_terms(kind, sample(**of), model.select, evaluation_costs, np.random.RandomState(seed)).tolist()


def test_greedy_is_what_a_search_over_all_columns_finds():
    expected = reference.greedy_order(VALUES, sample().scores[:, 0])
    assert ordered("greedy", np.ones(7))[:6] == expected[:6]
    assert ordered("greedy", np.zeros(7), evaluation=2.0)[:6] == expected[:6]


def test_greedy_treats_weights_as_repeated_rows():
    count = np.where(np.arange(120) < 30, 9.0, 1.0)
    repeated = np.repeat(VALUES, count.astype(int), axis=0)
    assert ordered("greedy", np.ones(7), count=count) == ordered("greedy", np.ones(7), values=repeated)


@pytest.mark.parametrize("kind", ["greedy", "cost"])
def test_an_expensive_term_comes_later(kind):
    cheap = ordered("greedy", np.ones(7))
    expensive = np.ones(7)
    expensive[cheap[0]] = 1e6
    assert ordered(kind, expensive)[-1] == cheap[0]
    assert ordered(kind, np.ones(7), evaluation=expensive)[-1] == cheap[0]


def test_terms_of_a_paid_bundle_are_free():
    """Terms 0 and 2 are weak, but free after term 1 of the same bundle."""
    costs = CostModel([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0], bundles={"panel": ([0, 1, 2], 1.0)})
    assert set(ordered("cost", costs)[:3]) == {0, 1, 2}


def test_plain_orders():
    assert ordered("weight", np.ones(7)) == np.argsort(-np.abs(WEIGHTS[0])).tolist()
    strength = np.abs(WEIGHTS[0]) * VALUES.std(axis=0)
    assert ordered("cost", np.ones(7)) == np.argsort(-strength).tolist()
    assert ordered("random", np.ones(7), seed=3) == np.random.RandomState(3).permutation(7).tolist()
    assert ordered("random", np.ones(7), seed=3) != ordered("random", np.ones(7), seed=4)


def test_no_terms_have_an_empty_order():
    empty = TermSample(np.empty((5, 0)), np.zeros((5, 1)), np.ones(5), np.ones((5, 1)), np.empty((1, 0)), np.zeros(1))
    for kind in ("greedy", "cost", "weight", "random"):
        assert order_terms(kind, empty, None, np.empty(0), np.random.RandomState(0)).tolist() == []


def test_a_list_uses_the_numbers_of_the_predictor():
    np.testing.assert_array_equal(given_order([5, 3, 0, 9], np.array([0, 3, 9]), "Me"), [1, 0, 2])


@pytest.mark.parametrize("order", [[0, 0, 1, 2], [0.5, 1], [[0, 1, 2]], [0, 2]])
def test_an_invalid_list_is_refused(order):
    with pytest.raises(ValueError, match="Me: order "):
        given_order(order, np.arange(3), "Me")
