"""Data models of scikit-learn as arrays predict what the originals do, and a row alone as in a batch."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from thrifty.models.policies.native_bases import LinearClassifier, LinearRegressor
from thrifty.models.policies.native_models import native, unfitted

X = np.random.default_rng(0).normal(size=(120, 4))
SIGNAL = X[:, 0] + X[:, 1] * X[:, 2]
CLASSIFIERS = [
    DecisionTreeClassifier(max_depth=3),
    RandomForestClassifier(5, max_depth=3, random_state=0),
    ExtraTreesClassifier(5, max_depth=3, random_state=0),
    GradientBoostingClassifier(n_estimators=5),
    HistGradientBoostingClassifier(max_iter=5),
    GaussianNB(),
    SVC(),
    SVC(kernel="poly"),
    SVC(kernel="sigmoid"),
    SVC(kernel="linear"),
    NuSVC(nu=0.1),
]
REGRESSORS = [
    DecisionTreeRegressor(max_depth=3),
    RandomForestRegressor(5, max_depth=3, random_state=0),
    GradientBoostingRegressor(n_estimators=5),
    HistGradientBoostingRegressor(max_iter=5),
    HistGradientBoostingRegressor(max_iter=5, loss="poisson"),
    SVR(),
    NuSVR(kernel="poly"),
]
METHODS = ("decision_function", "predict_proba")


def classes(count):
    return np.digitize(SIGNAL, np.quantile(SIGNAL, np.arange(1, count) / count))


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)
def test_classifiers(classifier, count):
    original = unfitted(classifier).fit(X, classes(count))
    twin = native(original)
    assert twin is not original
    assert twin.n_features_in_ == 4
    for method in METHODS:
        assert hasattr(twin, method) == hasattr(original, method)
        if hasattr(original, method):
            ours, theirs = getattr(twin, method)(X), getattr(original, method)(X)
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
            alone = np.concatenate([getattr(twin, method)(row[None]) for row in X[:20]])
            np.testing.assert_array_equal(alone, ours[:20])
    np.testing.assert_array_equal(twin.classes_, original.classes_)
    np.testing.assert_array_equal(twin.predict(X), original.predict(X))


@pytest.mark.parametrize("regressor", REGRESSORS, ids=repr)
def test_regressors(regressor):
    original = unfitted(regressor).fit(X, np.abs(SIGNAL))
    twin = native(original)
    assert twin is not original
    ours = twin.predict(X)
    np.testing.assert_allclose(ours, original.predict(X), atol=1e-12)
    np.testing.assert_array_equal(np.concatenate([twin.predict(row[None]) for row in X[:20]]), ours[:20])


def test_linear_models():
    for count in (2, 3):
        original = LogisticRegression().fit(X, classes(count))
        weights, intercepts = original.coef_.T, original.intercept_
        if count == 2:
            weights, intercepts = np.hstack([np.zeros((4, 1)), weights]), np.append(0.0, intercepts)
        twin = LinearClassifier(original.classes_, 4, weights, intercepts)
        np.testing.assert_allclose(twin.decision_function(X), original.decision_function(X), atol=1e-12)
        np.testing.assert_array_equal(twin.predict(X), original.predict(X))
    ridge = Ridge().fit(X, SIGNAL)
    line = LinearRegressor(4, ridge.coef_[:, None], np.array([ridge.intercept_]))
    np.testing.assert_allclose(line.predict(X), ridge.predict(X), atol=1e-12)


def test_models_without_a_structure_stay_as_they_are():
    for model in (KNeighborsClassifier(), SVC(kernel=lambda a, b: a @ b.T), SVC(decision_function_shape="ovo")):
        fitted = model.fit(X, classes(3))
        assert native(fitted) is fitted


def test_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"ForestClassifier: X has shape \(3, 2\); expected \(n, 4\)"):
        native(DecisionTreeClassifier().fit(X, classes(2))).predict_proba(np.zeros((3, 2)))
