"""The objective of the active columns equals the objective of all columns."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, PRICES, draw, pose
from thrifty.models.expected_cost.active_columns import ActiveColumns


@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_with_zero_weights_can_be_left_out(kind, prices):
    objective, used = pose(kind, KINDS[kind][0], prices, m=3).objective, np.array([0, 3, 4])
    drawn = draw(objective)
    parameters = replace(drawn, weights=drawn.weights * np.isin(np.arange(7), used))
    active = ActiveColumns.all_of(objective).restricted(used, objective)
    selected = active.select(parameters)
    assert active.objective.X.shape[1] == 3
    some, full = active.objective.evaluate(selected), objective.evaluate(parameters)
    assert some.value == pytest.approx(full.value, rel=1e-12)
    np.testing.assert_allclose(some.weights, full.weights[:, :, used], atol=1e-12)
    np.testing.assert_array_equal(active.expand(selected, 7).weights, parameters.weights)


def test_columns_are_copied_only_if_many_are_unused():
    objective = pose().objective
    everything = ActiveColumns.all_of(objective)
    assert everything.restricted(np.arange(1, 7), objective) is everything
    active = everything.restricted(np.array([0, 3, 4, 6]), objective)
    assert active.restricted(np.array([0, 3, 6]), objective) is active
    assert active.restricted(np.array([0, 3]), objective).columns.tolist() == [0, 3]
    assert active.restricted(np.array([1, 3, 4]), objective).columns.tolist() == [1, 3, 4]
    assert active.restricted(np.arange(6), objective).objective is objective
    assert everything.restricted(np.arange(0), objective).objective.X.shape == (60, 0)
