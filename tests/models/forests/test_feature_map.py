import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestClassifier

from reference.forest import path_cost
from thrifty import CostError, CostModel, CSTCRegressor, GreedyMiserRegressor
from thrifty.models.forests.feature_map import BoostedFeatureMap
from thrifty.models.forests.forest import Forest
from thrifty.models.session import drive

random = np.random.default_rng(0)
X = random.normal(size=(300, 8))
y = X[:, 0] * X[:, 1] + X[:, 2] + (X[:, 3] > 0)
PRICES = [3.0, 1.0, 0.5, 7.0, 0.0, 2.0, 9.0, 4.0]
boosted = GradientBoostingRegressor(n_estimators=12, max_depth=2, random_state=0).fit(X, y)


def test_outputs_are_the_trees_times_the_learning_rate():
    expected = np.stack([0.1 * tree.predict(X) for tree in boosted.estimators_[:, 0]], axis=1)
    np.testing.assert_array_equal(BoostedFeatureMap(boosted).transform(X), expected)


@pytest.mark.parametrize("evaluation_costs", [0.0, 0.3, np.linspace(0, 1.1, 12).round(2)])
def test_cost_is_that_of_the_paper(evaluation_costs):
    feature_map = BoostedFeatureMap(boosted, evaluation_costs=evaluation_costs)
    costs = feature_map.cost_model(CostModel(PRICES, unit="ms"))
    assert costs.unit == "ms"
    each = np.broadcast_to(evaluation_costs, 12).tolist()
    for _ in range(20):
        path = random.normal(size=(3, 12)) * (random.random((3, 12)) < 0.15)
        expected = path_cost(path.tolist(), feature_map.reads.T.astype(int).tolist(), PRICES, each)
        assert costs.of((path != 0).any(axis=0)) == pytest.approx(expected, abs=1e-12)


def test_bundles_of_columns_are_paid_once():
    raw = CostModel(PRICES, bundles={"panel": (range(8), 5.0)})
    feature_map = BoostedFeatureMap(boosted)
    everything = feature_map.cost_model(raw).total
    assert everything == 5.0 + sum(
        price for price, read in zip(PRICES, feature_map.reads.any(axis=0), strict=True) if read
    )


def test_outputs_of_one_tree_share_its_evaluation():
    forest = RandomForestClassifier(n_estimators=2, max_depth=1, random_state=1).fit(X, np.digitize(y, [0, 1]))
    feature_map = BoostedFeatureMap(forest, evaluation_costs=[0.1, 0.4])
    costs = feature_map.cost_model(CostModel(np.ones(8)))
    assert costs.n_features == 6
    assert costs.of([True, True, True, False, False, False]) == 1.1
    assert costs.of([False, False, False, True, False, True]) == 1.4


def test_a_map_is_immutable():
    feature_map = BoostedFeatureMap(boosted, evaluation_costs=0.2)
    assert clone(feature_map) is feature_map
    twin = pickle.loads(pickle.dumps(feature_map))
    np.testing.assert_array_equal(twin.transform(X), feature_map.transform(X))
    assert repr(twin) == repr(feature_map)
    assert BoostedFeatureMap(Forest.from_model(boosted)).forest.n_trees == 12


@pytest.mark.parametrize("wrong", [-0.1, [0.1, 0.2], "expensive", np.nan])
def test_bad_evaluation_costs_are_refused_at_once(wrong):
    with pytest.raises(CostError):
        BoostedFeatureMap(boosted, evaluation_costs=wrong)


def test_missing_values_follow_the_learned_directions():
    with_missing = np.where(random.random(X.shape) < 0.2, np.nan, X)
    target = y + 3 * np.isnan(with_missing[:, 0])
    original = HistGradientBoostingRegressor(max_iter=10, max_depth=2).fit(with_missing, target)
    forest = Forest.from_model(original)
    sums = BoostedFeatureMap(forest).transform(with_missing).sum(axis=1) + forest.base
    np.testing.assert_allclose(sums, original.predict(with_missing), rtol=1e-12)
    learned, filled = (
        CSTCRegressor(max_depth=2, feature_map=each).fit(with_missing, target)
        for each in (forest, forest.replace(missing_left=None))
    )
    assert learned.score(with_missing, target) > filled.score(with_missing, target) + 0.2
    batch = learned.acquire(with_missing[:20])
    for i, row in enumerate(with_missing[:20]):
        assert drive(learned.session(), row.__getitem__).score == batch.score[i]


@pytest.mark.parametrize("fit_first", [True, False])
def test_estimators_of_thrifty_are_maps(fit_first):
    miser = GreedyMiserRegressor(n_estimators=6, max_depth=2)
    model = CSTCRegressor(max_depth=2, feature_map=miser.fit(X, y) if fit_first else miser).fit(X, y)
    assert model.feature_map_.forest.n_trees == 6
    assert model.score(X, y) > 0.2


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="is not a forest"):
        BoostedFeatureMap(CostModel(PRICES))
