"""Policies: what they prefer, that they never buy twice, and that every row ends."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from thrifty.models.policies.policy import LinearPolicy, choose, learn_policy, queue_policy, send
from thrifty.models.policies.rollout import N_NUMBERS

N_FACTORS, N_FEATURES, N_CLASSES = 5, 7, 3
N_INPUTS = N_FEATURES + N_NUMBERS + N_CLASSES


def watched(walk):
    """Return the walk and a list of what each row buys, factor by factor."""
    bought, take = [[] for _ in range(len(walk))], walk.take

    def note(rows, chosen):
        for i, factor in zip(rows, chosen, strict=True):
            bought[i].append(int(factor))
        take(rows, chosen)

    walk.take = note
    return walk, bought


@pytest.mark.parametrize("seed", range(8))
def test_no_factor_is_bought_twice_and_every_row_ends(small, seed):
    random = np.random.default_rng(seed)
    weights, intercepts = random.normal(size=(N_FACTORS + 1, N_INPUTS)), random.normal(size=N_FACTORS + 1)
    intercepts[-1] -= seed  # some policies hardly ever stop of their own accord
    walk, bought = watched(small.walk())
    send(walk, LinearPolicy(weights, intercepts, N_FEATURES))
    assert any(bought)
    for i, factors in enumerate(bought):
        assert len(factors) == len(set(factors))
        assert sorted(factors) == np.flatnonzero(walk.acquired[i]).tolist()


def test_a_policy_that_never_stops_ends_with_everything(small):
    walk = small.walk()
    send(walk, queue_policy(np.array([3, 1, 0, 2, 4]), N_FACTORS, N_INPUTS, N_FEATURES).leaning(-1e9))
    assert walk.acquired.all()


def test_a_queue_is_bought_from_its_front(small):
    walk, bought = watched(small.walk())
    send(walk, queue_policy(np.array([3, 1, 0]), N_FACTORS, N_INPUTS, N_FEATURES))
    assert bought == [[3, 1, 0]] * len(walk)


def test_a_row_that_cannot_pay_for_its_choice_stops(small):
    walk = small.walk()
    costs = small.factors.cost_model
    cap = costs.of(np.array([False, False, False, True, False, False, False]))  # the third column and its panel
    send(walk, queue_policy(np.array([2, 1, 0]), N_FACTORS, N_INPUTS, N_FEATURES), np.full(len(walk), cap))
    assert walk.acquired[:, 2].all()
    assert walk.acquired.sum() == len(walk)


def test_nothing_known_and_nothing_clear_means_stop():
    preferences = np.array([[-np.inf, -np.inf, -np.inf], [0.0, np.nan, 1.0], [1.0, 2.0, 0.0], [1.0, -np.inf, 3.0]])
    assert choose(preferences).tolist() == [2, 2, 1, 2]


def states_and_actions(known):
    random = np.random.default_rng(0)
    states = random.normal(size=(120, N_INPUTS))
    return states, np.array(known)[states[:, : len(known)].argmax(axis=1)]


@pytest.mark.parametrize("known", [[5], [2], [1, 5], [0, 3, 5]])
def test_linear_scores_are_those_of_the_classifier(small, known):
    states, actions = states_and_actions(known)
    policy = learn_policy(LinearSVC(dual=False), states, actions, np.ones(120), N_FACTORS + 1, N_FEATURES)
    walk = small.walk()
    preferences = policy.follow(walk).preferences(np.arange(len(walk)))
    assert np.flatnonzero(np.isfinite(preferences).all(axis=0)).tolist() == known
    if len(known) > 1:
        inputs = np.hstack([walk.masked, walk.meta_features(np.arange(len(walk)))])
        expected = LinearSVC(dual=False).fit(states, actions).predict(inputs)
        np.testing.assert_array_equal(choose(preferences), expected)


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(random_state=0), SVC()], ids=repr)
@pytest.mark.parametrize("known", [[1, 5], [0, 3, 5]])
def test_any_classifier_of_actions_will_do(small, learner, known):
    states, actions = states_and_actions(known)
    policy = learn_policy(learner, states, actions, np.ones(120), N_FACTORS + 1, N_FEATURES)
    walk = small.walk()
    follower = policy.follow(walk)
    walk.take(np.arange(20), np.full(20, known[0]))
    preferences = follower.preferences(np.arange(len(walk)))
    assert (preferences[:20, known[0]] == -np.inf).all()
    inputs = np.hstack([walk.masked, walk.meta_features(np.arange(len(walk)))])
    np.testing.assert_array_equal(choose(preferences)[20:], learner.fit(states, actions).predict(inputs)[20:])
    assert (choose(policy.leaning(1e6).follow(walk).preferences(np.arange(40))) == 5).all()
