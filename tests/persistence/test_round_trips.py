"""A loaded model equals the saved one exactly, for models with all kinds of parts."""

import json
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from thrifty import (
    ASTCClassifier,
    AttentiveClassifier,
    BoostedFeatureMap,
    CostModel,
    CSCCClassifier,
    CSTCClassifier,
    DynamicSelectionClassifier,
    EarlyExitRanker,
    Forest,
    GreedyMiserRanker,
    StaticSelectionClassifier,
    TruncatedClassifier,
)
from thrifty.exceptions import MissingExtraError, ModelFileError
from thrifty.models.session import drive
from thrifty.persistence import load, read_manifest, save

COSTS = CostModel(
    {"a": 1.0, "b": 2.5, "c": None, "d": 0.0, "e": 0.3}, bundles={"panel": (["b", "c"], 2.2)}, requires={"e": ["a"]}
)


def problem(n_classes):
    random = np.random.default_rng(4)
    X = random.normal(size=(120, 5))
    X[:, 0] = np.abs(X[:, 0]).round()
    signs = X @ random.normal(size=(5, 2)) > 0
    return X, (signs @ [1, 2]) if n_classes == 4 else np.where(signs[:, 0], "yes", "no")


def fitted(estimator, n_classes=2):
    X, y = problem(n_classes)
    return estimator.fit(X, y), X


def assert_twins(model, twin, X, **given):
    """Compare parameters, costs, batch predictions and sessions."""
    foreign = {name for name, value in model.get_params(deep=False).items() if is_learned(value)}
    ours, theirs = ({k: v for k, v in each.get_params(False).items() if k not in foreign} for each in (model, twin))
    assert repr(theirs) == repr(ours)
    assert twin.cost_model_ == model.cost_model_
    for cap in (None, 0.0, 3.3):
        expected, found = model.acquire(X, cap, **given), twin.acquire(X, cap, **given)
        for name in ("prediction", "score", "acquired", "spend", "exit"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    ids = model.cost_model_.names or range(X.shape[1])
    for row in X[:5]:
        values = dict(zip(ids, row, strict=True))
        ours, theirs = (drive(each.session(), values.__getitem__) for each in (model, twin))
        assert (ours.prediction, ours.exit) == (theirs.prediction, theirs.exit)
        np.testing.assert_array_equal(ours.score, theirs.score)


def is_learned(value):
    """Tell whether a parameter is a fitted estimator of another library, which a file holds in another form."""
    return type(value).__module__.startswith("sklearn") and hasattr(value, "n_features_in_")


def dynamic(**parameters):
    return DynamicSelectionClassifier(costs=COSTS, n_iterations=2, n_folds=2, random_state=0, **parameters)


X2, Y2 = problem(2)
BOOSTED = GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=0)
VARIANTS = [
    CSTCClassifier(costs=COSTS, max_depth=2, feature_map=BOOSTED),
    CSTCClassifier(costs=COSTS, max_depth=2, feature_map=BoostedFeatureMap(BOOSTED.fit(X2, Y2 == "yes"))),
    CSTCClassifier(costs=COSTS, max_depth=2, feature_map=BOOSTED.fit(X2, Y2 == "yes")),
    CSCCClassifier(costs=COSTS, n_stages=2, class_weight={"no": 1.0, "yes": 2.0}),
    AttentiveClassifier(SVC(), costs=COSTS, evaluation_cost=0.1),
    AttentiveClassifier(make_pipeline(StandardScaler(), SVC(kernel="poly")), costs=COSTS),
    AttentiveClassifier(LogisticRegression(C=0.1), costs=COSTS, boundary="constant"),
    AttentiveClassifier(GradientBoostingClassifier(n_estimators=4, max_depth=2), costs=COSTS),
    AttentiveClassifier(AdaBoostClassifier(n_estimators=4), costs=COSTS),
    AttentiveClassifier(SVC().fit(X2, Y2), costs=COSTS),
    AttentiveClassifier(make_pipeline(StandardScaler(), LogisticRegression()).fit(X2, Y2), costs=COSTS),
    AttentiveClassifier(GradientBoostingClassifier(n_estimators=4, max_depth=2).fit(X2, Y2), costs=COSTS),
    EarlyExitRanker(BOOSTED.fit(X2, Y2 == "yes"), costs=COSTS),
    TruncatedClassifier(costs=COSTS, order=range(5), n_terms=3),
    dynamic(classifier=GaussianNB()),
    dynamic(classifier=SVC()),
    dynamic(classifier=RandomForestClassifier(3, max_depth=3), policy=DecisionTreeClassifier(max_depth=3)),
    dynamic(classifier=GradientBoostingClassifier(n_estimators=3, max_depth=2)),
    dynamic(classifier=HistGradientBoostingClassifier(max_iter=3)),
    dynamic(masked_training=True, factors=[["a", "b"], ["c", "d"]]),
    ASTCClassifier(costs=[Decimal("1.5"), 0.25, 2, np.float32(0.1), 0.0]),
]


@pytest.mark.parametrize("estimator", VARIANTS, ids=lambda each: repr(each)[:70])
def test_variants(estimator, tmp_path):
    X, y = problem(2)
    model = estimator.fit(X, y if is_classifier(estimator) else y == "yes")
    model.acquire(X), model.session().next()  # which fill caches
    assert_twins(model, load(save(model, tmp_path / "m")), X)


@pytest.mark.parametrize(
    "estimator",
    [
        AttentiveClassifier(OneVsRestClassifier(SVC()), costs=COSTS),
        dynamic(classifier=GradientBoostingClassifier(n_estimators=3, max_depth=2)),
        dynamic(classifier=SVC()),
    ],
    ids=lambda each: repr(each)[:70],
)
def test_several_classes(estimator, tmp_path):
    model, X = fitted(estimator, n_classes=4)
    assert_twins(model, load(save(model, tmp_path / "m")), X)


def test_the_predictor_of_a_loaded_model(tmp_path):
    for predictor in (SVC(), LogisticRegression(), GradientBoostingClassifier(n_estimators=4, max_depth=2)):
        model, X = fitted(AttentiveClassifier(predictor, costs=COSTS))
        twin = load(save(model, tmp_path / "m"))
        expected = model.estimator_.decision_function(X)
        np.testing.assert_allclose(twin.estimator_.decision_function(X), expected, atol=1e-9)
        np.testing.assert_array_equal(twin.estimator_.predict(X), model.estimator_.predict(X))
        for other in (X[:, :2], np.hstack([X, X]), X[:, 0]):
            with pytest.raises(ValueError, match=r"FullPredictor: X has shape .*; expected \(n, 5\)"):
                twin.estimator_.decision_function(other)


def test_the_data_classifier_of_a_loaded_model(tmp_path):
    """A machine of several classes has ties between votes, which go to the first class."""
    model, X = fitted(dynamic(classifier=SVC(), masked_training=False), n_classes=4)
    twin, rows = load(save(model, tmp_path / "m")), np.random.default_rng(0).normal(size=(400, X.shape[1]))
    votes = np.rint(model.classifier_.decision_function(rows))
    assert (np.sort(votes)[:, -1] == np.sort(votes)[:, -2]).any()
    np.testing.assert_array_equal(twin.classifier_.predict(rows), model.classifier_.predict(rows))


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    """A fitted predictor that is a parameter is stored as its terms, and can still be wrapped."""
    X, y = problem(2)
    for predictor in (SVC(), make_pipeline(StandardScaler(), LogisticRegression())):
        model = AttentiveClassifier(predictor.fit(X, y), costs=COSTS, random_state=0).fit(X, y)
        again = clone(load(save(model, tmp_path / "m"))).fit(X, y)
        expected = model.estimator_.decision_function(X)
        np.testing.assert_allclose(again.estimator_.decision_function(X), expected, atol=1e-9)
        assert (again.predict(X) == model.estimator_.predict(X)).mean() > 0.9
        with pytest.raises(ValueError, match="estimator was fitted on 5 columns, X has 10"):
            clone(again).set_params(costs=None).fit(np.hstack([X, X]), y)


def test_objects_of_scikit_learn_need_trust(tmp_path):
    """A classifier without a structure in thrifty is refused, or kept for those who trust the file."""
    model, X = fitted(dynamic(classifier=CalibratedClassifierCV(LinearSVC(), cv=2)))
    with pytest.raises(ModelFileError, match=r"fitted CalibratedClassifierCV.*allow_scikit_learn=True"):
        save(model, tmp_path / "m")
    path = save(model, tmp_path / "m", allow_scikit_learn=True)
    with pytest.raises(ModelFileError, match="If you trust its author, pass trust='scikit-learn'"):
        load(path)
    assert read_manifest(path).trust == "scikit-learn"
    assert_twins(model, load(path, trust="scikit-learn"), X)


def test_objects_of_scikit_learn_need_skops(tmp_path, monkeypatch):
    model, _ = fitted(dynamic(classifier=CalibratedClassifierCV(LinearSVC(), cv=2)))
    path = save(model, tmp_path / "m", allow_scikit_learn=True)
    for name in [name for name in sys.modules if name.partition(".")[0] == "skops"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'thrifty\[skops\]'"):
        load(path, trust="scikit-learn")
    assert type(load(save(ASTCClassifier().fit(X2, Y2), tmp_path / "m"))) is ASTCClassifier


def test_other_kinds_of_trust_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="trust is 'everything'; expected 'scikit-learn' or None"):
        load(tmp_path / "m", trust="everything")


def test_native_models_need_no_trust(tmp_path):
    model, X = fitted(dynamic())
    path = save(model, tmp_path / "m", allow_scikit_learn=True)
    assert read_manifest(path).trust is None
    assert_twins(model, load(path), X)


def test_converted_forests(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    odd = X2[:, 0] % 2 == 1
    booster = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1).fit(X2, odd, categorical_feature=[0])
    model = Forest.from_model(booster).with_costs([1.0, 0.5, 2.0, 0.0, 3.0], 0.2)
    assert model.forest_.categories
    assert_twins(model, load(save(model, tmp_path / "m")), X2)


def test_averaged_forests(tmp_path):
    X, y = problem(4)
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    model = Forest.from_model(forest).with_costs(COSTS, [0.1, 0.2, 0.3, 0.4])
    assert_twins(model, load(save(model, tmp_path / "m")), X)


def test_rankers_by_query(tmp_path):
    X, y = problem(4)
    queries = np.arange(len(X)) // 12
    forest = GreedyMiserRanker(n_estimators=6).fit(X, y, qid=queries)
    model = EarlyExitRanker(forest, costs=COSTS, s=0.2, top=2, n_checkpoints=3).fit(X, y, qid=queries)
    assert_twins(model, load(save(model, tmp_path / "m")), X, qid=queries)


def test_sparse_rows(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    model = AttentiveClassifier(SVC(), costs=COSTS).fit(sparse.csr_matrix(X2), Y2)
    twin = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(twin.acquire(sparse.csr_matrix(X2)).score, model.acquire(X2).score)


def test_tables(table_model, visits, tmp_path):
    twin = load(save(table_model, tmp_path / "m"))
    ours, theirs = table_model.acquire(visits[0]), twin.acquire(visits[0])
    for name in ("prediction", "score", "acquired", "spend", "exit"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))
    row = visits[0].iloc[3]
    assert drive(twin.session(), row.__getitem__) == drive(table_model.session(), row.__getitem__)


def test_columns_of_frames(heart, tmp_path):
    frame = pd.DataFrame(heart.X, columns=list(heart.costs.names))
    model = ASTCClassifier(costs=heart.costs, max_depth=2).fit(frame, heart.y)
    twin = load(save(model, tmp_path / "m"))
    assert list(twin.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(twin.spend(frame), model.spend(frame))
    with pytest.raises(ValueError, match="feature names"):
        twin.predict(frame[frame.columns[::-1]])


def test_random_states(tmp_path):
    model, X = fitted(StaticSelectionClassifier(costs=COSTS, random_state=np.random.RandomState(3)))
    twin = load(save(model, tmp_path / "m"))
    assert twin.random_state.random_sample() == model.random_state.random_sample()
    np.testing.assert_array_equal(twin.acquire(X).score, model.acquire(X).score)


def test_caches_are_not_written(models, heart, tmp_path):
    fresh = save(models["policy"], tmp_path / "fresh").stat().st_size
    models["policy"].acquire(heart.X)
    models["policy"].session().next()
    assert save(models["policy"], tmp_path / "used").stat().st_size == pytest.approx(fresh, rel=0.01)
    assert "steps" not in load(save(models["tree"], tmp_path / "tree")).tree_.__dict__


def test_a_saved_model_still_works(models, heart, tmp_path):
    before = models["chain"].acquire(heart.X).score
    save(models["chain"], tmp_path / "m")
    np.testing.assert_array_equal(models["chain"].acquire(heart.X).score, before)


def test_a_loaded_model_can_be_saved_again(models, heart, tmp_path):
    first = load(save(models["forest"], tmp_path / "m"))
    second = load(save(first, tmp_path / "m"))
    np.testing.assert_array_equal(second.acquire(heart.X).score, models["forest"].acquire(heart.X).score)


def test_the_frontier_of_a_search_is_saved(tmp_path, heart):
    from thrifty.tuning.budget_search import BudgetSearchCV

    X = pd.DataFrame(heart.X, columns=list(heart.costs.names))
    search = BudgetSearchCV(["l1"], budget=200.0, costs=heart.costs, cv=2).fit(X, heart.y)
    path = save(search, tmp_path / "m")
    manifest = read_manifest(path)
    assert len(manifest.frontier) == len(search.frontier_)
    assert manifest.promise["budget"] == 200.0
    json.dumps(manifest.frontier, allow_nan=False)
    np.testing.assert_array_equal(load(path).predict(X), search.predict(X))
