"""Policies: their preferences, that no factor is bought twice, and that every row stops."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from thrifty.models.policies.meta_features import n_meta_features
from thrifty.models.policies.policy import LinearPolicy, choose, fit_policy, queue_policy, run_policy

N_FACTORS, N_FEATURES, N_CLASSES = 5, 7, 3
N_INPUTS = N_FEATURES + n_meta_features(N_CLASSES)


def watched(rollout):
    """Return the rollout and lists of the factors that each row buys."""
    bought, acquire = [[] for _ in range(len(rollout))], rollout.acquire

    def record(rows, chosen):
        for i, factor in zip(rows, chosen, strict=True):
            bought[i].append(int(factor))
        acquire(rows, chosen)

    rollout.acquire = record
    return rollout, bought


@pytest.mark.parametrize("seed", range(8))
def test_no_factor_is_bought_twice_and_every_row_stops(small, seed):
    random = np.random.default_rng(seed)
    weights, intercepts = random.normal(size=(N_FACTORS + 1, N_INPUTS)), random.normal(size=N_FACTORS + 1)
    intercepts[-1] -= seed  # some policies hardly ever choose to stop
    rollout, bought = watched(small.rollout())
    run_policy(rollout, LinearPolicy(weights, intercepts, N_FEATURES))
    assert any(bought)
    for i, factors in enumerate(bought):
        assert len(factors) == len(set(factors))
        assert sorted(factors) == np.flatnonzero(rollout.acquired[i]).tolist()


def test_a_policy_that_never_stops_ends_with_everything(small):
    rollout = small.rollout()
    run_policy(rollout, queue_policy(np.array([3, 1, 0, 2, 4]), N_FACTORS, N_INPUTS, N_FEATURES).with_stop_bias(-1e9))
    assert rollout.acquired.all()


def test_a_queue_is_bought_from_its_front(small):
    rollout, bought = watched(small.rollout())
    run_policy(rollout, queue_policy(np.array([3, 1, 0]), N_FACTORS, N_INPUTS, N_FEATURES))
    assert bought == [[3, 1, 0]] * len(rollout)


def test_a_row_that_cannot_pay_for_its_choice_stops(small):
    rollout = small.rollout()
    costs = small.factors.cost_model
    cap = costs.of(np.array([False, False, False, True, False, False, False]))  # the third column and its panel
    run_policy(rollout, queue_policy(np.array([2, 1, 0]), N_FACTORS, N_INPUTS, N_FEATURES), np.full(len(rollout), cap))
    assert rollout.acquired[:, 2].all()
    assert rollout.acquired.sum() == len(rollout)


def test_rows_without_finite_or_with_nan_preferences_stop():
    preferences = np.array([[-np.inf, -np.inf, -np.inf], [0.0, np.nan, 1.0], [1.0, 2.0, 0.0], [1.0, -np.inf, 3.0]])
    assert choose(preferences).tolist() == [2, 2, 1, 2]


def states_and_actions(known):
    random = np.random.default_rng(0)
    states = random.normal(size=(120, N_INPUTS))
    return states, np.array(known)[states[:, : len(known)].argmax(axis=1)]


@pytest.mark.parametrize("known", [[5], [2], [1, 5], [0, 3, 5]])
def test_linear_scores_are_those_of_the_classifier(small, known):
    states, actions = states_and_actions(known)
    policy = fit_policy(LinearSVC(dual=False), states, actions, np.ones(120), N_FACTORS + 1, N_FEATURES)
    rollout = small.rollout()
    preferences = policy.follow(rollout).preferences(np.arange(len(rollout)))
    assert np.flatnonzero(np.isfinite(preferences).all(axis=0)).tolist() == known
    if len(known) > 1:
        inputs = np.hstack([rollout.masked, rollout.meta_features(np.arange(len(rollout)))])
        expected = LinearSVC(dual=False).fit(states, actions).predict(inputs)
        np.testing.assert_array_equal(choose(preferences), expected)


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(random_state=0), SVC()], ids=repr)
@pytest.mark.parametrize("known", [[1, 5], [0, 3, 5]])
def test_any_classifier_of_actions_is_accepted(small, learner, known):
    states, actions = states_and_actions(known)
    policy = fit_policy(learner, states, actions, np.ones(120), N_FACTORS + 1, N_FEATURES)
    rollout = small.rollout()
    scores = policy.follow(rollout)
    rollout.acquire(np.arange(20), np.full(20, known[0]))
    preferences = scores.preferences(np.arange(len(rollout)))
    assert (preferences[:20, known[0]] == -np.inf).all()
    inputs = np.hstack([rollout.masked, rollout.meta_features(np.arange(len(rollout)))])
    np.testing.assert_array_equal(choose(preferences)[20:], learner.fit(states, actions).predict(inputs)[20:])
    assert (choose(policy.with_stop_bias(1e6).follow(rollout).preferences(np.arange(40))) == 5).all()
