"""Predictors as sums of terms: the same scores, and the same bits alone and in a batch."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from reference import stopping as reference
from thrifty.costs import CostModel, Ledger
from thrifty.models.stopping.predictors import read_terms
from thrifty.models.stopping.terms import KernelTerms

X, TWO = make_classification(160, 11, n_informative=6, random_state=0)
_, FOUR = make_classification(160, 11, n_informative=6, n_classes=4, random_state=0)
X = X * np.linspace(0.5, 3, 11) + 1.0

BINARY = [
    LogisticRegression(),
    LinearSVC(),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
    LinearDiscriminantAnalysis(),
    SVC(),
    SVC(kernel="linear"),
    SVC(kernel="poly", coef0=0.5, degree=2),
    SVC(kernel="sigmoid", gamma=0.01, coef0=-0.1),
    NuSVC(),
    AdaBoostClassifier(n_estimators=8, random_state=0),
    GradientBoostingClassifier(n_estimators=8, random_state=0),
    HistGradientBoostingClassifier(max_iter=8, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(RobustScaler(), MinMaxScaler(), SVC()),
    make_pipeline(MaxAbsScaler(), AdaBoostClassifier(n_estimators=8, random_state=0)),
]
SEVERAL = [
    LogisticRegression(max_iter=500),
    LinearSVC(fit_intercept=False),
    OneVsRestClassifier(LinearSVC()),
    OneVsRestClassifier(SVC()),
    make_pipeline(StandardScaler(), OneVsRestClassifier(SVC(kernel="poly"))),
    AdaBoostClassifier(n_estimators=8, random_state=0),
    GradientBoostingClassifier(n_estimators=8, random_state=0),
]


def terms_of(estimator, y):
    return read_terms(estimator.fit(X, y), X.shape[1], X.mean(axis=0))


@pytest.mark.parametrize(
    ("estimator", "y"), [(each, TWO) for each in BINARY] + [(each, FOUR) for each in SEVERAL], ids=repr
)
def test_terms_add_up_to_the_scores_of_the_predictor(estimator, y):
    terms = terms_of(estimator, y)
    expected = estimator.decision_function(X)
    np.testing.assert_allclose(terms.scores(terms.values(X)), expected.reshape(len(X), -1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), SVC(), HistGradientBoostingClassifier(max_iter=8)], ids=repr
)
def test_a_value_has_the_same_bits_alone_and_in_a_batch_in_any_order(estimator):
    terms = terms_of(estimator, TWO)
    order = np.random.default_rng(0).permutation(terms.n_terms)
    values, ordered = terms.values(X), terms.ordered(order)
    for i in (0, 3, 101):
        alone = np.empty((1, terms.n_terms))
        for first in range(0, terms.n_terms, 3):
            last = min(first + 3, terms.n_terms)
            ordered.evaluate(ordered.prepare(X[i : i + 1]), np.zeros(1, dtype=int), first, last, alone)
        np.testing.assert_array_equal(alone[0], values[i, order])


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
def test_kernels_are_those_of_the_reference(name):
    machine = SVC(kernel=name, gamma=0.07, coef0=0.3, degree=3).fit(X, TWO)
    values = read_terms(machine, 11, np.zeros(11)).values(X[:5])
    expected = [[reference.kernel(name, x, s, 0.07, 0.3, 3) for s in machine.support_vectors_] for x in X[:5]]
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)


def test_only_the_given_rows_and_terms_are_evaluated():
    terms = terms_of(SVC(), TWO)
    held = np.full((len(X), terms.n_terms), np.nan)
    rows = np.array([1, 7, 8, 20, 21, 22, 90])
    terms.evaluate(terms.prepare(X), rows, 2, 9, held)
    assert set(map(tuple, np.argwhere(~np.isnan(held)))) == {(i, t) for i in rows for t in range(2, 9)}


def test_a_support_vector_of_several_machines_is_one_term():
    machine = OneVsRestClassifier(SVC()).fit(X, FOUR)
    terms = read_terms(machine, 11, np.zeros(11))
    everywhere = np.concatenate([each.support_vectors_ for each in machine.estimators_])
    assert terms.n_terms == len(np.unique(everywhere, axis=0)) < len(everywhere)


def test_rows_that_are_support_vectors_are_found():
    machine = SVC().fit(X, TWO)
    terms = read_terms(machine, 11, np.zeros(11))
    np.testing.assert_array_equal(np.flatnonzero(terms.is_own_row(X)), np.sort(machine.support_))


def test_what_terms_read():
    coef = np.zeros(11)
    coef[[2, 5]] = 1.0, -2.0
    linear = LogisticRegression().fit(X, TWO)
    linear.coef_ = coef[None]
    terms = read_terms(linear, 11, np.zeros(11))
    assert [np.flatnonzero(line).tolist() for line in terms.reads(np.arange(2))] == [[2], [5]]
    assert terms_of(SVC(), TWO).reads(np.array([0, 3])).all()
    stumps = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, TWO)
    read = [np.flatnonzero(line).tolist() for line in read_terms(stumps, 11, np.zeros(11)).reads(np.arange(5))]
    assert read == [[each.tree_.feature[0]] for each in stumps.estimators_]


@pytest.mark.parametrize("estimator", [LogisticRegression(), SVC(), AdaBoostClassifier(n_estimators=9)], ids=repr)
def test_terms_cost_the_unpaid_units_of_their_features(estimator):
    features = CostModel(
        [1.0, 2.0, 0.5, 0.0, 1.0, 3.0, 1.0, 1.0, 0.25, 1.0, 4.0], bundles={"panel": ([0, 2, 5], 8.0)}, requires={7: [5]}
    )
    terms, chosen = terms_of(estimator, TWO), np.array([7, 1, 5, 2])
    ledger, acquired = Ledger(terms.costs(chosen, features)), np.zeros(11, dtype=bool)
    for k, reads in enumerate(terms.reads(chosen)):
        prices = [features.of(acquired | each) - features.of(acquired) for each in terms.reads(chosen)]
        np.testing.assert_allclose(ledger.prices, prices, atol=1e-12)
        ledger.buy(k)
        acquired |= reads


def test_missing_values_are_filled_if_the_predictor_does_not_accept_them():
    rows = X[:6].copy()
    rows[:, 4] = np.nan
    filled = np.where(np.isnan(rows), X.mean(axis=0), rows)
    for estimator in (LogisticRegression(), SVC(), AdaBoostClassifier(n_estimators=4)):
        terms = terms_of(estimator, TWO)
        np.testing.assert_array_equal(terms.values(rows), terms.values(filled))
    booster = HistGradientBoostingClassifier(max_iter=4).fit(X, TWO)
    assert read_terms(booster, 11, X.mean(axis=0)).fill is None


def test_kernel_terms_accept_single_precision():
    terms = terms_of(SVC(), TWO)
    assert isinstance(terms, KernelTerms)
    single = X.astype(np.float32)
    np.testing.assert_array_equal(terms.values(single), terms.values(single.astype(float)))
