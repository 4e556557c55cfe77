"""Traversal of AND-OR cascades: all rows visit all stages, and rejections are recorded."""

import numpy as np
import pytest

from thrifty.models.expected_cost.and_or_traversal import traverse_stages
from thrifty.models.expected_cost.tree_parameters import Parameters


@pytest.mark.parametrize("upper_sign", [1.0, -1.0])
def test_rows_count_at_every_stage_and_are_marked_up_to_the_first_rejection(upper_sign):
    scores = upper_sign * np.array([[1.0, 2.0, -1.0], [-1.0, 3.0, 1.0], [1.0, -2.0, 1.0]])
    stages = Parameters(np.zeros((3, 1, 2)), np.zeros((3, 1)), np.zeros(3), np.full((3, 1), upper_sign))
    soft = traverse_stages(stages, scores)
    assert soft.reach.tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    assert soft.mass.tolist() == [1, 1, 1]
    assert soft.exit_mass.tolist() == [[0, 0], [0, 0], [1, 0]]
