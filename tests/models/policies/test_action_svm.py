"""The linear SVM of actions, against LIBLINEAR."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from thrifty.models.policies.action_svm import ActionSVM

N_ACTIONS = 5


@pytest.fixture(scope="module")
def examples():
    """Return states, their actions (0, 2 and 4 of five, which overlap), and their weights."""
    random = np.random.default_rng(0)
    states = random.normal(size=(300, 6))
    actions = 2 * (states[:, :3] + random.normal(size=(300, 3))).argmax(axis=1)
    return states, actions, random.integers(1, 4, 300).astype(float)


def test_with_many_steps_the_result_is_that_of_liblinear(examples):
    states, actions, weight = examples
    weights, intercepts = ActionSVM(6, N_ACTIONS).fit(states, actions, weight, n_steps=300)
    expected = LinearSVC(dual=False, tol=1e-8).fit(states, actions, sample_weight=weight)
    np.testing.assert_allclose(weights[::2], expected.coef_, atol=2e-4)
    np.testing.assert_allclose(intercepts[::2], expected.intercept_, atol=2e-4)
    assert (intercepts[1::2] == -np.inf).all()


def test_a_second_fit_continues_from_the_first(examples):
    warm, (far, _) = ActionSVM(6, N_ACTIONS), ActionSVM(6, N_ACTIONS).fit(*examples, n_steps=300)
    away = [np.abs(warm.fit(*examples, n_steps=2)[0] - far).max() for _ in range(20)]
    assert away[-1] < 0.1 * away[0]


def test_a_further_fit_does_not_change_returned_arrays(examples):
    svm = ActionSVM(6, N_ACTIONS)
    first, _ = svm.fit(*examples, n_steps=1)
    kept = first.copy()
    svm.fit(*examples)
    np.testing.assert_array_equal(first, kept)


def test_weights_are_repeated_states(examples):
    states, actions, weight = examples
    times = weight.astype(int)
    repeated = np.repeat(states, times, axis=0), np.repeat(actions, times), np.ones(times.sum())
    for weighted, plain in zip(
        ActionSVM(6, N_ACTIONS).fit(*examples), ActionSVM(6, N_ACTIONS).fit(*repeated), strict=True
    ):
        np.testing.assert_allclose(weighted, plain, atol=1e-4)


def test_states_with_a_single_action(examples):
    states, _, weight = examples
    _, intercepts = ActionSVM(6, N_ACTIONS).fit(states, np.full(300, 3), weight)
    assert np.flatnonzero(np.isfinite(intercepts)).tolist() == [3]
