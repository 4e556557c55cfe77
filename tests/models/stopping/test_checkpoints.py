"""Checkpoints: where they are, what they expect of the full score, and their deviations."""

from itertools import pairwise

import numpy as np
import pytest

from reference import stopping as reference
from thrifty.models.stopping.checkpoints import (
    RIDGES,
    Refits,
    checkpoint_terms,
    independent_deviation,
    measured_deviation,
    plain_checkpoints,
    refit_checkpoints,
)
from thrifty.models.stopping.term_sample import TermSample

RANDOM = np.random.default_rng(1)
N, T = 90, 8
VALUES = RANDOM.normal(size=(N, T)) @ (np.eye(T) + 0.4 * RANDOM.normal(size=(T, T))) + 1.0
ENDS = [1, 3, 5, 8]


def sample(n_scores=1, values=VALUES, count=None):
    weights = np.random.default_rng(2).normal(size=(n_scores, T))
    scores = values @ weights.T + 0.3
    count = np.ones(len(values)) if count is None else count
    return TermSample(values, scores, count, np.sign(scores), weights, np.full(n_scores, 0.3))


def expectations(checkpoints, values):
    """Return the expected scores at all checkpoints."""
    sums, found = 0.0, []
    for each in checkpoints:
        sums = (sums if each.carry else 0.0) + values[:, each.first : each.n_terms] @ each.weights.T
        found.append(sums + each.intercept)
    return np.stack(found, axis=1)


def test_plain_expectations_are_the_centred_partial_scores():
    data, centre = sample(), RANDOM.normal(size=T)
    found = expectations(plain_checkpoints(data, centre, list(range(1, T + 1)), "measured"), VALUES)[..., 0]
    for i in (0, 5, 60):
        expected = reference.centred_partial_scores(VALUES[i], data.weights[0], 0.3, centre)
        np.testing.assert_allclose(found[i], expected, rtol=1e-12)
    np.testing.assert_allclose(found[:, -1], data.scores[:, 0])


def test_plain_deviations_are_measured_or_assume_independent_terms():
    data = sample()
    measured, independent = (
        np.array([each.deviation for each in plain_checkpoints(data, data.means, ENDS, variance)])
        for variance in ("measured", "independent")
    )
    rest = [(data.values[:, end:] - data.means[end:]) @ data.weights[0, end:] for end in ENDS]
    np.testing.assert_allclose(measured, [np.sqrt(np.mean(each**2)) for each in rest], atol=1e-12)
    terms = [data.weights[0, end:] ** 2 @ data.values[:, end:].var(axis=0) for end in ENDS]
    np.testing.assert_allclose(independent, np.sqrt(terms), atol=1e-12)
    assert independent_deviation(data, T) == 0


@pytest.mark.parametrize("n_scores", [1, 3])
def test_refitted_expectations_are_least_squares(n_scores):
    data = sample(n_scores)
    refit = Refits(data, T)
    for end in ENDS[:-1]:
        design = np.column_stack([np.ones(N), VALUES[:, :end]])
        expected = np.linalg.lstsq(design, data.scores, rcond=None)[0]
        found = refit.with_ridge(end, RIDGES[0])
        np.testing.assert_allclose(found.weights, expected[1:].T, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found.intercept, expected[0], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("ridge", [RIDGES[0], RIDGES[-2]])
def test_deviations_are_those_of_rows_left_out_one_by_one(ridge):
    """The closed form keeps the scale of the penalty fixed, so the reference does too."""
    data, end, errors = sample(), 3, []
    refit = Refits(data, T)
    found = refit.with_ridge(end, ridge)
    penalty = np.diag(ridge * refit.scale[:end])
    for i in range(N):
        others = np.arange(N) != i
        mean, score_mean = VALUES[others, :end].mean(axis=0), data.scores[others, 0].mean()
        centred = VALUES[others, :end] - mean
        pulled = centred.T @ (data.scores[others, 0] - score_mean) + penalty @ data.weights[0, :end]
        weights = np.linalg.solve(centred.T @ centred + penalty, pulled)
        errors.append(data.scores[i, 0] - score_mean - (VALUES[i, :end] - mean) @ weights)
    assert found.deviation == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-6)


def test_an_infinite_ridge_is_the_plain_sum():
    data = sample()
    far, (plain,) = Refits(data, T).with_ridge(3, 1e12), plain_checkpoints(data, data.means, [3], "measured")
    np.testing.assert_allclose(far.weights, plain.weights, rtol=1e-6)
    np.testing.assert_allclose(far.intercept, plain.intercept, rtol=1e-6)


def test_weights_are_repetitions():
    count = np.where(np.arange(N) % 3, 1.0, 4.0)
    weighted = list(refit_checkpoints(sample(2, count=count), ENDS))
    repeated = list(refit_checkpoints(sample(2, np.repeat(VALUES, count.astype(int), axis=0)), ENDS))
    for first, second in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(first.weights, second.weights, rtol=1e-9)
        assert first.deviation == pytest.approx(second.deviation, rel=1e-9, abs=1e-9)


def test_long_prefixes_keep_their_plain_weights(monkeypatch):
    data = sample()
    monkeypatch.setattr("thrifty.models.stopping.checkpoints.MAX_REFITTED", 3)
    found = list(refit_checkpoints(data, ENDS))
    plain = list(plain_checkpoints(data, data.means, ENDS, "measured"))
    expected = expectations(plain, VALUES)
    np.testing.assert_allclose(expectations(found, VALUES)[:, 2:], expected[:, 2:])
    assert found[2].deviation == pytest.approx(plain[2].deviation)
    assert not np.allclose(found[1].weights, data.weights[:, :3])


def test_constant_and_duplicate_terms_give_finite_weights():
    values = VALUES.copy()
    values[:, 0], values[:, 2] = 4.0, values[:, 1]
    for each in refit_checkpoints(sample(values=values), ENDS):
        assert np.isfinite(each.weights).all()
        assert np.isfinite(each.deviation)


def test_the_deviation_of_several_scores_is_that_of_the_gap_between_the_best_two():
    expected = np.array([[3.0, 1.0, 0.0], [0.0, 5.0, 4.0]])
    scores = np.array([[4.0, 1.5, 9.0], [7.0, 5.0, 7.0]])
    assert measured_deviation(expected, scores, np.array([0.5, 0.5])) == pytest.approx(np.sqrt((0.5**2 + 3.0**2) / 2))


def test_numbers_of_terms_at_checkpoints():
    assert checkpoint_terms(10, 4) == [4, 8, 10]
    assert checkpoint_terms(8, 4) == [4, 8]
    assert checkpoint_terms(3, 10) == [3]
    assert checkpoint_terms(0, None) == [0]
    assert checkpoint_terms(3, None, grain=4) == [1, 2, 3]
    assert checkpoint_terms(500, None, grain=16)[:3] == [15, 30, 45]
    grown = checkpoint_terms(5000, None)
    assert grown[-1] == 5000
    assert len(grown) < 40
    assert all(b > a for a, b in pairwise(grown))
