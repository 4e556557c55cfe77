"""``path``: models for several cost weights, compared with separate fits."""

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

from thrifty import CostModel, CSTCClassifier, CSTCRegressor


def rows(seed=0, n=200, d=8):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, X @ np.linspace(-1, 1, d) + 2 * np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * random.normal(size=n)


COSTS = [1.0, 5.0] * 4
MODELS = [
    CSTCRegressor(costs=COSTS, max_depth=3),
    CSTCClassifier(costs=COSTS, max_depth=3),
    CSTCClassifier(costs=COSTS, max_depth=3, loss="logistic"),
]


def data(model):
    X, aim = rows()
    return X, aim if is_regressor(model) else aim > 1


ALL_MODELS = pytest.mark.parametrize("model", MODELS, ids=["regression", "squared", "logistic"])


@ALL_MODELS
def test_a_path_is_as_good_as_separate_fits(model):
    X, y = data(model)
    models = model.path(X, y, cost_weights=[0.001, 0.02, 0.005])
    assert [warm.cost_weight for warm in models] == [0.02, 0.005, 0.001]
    separate = [clone(warm).fit(X, y) for warm in models]
    for warm, cold in zip(models, separate, strict=True):
        assert warm.objective_[-1] <= 1.05 * cold.objective_[-1]
    np.testing.assert_array_equal(models[-1].predict(X), separate[-1].predict(X))


@ALL_MODELS
def test_a_path_goes_from_low_to_high_spend(model):
    X, y = data(model)
    models = model.path(X, y)
    spends = [each.spend(X).mean() for each in models]
    assert len(models) == 8
    assert (np.diff([each.cost_weight for each in models]) < 0).all()
    assert models[0].cost_weight == pytest.approx(100 * models[-1].cost_weight)
    assert spends[0] < 0.3 * spends[-1]
    assert np.diff(spends).min() > -0.1 * max(spends)


def test_at_the_first_cost_weight_a_single_node_does_not_even_buy_a_bundle():
    random = np.random.default_rng(0)
    aim = random.normal(size=200)
    X = aim[:, None] + random.normal(size=(200, 6))
    costs = CostModel([None] * 6, bundles={"panel": (range(6), 10.0)})
    first, second, *_ = CSTCRegressor(costs=costs, max_depth=1).path(X, aim)
    assert first.spend(X).max() == 0
    assert second.spend(X).min() == 10


def test_a_path_does_not_change_the_estimator():
    model = clone(MODELS[0])
    before = model.get_params()
    (fitted,) = model.path(*data(model), cost_weights=[0.02])
    assert model.get_params() == before
    assert not hasattr(model, "tree_")
    assert fitted.get_params() == before | {"cost_weight": 0.02}


@pytest.mark.parametrize("cost_weights", [[], 0.1, [0.1, -1.0], ["much"]])
def test_bad_cost_weights_are_refused(cost_weights):
    with pytest.raises(ValueError, match=r"^CSTCRegressor: cost_weight"):
        MODELS[0].path(*data(MODELS[0]), cost_weights=cost_weights)
