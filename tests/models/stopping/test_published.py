"""Results like those of figures 3 and 4 of Pelossof and Ying (2012), if the data are available."""

import numpy as np
import pytest
from sklearn.svm import SVC

from thrifty.datasets import list_datasets, load_mnist
from thrifty.models.stopping.attentive import AttentiveClassifier
from thrifty.models.stopping.curves import attentive_curve, truncated_curve
from thrifty.models.stopping.simulation import simulate_stst


@pytest.mark.slow
def test_figure_3_stop_errors_are_below_delta_and_terms_grow_like_a_square_root():
    found = simulate_stst((0.01, 0.05, 0.1, 0.3, 0.5), (2048, 4096, 8192, 16384), n_walks=2000, random_state=0)
    assert (found.stop_error <= found.delta).all()
    np.testing.assert_allclose(found.growth, 0.5, atol=0.1)


@pytest.fixture(scope="module")
def digits():
    if not list_datasets()["mnist"]:
        pytest.skip("mnist is not in the folder named by THRIFTY_DATA")
    data = load_mnist(digits=(2, 5))
    train = np.flatnonzero(~data.test)
    machine = SVC(gamma=0.02).fit(data.X[train], data.y[train])
    return machine, data.X[train], data.y[train], data.X[data.test]


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
