"""Boosted trees of the adaptive model."""

import numpy as np
import pytest

from thrifty.kernels.softmax import newton_steps, step_classes
from thrifty.kernels.tree_rows import Leaves
from thrifty.models.adaptive.boosted_outputs import ClassScores, Numbers, OneScore
from thrifty.models.adaptive.boosting import Plan, boost, drawn_features
from thrifty.models.adaptive.gains import state_outputs
from thrifty.models.growing.binning import Bins
from thrifty.models.growing.growth import Limits
from thrifty.models.growing.losses import LogLoss, SoftmaxLoss, SquaredError

N = 240
LIMITS = Limits(3, None, 5.0, 1.0)
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 4))
X[RANDOM.random(X.shape) < 0.2] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.isnan(X[:, 1])
ALL, NOBODY = np.arange(N, dtype=np.uint32), np.empty(0, dtype=np.uint32)
WEIGHT = np.random.default_rng(1).uniform(0.5, 2.0, N)
CLASSES = np.digitize(SIGNAL, [0.0, 0.8])
LOSSES = {
    "numbers": SquaredError(SIGNAL, WEIGHT),
    "two classes": LogLoss((SIGNAL > 0.3).astype(float), WEIGHT),
    "three classes": SoftmaxLoss(np.eye(3)[:, CLASSES], WEIGHT),
}


@pytest.fixture(scope="module")
def coded():
    bins = Bins.of(X, np.ones(N), 64, np.zeros(4, dtype=bool), np.random.default_rng(0))
    return bins.codes(X), bins


def outputs_of(loss, start=None):
    """What trees are fitted to under a loss."""
    if isinstance(loss, SoftmaxLoss):
        return ClassScores(loss.targets.argmax(axis=0), loss.weight, loss.base(slice(None)), start)
    return OneScore(loss, start)


def boosted(coded, loss, plan, train=ALL, held_out=NOBODY, seed=0, start=None):
    return boost(*coded, outputs_of(loss, start), train, held_out, plan, np.random.default_rng(seed))


def boosted_numbers(coded, wanted, plan):
    return boost(*coded, Numbers(wanted, WEIGHT, ALL), ALL, NOBODY, plan, np.random.default_rng(0))


def scores(fitted):
    """Scores (n_scores, n) of a fitted forest."""
    return state_outputs(fitted.forest(), X).T


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_falls_with_every_round(coded, name):
    loss = LOSSES[name]
    values = [loss.value(np.repeat(loss.base(slice(None))[:, None], N, axis=1), ALL)]
    for n_rounds in (1, 2, 3, 8, 20):
        fitted = boosted(coded, loss, Plan(n_rounds, 0.2, LIMITS))
        assert fitted.n_trees == list(range(n_rounds + 1))
        assert len(fitted.trees) == n_rounds
        values.append(loss.value(scores(fitted), ALL))
    assert (np.diff(values) < 0).all()
    assert values[-1] < 0.55 * values[0]


@pytest.mark.parametrize("name", LOSSES)
def test_trees_are_added_to_a_given_start(coded, name):
    loss = LOSSES[name]
    start = np.random.default_rng(5).normal(size=(N, 3 if name == "three classes" else 1))
    fitted = boosted(coded, loss, Plan(40, 0.2, LIMITS), start=start)
    assert (fitted.base == 0).all()
    assert loss.value(start.T + scores(fitted), ALL) < 0.8 * loss.value(start.T, ALL)


def test_derivatives_and_steps_of_classes_are_those_of_the_softmax_loss():
    loss, random = LOSSES["three classes"], np.random.default_rng(6)
    start = random.normal(size=(N, 3))
    outputs = outputs_of(loss, start)
    gradient, hessian = outputs.derivatives(np.random.default_rng(7))
    direction = np.random.default_rng(7).standard_normal(3)
    p = np.exp(start) / np.exp(start).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(gradient, direction @ loss.derivatives(start.T)[0])
    np.testing.assert_allclose(hessian, WEIGHT * (p @ direction**2 - (p @ direction) ** 2))
    rows, step = ALL[::3], np.empty(3)
    newton_steps(rows, p, CLASSES, WEIGHT, 2.0, step)
    of_classes = [each[:, rows].sum(axis=1) for each in loss.derivatives(start.T)]
    np.testing.assert_allclose(step, -of_classes[0] / (of_classes[1] + 2.0))
    assert outputs.loss(rows) == pytest.approx(loss.value(start.T, rows))
    scores_before, steps, span = start.copy(), np.zeros((3, 3)), np.array([[0, len(rows)]])
    leaves = Leaves(np.array([2]), span, np.array([[0, 1]]), rows, np.array([1], dtype=np.uint32))
    step_classes(leaves, p, CLASSES, WEIGHT, 2.0, 0.5, start, steps)
    np.testing.assert_allclose(steps, [[0.0] * 3, [0.0] * 3, 0.5 * step])
    moved = np.isin(ALL, [*rows, 1])
    np.testing.assert_allclose(start - scores_before, np.outer(moved, 0.5 * step), atol=1e-12)


def test_patience_ends_boosting_after_the_smallest_held_out_loss(coded):
    random = np.random.default_rng(3)
    loss = LogLoss((SIGNAL + random.normal(size=N) > 0.3).astype(float), np.ones(N))
    train, held_out = ALL[: N // 2], ALL[N // 2 :]

    def held_out_loss(n_rounds):
        fitted = boosted(coded, loss, Plan(n_rounds, 0.3, LIMITS), train, held_out)
        return loss.value(scores(fitted), held_out)

    stopped = boosted(coded, loss, Plan(60, 0.3, LIMITS, patience=10), train, held_out)
    best = int(np.argmin(stopped.losses))
    assert 1 <= best < 50
    assert len(stopped.losses) == best + 11
    np.testing.assert_allclose([held_out_loss(n) for n in (1, best, best + 10)], np.take(stopped.losses, (1, best, -1)))
    assert loss.value(scores(stopped.first(best)), held_out) == pytest.approx(min(stopped.losses))
    assert (scores(stopped.first(0)) == stopped.base).all()


def test_rows_outside_the_bag_do_not_change_the_trees(coded):
    train = ALL[: N // 2]
    plan = Plan(5, 0.3, LIMITS)
    other = SIGNAL.copy()
    other[N // 2 :] = other[N // 2 :][::-1]
    first, second = (boosted(coded, SquaredError(y, np.ones(N)), plan, train) for y in (SIGNAL, other))
    for a, b in zip(first.trees, second.trees, strict=True):
        np.testing.assert_array_equal(a.value, b.value)


def test_without_a_split_the_answer_is_constant():
    same = np.ones((N, 2))
    bins = Bins.of(same, np.ones(N), 64, np.zeros(2, dtype=bool), np.random.default_rng(0))
    fitted = boosted((bins.codes(same), bins), LOSSES["numbers"], Plan(5, 0.3, LIMITS))
    np.testing.assert_allclose(fitted.forest().outputs(same), 0.0)
    assert fitted.base[0] == pytest.approx(np.average(SIGNAL, weights=WEIGHT))


# Many outputs


def labels():
    known = np.column_stack([SIGNAL, -2.0 * SIGNAL + np.isnan(X[:, 2]), np.random.default_rng(2).normal(size=N)])
    known[np.random.default_rng(4).random(known.shape) < 0.3] = np.nan
    return known


def test_many_outputs_are_learned_at_once(coded):
    wanted = labels()
    fitted = boosted_numbers(coded, wanted, Plan(60, 0.2, LIMITS))
    errors = wanted - state_outputs(fitted.forest(), X)
    share = np.nanmean(errors**2, axis=0) / np.nanvar(wanted, axis=0)
    assert (share[:2] < 0.1).all()
    assert share[2] < 1.0


def test_every_leaf_is_the_shrunken_mean_of_what_the_trees_before_left(coded):
    wanted, ridge, rate = labels(), 4.0, 0.2
    plan = Plan(12, rate, Limits(2, None, 5.0, ridge))
    fitted = boosted_numbers(coded, wanted, plan)
    forest = fitted.forest()
    assert forest.n_trees == 12
    outputs = forest.outputs(X).reshape(N, 12, 3)
    residual = wanted - forest.base
    for tree in range(12):
        values, leaf = np.unique(outputs[:, tree], axis=0, return_inverse=True)
        for k, value in enumerate(values):
            members = leaf.ravel() == k
            for output in range(3):
                counted = members & np.isfinite(wanted[:, output])
                total = WEIGHT[counted].sum() + ridge
                mean = WEIGHT[counted] @ residual[counted, output] / total
                assert value[output] == pytest.approx(rate * mean, abs=1e-12)
        residual = residual - outputs[:, tree]
    known = np.isfinite(wanted)
    np.testing.assert_allclose(state_outputs(forest, X)[known], (wanted - residual)[known])


def test_without_a_split_outputs_are_the_means_of_the_known_labels():
    same, wanted = np.ones((N, 2)), labels()
    wanted[:, 2] = np.nan
    bins = Bins.of(same, np.ones(N), 64, np.zeros(2, dtype=bool), np.random.default_rng(0))
    fitted = boosted_numbers((bins.codes(same), bins), wanted, Plan(5, 0.3, LIMITS))
    known = np.isfinite(wanted[:, :2])
    means = [np.average(wanted[known[:, k], k], weights=WEIGHT[known[:, k]]) for k in range(2)]
    np.testing.assert_allclose(state_outputs(fitted.forest(), same), np.tile([*means, 0.0], (N, 1)))


def test_features_are_drawn_without_replacement():
    plan = Plan(1, 0.1, LIMITS, max_features=0.5)
    drawn = [drawn_features(np.arange(10), plan, np.random.default_rng(seed)) for seed in range(30)]
    assert all(len(set(each.tolist())) == 5 and (np.diff(each) > 0).all() for each in drawn)
    assert set(np.concatenate(drawn).tolist()) == set(range(10))
    assert drawn_features(np.arange(3), plan._replace(max_features=0.01), np.random.default_rng(0)).size == 1
    assert drawn_features(np.arange(3), plan._replace(max_features=1.0), np.random.default_rng(0)).tolist() == [0, 1, 2]
