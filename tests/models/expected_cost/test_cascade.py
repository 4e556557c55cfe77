"""CSCC and Cronus as users call them."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import average_precision_score
from sklearn.utils import get_tags

from thrifty import CostModel, CronusClassifier, CSCCClassifier, CSTCClassifier
from thrifty.datasets import make_ltr_skewed
from thrifty.tuning.methods import serving
from thrifty.tuning.problem import Task

CASCADES = [CSCCClassifier, CronusClassifier]


@pytest.fixture(scope="module")
def skewed():
    return make_ltr_skewed(40, n_features=30, random_state=0)


RARE_CLASS_COSTS = [1.0, 20.0, 1.0, 1.0, 1.0]


def with_rare_class(n=3000, seed=0):
    """One row in twenty-five is positive; a cheap column identifies most of the others, an expensive one the rest."""
    random = np.random.default_rng(seed)
    y = random.random(n) < 0.04
    cheap = np.where(y, 2.0, np.where(random.random(n) < 0.9, -2.0, 2.0)) + 0.5 * random.normal(size=n)
    expensive = np.where(y, 2.0, -2.0) + 0.5 * random.normal(size=n)
    return np.column_stack([cheap, expensive, random.normal(size=(n, 3))]), y


def test_most_negatives_leave_before_the_expensive_column_is_bought():
    X, y = with_rare_class()
    X_test, y_test = with_rare_class(seed=1)
    acquisition = CSCCClassifier(costs=RARE_CLASS_COSTS, n_stages=3, cost_weight=0.01).fit(X, y).acquire(X_test)
    assert acquisition.acquired[y_test, 1].mean() > 0.95
    assert acquisition.acquired[~y_test, 1].mean() < 0.3
    assert average_precision_score(y_test, acquisition.score) > 0.95


@pytest.mark.parametrize("cascade", CASCADES)
def test_a_larger_cost_weight_spends_less(cascade):
    X, y = with_rare_class()
    weights = (1e-3, 1e-2, 0.3)
    models = [cascade(costs=RARE_CLASS_COSTS, n_stages=3, cost_weight=weight).fit(X, y) for weight in weights]
    spends = [model.spend(X).mean() for model in models]
    assert spends[0] > spends[1] > spends[2]


@pytest.mark.parametrize("cascade", CASCADES)
def test_stages_form_a_chain(cascade, skewed):
    tree = cascade(costs=skewed.costs, n_stages=4, cost_weight=1e-4).fit(skewed.X, skewed.y).tree_
    assert tree.n_nodes <= 4
    onward = {int(k) for k in (*tree.upper[:-1], *tree.lower[:-1]) if k != -1}
    assert onward == set(range(1, tree.n_nodes))
    assert tree.terminal[-1]


@pytest.mark.parametrize("cascade", CASCADES)
def test_the_rare_class_continues_whatever_its_name_is(cascade):
    X, y = with_rare_class()
    ends = []
    for rare, common in (("z", "a"), ("a", "z")):
        labels = np.where(y, rare, common)
        ends.append(cascade(costs=[1.0] * 5, n_stages=3, cost_weight=0.02).fit(X, labels).acquire(X).exit)
    for exits in ends:
        assert exits[y].mean() > exits[~y].mean() + 0.5


@pytest.mark.parametrize("cascade", CASCADES)
def test_balanced_class_weights_raise_the_recall_of_the_rare_class(cascade):
    X, y = with_rare_class()
    X = X[:, [0, 2, 3]]
    recalls = [
        cascade(n_stages=2, cost_weight=1e-4, class_weight=w).fit(X, y).predict(X)[y].mean() for w in (None, "balanced")
    ]
    assert recalls[1] > recalls[0]
    by_hand = cascade(n_stages=2, cost_weight=1e-4, class_weight={False: 0.5 / (~y).mean(), True: 0.5 / y.mean()})
    balanced = cascade(n_stages=2, cost_weight=1e-4, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(by_hand.fit(X, y).decision_function(X), balanced.decision_function(X), rtol=1e-4)


@pytest.mark.parametrize("cascade", CASCADES)
def test_stages_can_use_a_feature_map(cascade, skewed):
    forest = GradientBoostingRegressor(n_estimators=15, max_depth=2, random_state=0).fit(skewed.X, skewed.y)
    model = cascade(costs=skewed.costs, n_stages=3, cost_weight=1e-5, feature_map=forest).fit(skewed.X, skewed.y)
    assert average_precision_score(skewed.y, model.decision_function(skewed.X)) > 3 * skewed.y.mean()
    acquisition = model.acquire(skewed.X)
    np.testing.assert_allclose(acquisition.spend, model.cost_model_.of(acquisition.acquired))


def test_cronus_and_cscc_are_different_models(skewed):
    one, other = (
        cascade(costs=skewed.costs, n_stages=3, cost_weight=1e-4).fit(skewed.X, skewed.y) for cascade in CASCADES
    )
    assert not np.array_equal(one.spend(skewed.X), other.spend(skewed.X))


def test_replicated_rows_count_as_weighted_rows(skewed):
    """Ten copies of a row are merged into one row of weight ten."""
    rows, first = np.unique(np.column_stack([skewed.X, skewed.y]), axis=0, return_index=True)
    count = np.unique(np.column_stack([skewed.X, skewed.y]), axis=0, return_counts=True)[1]
    assert len(rows) < len(skewed.y) / 5
    weighted = CSCCClassifier(costs=skewed.costs, n_stages=2).fit(skewed.X[first], skewed.y[first], sample_weight=count)
    replicated = CSCCClassifier(costs=skewed.costs, n_stages=2).fit(skewed.X, skewed.y)
    np.testing.assert_array_equal(replicated.spend(skewed.X), weighted.spend(skewed.X))


def test_bad_parameters_are_refused(skewed):
    for parameters, message in [
        ({"n_stages": 0}, "n_stages is 0"),
        ({"class_weight": "even"}, "class_weight is 'even'; expected None, 'balanced' or a dict"),
        ({"class_weight": {0: -5, 1: 1}}, "class_weight"),
        ({"loss": "hinge"}, "loss is 'hinge'"),
    ]:
        with pytest.raises(ValueError, match=message):
            CSCCClassifier(**parameters).fit(skewed.X, skewed.y)


def test_a_cascade_of_one_stage_equals_a_tree_of_one_node():
    X, y = with_rare_class()
    costs = CostModel(RARE_CLASS_COSTS)
    cascade = CSCCClassifier(costs=costs, n_stages=1, cost_weight=1e-3).fit(X, y)
    tree = CSTCClassifier(costs=costs, max_depth=1, cost_weight=1e-3).fit(X, y)
    np.testing.assert_allclose(cascade.decision_function(X), tree.decision_function(X))


@pytest.mark.parametrize("cascade", CASCADES)
def test_more_than_two_classes_are_refused(cascade):
    message = f"{cascade.__name__}: y has 3 classes. Only binary classification is supported"
    for call in (cascade().fit, cascade().path):
        with pytest.raises(ValueError, match=message):
            call(np.eye(6), [0, 1, 2, 0, 1, 2])
    assert not get_tags(cascade()).classifier_tags.multi_class


def test_no_cascade_is_offered_for_several_classes():
    assert not {"cscc", "cronus", "and-or"} & set(serving(Task.MULTICLASS))
    assert {"cscc", "cronus", "and-or"} <= set(serving(Task.BINARY))


def test_a_cascade_that_would_fill_the_memory_is_refused(skewed):
    with pytest.raises(ValueError, match=r"n_stages is 100000, which makes 100,000 nodes. .* take about 90.2 GB"):
        CSCCClassifier(n_stages=100_000).fit(skewed.X, skewed.y)
