"""The spend of a batch in two parts: features and evaluation."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from thrifty import BoostedFeatureMap, CSTCRegressor, GreedyMiserRegressor
from thrifty.costs.money import difference
from thrifty.metrics import cost_curve
from thrifty.plots import CostCurveDisplay

random = np.random.default_rng(0)
X = random.normal(size=(200, 4)).round(2)
Y = X[:, 0] + X[:, 1] * (X[:, 2] > 0)
COSTS = [0.1, 0.2, 0.7, 3.0]


@pytest.fixture(scope="module")
def miser():
    model = GreedyMiserRegressor(costs=COSTS, n_estimators=6, max_depth=2, cost_weight=1e-3, evaluation_cost=0.03)
    return model.fit(X, Y)


def test_a_forest_pays_for_features_and_for_each_tree(miser):
    batch = miser.acquire(X)
    assert batch.feature_spend.tolist() == miser.cost_model_.of(batch.acquired).tolist()
    assert batch.evaluation_spend.tolist() == [0.18] * len(X)
    np.testing.assert_allclose(batch.feature_spend + batch.evaluation_spend, batch.spend, rtol=1e-15)


def test_a_cap_limits_both_parts_together(miser):
    batch = miser.acquire(X, cap=0.25)
    assert batch.evaluation_spend.any()
    assert (batch.spend <= 0.25).all()
    assert batch.spend.tolist() == (batch.feature_spend + batch.evaluation_spend).round(9).tolist()


def test_features_computed_by_trees_pay_for_each_tree(miser):
    trees = BoostedFeatureMap(miser.forest_, evaluation_costs=0.03)
    model = CSTCRegressor(costs=COSTS, feature_map=trees, max_depth=1, cost_weight=1e-4).fit(X, Y)
    batch = model.acquire(X)
    n_trees = batch.evaluation_spend / 0.03
    np.testing.assert_allclose(n_trees, np.rint(n_trees), atol=1e-9)
    assert (n_trees > 0).any()


def test_evaluation_is_free_by_default():
    model = GreedyMiserRegressor(costs=COSTS, n_estimators=3).fit(X, Y)
    assert not model.acquire(X).evaluation_spend.any()
    assert model.acquire(X).feature_spend.tolist() == model.spend(X).tolist()


def test_a_curve_of_feature_costs_only(miser):
    curve = cost_curve(miser, X, Y, caps=[0.25, None], spend="features")
    assert curve.spend.tolist() == [miser.acquire(X, cap).feature_spend.mean() for cap in (0.25, None)]
    assert cost_curve(miser, X, Y).spend[0] == pytest.approx(curve.spend[1] + 0.18)
    display = CostCurveDisplay.from_estimators(miser, X, Y, spend="features", ax=Figure().subplots())
    assert display.ax_.get_xlabel() == "mean feature spend per row"


@pytest.mark.parametrize("parts", [(0.3, 0.1), (1e6 + 0.1, 0.1), (1 / 3 + 0.5, 0.5), (7.0, 7.0)])
def test_differences_of_decimals_are_exact(parts):
    total, part = map(np.array, parts)
    expected = round(parts[0] - parts[1], 12)
    assert difference(total, part) == pytest.approx(expected, abs=1e-12)
    if expected * 10 == round(expected * 10):
        assert difference(total, part) == expected
