"""Stages of the policy."""

import pytest

from thrifty.models.adaptive.learning import stage_sizes


@pytest.mark.parametrize(
    ("n_groups", "max_steps", "expected"),
    [
        (0, 3, []),
        (2, 3, [1, 1]),
        (3, 3, [1, 1, 1]),
        (5, 3, [1, 1, 1, 2]),
        (9, 3, [1, 1, 1, 4, 2]),
        (40, 1, [1, 4, 8, 16, 11]),
    ],
)
def test_late_stages_buy_more_groups(n_groups, max_steps, expected):
    assert stage_sizes(n_groups, max_steps).tolist() == expected
