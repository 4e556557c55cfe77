"""The objective of the active columns equals the objective of all columns."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, PRICES, draw, pose
from thrifty.models.expected_cost.active_columns import ActiveColumns


def marks(*columns):
    return np.isin(np.arange(7), columns)


@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_with_zero_weights_can_be_left_out(kind, prices):
    objective, used = pose(kind, KINDS[kind][0], prices, m=3).objective, marks(0, 3, 4)
    drawn = draw(objective)
    parameters = replace(drawn, weights=drawn.weights * used)
    active = ActiveColumns.all_of(objective).restricted(used, objective)
    selected = active.select(parameters)
    assert active.objective.X.shape[1] == 3
    some, full = active.objective.evaluate(selected), objective.evaluate(parameters)
    assert some.value == pytest.approx(full.value, rel=1e-12)
    np.testing.assert_allclose(some.weights, full.weights[:, :, used], atol=1e-12)
    np.testing.assert_array_equal(active.expand(selected).weights, parameters.weights)


def test_columns_are_copied_only_if_many_are_unused():
    objective = pose().objective
    everything = ActiveColumns.all_of(objective)
    assert everything.restricted(marks(*range(1, 7)), objective) is everything
    active = everything.restricted(marks(0, 3, 4, 6), objective)
    assert active.restricted(marks(0, 3, 6), objective) is active
    assert active.restricted(marks(0, 3), objective).columns.positions.tolist() == [0, 3]
    assert active.restricted(marks(1, 3, 4), objective).columns.positions.tolist() == [1, 3, 4]
    assert active.restricted(marks(*range(6)), objective).objective is objective
    assert everything.restricted(marks(), objective).objective.X.shape == (60, 0)
