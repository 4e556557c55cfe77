"""The forward-selection oracle and the coach, against loops over rows, steps and candidates."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from reference.policies import Problem, coach_action, greedy_path, oracle_action, reward
from thrifty import CostModel
from thrifty.models.policies.data_model import PredictedScores
from thrifty.models.policies.oracle import forward_selection, forward_selection_oracle, guided_actions
from thrifty.models.policies.rewards import Reward

EVERYONE = np.arange(40)


def rollout_of(small, kind):
    rollout = small.rollout()
    if kind == "predicted":
        rollout.scores = PredictedScores.of(small.classifiers, small.factors)
    return rollout


@pytest.mark.parametrize("kind", ["linear", "predicted"])
@pytest.mark.parametrize("margin", ["probability", "score"])
@pytest.mark.parametrize("cost_weight", [0.0, 0.3, 2.0])
def test_the_path_is_the_brute_force_one(small, cost_weight, margin, kind):
    order, rewards = forward_selection(rollout_of(small, kind), small.y, Reward(margin, cost_weight))
    for i in EVERYONE:
        path, expected = greedy_path(small.Z[i], small.y[i], [], small.problem(i, cost_weight, margin))
        assert order[i].tolist() == path
        np.testing.assert_allclose(rewards[i], expected, atol=1e-9)


@pytest.mark.parametrize("kind", ["linear", "predicted"])
@pytest.mark.parametrize("coach_weight", [0.0, 0.4])
@pytest.mark.parametrize("margin", ["probability", "score"])
@pytest.mark.parametrize("weighs_stop", [False, True])
@pytest.mark.parametrize("cost_weight", [0.0, 0.3, 2.0])
def test_the_action_in_any_state_is_the_brute_force_one(small, cost_weight, weighs_stop, margin, coach_weight, kind):
    rollout, random = rollout_of(small, kind), np.random.default_rng(8)
    bonus, expected_action = coach_weight * random.normal(size=(40, 6)), coach_action if weighs_stop else oracle_action
    taken = [[] for _ in EVERYONE]
    seen = set()
    while True:
        rows = np.array([i for i in EVERYONE if len(taken[i]) < 5])
        actions, stakes = guided_actions(rollout, EVERYONE, small.y, Reward(margin, cost_weight), bonus, weighs_stop)
        for i in EVERYONE:
            given = small.Z[i], small.y[i], taken[i], small.problem(i, cost_weight, margin), bonus[i]
            assert actions[i] == expected_action(*given)
            _, rewards = greedy_path(*given)
            stake = abs(max(rewards[1:]) - rewards[0]) if len(rewards) > 1 else 0.0
            np.testing.assert_allclose(stakes[i], stake, atol=1e-9)
        seen |= set(actions.tolist())
        if not rows.size:
            break
        chosen = np.array([random.choice([f for f in range(5) if f not in taken[i]]) for i in rows])
        rollout.acquire(rows, chosen)
        for i, factor in zip(rows, chosen, strict=True):
            taken[i].append(int(factor))
    assert len(seen) > 3


def test_the_public_function_stops_where_the_reward_is_largest(small):
    X, y = small.Z[:, np.argsort(small.factors.columns)], small.y
    classifier = LogisticRegression().fit(X, y)
    groups = [list(group) for group in small.factors.groups]
    run = forward_selection_oracle(classifier, X, y, costs=small.factors.cost_model, factors=groups, cost_weight=0.4)
    requirement, unit_costs = small.factors.cost_model.requirement, small.factors.cost_model.unit_costs
    problem = Problem(groups, classifier.coef_, classifier.intercept_, requirement, unit_costs, 0.4)
    for i in EVERYONE:
        path, rewards = greedy_path(X[i], y[i], [], problem)
        assert run.order[i].tolist() == path
        assert run.n_bought[i] == int(np.argmax(rewards))
        bought = sorted(j for f in path[: run.n_bought[i]] for j in groups[f])
        assert np.flatnonzero(run.acquired[i]).tolist() == bought
        assert run.reward[i].max() == run.reward[i, run.n_bought[i]]
        np.testing.assert_allclose(run.reward[i].max(), reward(X[i], y[i], path[: run.n_bought[i]], problem))
    np.testing.assert_array_equal(run.spend, small.factors.cost_model.of(run.acquired))
    masked = np.where(run.acquired, X, 0.0)
    np.testing.assert_array_equal(run.prediction, classifier.predict(masked))


def test_any_classifier_with_probabilities_is_accepted():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.where(X[:, 0] > 0, "high", "low")
    run = forward_selection_oracle(GaussianNB().fit(X, y), X, y, costs=[0.0, 1.0, 1.0])
    assert run.acquired[:, 0].all()  # it is free
    assert (run.order[:, -1] == -1).all()
    assert (run.prediction == y).mean() > 0.9


@pytest.mark.parametrize(
    ("classifier", "y", "message"),
    [
        (GaussianNB(), [0, 1, 0, 3], "y has class 3, which the classifier does not know"),
        (NearestCentroid, [0, 1, 0, 1], "expected a scikit-learn classifier"),
    ],
)
def test_invalid_arguments_are_refused(classifier, y, message):
    X = [[0.0], [1.0], [0.1], [0.9]]
    fitted = classifier if isinstance(classifier, type) else classifier.fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=f"forward_selection_oracle: .*{message}"):
        forward_selection_oracle(fitted, X, y)


def test_if_everything_is_free_nothing_is_bought():
    X, y = np.array([[0.0], [1.0], [0.1], [0.9]]), [0, 1, 0, 1]
    classifier = KNeighborsClassifier(1).fit(X, y)
    run = forward_selection_oracle(classifier, X, y, costs=CostModel([0.0]))
    assert run.n_bought.tolist() == [0, 0, 0, 0]
    assert run.prediction.tolist() == y
