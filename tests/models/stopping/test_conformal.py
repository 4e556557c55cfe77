"""The conformal boundary keeps delta on rows that it has not seen."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from reference import stopping as reference
from thrifty import Forest
from thrifty.models.stopping.attentive import AttentiveClassifier
from thrifty.models.stopping.conformal import ROUNDING, conformal_factor, critical_factors
from thrifty.models.stopping.folds import folds_by_group

DIGITS, Y = load_digits(return_X_y=True)
ODD = Y % 2


def random_ratios(seed, n=300):
    random = np.random.default_rng(seed)
    ratios = np.column_stack([random.exponential(2.0, size=(n, 5)), np.full(n, np.inf)])
    errors = random.random(ratios.shape) < 0.4 * np.exp(-np.minimum(ratios, 50.0))
    errors[:, -1] = False
    return ratios, errors


# The quantile


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("delta", [0.004, 0.02, 0.1, 0.5])
def test_the_factor_is_that_of_the_reference(seed, delta):
    ratios, errors = random_ratios(seed)
    found = conformal_factor(critical_factors(ratios, errors), np.ones(len(ratios)), delta)
    assert found == pytest.approx(reference.conformal_factor(ratios, errors, delta), rel=2 * ROUNDING)


def test_a_row_can_err_below_its_critical_factor_only():
    ratios, errors = random_ratios(7)
    critical = critical_factors(ratios, errors)
    assert (critical > 0).sum() > 20
    for line, wrong, factor in zip(ratios, errors, critical, strict=True):
        assert not any(reference.is_stop_error(line, wrong, larger) for larger in np.geomspace(1.0, 9.0, 50) * factor)
        assert factor == 0 or reference.is_stop_error(line, wrong, factor * (1 - 1e-9))


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
def test_large_weights_do_not_make_more_rows(delta):
    critical = np.random.default_rng(0).exponential(size=40)
    expected = conformal_factor(critical, np.ones(40), delta)
    assert all(conformal_factor(critical, np.full(40, weight), delta) == expected for weight in (1e-3, 7.0, 1e6))


@pytest.mark.parametrize(("n", "delta"), [(20, 0.1), (60, 0.1), (200, 0.02)])
def test_delta_is_kept_for_weighted_rows(n, delta):
    random, rates = np.random.default_rng(n), []
    for _ in range(3000):
        critical = random.exponential(size=n)
        weight = 1.0 + 9.0 * (critical > 1.5) * random.random(n)
        new = random.exponential(size=500)
        new_weight = 1.0 + 9.0 * (new > 1.5) * random.random(500)
        rates.append(new_weight[new > conformal_factor(critical, weight, delta)].sum() / new_weight.sum())
    assert np.mean(rates) <= delta + 3 * np.std(rates) / np.sqrt(len(rates))


def test_rows_without_weight_are_too_few():
    assert conformal_factor(np.zeros(9), np.zeros(9), 0.5) == conformal_factor(np.zeros(0), np.zeros(0), 0.5) == np.inf


@pytest.mark.parametrize("delta", [0.2, 0.05, 0.01])
def test_too_few_rows_are_those_below_one_over_delta_minus_one(delta):
    needed = round(1 / delta) - 1
    assert conformal_factor(np.zeros(needed), np.ones(needed), delta) == 0
    assert conformal_factor(np.zeros(needed - 1), np.ones(needed - 1), delta) == np.inf


def test_every_class_is_in_the_training_rows_of_every_fold():
    classes = np.random.default_rng(0).permutation(np.repeat(["a", "b", "c", "d"], [40, 7, 2, 1]))
    folds = folds_by_group(classes, 5)
    for fold in range(5):
        assert set(classes[folds != fold]) == set("abcd")
    assert (folds[classes == "d"] == -1).all()
    assert np.ptp(np.bincount(folds[classes == "a"])) == 0


# The promise


def rate_is_plausible(n_errors, n_rows, delta):
    """Whether a rate of delta or less explains the number of errors, at a significance level of 0.1%."""
    return binom.sf(n_errors - 1, n_rows, delta) > 0.001


@pytest.mark.parametrize("delta", [0.02, 0.1])
def test_with_calibration_rows_the_mean_rate_over_draws_is_at_most_delta(delta):
    """A fixed predictor with dependent terms, many draws of 150 calibration rows, and one new row for each draw."""
    X, y = make_classification(9000, 12, n_informative=5, n_redundant=5, flip_y=0.1, random_state=0)
    predictor = LogisticRegression().fit(X[:500], y[:500])
    model = AttentiveClassifier(predictor, delta=delta, boundary="curved").fit(X[500:1000], y[500:1000])
    critical = critical_factors(*model._ratios_and_errors(model.chain_, X[1000:]))
    random, errors = np.random.default_rng(0), []
    for _ in range(4000):
        drawn = random.choice(len(critical), 151, replace=False)
        errors.append(critical[drawn[0]] > conformal_factor(critical[drawn[1:]], np.ones(150), delta))
    assert rate_is_plausible(np.sum(errors), len(errors), delta)
    assert np.mean(errors) > 0.5 * delta  # not wider than needed


PREDICTORS = [
    SVC(),
    LogisticRegression(max_iter=2000),
    GradientBoostingClassifier(n_estimators=40, random_state=0),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=40, random_state=0),
]


@pytest.mark.parametrize("predictor", PREDICTORS, ids=lambda each: type(each).__name__)
def test_cross_fitted_rows_keep_delta_on_new_rows(predictor):
    """Mean over splits: the normal quantile of the curved boundary gives 1.5% for SVC."""
    n_errors, n_rows, terms = 0, 0, []
    for seed in range(3):
        train, test = np.split(np.random.default_rng(seed).permutation(len(DIGITS)), [1200])
        model = AttentiveClassifier(predictor, delta=0.01).fit(DIGITS[train], ODD[train])
        found = model.acquire(DIGITS[test])
        n_errors += np.sum(found.prediction != model.estimator_.predict(DIGITS[test]))
        n_rows += len(test)
        terms.append(found.exit.mean() / model.checkpoints_[-1])
    assert rate_is_plausible(n_errors, n_rows, 0.01)
    assert np.mean(terms) < 0.5


def test_calibration_rows_decide_alone():
    train, rows = DIGITS[:600], DIGITS[600:1200]
    machine = SVC().fit(train, ODD[:600])
    model = AttentiveClassifier(machine, delta=0.02).fit(train, ODD[:600], calibration=rows)
    critical = critical_factors(*model._ratios_and_errors(model.chain_, rows))
    expected = np.sort(critical)[int(np.ceil(601 * 0.98)) - 1]
    np.testing.assert_allclose(model.boundary_.upper, expected * model.deviations_)
    assert np.mean(model.predict(rows) != machine.predict(rows)) <= 0.02


def test_with_too_few_rows_every_row_is_evaluated_in_full():
    model = AttentiveClassifier(SVC(), delta=0.01).fit(DIGITS[:98], ODD[:98])
    assert (model.terms_evaluated(DIGITS[1200:]) == len(model.estimator_.support_)).all()
    more = AttentiveClassifier(SVC(), delta=0.02).fit(DIGITS[:98], ODD[:98])
    assert more.terms_evaluated(DIGITS[1200:]).mean() < 0.9 * len(more.estimator_.support_)


# What is refitted


def test_a_predictor_that_cannot_be_refitted_is_used_in_every_fold():
    machine = SVC().fit(DIGITS[:600], ODD[:600])
    new, y = DIGITS[600:1200], ODD[600:1200]
    frozen = AttentiveClassifier(FrozenEstimator(machine), delta=0.02).fit(new, y)
    refitted = AttentiveClassifier(machine, delta=0.02).fit(new, y)
    np.testing.assert_array_equal(frozen.order_, refitted.order_)
    assert frozen.boundary_.upper[0] != refitted.boundary_.upper[0]
    assert np.mean(frozen.predict(DIGITS[1200:]) != machine.predict(DIGITS[1200:])) <= 0.03
    boosted = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(DIGITS[:600], ODD[:600])
    forest = AttentiveClassifier(Forest.from_model(boosted), delta=0.02).fit(new, y)
    assert forest.terms_evaluated(DIGITS[1200:]).mean() < 20


@pytest.mark.parametrize("name", ["order", "evaluation_cost"])
def test_lists_of_support_vectors_need_calibration_rows(name):
    machine = SVC().fit(DIGITS[:300], ODD[:300])
    model = AttentiveClassifier(machine, **{name: np.arange(len(machine.support_))}, delta=0.1)
    with pytest.raises(ValueError, match=f"AttentiveClassifier: {name} lists support vectors"):
        model.fit(DIGITS[:300], ODD[:300])
    model.fit(DIGITS[:300], ODD[:300], calibration=DIGITS[300:600])
    assert np.isfinite(model.boundary_.upper).all()


def test_rows_without_a_class_of_the_predictor_need_calibration_rows():
    boosted = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(DIGITS, Y)
    some = Y < 9
    with pytest.raises(ValueError, match=r"no row of class 9.*calibration rows"):
        AttentiveClassifier(boosted, delta=0.1).fit(DIGITS[some], Y[some])


def test_calibration_rows_with_other_columns_are_named_in_the_error():
    with pytest.raises(ValueError, match=r"calibration is not valid as X\. X has 3 features, but .* expecting 64"):
        AttentiveClassifier().fit(DIGITS[:100], ODD[:100], calibration=DIGITS[:50, :3])
