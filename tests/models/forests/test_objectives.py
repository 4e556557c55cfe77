"""Every objective and booster of the three libraries: raw scores, predictions and probabilities are the original's."""

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from threadpoolctl import threadpool_limits

from thrifty import Forest

random = np.random.default_rng(0)
X = random.normal(size=(300, 5)).round(2)
VALUE = X[:, 0] * X[:, 1] + X[:, 3] + random.normal(scale=0.3, size=300)
POSITIVE, SHARE = np.exp(VALUE), 1 / (1 + np.exp(-VALUE))
COUNT = random.poisson(POSITIVE)
GRADE = np.digitize(VALUE, [-0.5, 0.5])
TWO, THREE = (VALUE > 0.3).astype(int), np.digitize(VALUE, [-0.5, 1.0])
WEIGHT = random.uniform(0.2, 3.0, size=300)
QID = np.repeat(np.arange(10), 30)
RARE = np.array([5, 7, 11])[THREE]  # labels that are not 0, 1, 2


@pytest.fixture(autouse=True)
def _one_thread():
    """Waiting OpenMP threads use the processor, which takes seconds if cores are shared."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def light(kind, **options):
    return getattr(lightgbm, f"LGBM{kind}")(n_estimators=8, verbose=-1, n_jobs=1, **options)


def extreme(kind, **options):
    return getattr(xgboost, f"XGB{kind}")(**{"n_estimators": 8, "n_jobs": 1, "max_depth": 3, **options})


def own(y, p, sample_weight=None):
    """Return the derivatives of an objective that the libraries do not know."""
    weight = np.ones_like(p) if sample_weight is None else sample_weight
    return weight * (p - y), weight


bag = {"subsample": 0.6, "subsample_freq": 1}
LIGHT_REGRESSORS = [
    *[(objective, VALUE, {}) for objective in ("regression", "regression_l1", "huber", "fair", "quantile", "mape")],
    *[(objective, POSITIVE, {}) for objective in ("poisson", "gamma", "tweedie", "regression")],
    *[(objective, SHARE, {}) for objective in ("cross_entropy", "cross_entropy_lambda")],
    ("regression", VALUE, {"reg_sqrt": True}),
    ("quantile", VALUE, {"alpha": 0.2}),
    ("poisson", COUNT, {"boosting_type": "dart", "drop_rate": 0.6}),
    ("gamma", POSITIVE, {"boosting_type": "rf", **bag}),
    ("regression", VALUE, {"boosting_type": "rf", **bag}),
    ("regression", VALUE, {"data_sample_strategy": "goss"}),
    ("regression", VALUE, {"extra_trees": True, "monotone_constraints": [1, 0, 0, -1, 0]}),
    ("regression", VALUE, {"interaction_constraints": [[0, 1], [2, 3, 4]], "path_smooth": 2.0}),
    ("regression", VALUE, {"boost_from_average": False, "reg_alpha": 0.5, "reg_lambda": 3.0}),
]
LIGHT_CLASSIFIERS = [
    ("binary", TWO, {}),
    ("binary", TWO, {"sigmoid": 2.0}),
    ("binary", TWO, {"is_unbalance": True}),
    ("binary", np.where(TWO, "sick", "healthy"), {"class_weight": {"sick": 3.0}}),
    ("binary", TWO, {"boosting_type": "dart", "drop_rate": 0.6}),
    ("binary", TWO, {"boosting_type": "rf", **bag}),
    ("cross_entropy", TWO, {}),
    ("multiclass", RARE, {}),
    ("multiclass", RARE, {"boosting_type": "dart", "drop_rate": 0.6}),
    ("multiclass", RARE, {"boosting_type": "rf", **bag}),
    ("multiclassova", RARE, {}),
    ("multiclassova", RARE, {"sigmoid": 2.0}),
    ("multiclassova", RARE, {"boosting_type": "rf", **bag}),
]
EXTREME_REGRESSORS = [
    *[(f"reg:{name}", VALUE, {}) for name in ("squarederror", "absoluteerror", "pseudohubererror")],
    ("reg:quantileerror", VALUE, {"quantile_alpha": 0.3}),
    ("reg:squaredlogerror", POSITIVE, {}),
    ("reg:logistic", SHARE, {}),
    *[(name, POSITIVE, {}) for name in ("reg:gamma", "reg:tweedie", "count:poisson", "survival:cox")],
    ("reg:squarederror", VALUE, {"base_score": -3.0}),
    ("count:poisson", COUNT, {"base_score": 2.0}),
    ("reg:squarederror", VALUE, {"booster": "dart", "rate_drop": 0.6, "random_state": 1}),
    ("reg:squarederror", VALUE, {"num_parallel_tree": 3, "subsample": 0.5}),
    ("reg:squarederror", VALUE, {"monotone_constraints": (1, 0, 0, -1, 0), "interaction_constraints": "[[0, 1]]"}),
    ("reg:squarederror", VALUE, {"tree_method": "exact", "grow_policy": "depthwise"}),
    ("reg:squarederror", VALUE, {"grow_policy": "lossguide", "max_leaves": 7}),
]
EXTREME_CLASSIFIERS = [
    ("binary:logistic", TWO, {}),
    ("binary:logistic", TWO, {"scale_pos_weight": 4.0, "base_score": 0.2}),
    ("binary:logistic", TWO, {"booster": "dart", "rate_drop": 0.6, "random_state": 1}),
    ("reg:logistic", TWO, {}),
    ("binary:hinge", TWO, {}),
    ("multi:softprob", THREE, {}),
    ("multi:softmax", THREE, {}),
    ("multi:softprob", THREE, {"booster": "dart", "rate_drop": 0.6, "random_state": 1}),
    ("multi:softprob", THREE, {"num_parallel_tree": 3, "subsample": 0.5}),
]
SCIKIT_LEARN_REGRESSORS = [
    *[(GradientBoostingRegressor(n_estimators=8, loss=loss), VALUE) for loss in ("squared_error", "absolute_error")],
    *[(GradientBoostingRegressor(n_estimators=8, loss=loss, alpha=0.3), VALUE) for loss in ("huber", "quantile")],
    (GradientBoostingRegressor(n_estimators=50, n_iter_no_change=2, init="zero"), VALUE),
    *[(HistGradientBoostingRegressor(max_iter=8, loss=loss), VALUE) for loss in ("squared_error", "absolute_error")],
    (HistGradientBoostingRegressor(max_iter=8, loss="quantile", quantile=0.2), VALUE),
    *[(HistGradientBoostingRegressor(max_iter=8, loss=loss), POSITIVE) for loss in ("gamma", "poisson")],
    (HistGradientBoostingRegressor(max_iter=90, early_stopping=True, monotonic_cst=[1, 0, 0, 0, 0]), VALUE),
    (HistGradientBoostingRegressor(max_iter=8, interaction_cst=[[0, 1]]), VALUE),
    *[(RandomForestRegressor(n_estimators=6, criterion=c), POSITIVE) for c in ("squared_error", "poisson")],
    (RandomForestRegressor(n_estimators=6, criterion="absolute_error", monotonic_cst=[1, 0, 0, 0, 0]), VALUE),
    (ExtraTreesRegressor(n_estimators=6, bootstrap=True), VALUE),
    (DecisionTreeRegressor(max_depth=4, ccp_alpha=0.01), VALUE),
    (ExtraTreeRegressor(max_depth=4), VALUE),
]
SCIKIT_LEARN_CLASSIFIERS = [
    (GradientBoostingClassifier(n_estimators=8), RARE),
    (GradientBoostingClassifier(n_estimators=8, init="zero"), TWO),
    (GradientBoostingClassifier(n_estimators=8, loss="exponential"), TWO),
    (HistGradientBoostingClassifier(max_iter=8, class_weight="balanced"), RARE),
    (HistGradientBoostingClassifier(max_iter=8), TWO),
    (RandomForestClassifier(n_estimators=6, class_weight="balanced_subsample"), RARE),
    (ExtraTreesClassifier(n_estimators=6, criterion="entropy"), TWO),
    (DecisionTreeClassifier(max_depth=4, class_weight={0: 5.0}), TWO),
    (ExtraTreeClassifier(max_depth=4), RARE),
    (AdaBoostClassifier(n_estimators=8), TWO),
    (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8, learning_rate=0.5), RARE),
]
NAMED = ("objective", "loss", "criterion", "booster", "boosting_type", "init", "sigmoid", "base_score")
CASES = [
    *[(light("Regressor", objective=name, **options), y) for name, y, options in LIGHT_REGRESSORS],
    *[(light("Classifier", objective=name, **options), y) for name, y, options in LIGHT_CLASSIFIERS],
    *[(extreme("Regressor", objective=name, **options), y) for name, y, options in EXTREME_REGRESSORS],
    *[(extreme("Classifier", objective=name, **options), y) for name, y, options in EXTREME_CLASSIFIERS],
    (extreme("Regressor", objective=own), VALUE),
    (extreme("Classifier", objective=own), TWO),
    (light("Regressor", objective=own), VALUE),
    (extreme("RFRegressor"), VALUE),
    (extreme("RFClassifier"), TWO),
    (extreme("RFClassifier"), THREE),
    *SCIKIT_LEARN_REGRESSORS,
    *SCIKIT_LEARN_CLASSIFIERS,
]


def described(each):
    """Return the name of a model and some of its parameters, as the name of a test."""
    if not hasattr(each, "fit"):
        return ""
    given = {name: value for name, value in each.get_params(deep=False).items() if name in NAMED and value is not None}
    values = (f"{name}={getattr(value, '__name__', value)}" for name, value in given.items())
    return " ".join([type(each).__name__, *values])


def raw_score(model, rows):
    """Return the raw score of the original, (n, n_scores)."""
    if isinstance(model, lightgbm.LGBMModel):
        raw = model.predict(rows, raw_score=True)
    elif isinstance(model, xgboost.XGBModel):
        raw = model.predict(rows, output_margin=True)
    elif hasattr(model, "decision_function"):
        raw = model.decision_function(rows)
    elif is_classifier(model):
        raw = model.predict_proba(rows)[:, 1:] if len(model.classes_) == 2 else model.predict_proba(rows)
    elif isinstance(model, HistGradientBoostingRegressor):
        raw = model._raw_predict(rows)
    else:
        raw = model.predict(rows)
    return np.reshape(raw, (len(rows), -1))


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize(("model", "y"), CASES, ids=described)
def test_scores_predictions_and_probabilities_are_those_of_the_original(model, y, weighted):
    model.fit(X, y, sample_weight=WEIGHT if weighted else None)
    rounding = 2e-5 if isinstance(model, xgboost.XGBModel) else 1e-11
    forest = Forest.from_model(model)
    np.testing.assert_allclose(forest.scores(X), raw_score(model, X), rtol=rounding, atol=rounding)
    served = forest.with_costs()
    if not is_classifier(model):
        np.testing.assert_allclose(served.predict(X), model.predict(X), rtol=rounding, atol=rounding)
        return
    np.testing.assert_array_equal(served.classes_, model.classes_)
    np.testing.assert_array_equal(served.predict(X), model.predict(X))
    np.testing.assert_allclose(served.predict_proba(X), model.predict_proba(X), rtol=2e-5, atol=max(rounding, 1e-11))
    served.refuse_unsound()
    assert served.predict_proba(X, cap=0).shape == (len(X), len(model.classes_))


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:pairwise", "rank:map"])
def test_rankers_of_xgboost(objective):
    grades = (GRADE > 0).astype(int) if objective == "rank:map" else GRADE
    model = extreme("Ranker", objective=objective).fit(X, grades, qid=QID)
    np.testing.assert_allclose(Forest.from_model(model).with_costs().predict(X), model.predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_rankers_of_lightgbm(objective):
    model = light("Ranker", objective=objective).fit(X, GRADE, group=np.full(10, 30))
    np.testing.assert_allclose(Forest.from_model(model).with_costs().predict(X), model.predict(X), rtol=1e-12)


def test_survival_times_of_xgboost():
    data = xgboost.DMatrix(X)
    data.set_float_info("label_lower_bound", POSITIVE)
    data.set_float_info("label_upper_bound", np.where(TWO, np.inf, POSITIVE))
    model = xgboost.train({"objective": "survival:aft", "nthread": 1, "max_depth": 3}, data, 8)
    served = Forest.from_model(model).with_costs()
    np.testing.assert_allclose(served.predict(X), model.predict(data), rtol=1e-5)


def test_a_margin_of_each_row_is_not_part_of_the_model():
    for model in (
        extreme("Classifier").fit(X, TWO, base_margin=3.0 * VALUE),
        light("Classifier").fit(X, TWO, init_score=3.0 * VALUE),
    ):
        served = Forest.from_model(model).with_costs()
        np.testing.assert_allclose(served.predict_proba(X), model.predict_proba(X), atol=1e-5)


def test_two_classes_with_a_score_each():
    data = xgboost.DMatrix(X, TWO)
    softmax = xgboost.train({"objective": "multi:softprob", "num_class": 2, "nthread": 1}, data, 8)
    served = Forest.from_model(softmax).with_costs()
    np.testing.assert_allclose(served.predict_proba(X), softmax.predict(data), atol=1e-5)
    parameters = {"objective": "multiclassova", "num_class": 2, "verbose": -1, "num_threads": 1}
    each = lightgbm.train(parameters, lightgbm.Dataset(X, TWO), 8)
    served = Forest.from_model(each).with_costs().fit(X, TWO)
    np.testing.assert_allclose(served.predict_proba(X), each.predict(X), rtol=1e-11)
    served.refuse_unsound()


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_xgboost_ends_at_its_best_iteration(booster):
    model = extreme("Classifier", booster=booster, n_estimators=60, learning_rate=0.9, early_stopping_rounds=2)
    model.fit(X[:150], THREE[:150], eval_set=[(X[150:], THREE[150:])], verbose=False)
    served = Forest.from_model(model).with_costs()
    assert served.forest_.n_trees == 3 * (model.best_iteration + 1) < 3 * model.get_booster().num_boosted_rounds()
    np.testing.assert_allclose(served.predict_proba(X), model.predict_proba(X), atol=1e-5)


def test_boosters_with_an_objective_of_their_own_predict_raw_scores():
    def squared(scores, data):
        return scores - data.get_label(), np.ones_like(scores)

    theirs = lightgbm.train({"objective": squared, "verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, VALUE), 8)
    np.testing.assert_allclose(Forest.from_model(theirs).with_costs().predict(X), theirs.predict(X), rtol=1e-11)
    data = xgboost.DMatrix(X, VALUE)
    theirs = xgboost.train({"nthread": 1, "disable_default_eval_metric": True}, data, 8, obj=squared)
    np.testing.assert_allclose(Forest.from_model(theirs).with_costs().predict(X), theirs.predict(data), atol=1e-5)


def test_trees_of_one_round_are_evaluated_class_by_class_in_turn():
    model = extreme("RFClassifier").fit(X, THREE)
    forest = Forest.from_model(model)
    assert forest.score_of[:6].tolist() == [0, 1, 2, 0, 1, 2]
    assert forest.with_costs()._priced().n_rounds == 8


LABELS = np.column_stack([TWO, VALUE > 1]).astype(int)
TARGETS = np.column_stack([VALUE, POSITIVE])
REFUSED = {
    r"2 targets.*one model per target": [
        lambda: extreme("Classifier").fit(X, LABELS),
        lambda: extreme("Classifier", multi_strategy="multi_output_tree").fit(X, LABELS),
        lambda: extreme("Regressor").fit(X, TARGETS),
        lambda: extreme("Regressor", multi_strategy="multi_output_tree").fit(X, TARGETS),
        lambda: extreme("RFRegressor").fit(X, TARGETS),
        lambda: extreme("Regressor", objective="reg:quantileerror", quantile_alpha=[0.2, 0.8]).fit(X, VALUE),
    ],
    r"does not give probabilities. Pass its booster_": [
        lambda: light("Classifier", objective=own).fit(X, TWO),
        lambda: light("Classifier", objective="cross_entropy_lambda").fit(X, TWO),
        lambda: light("Classifier", objective="regression").fit(X, TWO),
    ],
    r"does not give probabilities. Pass its get_booster": [
        lambda: extreme("Classifier", objective="binary:logitraw").fit(X, TWO),
        lambda: extreme("Classifier", objective="reg:squarederror").fit(X, TWO),
    ],
    "a vector in each leaf": [lambda: extreme("Classifier", multi_strategy="multi_output_tree").fit(X, THREE)],
    "gblinear": [lambda: extreme("Regressor", booster="gblinear", max_depth=None).fit(X, VALUE)],
    "linear leaves": [lambda: light("Regressor", linear_tree=True).fit(X, VALUE)],
    "init is": [lambda: GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(X, VALUE)],
    "2 targets": [lambda: RandomForestClassifier(n_estimators=3).fit(X, LABELS)],
    "weighted median": [lambda: AdaBoostRegressor(n_estimators=3).fit(X, VALUE)],
    "lengths of paths": [lambda: IsolationForest(n_estimators=3).fit(X)],
    "leaves themselves": [lambda: RandomTreesEmbedding(n_estimators=3).fit(X)],
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("reason", "train"), [(reason, each) for reason in REFUSED for each in REFUSED[reason]])
def test_what_cannot_be_equal_is_refused_with_a_reason(reason, train):
    model = train()
    with pytest.raises((ValueError, TypeError), match=reason):
        Forest.from_model(model)
