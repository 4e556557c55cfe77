"""Attentive regression: the value of a row that stops early is close to the full sum."""

import lightgbm
import numpy as np
import pytest
import xgboost
from scipy.sparse import csr_matrix
from scipy.stats import binom
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVR, NuSVR

from thrifty import AttentiveRegressor, CostModel, Forest, TruncatedRegressor
from thrifty.models.session import drive
from thrifty.models.stopping.conformal import conformal_factor, critical_factors
from thrifty.models.stopping.small_changes import SmallChanges, changes, fit_squares
from thrifty.testing import CHECKS

X, Y = make_friedman1(900, noise=1.0, random_state=0)
TRAIN, TEST = np.arange(len(X)) < 600, np.arange(len(X)) >= 600
SUMS = [
    LinearRegression(),
    Lasso(alpha=0.01),
    LinearSVR(random_state=0),
    make_pipeline(StandardScaler(), Ridge()),
    SVR(C=10),
    NuSVR(kernel="poly", coef0=1.0),
    KernelRidge(kernel="rbf", alpha=0.1),
    KernelRidge(kernel="polynomial", degree=2, alpha=0.1),
    make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", gamma=0.05)),
    GradientBoostingRegressor(n_estimators=30, random_state=0),
    HistGradientBoostingRegressor(max_iter=30),
    RandomForestRegressor(n_estimators=20, random_state=0),
    ExtraTreesRegressor(n_estimators=20, random_state=0),
    lightgbm.LGBMRegressor(n_estimators=30, n_jobs=1, verbose=-1),
    xgboost.XGBRegressor(n_estimators=30, n_jobs=1),
]


def name_of(estimator):
    return repr(estimator)[:40]


@pytest.mark.parametrize("estimator", SUMS, ids=name_of)
def test_without_early_stops_the_value_is_the_prediction_of_the_predictor(estimator):
    model = AttentiveRegressor(estimator, delta=0).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(model.predict(X[TEST]), model.estimator_.predict(X[TEST]), rtol=1e-5, atol=1e-5)
    none = AttentiveRegressor(model.estimator_, tolerance=0).fit(X[TRAIN], Y[TRAIN])
    assert (none.terms_evaluated(X[TEST]) == model.checkpoints_[-1]).all()


@pytest.mark.parametrize("estimator", SUMS[3:6] + SUMS[9:12], ids=name_of)
def test_the_error_exceeds_the_tolerance_at_a_rate_of_at_most_delta(estimator):
    n_far, n_rows, terms = 0, 0, []
    for seed in range(3):
        train, test = np.split(np.random.default_rng(seed).permutation(len(X)), [600])
        model = AttentiveRegressor(estimator, tolerance=1.0, delta=0.05).fit(X[train], Y[train])
        found = model.acquire(X[test])
        n_far += np.sum(np.abs(found.prediction - model.estimator_.predict(X[test])) > 1.0)
        n_rows += len(test)
        terms.append(found.exit.mean() / model.checkpoints_[-1])
    assert binom.sf(n_far - 1, n_rows, 0.05) > 0.001
    assert np.mean(terms) < 0.9


def test_rows_stop_where_the_value_changes_little():
    model = AttentiveRegressor(SUMS[9], tolerance=1.5, delta=0.1, evaluation_cost=0.1).fit(X[TRAIN], Y[TRAIN])
    scores, limits = model.partial_scores(X[TEST]), model.boundary_.limits
    found = model.acquire(X[TEST])
    assert len(set(found.exit)) > 2
    for line, value, n_terms in zip(scores, found.score, found.exit, strict=True):
        before = [model.chain_.prior[0], *line]
        steps = [abs(line[k] - before[k]) for k in range(len(line))]
        stop = next((k for k in range(len(line) - 1) if steps[k] < limits[k]), len(line) - 1)
        assert (value, n_terms) == (line[stop], model.checkpoints_[stop])


def test_the_limits_are_those_of_the_conformal_factor():
    calibration = X[TRAIN][300:]
    model = AttentiveRegressor(SUMS[9], tolerance=1.5, delta=0.1)
    model.fit(X[TRAIN][:300], Y[TRAIN][:300], calibration=calibration)
    scores = model.partial_scores(calibration)
    a, b = fit_squares(model.partial_scores(X[TRAIN][:300]), model.chain_.prior[0], np.ones(300)).T
    ratios = 1.5 / np.sqrt(np.maximum(a + b * changes(scores, model.chain_.prior[0]) ** 2, 1e-300))
    ratios[:, -1] = np.inf
    critical = critical_factors(ratios, np.abs(scores - scores[:, -1:]) > 1.5)
    factor = conformal_factor(critical, np.ones(300), 0.1)
    np.testing.assert_allclose(model.boundary_.limits, SmallChanges.below(1.5 / factor, np.column_stack([a, b])).limits)
    far = np.abs(model.predict(calibration) - scores[:, -1]) > 1.5
    assert far.mean() <= 0.1


def test_expected_squared_errors_grow_with_the_change():
    random = np.random.default_rng(0)
    steps = random.uniform(0, 2, size=(20_000, 1))
    full = steps + np.sqrt(0.5 + 2.0 * steps**2) * random.normal(size=steps.shape)
    a, b = fit_squares(np.hstack([steps, full]), 0.0, np.ones(len(steps)))[0]
    assert a == pytest.approx(0.5, abs=0.25)
    assert b == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize(
    ("squares", "expected"),
    [
        ((0.0, 1.0), 2.0),
        ((3.0, 1.0), 1.0),
        ((4.0, 1.0), 0.0),
        ((1.0, 0.0), np.inf),
        ((5.0, 0.0), 0.0),
        ((4.0, 0.0), 0.0),
    ],
)
def test_limits(squares, expected):
    assert SmallChanges.below(2.0, np.array([squares])).limits[0] == expected


def test_the_default_tolerance_is_a_tenth_of_the_standard_deviation():
    assert AttentiveRegressor().fit(X, Y).tolerance_ == pytest.approx(0.1 * Y.std())


def test_with_too_few_rows_every_row_is_evaluated_in_full():
    model = AttentiveRegressor(tolerance=5.0, delta=0.01).fit(X[:98], Y[:98])
    assert (model.terms_evaluated(X[TEST]) == model.checkpoints_[-1]).all()


def test_the_unit_of_the_target_is_immaterial():
    plain = AttentiveRegressor(delta=0.1, tolerance=2.0).fit(X[TRAIN], Y[TRAIN])
    scaled = AttentiveRegressor(delta=0.1, tolerance=2e30).fit(X[TRAIN], 1e30 * Y[TRAIN])
    np.testing.assert_array_equal(plain.acquire(X[TEST]).exit, scaled.acquire(X[TEST]).exit)
    np.testing.assert_allclose(scaled.predict(X[TEST]), 1e30 * plain.predict(X[TEST]), rtol=1e-6)


def test_rows_of_a_query_are_held_out_together():
    model = AttentiveRegressor(delta=0.1)
    rows = model._validated(X, Y, None, np.arange(len(X)) // 7)
    folds = model._folds(rows, 5)
    assert all(len(set(folds[rows.qid == query])) == 1 for query in set(rows.qid))
    assert set(folds) == set(range(5))


def test_sparse_rows_are_dense_rows():
    rows = np.where(X > 0.5, X, 0.0)
    estimator = make_pipeline(StandardScaler(with_mean=False), Ridge())
    sparse, dense = (AttentiveRegressor(estimator, delta=0.1).fit(kind(rows), Y) for kind in (csr_matrix, np.array))
    np.testing.assert_allclose(sparse.predict(rows), dense.predict(rows), rtol=1e-3)  # other solvers of scikit-learn


VARIANTS = [
    AttentiveRegressor(SVR(C=10), tolerance=0.5, delta=0.2, block_size=9),
    AttentiveRegressor(GradientBoostingRegressor(n_estimators=12, random_state=0), tolerance=0.5, delta=0.2),
    AttentiveRegressor(KernelRidge(kernel="rbf"), tolerance=0.5, delta=0.2, evaluation_cost=0.1),
    AttentiveRegressor(order="random", refit=False, tolerance=1.0, delta=0.2, random_state=0),
    TruncatedRegressor(RandomForestRegressor(n_estimators=6, random_state=0), n_terms=4),
]
QUICK = ("check_batch_equals_session", "check_cap_holds", "check_no_peeking", "check_copies_agree", "check_files_agree")


@pytest.mark.parametrize("check", [each for each in CHECKS if each.__name__ in QUICK], ids=lambda each: each.__name__)
@pytest.mark.parametrize("estimator", VARIANTS, ids=repr)
def test_contract(estimator, check):
    check(estimator)


def test_sessions_and_caps():
    costs = CostModel(np.ones(10), bundles={"panel": (range(4), 3.0)})
    model = AttentiveRegressor(costs=costs, tolerance=2.0, delta=0.1, evaluation_cost=0.25).fit(X[TRAIN], Y[TRAIN])
    for cap in (None, 4.0, 8.0):
        batch = model.acquire(X[TEST], cap)
        assert cap is None or batch.spend.max() <= cap
        for i in range(0, len(batch), 25):
            session = model.session(cap)
            stop = drive(session, X[TEST][i].__getitem__)
            assert (stop.score, stop.exit, session.spend) == (batch.score[i], batch.exit[i], batch.spend[i])


# Truncation


def test_truncation_evaluates_the_same_number_of_terms():
    truncated = TruncatedRegressor(SUMS[9], n_terms=10).fit(X[TRAIN], Y[TRAIN])
    assert set(truncated.acquire(X[TEST]).exit) == {10}
    full = TruncatedRegressor(truncated.estimator_).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(full.predict(X[TEST]), truncated.estimator_.predict(X[TEST]))
    assert 0.5 < truncated.score(X[TEST], Y[TEST]) <= full.score(X[TEST], Y[TEST]) + 0.02


# Bad input


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression(), "not a regressor"),
        (KNeighborsRegressor(), "not a sum of terms"),
        (AdaBoostRegressor(n_estimators=3), "not a sum of terms"),
        (PoissonRegressor(), "predictions are not the sum of its terms"),
        (TransformedTargetRegressor(Ridge()), "not a sum of terms"),
        (lightgbm.LGBMRegressor(objective="poisson", n_estimators=5, verbose=-1), "not a? ?(the )?sum of (its )?terms"),
        (HistGradientBoostingRegressor(loss="poisson", max_iter=5), "not a? ?(the )?sum of (its )?terms"),
        (SVR(kernel=lambda a, b: a @ b.T), "kernel"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_a_predictor_that_is_not_a_sum_of_terms_is_refused(estimator, message):
    with pytest.raises(ValueError, match=f"AttentiveRegressor: estimator .*{message}"):
        AttentiveRegressor(estimator).fit(X, np.abs(Y))


def test_a_forest_is_a_sum():
    forest = Forest.from_model(SUMS[9].fit(X[TRAIN][:300], Y[TRAIN][:300]))
    model = AttentiveRegressor(forest, tolerance=2.0, delta=0.1).fit(X[TRAIN][300:], Y[TRAIN][300:])
    assert model.terms_evaluated(X[TEST]).mean() < 30


@pytest.mark.parametrize("scale", [1e-200, 1e160])
def test_targets_and_columns_of_extreme_scale_are_refused(scale):
    with pytest.raises(ValueError, match="AttentiveRegressor: "):
        AttentiveRegressor().fit(X, scale * Y)
    with pytest.raises(ValueError, match="largest absolute value of column 0 of X"):
        AttentiveRegressor().fit(scale * X, Y)


@pytest.mark.parametrize(
    "parameters",
    [{"tolerance": -1}, {"tolerance": "small"}, {"delta": 1.0}, {"block_size": 0}, {"order": "best"}],
    ids=repr,
)
def test_an_invalid_parameter_is_refused(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"AttentiveRegressor: {name} .*; expected "):
        AttentiveRegressor(**parameters).fit(X, Y)
