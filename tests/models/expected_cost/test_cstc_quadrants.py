"""The synthetic data of section 6.1: two cheap signs decide which of four expensive features is worth buying."""

import numpy as np
import pytest

from thrifty import CSTCRegressor
from thrifty.datasets import make_quadrants

SIGNS, EXPENSIVE = {0, 1}, {2, 3, 4, 5}


@pytest.mark.parametrize("label_means", [(27, 9, -9, -27), (-15, -5, 15, 5), (12, 4, -8, -16)])
def test_the_tree_buys_one_sign_then_the_other_then_the_right_expensive_feature(label_means):
    rows, test = (make_quadrants(1500, label_means=label_means, random_state=seed) for seed in (0, 1))
    sweep = CSTCRegressor(costs=rows.costs, max_depth=3).path(rows.X, rows.y, cost_weights=[5e-4, 1e-3, 2e-3])
    outcomes = [model.acquire(test.X) for model in sweep]
    errors = [np.mean((outcome.prediction - test.y) ** 2) / test.y.var() for outcome in outcomes]
    best = int(np.argmin(errors))
    assert errors[best] <= 0.002
    assert outcomes[best].spend.mean() <= 12.5

    root, *others = (set(sweep[best].tree_.buys(k).tolist()) for k in range(7))
    assert root < SIGNS
    assert others[:2] == [SIGNS - root] * 2
    assert all(len(leaf) == 1 for leaf in others[2:])
    assert set.union(*others[2:]) == EXPENSIVE
