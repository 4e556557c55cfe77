"""The linear SVM of actions, against LIBLINEAR."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from thrifty.models.policies.action_svm import ActionSVM

N_ACTIONS = 5


@pytest.fixture(scope="module")
def shown():
    """Return states, what to do there (actions 0, 2 and 4 of five, which overlap), and how much each counts."""
    random = np.random.default_rng(0)
    states = random.normal(size=(300, 6))
    actions = 2 * (states[:, :3] + random.normal(size=(300, 3))).argmax(axis=1)
    return states, actions, random.integers(1, 4, 300).astype(float)


def test_enough_steps_lead_where_liblinear_ends(shown):
    states, actions, weight = shown
    weights, intercepts = ActionSVM(6, N_ACTIONS).fit(states, actions, weight, n_steps=300)
    expected = LinearSVC(dual=False, tol=1e-8).fit(states, actions, sample_weight=weight)
    np.testing.assert_allclose(weights[::2], expected.coef_, atol=2e-4)
    np.testing.assert_allclose(intercepts[::2], expected.intercept_, atol=2e-4)
    assert (intercepts[1::2] == -np.inf).all()


def test_a_second_fit_goes_on_from_the_first(shown):
    warm, (far, _) = ActionSVM(6, N_ACTIONS), ActionSVM(6, N_ACTIONS).fit(*shown, n_steps=300)
    away = [np.abs(warm.fit(*shown, n_steps=2)[0] - far).max() for _ in range(20)]
    assert away[-1] < 0.1 * away[0]


def test_what_was_returned_stays_as_it_was(shown):
    svm = ActionSVM(6, N_ACTIONS)
    first, _ = svm.fit(*shown, n_steps=1)
    kept = first.copy()
    svm.fit(*shown)
    np.testing.assert_array_equal(first, kept)


def test_weights_count_as_states(shown):
    states, actions, weight = shown
    times = weight.astype(int)
    repeated = np.repeat(states, times, axis=0), np.repeat(actions, times), np.ones(times.sum())
    for weighted, plain in zip(
        ActionSVM(6, N_ACTIONS).fit(*shown), ActionSVM(6, N_ACTIONS).fit(*repeated), strict=True
    ):
        np.testing.assert_allclose(weighted, plain, atol=1e-4)


def test_a_single_action_is_all_there_is(shown):
    states, _, weight = shown
    _, intercepts = ActionSVM(6, N_ACTIONS).fit(states, np.full(300, 3), weight)
    assert np.flatnonzero(np.isfinite(intercepts)).tolist() == [3]
