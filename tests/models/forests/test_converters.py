"""Converted forests predict what the original predicts, also for rows whose values are equal to thresholds."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from thrifty.models.forests.converters import is_fitted
from thrifty.models.forests.converters.single_precision import at_most, less_than
from thrifty.models.forests.forest import Forest

random = np.random.default_rng(0)
X = random.normal(size=(400, 5)).round(2)  # few digits: many ties, and training values on thresholds
X[:, 3] = random.integers(0, 3, size=400)
VALUE = X[:, 0] * X[:, 1] + X[:, 3] + random.normal(scale=0.1, size=400)
LABELS = {2: VALUE > 1, 3: np.digitize(VALUE, [0.5, 1.5])}
quiet = {"verbose": -1, "n_jobs": 1}


@pytest.fixture(autouse=True)
def _one_thread():
    """Waiting OpenMP threads use the processor, which takes seconds if cores are shared."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def on_the_edge(forest):
    """Return the training rows, and rows of thresholds and of the doubles and floats next to them."""
    near = forest.threshold[forest.feature >= 0]
    near = near[np.isfinite(near)]
    near = np.concatenate([near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf), near.astype(np.float32)])
    return np.concatenate([X, np.random.default_rng(1).choice(near, size=(2000, X.shape[1]))])


def column(scores):
    return np.reshape(scores, (len(scores), -1))


REGRESSORS = [
    (DecisionTreeRegressor(max_depth=4), "predict"),
    (RandomForestRegressor(n_estimators=7, max_depth=6, random_state=0), "predict"),
    (ExtraTreesRegressor(n_estimators=7, max_depth=6, random_state=0), "predict"),
    (GradientBoostingRegressor(n_estimators=20, random_state=0), "predict"),
    (GradientBoostingRegressor(n_estimators=5, loss="huber", init="zero", random_state=0), "predict"),
    (HistGradientBoostingRegressor(max_iter=20), "predict"),
    (lightgbm.LGBMRegressor(n_estimators=20, **quiet), "predict"),
    (lightgbm.LGBMRegressor(n_estimators=9, boosting_type="dart", drop_rate=0.5, **quiet), "predict"),
]


@pytest.mark.parametrize(("model", "method"), REGRESSORS, ids=lambda each: getattr(type(each), "__name__", each))
def test_regressors(model, method):
    model.fit(X, VALUE)
    forest = Forest.from_model(model)
    rows = on_the_edge(forest)
    np.testing.assert_allclose(forest.scores(rows)[:, 0], getattr(model, method)(rows), rtol=1e-13, atol=1e-13)
    assert forest.n_features == 5


CLASSIFIERS = [
    (DecisionTreeClassifier(max_depth=4), "predict_proba"),
    (RandomForestClassifier(n_estimators=7, max_depth=6, random_state=0), "predict_proba"),
    (ExtraTreesClassifier(n_estimators=7, max_depth=6, random_state=0), "predict_proba"),
    (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=7, random_state=0), "decision_function"),
    (GradientBoostingClassifier(n_estimators=8, random_state=0), "decision_function"),
    (HistGradientBoostingClassifier(max_iter=8), "decision_function"),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("model", "method"), CLASSIFIERS, ids=lambda each: getattr(type(each), "__name__", each))
def test_classifiers(model, method, n_classes):
    model.fit(X, LABELS[n_classes])
    forest = Forest.from_model(model)
    rows = on_the_edge(forest)
    expected = column(getattr(model, method)(rows))
    if method == "predict_proba" and n_classes == 2:
        expected = expected[:, 1:]
    np.testing.assert_allclose(forest.scores(rows), expected, rtol=1e-13, atol=1e-13)


def test_a_probability_per_class_shares_the_reads_of_its_tree():
    model = RandomForestClassifier(n_estimators=4, max_depth=1, random_state=0).fit(X, LABELS[3])
    forest = Forest.from_model(model)
    assert (forest.n_trees, forest.n_outputs) == (4, 12)
    np.testing.assert_array_equal(forest.reads, np.repeat(forest.tree_reads, 3, axis=0))
    np.testing.assert_array_equal(forest.tree_reads.sum(axis=1), 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lightgbm_classifiers(n_classes):
    model = lightgbm.LGBMClassifier(n_estimators=8, **quiet).fit(X, LABELS[n_classes])
    forest = Forest.from_model(model)
    rows = on_the_edge(forest)
    np.testing.assert_allclose(forest.scores(rows), column(model.predict(rows, raw_score=True)), rtol=1e-13)


def test_lightgbm_booster_stopped_early():
    data = lightgbm.Dataset(X[:200], VALUE[:200])
    model = lightgbm.train(
        {"verbose": -1, "num_threads": 1, "learning_rate": 0.8, "num_leaves": 63, "min_data_in_leaf": 1},
        data,
        100,
        valid_sets=[lightgbm.Dataset(X[200:], VALUE[200:], reference=data)],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
        keep_training_booster=True,
    )
    forest = Forest.from_model(model)
    assert forest.n_trees == model.best_iteration < model.num_trees()
    np.testing.assert_allclose(forest.scores(X)[:, 0], model.predict(X), rtol=1e-13)


@pytest.mark.parametrize(
    ("objective", "y"),
    [
        ("reg:squarederror", VALUE),
        ("reg:absoluteerror", VALUE),
        ("reg:logistic", LABELS[2]),
        ("binary:logistic", LABELS[2]),
        ("binary:logitraw", LABELS[2]),
        ("binary:hinge", LABELS[2]),
        ("count:poisson", LABELS[3]),
        ("reg:gamma", 1 + LABELS[3]),
        ("reg:tweedie", LABELS[3]),
        ("survival:cox", 1 + LABELS[3]),
        ("survival:aft", 1 + LABELS[3]),
        ("multi:softprob", LABELS[3]),
        ("multi:softmax", LABELS[3]),
    ],
)
@pytest.mark.parametrize("extra", [{}, {"num_parallel_tree": 3, "subsample": 0.5}])
def test_xgboost_boosters(objective, y, extra):
    data = xgboost.DMatrix(X, y)
    data.set_float_info("label_lower_bound", np.asarray(y, dtype=float))
    data.set_float_info("label_upper_bound", np.asarray(y, dtype=float))
    classes = {"num_class": 3} if objective.startswith("multi") else {}
    model = xgboost.train({"objective": objective, "max_depth": 4, "nthread": 1, **classes, **extra}, data, 6)
    forest = Forest.from_model(model)
    rows = on_the_edge(forest)
    margin = model.predict(xgboost.DMatrix(rows), output_margin=True)
    np.testing.assert_allclose(forest.scores(rows), column(margin), rtol=1e-5, atol=1e-5)


XGBOOST = [
    xgboost.XGBRegressor(n_estimators=8, n_jobs=1),
    xgboost.XGBRegressor(n_estimators=8, n_jobs=1, booster="dart", rate_drop=0.7, random_state=1),
    xgboost.XGBRFRegressor(n_estimators=8, n_jobs=1),
    xgboost.XGBRegressor(n_estimators=80, n_jobs=1, learning_rate=0.9, early_stopping_rounds=2),
]


@pytest.mark.parametrize("model", XGBOOST)
def test_xgboost_regressors(model):
    model.fit(X[:300], VALUE[:300], eval_set=[(X[300:], VALUE[300:])], verbose=False)
    forest = Forest.from_model(model)
    rows = on_the_edge(forest)
    np.testing.assert_allclose(forest.scores(rows)[:, 0], model.predict(rows), rtol=1e-5, atol=1e-5)
    leaves = model.get_booster().predict(xgboost.DMatrix(rows), pred_leaf=True)[:, : forest.n_trees]
    for ours, theirs in zip(forest.outputs(rows).T, leaves.T, strict=True):
        assert pd.Series(ours).groupby(theirs).nunique().max() == 1  # no row took another path


WITH_MISSING = np.where(random.random(X.shape) < 0.15, np.nan, X)
LEARNING_DIRECTIONS = [
    DecisionTreeRegressor(max_depth=4),
    RandomForestRegressor(n_estimators=7, max_depth=6, random_state=0),
    ExtraTreesRegressor(n_estimators=7, max_depth=6, random_state=0),
    HistGradientBoostingRegressor(max_iter=20),
    lightgbm.LGBMRegressor(n_estimators=20, **quiet),
    xgboost.XGBRegressor(n_estimators=20, n_jobs=1),
]


@pytest.mark.parametrize("rows", [X, WITH_MISSING], ids=["none seen", "some seen"])
@pytest.mark.parametrize("model", LEARNING_DIRECTIONS, ids=lambda model: type(model).__name__)
def test_missing_values_go_where_the_original_sends_them(model, rows):
    forest = Forest.from_model(model.fit(rows, VALUE))
    assert forest.knows_missing
    tolerance = 1e-5 if isinstance(model, xgboost.XGBModel) else 1e-13
    np.testing.assert_allclose(
        forest.scores(WITH_MISSING)[:, 0], model.predict(WITH_MISSING), rtol=tolerance, atol=tolerance
    )


def test_models_that_refuse_nan_have_no_directions_for_it():
    assert not Forest.from_model(GradientBoostingRegressor(n_estimators=3).fit(X, VALUE)).knows_missing


CODES = random.integers(0, 7, size=(400, 2))
FAR_APART = np.array([2, 63, 64, 70, 127, 130, 201])  # in several words
CODED = np.column_stack([WITH_MISSING[:, 0], CODES[:, 0], WITH_MISSING[:, 1], FAR_APART[CODES[:, 1]]]).astype(float)
CODED[::9, 1], CODED[::7, 3] = np.nan, np.nan
BY_CODE = np.nan_to_num(CODED[:, 0]) + 2.0 * np.isin(CODED[:, 1], [1, 3, 6]) + np.isin(CODED[:, 3], [63, 64, 201])
WITH_UNKNOWN = np.concatenate([CODED, np.where(np.arange(4) % 2, [[8.0], [-1.0], [500.0], [70.0]], CODED[:4])])
CATEGORICAL = [
    lightgbm.LGBMRegressor(n_estimators=12, min_data_per_group=5, cat_smooth=1, max_cat_to_onehot=1, **quiet),
    HistGradientBoostingRegressor(max_iter=12, categorical_features=[1, 3]),
    xgboost.XGBRegressor(n_estimators=12, n_jobs=1, enable_categorical=True, feature_types=["q", "c", "q", "c"]),
    xgboost.XGBRegressor(
        n_estimators=12, n_jobs=1, enable_categorical=True, feature_types=["q", "c", "q", "c"], max_cat_to_onehot=1
    ),
]


@pytest.mark.parametrize("model", CATEGORICAL, ids=lambda model: type(model).__name__)
def test_categories_go_where_the_original_sends_them(model):
    extra = {"categorical_feature": [1, 3]} if isinstance(model, lightgbm.LGBMModel) else {}
    model.fit(CODED, BY_CODE, **extra)
    forest = Forest.from_model(model)
    assert {int(forest.feature[node]) for node in forest.categories} == {1, 3}
    rows = CODED if isinstance(model, xgboost.XGBModel) else WITH_UNKNOWN  # XGBoost refuses categories it has not seen
    tolerance = 1e-5 if isinstance(model, xgboost.XGBModel) else 1e-13
    np.testing.assert_allclose(forest.scores(rows)[:, 0], model.predict(rows), rtol=tolerance, atol=tolerance)


def test_thresholds_on_rounded_values_are_exact():
    random = np.random.default_rng(3)
    threshold = np.concatenate(
        [random.normal(size=2000), 2.0 ** random.integers(-150, 127, 200), -(2.0 ** random.integers(-150, 127, 200))]
    )
    threshold = np.concatenate([threshold, threshold.astype(np.float32), [0.0, -0.0, 3.4028234663852886e38]])
    cut = at_most(threshold)
    with np.errstate(over="ignore"):
        assert (cut.astype(np.float32) <= threshold).all()
        assert (np.nextafter(cut, np.inf).astype(np.float32) > threshold).all()
        threshold = threshold.astype(np.float32)
        cut = less_than(threshold)
        assert (cut.astype(np.float32) < threshold).all()
        assert (np.nextafter(cut, np.inf).astype(np.float32) >= threshold).all()


def test_constant_trees_read_nothing():
    for model in (
        DecisionTreeRegressor(),
        GradientBoostingRegressor(n_estimators=2),
        HistGradientBoostingRegressor(max_iter=2),
        lightgbm.LGBMRegressor(n_estimators=2, **quiet),
        xgboost.XGBRegressor(n_estimators=2, n_jobs=1),
    ):
        forest = Forest.from_model(model.fit(X, np.full(400, 2.5)))
        assert not forest.reads.any()
        np.testing.assert_allclose(forest.scores(X[:3]), 2.5)


def test_column_names_are_kept():
    names = ("a", "b b", "c", "d", "e")
    frame = pd.DataFrame(X, columns=names)
    for model in (DecisionTreeRegressor(max_depth=2), HistGradientBoostingRegressor(max_iter=2), XGBOOST[0]):
        assert Forest.from_model(model.fit(frame, VALUE)).feature_names == names
        assert Forest.from_model(model.fit(X, VALUE)).feature_names is None
    model = lightgbm.LGBMRegressor(n_estimators=2, **quiet)
    assert Forest.from_model(model.fit(X, VALUE)).feature_names is None
    assert Forest.from_model(model.fit(frame.rename(columns={"b b": "b"}), VALUE)).feature_names == tuple("abcde")


UNREPRESENTABLE = {
    "zero as missing": lambda: lightgbm.LGBMRegressor(n_estimators=3, zero_as_missing=True, **quiet).fit(X, VALUE),
    "missing is 0.0": lambda: xgboost.XGBRegressor(n_estimators=3, n_jobs=1, missing=0.0).fit(X, VALUE),
    "made of": lambda: AdaBoostClassifier(GradientBoostingClassifier(n_estimators=2), n_estimators=2).fit(X, LABELS[2]),
}


@pytest.mark.parametrize("what", UNREPRESENTABLE)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_a_forest_cannot_represent_is_refused(what):
    with pytest.raises(ValueError, match=what):
        Forest.from_model(UNREPRESENTABLE[what]())


@pytest.mark.parametrize("other", [None, 3, "trees", LinearRegression().fit(X, VALUE), RandomForestRegressor])
def test_other_objects_are_refused(other):
    with pytest.raises(TypeError, match="is not a forest"):
        Forest.from_model(other)


@pytest.mark.parametrize("model", [RandomForestRegressor(), lightgbm.LGBMRegressor(), xgboost.XGBRegressor()], ids=repr)
def test_unfitted_forests_are_refused(model):
    with pytest.raises(NotFittedError, match="Call its fit first"):
        Forest.from_model(model)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(n_estimators=2),
        lightgbm.LGBMRegressor(n_estimators=2, **quiet),
        xgboost.XGBRegressor(n_estimators=2, n_jobs=1),
        make_pipeline(StandardScaler(), LinearRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_is_fitted_tells_fitted_estimators_from_others(model):
    assert not is_fitted(model)
    assert is_fitted(clone(model).fit(X, VALUE))


def test_objects_that_are_not_estimators_count_as_fitted():
    booster = lightgbm.LGBMRegressor(n_estimators=2, **quiet).fit(X, VALUE).booster_
    for other in (Forest.from_model(booster), booster, None, "trees", RandomForestRegressor):
        assert is_fitted(other)
