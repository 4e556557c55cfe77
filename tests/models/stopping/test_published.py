"""Results like those of figures 3 and 4 of Pelossof and Ying (2012), if the data are available."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils import shuffle

from thrifty.datasets import list_datasets, load_mnist
from thrifty.models.stopping.attentive import AttentiveClassifier
from thrifty.models.stopping.curves import attentive_curve, truncated_curve
from thrifty.models.stopping.simulation import simulate_stst


@pytest.mark.slow
def test_figure_3_stop_errors_are_below_delta_and_terms_grow_like_a_square_root():
    found = simulate_stst((0.01, 0.05, 0.1, 0.3, 0.5), (2048, 4096, 8192, 16384), n_walks=2000, random_state=0)
    assert (found.stop_error <= found.delta).all()
    np.testing.assert_allclose(found.growth, 0.5, atol=0.1)


def test_the_published_setting_needs_fewer_terms_than_truncation():
    """Fig. 4 on digits of scikit-learn, 8 or another: constant boundary, one side, centred at the positive rows."""
    X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    train, positive, test = X[:900], y[:900] == 8, X[900:]
    machine = SVC(gamma=0.001).fit(train, positive)
    model = AttentiveClassifier.as_published(machine, random_state=0).fit(train, positive)
    vectors, weights = machine.support_vectors_[model.order_], machine.dual_coef_[0, model.order_]
    is_new = np.setdiff1d(np.arange(900), machine.support_)  # a support vector is not like a new row
    centre = rbf_kernel(train[is_new[positive[is_new]]], vectors, gamma=0.001).mean(axis=0)
    start = machine.intercept_[0] + weights @ centre
    expected = start + np.cumsum(weights * (rbf_kernel(test, vectors, gamma=0.001) - centre), axis=1)
    np.testing.assert_allclose(model.partial_scores(test), expected, atol=1e-9)
    assert (model.boundary_.upper == np.inf).all()
    assert len(np.unique(model.boundary_.lower)) == 1
    attentive, truncated = (curve(model, test).terms_within(0.001) for curve in (attentive_curve, truncated_curve))
    assert attentive < 0.8 * truncated


@pytest.fixture(scope="module")
def digits():
    if not list_datasets()["mnist"]:
        pytest.skip("mnist is not in the folder named by THRIFTY_DATA")
    data = load_mnist(digits=(2, 5))
    train = np.flatnonzero(~data.test)
    machine = SVC(gamma=0.02).fit(data.X[train], data.y[train])
    return machine, data.X[train], data.y[train], data.X[data.test]


@pytest.mark.slow
def test_figure_4_as_published_needs_fewer_terms_than_truncation(digits):
    """Medians over random orders: an order in which one positive row falls low early needs nearly all terms."""
    machine, X, y, X_test = digits
    shares = []
    for seed in range(5):
        model = AttentiveClassifier.as_published(machine, random_state=seed).fit(X, y)
        curves = (curve(model, X_test) for curve in (attentive_curve, truncated_curve))
        shares.append([each.terms_within(0.001) / len(machine.support_) for each in curves])
    attentive, truncated = np.median(shares, axis=0)
    assert attentive < 0.92
    assert truncated > 0.94


@pytest.mark.slow
def test_figure_4_attention_beats_truncation_and_greedy_needs_few_terms(digits):
    machine, X, y, X_test = digits
    full = machine.predict(X_test)
    paper = {"order": "random", "refit": False, "block_size": 4}
    for parameters in (paper, {"order": "random"}, {"order": "greedy"}):
        model = AttentiveClassifier(machine, boundary="curved", delta=0.001, random_state=0, **parameters).fit(X, y)
        attentive, truncated = (curve(model, X_test) for curve in (attentive_curve, truncated_curve))
        shown = attentive.stop_error < 0.3
        better = attentive.stop_error[shown] <= truncated.at(attentive.mean_terms[shown]) + 1e-12
        assert better.mean() >= 0.95
    found = model.acquire(X_test)
    assert np.mean(found.prediction != full) <= 0.001
    assert found.exit.mean() <= 0.04 * len(machine.support_)
