"""The budgeted baseline."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression, LogisticRegression

from reference import stopping as reference
from thrifty.models.stopping.attentive import AttentiveClassifier
from thrifty.models.stopping.curves import attentive_curve, truncated_curve
from thrifty.models.stopping.truncated import TruncatedClassifier, TruncatedRegressor

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
LINEAR = LogisticRegression().fit(X, Y)


def fitted(**parameters):
    return TruncatedClassifier(LINEAR, **parameters).fit(X, Y)


def test_plain_terms_are_summed_as_in_algorithm_2():
    order = np.random.default_rng(0).permutation(30)
    found = fitted(n_terms=7, order=order, refit=False).decision_function(X)
    weights, centre = LINEAR.coef_[0, order], X.mean(axis=0)[order]
    for row, score in zip(X[::40], found[::40], strict=True):
        partial = reference.centred_partial_scores(row[order], weights, LINEAR.intercept_[0], centre)
        assert reference.budgeted_predict(partial, 7) == pytest.approx(score)


def test_refitted_terms_have_least_squares_weights():
    model = fitted(n_terms=5)
    columns, full = X[:, model.order_[:5]], LINEAR.decision_function(X)
    best = np.mean((full - LinearRegression().fit(columns, full).predict(columns)) ** 2)
    plain = fitted(n_terms=5, refit=False, order=model.order_).decision_function(X)
    assert np.mean((full - model.decision_function(X)) ** 2) < 1.01 * best < 0.5 * np.mean((full - plain) ** 2)


@pytest.mark.parametrize(("n_terms", "expected"), [(7, 7), (0.2, 6), (1e-9, 1), (500, 30), (None, 30)])
def test_every_row_gets_the_same_number_of_terms(n_terms, expected):
    found = fitted(n_terms=n_terms).acquire(X)
    assert set(found.exit) == {expected}
    assert set(found.spend) == {expected}


def test_all_terms_are_the_predictor():
    np.testing.assert_allclose(fitted().decision_function(X), LINEAR.decision_function(X), rtol=1e-9)


def test_attention_beats_truncation_at_the_same_mean_number_of_terms():
    model = AttentiveClassifier(LINEAR).fit(X[::2], Y[::2])
    attentive, truncated = (curve(model, X[1::2]) for curve in (attentive_curve, truncated_curve))
    shown = attentive.stop_error < 0.3
    assert shown.sum() > 20
    assert (attentive.stop_error[shown] <= truncated.at(attentive.mean_terms[shown]) + 1e-9).all()
    assert attentive.terms_within(0.0) < 0.6 * truncated.terms_within(0.0)


def test_curves_agree_with_the_models():
    attentive = AttentiveClassifier(LINEAR, boundary=1.2).fit(X, Y)
    found, full = attentive.acquire(X), LINEAR.predict(X)
    curve = attentive_curve(attentive, X)
    nearest = np.abs(curve.mean_terms - found.exit.mean()).argmin()
    assert curve.stop_error[nearest] == pytest.approx(np.mean(found.prediction != full), abs=0.01)
    flat = truncated_curve(attentive, X)
    for k in (2, 6):
        short = fitted(n_terms=int(flat.mean_terms[k]))
        assert flat.stop_error[k] == np.mean(short.predict(X) != full)


def test_curves_of_regressors_are_refused():
    model = TruncatedRegressor().fit(X, Y)
    with pytest.raises(ValueError, match="TruncatedRegressor: a regressor has no stop-errors"):
        truncated_curve(model, X)


@pytest.mark.parametrize("n_terms", [0, -1, 1.5, "few", True])
def test_an_invalid_number_of_terms_is_refused(n_terms):
    with pytest.raises(ValueError, match=r"TruncatedClassifier: n_terms is .*; expected "):
        fitted(n_terms=n_terms)
