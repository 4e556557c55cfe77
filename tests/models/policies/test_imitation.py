"""DAgger and Coaching against a transcription of Algorithm 1: every state, every action, every policy."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from models.policies.learned_scores import learning
from reference.policies import Problem, dagger, follow, preferences, state
from thrifty.models.policies.data_model import Scores, encode
from thrifty.models.policies.data_model_fits import OutOfFoldRows
from thrifty.models.policies.dynamic_selection import DynamicSelectionClassifier
from thrifty.models.policies.imitation import imitate, iterations
from thrifty.models.policies.policy import run_policy
from thrifty.models.policies.rewards import Reward
from thrifty.models.policies.tasks import Classification
from thrifty.models.policies.training_states import ImitationOptions, TrainingStates
from thrifty.models.rows import Rows

N_ITERATIONS = 4
LEARNERS = [LinearSVC(dual=False, tol=1e-8), GaussianNB(var_smoothing=1e-3)]  # linear, and not linear


def training_rows(small):
    rows = Rows(small.Z, small.y, np.ones(len(small.y)))
    return OutOfFoldRows(
        small.factors, Scores.of(small.classifiers, small.factors), rows, small.which, Classification()
    )


def options_of(learner, margin, coaching, coach_stops):
    reward = Reward(margin, 0.3)
    return ImitationOptions(
        learner, reward, coaching, coach_stops, (0.0,), N_ITERATIONS, 10**6, False, np.random.RandomState(0)
    )


@pytest.mark.parametrize("learner", LEARNERS, ids=["linear", "not linear"])
@pytest.mark.parametrize("margin", ["probability", "score"])
@pytest.mark.parametrize(("coaching", "coach_stops"), [(0.0, False), (0.5, False), (0.5, True)])
def test_every_state_and_action_is_that_of_algorithm_1(small, learner, margin, coaching, coach_stops):
    n_actions, everyone = len(small.factors) + 1, np.arange(len(small.y))
    training = training_rows(small)
    options = options_of(learner, margin, coaching, coach_stops)

    def problem(i):
        return small.problem(i, 0.3, margin)

    expected = dagger(small.Z, small.y, problem, learning(learner, n_actions), N_ITERATIONS, coaching, coach_stops)
    states, n_before = TrainingStates(training, options), 0
    for (policy, results), iteration in zip(iterations(states, training, options), expected, strict=True):
        new = slice(n_before, len(states.kept.rows))
        inputs, actions, row_of = states.inputs()[new], states.kept.actions[new], states.kept.rows[new]
        for i in everyone:
            np.testing.assert_allclose(inputs[row_of == i], iteration.states[i], rtol=1e-9, atol=1e-11)
            assert actions[row_of == i].tolist() == iteration.actions[i]
        rollout = small.rollout()
        run_policy(rollout, policy)
        for i in everyone:
            bought = follow(small.Z[i], problem(i), iteration.policy)
            assert sorted(bought) == np.flatnonzero(rollout.acquired[i]).tolist()
        scores = policy.follow(small.rollout()).preferences(everyone)
        for i in everyone:
            start = preferences(iteration.policy, state(small.Z[i], [], problem(i)), [])
            np.testing.assert_allclose(scores[i], start, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(results[0], iteration.reward, rtol=1e-9)
        n_before = len(states.kept.rows)
    assert len(np.unique(states.kept.actions)) > 3
    _, curve = imitate(training, training, options)
    assert curve.best == int(np.argmax([iteration.reward for iteration in expected]))


def test_the_three_teachers_differ(small):
    training = training_rows(small)
    curves = [
        imitate(training, training, options_of(LEARNERS[0], "probability", *teacher))[1].reward.tolist()
        for teacher in ((0.0, False), (0.5, False), (0.5, True))
    ]
    assert curves[0] != curves[1] != curves[2] != curves[0]


def test_a_stop_bias_is_used_only_if_it_has_a_larger_reward(small):
    training = training_rows(small)
    options = options_of(LEARNERS[0], "probability", 0.0, False)
    plain, _ = next(iterations(TrainingStates(training, options), training, options))
    biased = {
        bias: next(iterations(TrainingStates(training, each := _with_biases(options, (bias,))), training, each))[1][0]
        for bias in (0.0, -0.7, 0.4)
    }
    chosen = _with_biases(options, tuple(biased))
    policy, results = next(iterations(TrainingStates(training, chosen), training, chosen))
    assert results[0] == max(biased.values())
    best = max(biased, key=biased.get)
    np.testing.assert_allclose(policy.intercepts[-1], plain.intercepts[-1] + best)


def _with_biases(options, biases):
    return ImitationOptions(**(vars(options) | {"stop_biases": biases, "random": np.random.RandomState(0)}))


@pytest.mark.parametrize(("coaching", "coach_stops"), [(0.0, False), (0.5, True)])
def test_the_estimator_with_plain_parameters_is_algorithm_1(coaching, coach_stops):
    random = np.random.default_rng(5)
    X = random.normal(size=(120, 4))
    y = (X @ random.normal(size=(4, 3)) + 0.5 * random.normal(size=(120, 3))).argmax(axis=1)
    learner = LogisticRegression(tol=1e-9, max_iter=10_000)
    model = DynamicSelectionClassifier(
        costs=[1.0, 2.0, 0.5, 1.5],
        cost_weight=0.3,
        margin="score",
        masked_training=False,
        policy=learner,
        coaching=coaching,
        coach_stops=coach_stops,
        stop_biases=(0.0,),
        weigh_stakes=False,
        n_iterations=3,
        n_folds=1,
        validation_fraction=0.0,
    ).fit(X[:60], y[:60])
    factors, linear = model.factors_, model.classifier_
    Z = encode(factors.sorted_columns(X), model.standardiser_, factors)
    prices = model.cost_model_.unit_costs[factors.columns]
    problem = Problem(
        [[0], [1], [2], [3]], linear.coef_, linear.intercept_, np.eye(4, dtype=bool), prices, 0.3, "score"
    )
    steps = dagger(Z[:60], y[:60], lambda _: problem, learning(learner, 5), 3, coaching, coach_stops)
    np.testing.assert_allclose(model.learning_curve_.reward, [step.reward for step in steps], rtol=1e-6)
    best = steps[model.learning_curve_.best].policy
    acquired = model.acquire(X).acquired
    assert 0 < acquired.mean() < 1
    for i in range(120):
        bought = factors.columns[follow(Z[i], problem, best)]
        assert sorted(bought.tolist()) == np.flatnonzero(acquired[i]).tolist()
