"""An objective of the columns in use is the objective of all columns."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, PRICES, draw, pose
from thrifty.models.expected_cost.narrowed import Narrowed


@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_without_weight_make_no_difference(kind, prices):
    objective, used = pose(kind, KINDS[kind][0], prices, m=3).objective, np.array([0, 3, 4])
    drawn = draw(objective)
    parameters = replace(drawn, weights=drawn.weights * np.isin(np.arange(7), used))
    narrow = Narrowed.not_at_all(objective).to(used, objective)
    inside = narrow.inside(parameters)
    assert narrow.objective.X.shape[1] == 3
    ours, theirs = narrow.objective.evaluate(inside), objective.evaluate(parameters)
    assert ours.value == pytest.approx(theirs.value, rel=1e-12)
    np.testing.assert_allclose(ours.weights, theirs.weights[:, :, used], atol=1e-12)
    np.testing.assert_array_equal(narrow.outside(inside, 7).weights, parameters.weights)


def test_columns_are_copied_only_where_that_is_worthwhile():
    objective = pose().objective
    whole = Narrowed.not_at_all(objective)
    assert whole.to(np.arange(1, 7), objective) is whole
    narrow = whole.to(np.array([0, 3, 4, 6]), objective)
    assert narrow.to(np.array([0, 3, 6]), objective) is narrow
    assert narrow.to(np.array([0, 3]), objective).columns.tolist() == [0, 3]
    assert narrow.to(np.array([1, 3, 4]), objective).columns.tolist() == [1, 3, 4]
    assert narrow.to(np.arange(6), objective).objective is objective
    assert whole.to(np.arange(0), objective).objective.X.shape == (60, 0)
