"""States of rows that acquire factors, against a full recomputation for each row."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from reference.policies import class_scores, cost, meta_features
from thrifty import CostModel
from thrifty.models.factors import Factors
from thrifty.models.policies.data_model import PredictedScores, Scores, Standardiser, encode
from thrifty.models.policies.rollout import Rollout


def random_steps(rollout, seed=0):
    """Let every row acquire some factors in a random order; return the factors of each row."""
    random, taken = np.random.default_rng(seed), [[] for _ in range(len(rollout))]
    orders = np.array([random.permutation(len(rollout.factors)) for _ in range(len(rollout))])
    lengths = random.integers(0, len(rollout.factors) + 1, len(rollout))
    for t in range(len(rollout.factors)):
        rows = np.flatnonzero(lengths > t)
        rollout.acquire(rows, orders[rows, t])
        for i in rows:
            taken[i].append(int(orders[i, t]))
    return taken


def test_incremental_scores_equal_a_full_recomputation(small):
    rollout = small.rollout()
    for i, taken in enumerate(random_steps(rollout)):
        full = class_scores(small.Z[i], taken, small.problem(i))
        np.testing.assert_allclose(rollout.score[i], full, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(rollout.now.cost[i], cost(taken, small.problem(i)), atol=1e-12)
        assert set(np.flatnonzero(rollout.acquired[i])) == set(taken)


def test_meta_features_are_those_of_the_paper(small):
    rollout = small.rollout()
    taken = random_steps(rollout, seed=1)
    meta = rollout.meta_features(np.arange(len(rollout)))
    expected = [meta_features(small.Z[i], taken[i], small.problem(i)) for i in range(len(rollout))]
    np.testing.assert_allclose(meta, expected, rtol=1e-10, atol=1e-12)


def test_a_copy_of_rows_is_independent(small):
    rollout = small.rollout()
    random_steps(rollout)
    before = rollout.score.copy(), rollout.acquired.copy(), rollout.now.confidence.copy()
    rows = np.flatnonzero(~rollout.acquired[:, 0])
    part = rollout.copy_rows(rows)
    part.acquire(np.arange(len(rows)), np.zeros(len(rows), dtype=int))
    for old, now in zip(before, (rollout.score, rollout.acquired, rollout.now.confidence), strict=True):
        np.testing.assert_array_equal(now, old)
    rollout.acquire(rows, np.zeros(len(rows), dtype=int))
    np.testing.assert_array_equal(part.score, rollout.score[rows])
    np.testing.assert_array_equal(part.meta_features(np.arange(len(rows))), rollout.meta_features(rows))


def test_other_classifiers_agree_with_the_linear_update(small):
    linear, predicted = small.rollout(), small.rollout()
    predicted.scores = PredictedScores.of(small.classifiers, small.factors)
    assert random_steps(linear) == random_steps(predicted)
    np.testing.assert_allclose(_centred(predicted.score), _centred(linear.score), atol=1e-9)
    np.testing.assert_allclose(predicted.now.confidence, linear.now.confidence, atol=1e-9)


def _centred(scores):
    return scores - scores.mean(axis=1, keepdims=True)


def test_a_classifier_with_a_decision_function_or_with_probabilities():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    factors = Factors.of(CostModel([1.0, 1.0]), None, "here")
    for classifier in (KNeighborsClassifier(3).fit(X, y), LogisticRegression().fit(X, y)):
        rollout = Rollout(factors, Scores.of([classifier], factors), X).start()
        for factor in (0, 1):
            rollout.acquire(np.arange(30), np.full(30, factor))
        np.testing.assert_array_equal(rollout.now.guess, classifier.predict(X))
        np.testing.assert_allclose(rollout.now.confidence, classifier.predict_proba(X).max(axis=1))


def test_standardised_columns_have_mean_zero_and_missing_values_become_zero():
    X = np.array([[1.0, 5.0, np.nan], [3.0, 5.0, 2.0], [np.nan, 5.0, 4.0], [3.0, 5.0, 4.0]])
    count = np.array([1.0, 1.0, 1.0, 2.0])
    Z = Standardiser(X, count).transform(X)
    np.testing.assert_allclose(count @ Z, 0.0, atol=1e-12)
    np.testing.assert_allclose(count @ Z[:, 0] ** 2, 4.0)
    assert not Z[:, 1].any()
    assert Z[2, 0] == Z[0, 2] == 0.0
    with np.errstate(invalid="raise"):
        assert np.isinf(Standardiser(X, count).transform(np.array([[np.inf, 1.0, 1.0]]))[0, 0])


def test_flags_distinguish_a_mean_from_an_unknown_value():
    X = np.array([[0.0, 2.0, 1.0], [np.nan, 4.0, 1.0], [np.nan, np.nan, 3.0], [2.0, 3.0, np.nan]])
    factors, standardiser = Factors([[0, 1], [2]], CostModel(np.ones(3)), flagged=True), Standardiser(X, np.ones(4))
    Z = encode(X, standardiser, factors)
    np.testing.assert_array_equal(Z[:, [0, 1, 3]], standardiser.transform(X))
    assert Z[:, [2, 4]].tolist() == [[1, 1], [1, 1], [0, 1], [1, 0]]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_columns_of_any_size_are_standardised(scale):
    X = np.array([[1.0], [2.0], [3.0]]) * scale
    np.testing.assert_allclose(Standardiser(X, np.ones(3)).transform(X)[:, 0], [-1.224744871, 0.0, 1.224744871])
