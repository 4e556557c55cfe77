"""AttentiveClassifier: the algorithm of the paper, delta=0, all kinds of input, costs, and the certified boundary."""

import lightgbm
import numpy as np
import pytest
import xgboost
from scipy.sparse import csr_array, csr_matrix
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

from reference import stopping as reference
from thrifty import Acquire, CostModel, Forest
from thrifty.models.session import drive
from thrifty.models.stopping.attentive import AttentiveClassifier
from thrifty.testing import CHECKS

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
TRAIN, TEST = np.arange(len(X)) % 3 != 0, np.arange(len(X)) % 3 == 0
MACHINE = SVC().fit(X[TRAIN], Y[TRAIN])
LINEAR = LogisticRegression().fit(X[TRAIN], Y[TRAIN])


def fitted(estimator=LINEAR, **parameters):
    return AttentiveClassifier(estimator, **parameters).fit(X[TRAIN], Y[TRAIN])


# The paper


@pytest.mark.parametrize("sides", ["both", "negative", "positive"])
@pytest.mark.parametrize("boundary", ["constant", 4.0])
def test_rows_stop_as_in_algorithm_1(boundary, sides):
    order = np.random.default_rng(0).permutation(30)
    model = fitted(boundary=boundary, delta=0.2, sides=sides, order=order, refit=False, block_size=1)
    weights, intercept, classes = LINEAR.coef_[0, order], LINEAR.intercept_[0], Y[TRAIN]
    means = {side: X[TRAIN][classes == side][:, order].mean(axis=0) for side in (0, 1)}
    centre = {"negative": means[1], "positive": means[0], "both": (means[0] + means[1]) / 2}[sides]
    scores = LINEAR.decision_function(X[TRAIN])
    start = intercept + weights @ centre
    protected = {"negative": classes == 1, "positive": classes == 0, "both": classes >= 0}[sides]
    variance = np.mean((scores[protected] - start) ** 2)
    upper, lower = 4.0, -4.0
    if boundary == "constant":
        # found by bisection: where the crossing probability of Lemma 1 falls to delta
        upper, lower = (start + bisected(-start, variance, 0.2, side) for side in (1, -1))
    upper, lower = (np.inf if sides == "negative" else upper), (-np.inf if sides == "positive" else lower)
    found = model.acquire(X[TEST])
    assert len(set(found.exit)) > 3
    for row, score, n_terms in zip(X[TEST], found.score, found.exit, strict=True):
        partial = reference.centred_partial_scores(row[order], weights, intercept, centre)
        assert reference.attentive_predict(partial, lower, upper) == (pytest.approx(score), n_terms)


def bisected(theta, variance, delta, side):
    near, far = max(theta * side, 0.0), 1e3
    for _ in range(200):
        middle = (near + far) / 2
        above = reference.crossing_probability(side * middle, theta, variance) > delta
        near, far = (middle, far) if above else (near, middle)
    return side * near


def test_greedy_order_and_refitting_each_save_terms():
    """The rate of stop-errors is not significantly above delta."""
    terms = {}
    for order, refit in (("greedy", True), ("random", True), ("random", False)):
        model = fitted(MACHINE, order=order, refit=refit, random_state=0, delta=0.02)
        terms[order, refit] = model.terms_evaluated(X[TEST]).mean()
        n_errors = np.sum(model.predict(X[TEST]) != MACHINE.predict(X[TEST]))
        assert binom.sf(n_errors - 1, TEST.sum(), 0.02) > 0.01
    assert terms["greedy", True] < 0.6 * terms["random", True] < terms["random", False]


def test_the_independent_formula_differs_where_terms_depend_on_each_other():
    measured, independent = (
        fitted(boundary="constant", refit=False, variance=variance).boundary_.upper[0]
        for variance in ("measured", "independent")
    )
    assert measured > 1.2 * independent


# Exactness


@pytest.mark.parametrize("boundary", ["conformal", "curved", "constant", "certified"])
@pytest.mark.parametrize("order", ["greedy", "random", "cost"])
def test_with_delta_0_every_order_gives_the_full_answers_and_the_same_bits(boundary, order):
    model = fitted(delta=0, boundary=boundary, order=order, random_state=1)
    found = model.acquire(X[TEST])
    np.testing.assert_array_equal(found.prediction, LINEAR.predict(X[TEST]))
    np.testing.assert_array_equal(found.spend, 30.0)
    plain = fitted(delta=0, order=np.arange(30)).decision_function(X[TEST])
    np.testing.assert_array_equal(found.score, plain)
    np.testing.assert_allclose(found.score, LINEAR.decision_function(X[TEST]), rtol=1e-9)


@pytest.mark.parametrize("order", ["greedy", "random"])
def test_sums_of_trees_are_those_of_the_library_bit_for_bit(order):
    boosted = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X[TRAIN], Y[TRAIN])
    light = lightgbm.LGBMClassifier(n_estimators=30, n_jobs=1, verbose=-1).fit(X[TRAIN], Y[TRAIN])
    for model, scores in (
        (boosted, boosted.decision_function(X[TEST])),
        (light, light.booster_.predict(X[TEST], raw_score=True)),
    ):
        np.testing.assert_array_equal(fitted(model, delta=0, order=order).decision_function(X[TEST]), scores)


def test_probabilities_of_log_odds_are_those_of_the_predictor():
    found = fitted(delta=0).predict_proba(X[TEST])
    np.testing.assert_allclose(found, LINEAR.predict_proba(X[TEST]), atol=1e-12)


def test_margins_are_scaled_to_log_odds_by_maximum_likelihood():
    model = fitted(MACHINE, delta=0)
    assert model.slope_ > 1.5
    probability = model.predict_proba(X[TEST])[:, 1]
    np.testing.assert_array_equal(probability > 0.5, MACHINE.predict(X[TEST]) == 1)
    loss = -np.mean(np.log(np.where(Y[TEST] == 1, probability, 1 - probability)))
    margins = 1 / (1 + np.exp(-MACHINE.decision_function(X[TEST])))
    assert loss < -np.mean(np.log(np.where(Y[TEST] == 1, margins, 1 - margins)))


# Inputs


@pytest.mark.parametrize("kind", [csr_matrix, csr_array])
@pytest.mark.parametrize("estimator", [None, LinearSVC(random_state=0), SVC(gamma=0.1)], ids=repr)
def test_sparse_rows_are_dense_rows(kind, estimator):
    sparse_x = np.where(np.random.default_rng(0).random(X.shape) < 0.3, X, 0.0)
    if estimator is None:  # the default predictor does not centre sparse rows
        estimator = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1000))
        sparse = AttentiveClassifier(delta=0.05).fit(kind(sparse_x), Y)
    else:
        sparse = AttentiveClassifier(clone(estimator), delta=0.05).fit(kind(sparse_x), Y)
    dense = AttentiveClassifier(estimator, delta=0.05).fit(sparse_x, Y)
    first, second = sparse.acquire(kind(sparse_x)), dense.acquire(sparse_x)
    np.testing.assert_allclose(first.score, second.score, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(first.exit, second.exit)
    np.testing.assert_array_equal(sparse.acquire(sparse_x).score, first.score)
    assert drive(sparse.session(), sparse_x[0].__getitem__).score == first.score[0]


def test_sparse_rows_with_nan_are_refused():
    rows = csr_matrix(X[:4])
    rows.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted().predict(rows)


@pytest.mark.parametrize("make", [np.array, csr_matrix])
def test_infinities_are_refused_where_all_values_are_read(make):
    """In rows to predict, an infinite value is refused only if it is acquired."""
    infinite = X[TEST].copy()
    infinite[1, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        fitted().partial_scores(make(infinite))
    with pytest.raises(ValueError, match="infinity"):
        AttentiveClassifier(LINEAR).fit(X[TRAIN], Y[TRAIN], calibration=make(infinite))
    stopped = fitted(order=[*range(3, 30), 0, 1, 2], boundary=0.0)
    stopped.predict(infinite)


def test_missing_values_are_allowed_where_all_values_are_read():
    missing = X[TEST].copy()
    missing[1, 2] = np.nan
    assert np.isfinite(fitted().partial_scores(missing)).all()
    AttentiveClassifier(LINEAR).fit(X[TRAIN], Y[TRAIN], calibration=missing)


def test_a_fitted_estimator_is_used_unchanged_and_any_other_is_cloned():
    assert fitted(MACHINE).estimator_ is MACHINE
    frozen = fitted(FrozenEstimator(MACHINE), delta=0)
    np.testing.assert_array_equal(frozen.predict(X[TEST]), MACHINE.predict(X[TEST]))
    np.testing.assert_array_equal(clone(frozen).fit(X[TEST], Y[TEST]).order_.max(), len(MACHINE.support_) - 1)
    template = LogisticRegression()
    model = fitted(template)
    assert not hasattr(template, "coef_")
    np.testing.assert_allclose(model.estimator_.coef_, LINEAR.coef_)


def test_a_forest_and_boosters_of_other_libraries_are_sums_too():
    light = lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(X[TRAIN], Y[TRAIN])
    expected = fitted(light, delta=0.05).acquire(X[TEST])
    for estimator in (Forest.from_model(light), light.booster_):
        found = fitted(estimator, delta=0.05).acquire(X[TEST])
        np.testing.assert_array_equal(found.score, expected.score)
        np.testing.assert_array_equal(found.prediction, expected.prediction)


def test_missing_values_are_replaced_by_means_if_the_predictor_does_not_accept_them():
    rows = X[TEST].copy()
    rows[::2, 7] = np.nan
    filled = np.where(np.isnan(rows), X[TRAIN].mean(axis=0), rows)
    np.testing.assert_array_equal(fitted().decision_function(rows), fitted().decision_function(filled))
    holed = X[TRAIN].copy()
    holed[::5, 3] = np.nan
    assert AttentiveClassifier().fit(holed, Y[TRAIN]).score(rows, Y[TEST]) > 0.93


def test_several_classes_stop_by_the_gap_of_the_best_two():
    digits, y = load_digits(return_X_y=True)
    train = np.arange(len(y)) % 2 == 0
    machine = OneVsRestClassifier(SVC(gamma=0.001)).fit(digits[train], y[train])
    full = machine.predict(digits[~train])
    for boundary in ("curved", "certified"):
        model = AttentiveClassifier(machine, delta=0.02, boundary=boundary, random_state=0)
        found = model.fit(digits[train], y[train]).acquire(digits[~train])
        assert np.mean(found.prediction != full) <= 0.02
        assert found.exit.mean() < 0.5 * len(model.order_)
        assert found.score.shape == (len(full), 10)
    np.testing.assert_allclose(model.predict_proba(digits[~train][:9]).sum(axis=1), 1)
    whole = AttentiveClassifier(machine, delta=0).fit(digits[train], y[train])
    np.testing.assert_array_equal(whole.predict(digits[~train]), full)


def test_many_rows_on_several_threads_are_answered_like_a_few():
    model = fitted(MACHINE, delta=0.05)
    many = np.tile(X[TEST], (50, 1))
    assert len(many) > 9000
    np.testing.assert_array_equal(model.decision_function(many), np.tile(model.decision_function(X[TEST]), 50))


def test_a_predictor_without_terms_answers_without_spend():
    constant = LogisticRegression().fit(np.zeros((9, 3)), [0, 0, 0, 0, 0, 0, 1, 1, 1])
    model = AttentiveClassifier(constant).fit(np.zeros((9, 3)), [0, 0, 0, 0, 0, 0, 1, 1, 1])
    found = model.acquire(X[:5, :3])
    assert (set(found.prediction), set(found.spend), set(found.exit)) == ({0}, {0.0}, {0})
    assert model.session().next().score == found.score[0]


@pytest.mark.parametrize(
    "booster", [lightgbm.LGBMClassifier(n_estimators=15, verbose=-1), xgboost.XGBClassifier(n_estimators=15)]
)
def test_boosters_are_fitted_and_handle_missing_values_themselves(booster):
    holed = X.copy()
    holed[::4, ::3] = np.nan
    model = AttentiveClassifier(booster, delta=0).fit(holed[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(model.predict(holed[TEST]), model.estimator_.predict(holed[TEST]))
    np.testing.assert_allclose(
        model.predict_proba(holed[TEST]), model.estimator_.predict_proba(holed[TEST]), rtol=1e-4, atol=1e-6
    )


# Costs, caps, sessions


def test_spend_is_the_cost_of_features_and_evaluations():
    costs = CostModel(np.ones(30), bundles={"panel": (range(10), 5.0)})
    model = fitted(costs=costs, evaluation_cost=0.1)
    found = model.acquire(X[TEST])
    np.testing.assert_allclose(found.spend, costs.of(found.acquired) + 0.1 * found.exit, rtol=1e-12)
    one_each = fitted(costs=costs, evaluation_cost=np.linspace(0, 1, 30)).acquire(X[TEST])
    prices = np.linspace(0, 1, 30)
    expected = costs.of(one_each.acquired) + one_each.acquired @ prices
    np.testing.assert_allclose(one_each.spend, expected, rtol=1e-12)


def test_support_vectors_cost_all_features_once_and_their_evaluations():
    model = fitted(MACHINE, costs=np.full(30, 2.0), evaluation_cost=0.25)
    found = model.acquire(X[TEST])
    np.testing.assert_array_equal(found.spend, 60 + 0.25 * found.exit)
    assert found.acquired.all()
    capped = model.acquire(X[TEST], cap=62.0)
    assert capped.exit.max() <= 8
    assert (model.acquire(X[TEST], cap=59.0).exit == -1).all()
    assert (model.terms_evaluated(X[TEST], cap=59.0) == 0).all()


@pytest.mark.parametrize("cap", [None, 60.0, 61.1, 64.0])
def test_a_session_pays_for_evaluations_as_it_goes(cap):
    model = fitted(MACHINE, costs=np.full(30, 2.0), evaluation_cost=0.25, delta=1e-4)
    batch = model.acquire(X[TEST], cap)
    for i in range(0, len(batch), 9):
        session, paid, row = model.session(cap), 0.0, X[TEST][i]
        while isinstance(step := session.next(), Acquire):
            paid += step.cost
            session.observe({feature: row[feature] for feature in step.features})
        assert (step.score, step.exit, session.spend) == (batch.score[i], batch.exit[i], batch.spend[i])
        assert paid == pytest.approx(session.spend)


def test_a_session_skips_checkpoints_where_no_row_can_stop():
    session = fitted(delta=0).session()
    assert len(session.next().features) == 30
    capped = fitted(delta=0).session(cap=11.0)
    assert len(capped.next().features) == 10  # the last checkpoint within the cap
    drive(capped, X[0].__getitem__)
    assert capped.spend == 10
    assert capped.next().reason == "cap"


VARIANTS = [
    AttentiveClassifier(OneVsRestClassifier(SVC()), block_size=9),
    AttentiveClassifier(AdaBoostClassifier(n_estimators=12, random_state=0), delta=0.1),
    AttentiveClassifier(order="random", refit=False, boundary="constant", delta=0.2),
    AttentiveClassifier(boundary="certified", delta=0.1, order="cost"),
]
QUICK = [
    check
    for check in CHECKS
    if check.__name__ in ("check_batch_equals_session", "check_cap_holds", "check_no_peeking", "check_copies_agree")
]


@pytest.mark.parametrize("check", QUICK, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", VARIANTS, ids=repr)
def test_contract(estimator, check):
    check(estimator)


# The certified boundary


@pytest.mark.parametrize("order", ["random", "cost"])
def test_certified_stop_errors_exceed_delta_with_at_most_the_stated_probability(order):
    """Over many splits, with dependent terms; the bound is 1 - confidence plus three standard errors."""
    rows, y = make_classification(6000, 12, n_informative=5, n_redundant=5, flip_y=0.1, random_state=0)
    predictor = LogisticRegression().fit(rows[:500], y[:500])
    rows, y, random = rows[500:], y[500:], np.random.default_rng(0)
    exceeded = []
    for seed in range(60):
        shuffled = random.permutation(len(rows))
        train, held_out, test = np.split(shuffled, [500, 1000])
        model = AttentiveClassifier(
            predictor, boundary="certified", delta=0.05, confidence=0.8, order=order, random_state=seed
        )
        model.fit(rows[train], y[train], calibration=rows[held_out])
        exceeded.append(np.mean(model.predict(rows[test]) != predictor.predict(rows[test])) > 0.05)
        assert model.spend(rows[test]).mean() < 12
    assert np.mean(exceeded) <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / 60)


def test_calibration_rows_replace_held_out_rows():
    split = AttentiveClassifier(boundary="certified", delta=0.05, random_state=0).fit(X[TRAIN], Y[TRAIN])
    given = AttentiveClassifier(boundary="certified", delta=0.05).fit(X[TRAIN], Y[TRAIN], calibration=X[TEST])
    plain = AttentiveClassifier().fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(given.estimator_[-1].coef_, plain.estimator_[-1].coef_)
    assert not np.allclose(split.estimator_[-1].coef_, plain.estimator_[-1].coef_)


def test_deviations_are_measured_on_calibration_rows():
    model = AttentiveClassifier(boundary="curved").fit(X[TRAIN], Y[TRAIN], calibration=X[TEST])
    partial = model.partial_scores(X[TEST])
    np.testing.assert_allclose(model.deviations_, np.sqrt(np.mean((partial - partial[:, -1:]) ** 2, axis=0)))


# Bad input


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GaussianNB(), "probabilities only"),
        (RandomForestClassifier(n_estimators=2), "probabilities only"),
        (KNeighborsClassifier(), "probabilities only"),
        (LinearRegression(), "not a classifier"),
        (SVC(kernel=lambda a, b: a @ b.T), "kernel"),
        (make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=5000)), "PolynomialFeatures"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_a_predictor_that_is_not_a_sum_of_terms_is_refused(estimator, message):
    with pytest.raises(ValueError, match=f"AttentiveClassifier: estimator .*{message}"):
        AttentiveClassifier(estimator).fit(X[:, :4], Y)


def test_a_machine_with_several_classes_is_refused():
    digits, y = load_digits(return_X_y=True)
    with pytest.raises(ValueError, match=r"10 classes.*OneVsRestClassifier"):
        AttentiveClassifier(SVC()).fit(digits[:300], y[:300])
    with pytest.raises(ValueError, match="sides is 'negative', but there are 10 classes"):
        AttentiveClassifier(sides="negative").fit(digits[:300], y[:300])


@pytest.mark.parametrize(
    "parameters",
    [
        {"delta": 1.0},
        {"delta": -0.1},
        {"delta": float("nan")},
        {"delta": "small"},
        {"boundary": "soft"},
        {"boundary": -1},
        {"confidence": 1},
        {"calibration_fraction": 0},
        {"sides": "left"},
        {"order": "best"},
        {"refit": "yes"},
        {"block_size": 0},
        {"block_size": 2.5},
        {"variance": "guessed"},
        {"variance": "independent"},
        {"evaluation_cost": -1},
        {"evaluation_cost": [1.0, 2.0]},
    ],
    ids=repr,
)
def test_an_invalid_parameter_is_refused(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"AttentiveClassifier: {name} .*; expected "):
        fitted(**parameters)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160, 1e200])
@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
@pytest.mark.parametrize("estimator", [None, SVC(), LogisticRegression()], ids=repr)
def test_columns_of_extreme_scale_are_refused(estimator, make, scale):
    rows = X.copy()
    rows[:, 3] *= scale
    with pytest.raises(ValueError, match=r"largest absolute value of column 3 of X is .*e.*; expected 0, or between"):
        AttentiveClassifier(estimator).fit(make(rows), Y)


def test_terms_of_extreme_scale_are_refused():
    machine = SVC(kernel="linear").fit(X, Y)
    machine.support_vectors_ = 1e120 * machine.support_vectors_
    with pytest.raises(ValueError, match=r"largest absolute value of a term of estimator is .*Scale X"):
        AttentiveClassifier(machine).fit(X, Y)


def test_columns_of_single_precision_are_fitted():
    assert AttentiveClassifier().fit(X[TRAIN].astype(np.float32), Y[TRAIN]).score(X[TEST], Y[TEST]) > 0.9


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_other_scales_of_the_columns_do_not_matter(scale):
    plain, scaled = (AttentiveClassifier().fit(factor * X[TRAIN], Y[TRAIN]) for factor in (1.0, scale))
    first, second = plain.acquire(X[TEST]), scaled.acquire(scale * X[TEST])
    np.testing.assert_array_equal(first.prediction, second.prediction)
    assert first.exit.mean() == pytest.approx(second.exit.mean(), rel=0.1)


def test_too_few_calibration_rows_are_refused():
    with pytest.raises(ValueError, match=r"95 calibration rows cannot certify delta=0.001 .* at least 2995"):
        fitted(boundary="certified", delta=0.001)


def test_classes_that_the_predictor_does_not_know_are_refused():
    with pytest.raises(ValueError, match=r"y has class 2, but estimator was fitted on the classes \[0, 1\]"):
        AttentiveClassifier(LINEAR).fit(X[:100], np.r_[Y[:99], 2])


def test_weights_that_the_predictor_does_not_accept_are_refused():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    with pytest.raises(ValueError, match="does not accept sample_weight"):
        AttentiveClassifier(LinearDiscriminantAnalysis()).fit(X, Y, sample_weight=1.0 + Y)
