"""Frames, names and costs: the contract where data comes in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from thrifty import AdaBoostRSClassifier, ASTCClassifier, CostError, CostModel, CostWeightedL1Regressor
from thrifty.datasets import load_heart
from thrifty.metrics import ndcg_at_k
from thrifty.models.rows import as_counts
from thrifty.testing import public_estimators


@pytest.fixture(scope="module")
def heart():
    return load_heart()


def frames(heart):
    yield pd.DataFrame(heart.X, columns=heart.names)
    yield pl.DataFrame(dict(zip(heart.names, heart.X.T, strict=True)))


def test_pandas_and_polars_give_what_numpy_gives(heart):
    expected = ASTCClassifier(costs=heart.costs, max_depth=3).fit(heart.X, heart.y).acquire(heart.X)
    for frame in frames(heart):
        model = ASTCClassifier(costs=heart.costs, max_depth=3).fit(frame, heart.y)
        assert list(model.feature_names_in_) == heart.names
        np.testing.assert_array_equal(model.acquire(frame).score, expected.score)
        np.testing.assert_array_equal(model.spend(frame), expected.spend)


def test_columns_find_their_costs_by_name(heart):
    for frame in frames(heart):
        backwards = frame[heart.names[::-1]]
        model = ASTCClassifier(costs=heart.costs, max_depth=2).fit(backwards, heart.y)
        assert model.cost_model_.names == tuple(heart.names[::-1])
        assert model.cost_model_.of(np.arange(13) == 0) == heart.costs.of(np.arange(13) == 12)


def test_a_reordered_or_incomplete_frame_is_refused_as_scikit_learn_does(heart):
    for frame in frames(heart):
        model = ASTCClassifier(costs=heart.costs).fit(frame, heart.y)
        with pytest.raises(ValueError, match="Feature names must be in the same order"):
            model.predict(frame[heart.names[::-1]])
        with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
            model.predict(frame[heart.names[1:]])


def test_a_column_without_a_cost_and_a_cost_without_a_column_are_named(heart):
    frame = pd.DataFrame(heart.X, columns=heart.names)
    costs = dict.fromkeys(heart.names, 1.0)
    with pytest.raises(CostError, match=r"ASTCClassifier: .*'extra'"):
        ASTCClassifier(costs=costs).fit(frame.assign(extra=0.0), heart.y)
    with pytest.raises(CostError, match=r"ASTCClassifier: .*'age'"):
        ASTCClassifier(costs=costs).fit(frame.drop(columns="age"), heart.y)


def test_costs_default_to_one_unit_each(heart):
    model = ASTCClassifier(max_depth=2, node_budget=2).fit(heart.X, heart.y)
    assert model.cost_model_ == CostModel(np.ones(13))
    np.testing.assert_array_equal(model.spend(heart.X), model.acquire(heart.X).acquired.sum(axis=1))


def test_acquisition_describes_itself(heart):
    model = ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=3).fit(heart.X, heart.y)
    acquisition = model.acquire(heart.X)
    assert len(acquisition) == 270
    assert repr(acquisition).startswith("Acquisition(270 rows, mean spend ")


def test_weights_are_read_as_counts():
    np.testing.assert_array_equal(as_counts(np.array([1.0, 2.0, 3.0])), [1, 2, 3])
    np.testing.assert_allclose(as_counts(np.array([0.2, 0.3, 0.5])), [0.6, 0.9, 1.5])


def test_weights_that_are_all_zero_are_refused(heart):
    with pytest.raises(ValueError, match="Sample weights must contain at least one non-zero number"):
        ASTCClassifier().fit(heart.X, heart.y, sample_weight=np.zeros(270))


def test_one_class_is_refused(heart):
    with pytest.raises(ValueError, match="ASTCClassifier needs samples of at least 2 classes in y, got one class: 0"):
        ASTCClassifier().fit(heart.X, np.zeros(270, dtype=int))


def test_a_failed_second_fit_leaves_an_unfitted_model():
    X, y = np.random.default_rng(0).normal(size=(60, 9)), np.arange(60) % 2
    model = AdaBoostRSClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="needs samples of at least 2 classes"):
        model.fit(X[:, :3], np.zeros(60))
    with pytest.raises(NotFittedError):
        model.predict(X[:, :3])
    assert "AdaBoostRSClassifier" in model._repr_html_()


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_query_is_refused(missing):
    X = np.arange(12.0).reshape(6, 2)
    model = CostWeightedL1Regressor().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"qid is missing in row 4\. Pass one query per row\."):
        model.acquire(X, qid=[0, 0, 1, 1, missing, 2])


def test_classifiers_are_scored_by_query_if_there_are_two_classes():
    X = np.random.default_rng(1).normal(size=(80, 3))
    qid, two = np.arange(80) // 8, np.where(X[:, 0] > 0, "yes", "no")
    model = ASTCClassifier().fit(X, two)
    relevant = (two == "yes").astype(int)
    assert model.score(X, two, qid=qid) == ndcg_at_k(relevant, model.decision_function(X), qid=qid, k=5)
    three = ASTCClassifier().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    with pytest.raises(ValueError, match="score with qid ranks two classes, but there are 3"):
        three.score(X, np.digitize(X[:, 0], [-0.5, 0.5]), qid=qid)


@pytest.mark.parametrize("exits", [[0.5], [], [[0, 1]], [-5], ["a"]])
def test_exits_that_are_not_exits_are_refused(exits):
    X = np.arange(12.0).reshape(6, 2)
    model = CostWeightedL1Regressor().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"exits is .*; expected the exits of some rows"):
        model.outline(exits)
    with pytest.raises(ValueError, match="exits holds 1000000, but the tree has nodes 0 to"):
        model.outline([1_000_000])


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda each: each.__name__)
def test_tiny_prices_are_accepted(estimator):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(120, 3)), random.integers(0, 2, 120)
    model = estimator(costs=np.full(3, 1e-300)).fit(X, y)
    for cap in (None, 1.5e-300):
        acquisition = model.acquire(X, cap=cap)
        np.testing.assert_allclose(acquisition.spend / 1e-300, acquisition.acquired.sum(axis=1), rtol=1e-6)


NUMBER_PREDICTORS = [each for each in public_estimators() if not is_classifier(each())]


@pytest.mark.parametrize("estimator", NUMBER_PREDICTORS, ids=lambda each: each.__name__)
def test_targets_whose_squares_cannot_be_summed_are_refused(estimator):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 3)), random.integers(0, 3, 100).astype(float)
    with pytest.raises(ValueError, match=r"the largest number in y has size 2e\+155; expected at most 1e\+100"):
        estimator().fit(X, 1e155 * y)
    with pytest.raises(ValueError, match=r"the largest number in y has size 2e-155; .* Multiply y by a constant"):
        estimator().fit(X, 1e-155 * y)
    with np.errstate(all="raise"):
        assert np.isfinite(estimator().fit(X, np.zeros(100)).predict(X)).all()


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda each: each.__name__)
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_weights_whose_squares_cannot_be_summed_are_refused(estimator, scale):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3)), random.integers(0, 2, 60)
    with pytest.raises(ValueError, match=r"largest absolute value of sample_weight is 1e.200; .* Multiply all weights"):
        estimator().fit(X, y, np.full(60, scale))


LINEAR_IN_X = ("ASTC", "AndOr", "Attentive", "CSCC", "CSTC", "CostWeightedL1", "Cronus", "Truncated")
SUMS_SQUARES_OF_X = [each for each in public_estimators() if each.__name__.startswith(LINEAR_IN_X)]


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda each: each.__name__)
@pytest.mark.parametrize("scale", [1e-200, 1e160])
def test_columns_of_extreme_scale_are_used_or_refused(estimator, scale):
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 3))
    y = (X[:, 0] > 0).astype(int)
    if estimator in SUMS_SQUARES_OF_X:
        with pytest.raises(ValueError, match=r"the largest absolute value of column 0 of X is .* Scale the column"):
            estimator().fit(X * scale, y)
    else:
        assert np.corrcoef(estimator().fit(X * scale, y).predict(X * scale), y)[0, 1] > 0.7


REGRESSORS = [each for each in NUMBER_PREDICTORS if not each.__name__.endswith("Ranker")]


@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("scale", [2.0**-320, 2.0**320])
def test_the_largest_and_smallest_targets_that_are_accepted_are_fitted(estimator, scale):
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 3))
    y = X[:, 0] + X[:, 1] ** 2
    model = estimator()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    usual, scaled = (clone(model).fit(X, factor * y).predict(X) for factor in (1.0, scale))
    np.testing.assert_allclose(scaled / scale, usual, rtol=1e-6, atol=1e-6)
