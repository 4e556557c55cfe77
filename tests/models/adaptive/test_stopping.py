"""When to stop: backward induction over walks, against the reference."""

from dataclasses import replace

import numpy as np
import pytest

from models.adaptive.problems import FAST, training_rows
from reference.adaptive import backward_induction, one_step_stops
from thrifty import ThriftyClassifier
from thrifty.models.adaptive.simulation import Walks
from thrifty.models.adaptive.stopping import default_cost_weights, fit_stops, losses_under_final, stops_of, with_rule
from thrifty.models.adaptive.training_rows import Objective

N_STAGES = 3
WEIGHTS = np.array([1.0, 0.3, 0.1, 0.02, 0.0])


def problem(n, seed=0):
    """Random rows, and walks with random scores and prices."""
    random = np.random.default_rng(seed)
    targets = random.normal(size=n)
    rows = training_rows(random.normal(size=(n, N_STAGES)), targets, n_classes=0, weight=random.uniform(0.5, 2.0, n))
    certainty = np.linspace(0.0, 0.9, N_STAGES + 1)
    scores = certainty * targets[:, None] + 0.3 * random.normal(size=(n, N_STAGES + 1))
    spend = np.cumsum(random.uniform(0.0, 2.0, (n, N_STAGES + 1)), axis=1)
    return rows, walks_of(scores, spend, random.normal(size=(n, N_STAGES + 1, 5)))


def walks_of(scores, spend, described):
    n = len(scores)
    return Walks(
        np.arange(n), scores[:, :, None], described, spend - spend[:, :1], np.tile(1 + np.arange(N_STAGES), (n, 1))
    )


def losses(rows, walks):
    """Half the squared errors, by hand."""
    return (walks.scores[:, :, 0] - rows.targets[walks.row, None]) ** 2 / 2


def test_without_splits_the_advantages_are_the_means_of_other_folds():
    rows, walks = problem(36)  # too few for a split
    stopped = fit_stops(rows, walks, WEIGHTS)

    def mean_of_others(stage, labels):
        means = [np.average(np.array(labels)[rows.fold != k], weights=rows.weight[rows.fold != k]) for k in range(3)]
        return [means[k] for k in rows.fold]

    under_final = (walks.scores[:, :, 0] - walks.scores[:, -1:, 0]) ** 2 / 2
    loss = 0.5 * losses(rows, walks) + 0.5 * under_final  # because rows are few
    stages = []
    for column, weight in enumerate(WEIGHTS):
        stage, advantage = backward_induction(loss.tolist(), walks.spend.tolist(), weight, mean_of_others)
        np.testing.assert_allclose(stopped.advantage[:, :, column], advantage, atol=1e-12)
        if weight > 0:
            np.testing.assert_array_equal(stopped.stages(column, 0.0), stage)
        stages.append(stage)
    assert stages[-1] == [N_STAGES] * 36  # prices do not count at a cost weight of 0
    assert len({tuple(each) for each in stages}) > 2
    assert stopped.rule is None


def test_stops_are_those_of_the_reference_given_the_advantages():
    rows, walks = problem(500)
    stopped = fit_stops(rows, walks, WEIGHTS)
    loss = losses(rows, walks)
    np.testing.assert_allclose(stopped.loss, loss)
    seen = set()
    for column, weight in enumerate(WEIGHTS[:-1]):
        expected, _ = backward_induction(
            loss.tolist(), walks.spend.tolist(), weight, lambda stage, _, c=column: stopped.advantage[:, stage, c]
        )
        np.testing.assert_array_equal(stopped.stages(column, 0.0), expected)
        at = np.arange(500), np.array(expected)
        np.testing.assert_allclose(stopped.outcome(column), [loss[at], walks.spend[at]])
        seen |= set(expected)
    assert seen == set(range(N_STAGES + 1))


@pytest.mark.parametrize(("n_classes", "error_costs"), [(2, None), (3, None), (2, [[0.0, 1.0], [5.0, 0.0]])])
def test_losses_under_the_final_prediction_are_means_over_classes(n_classes, error_costs):
    random, n, n_scores = np.random.default_rng(2), 40, 1 if n_classes == 2 else n_classes
    rows = training_rows(random.normal(size=(n, 2)), np.arange(n) % n_classes, n_classes=n_classes)
    costs = None if error_costs is None else np.array(error_costs)
    rows = replace(rows, objective=Objective(n_classes, costs))
    scores = random.normal(size=(n, 4, n_scores))
    walks = Walks(np.arange(n), scores, np.zeros((n, 4, 1)), np.zeros((n, 4)), np.ones((n, 2), dtype=int))
    full = np.concatenate([np.zeros((n, 4, 1)), scores], axis=2) if n_classes == 2 else scores
    p = np.exp(full) / np.exp(full).sum(axis=2, keepdims=True)
    loss = -np.log(p) if costs is None else np.moveaxis(costs[:, (p @ costs).argmin(axis=2)], 0, 2)
    expected = (p[:, -1:] * loss).sum(axis=2)
    np.testing.assert_allclose(losses_under_final(rows, walks), expected)


def test_between_two_cost_weights_advantages_are_interpolated():
    rows, walks = problem(500)
    stopped = fit_stops(rows, walks, WEIGHTS)
    between = 0.75 * stopped.advantage[:, :, 1] + 0.25 * stopped.advantage[:, :, 2]
    expected = [next((t for t in range(N_STAGES) if line[t] <= 0), N_STAGES) for line in between]
    assert stopped.stages(1, 0.25).tolist() == expected
    assert not stopped.stages(-1, 0.0).any()  # a larger cost weight than all: nothing is bought
    assert (stopped.stages(len(WEIGHTS) - 2, 1.0) == N_STAGES).all()


def test_the_rule_of_all_rows_is_what_stops_other_walks():
    rows, walks = problem(500)
    stopped = with_rule(rows, walks, fit_stops(rows, walks, WEIGHTS))
    assert stopped.rule is not None
    assert stopped.rule.cost_weights.tolist() == WEIGHTS.tolist()
    refit = stops_of(rows, walks, stopped)
    assert refit.advantage.shape == stopped.advantage.shape
    # It is fitted on more rows than the rules of the folds, and is similar to them.
    assert np.corrcoef(refit.advantage[:, 0, 0], stopped.advantage[:, 0, 0])[0, 1] > 0.5
    mean = (refit.loss + WEIGHTS[1] * refit.spend)[np.arange(500), refit.stages(1, 0.0)].mean()
    assert mean <= (refit.loss + WEIGHTS[1] * refit.spend).mean(axis=0).min() + 1e-9


def together(n, loss_after_all):
    """Walks with a loss of 1 until the last purchase; each purchase costs 0.1. `described` tells who will gain."""
    random = np.random.default_rng(0)
    gains = random.random(n) < 0.5
    rows = training_rows(random.normal(size=(n, N_STAGES)), np.zeros(n), n_classes=0)
    scores = np.full((n, N_STAGES + 1), np.sqrt(2.0))
    scores[gains, -1] = np.sqrt(2.0 * loss_after_all)
    described = random.normal(size=(n, N_STAGES + 1, 5))
    described[:, :, 0] = gains[:, None]
    return rows, walks_of(scores, np.tile(0.1 * np.arange(N_STAGES + 1), (n, 1)), described), gains


def test_purchases_that_pay_only_together_are_made_together():
    rows, walks, gains = together(2000, 0.2)
    stopped = with_rule(rows, walks, fit_stops(rows, walks, np.array([1.0, 0.0])))
    stages = stopped.stages(0, 0.0)
    assert (stages[gains] == N_STAGES).all()
    assert not stages[~gains].any()
    refit = stops_of(rows, walks, stopped).stages(0, 0.0)
    np.testing.assert_array_equal(refit, stages)

    # A myopic rule compares with the next stage alone, where the loss is the same, and buys nothing.
    loss = losses(rows, walks)
    assert not any(one_step_stops(loss.tolist(), walks.spend.tolist(), 1.0, lambda _, labels: labels))


def test_purchases_that_cost_more_than_they_save_together_are_not_made():
    rows, walks, _ = together(600, 0.8)
    assert not fit_stops(rows, walks, np.array([1.0, 0.0])).stages(0, 0.0).any()


def test_cost_weights_descend_from_above_the_best_rate_to_0():
    loss, spend = np.tile([1.0, 0.8, 0.1, 0.05], (4, 1)), np.tile([0.0, 1.0, 2.0, 4.0], (4, 1))
    weights = default_cost_weights(loss, spend, np.ones(4))
    assert (np.diff(weights) < 0).all()
    assert weights[-1] == 0.0
    assert 0.7 < weights[0] < 10 * 0.7  # the second purchase saves 0.7 for 1
    assert weights[-2] < 0.025 / 10  # the last one saves 0.025 for 1
    useless = default_cost_weights(np.ones((4, 3)), np.tile([0.0, 1.0, 2.0], (4, 1)), np.ones(4))
    assert (np.diff(useless) < 0).all()


@pytest.fixture(scope="module")
def parity():
    """The class says whether two columns differ in sign; neither of them says anything alone."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], (400, 3)) * np.random.default_rng(1).uniform(1, 2, (400, 3))
    return X, (np.sign(X[:, 0]) != np.sign(X[:, 2])).astype(int)


def test_a_fit_buys_two_columns_that_help_only_together(parity):
    X, y = parity
    model = ThriftyClassifier(cost_weight=0.1, n_rounds=0, **FAST).fit(X, y)
    bought = model.acquire(X)
    assert np.mean(bought.prediction == y) > 0.99
    assert bought.acquired[:, [0, 2]].all()
    # Together they save at most 0.69 nats.
    assert not model.at_cost_weight(0.5).acquire(X).acquired.any()
