"""The curve of operating points, and the choice of one for a budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from reference.adaptive import spend_bound
from thrifty.kernels.adaptive.structures import EVERYTHING
from thrifty.models.adaptive.operating_points import BATCH_SHARE, OperatingCurve
from thrifty.models.adaptive.policy import position_among
from thrifty.models.adaptive.stopping import Stopped

N, N_STAGES = 90, 4
WEIGHTS = np.array([2.0, 0.5, 0.1, 0.02, 0.0])


def random_stops(seed, n=N):
    """Rows that go on longer at smaller cost weights, and whose loss falls while they do."""
    random = np.random.default_rng(seed)
    advantage = random.normal(size=(n, N_STAGES, 1)) + np.linspace(-1.5, 2.0, len(WEIGHTS))
    loss = np.maximum(1.0 - 0.2 * np.arange(N_STAGES + 1) + 0.3 * random.normal(size=(n, N_STAGES + 1)), 0.0)
    spend = np.cumsum(random.integers(1, 4, (n, N_STAGES + 1)), axis=1).astype(float)
    return Stopped(WEIGHTS, advantage, loss, spend - spend[:, :1], None)


@pytest.fixture(scope="module")
def measured():
    random = np.random.default_rng(9)
    stopped, refit = random_stops(0), random_stops(1, 50)
    weight, refit_weight, fold = random.uniform(0.5, 2.0, N), random.uniform(0.5, 2.0, 50), random.permutation(N) % 3
    curve = OperatingCurve.of(stopped, weight, fold, refit, refit_weight)
    return curve, stopped, weight, fold, refit, refit_weight


def curve_of(**columns):
    """A curve of four points."""
    usual = {
        "cost_weight": [np.inf, 1.0, 0.1, 0.0],
        "spend": [0.0, 2.0, 4.0, 6.0],
        "refit_spend": [0.0, 0.0, 0.0, 0.0],
        "spend_error": [0.0, 0.1, 0.1, 0.1],
        "loss": [1.0, 0.5, 0.2, 0.1],
        "loss_error": [0.1, 0.1, 0.1, 0.0],
    }
    return OperatingCurve(**{name: np.array(each) for name, each in (usual | columns).items()})


def test_points_are_the_outcomes_at_their_cost_weights(measured):
    curve, stopped, weight, fold, refit, refit_weight = measured
    assert curve.cost_weight[0] == np.inf
    assert curve.cost_weight[-1] == 0
    assert (np.diff(curve.cost_weight) < 0).all()
    assert set(WEIGHTS) <= set(curve.cost_weight.tolist())
    for point, cost_weight in enumerate(curve.cost_weight):
        loss, spend = stopped.outcome(*position_among(WEIGHTS, cost_weight))
        assert curve.loss[point] == pytest.approx(np.average(loss, weights=weight))
        assert curve.spend_at(cost_weight) == pytest.approx(np.average(spend, weights=weight))
        quantile = norm.ppf(0.9)
        bound = spend_bound(spend, weight, fold, quantile, BATCH_SHARE)
        refit_mean = np.average(refit.outcome(*position_among(WEIGHTS, cost_weight))[1], weights=refit_weight)
        expected = bound + max(0.0, refit_mean - curve.spend[point])
        assert curve.bound_at(cost_weight, 0.9) == pytest.approx(expected)
    assert curve.spend[0] == 0.0
    assert curve.spend[-1] == pytest.approx(np.average(stopped.spend[:, -1], weights=weight))


def test_folds_that_differ_widen_the_bound(measured):
    _, stopped, weight, _, refit, refit_weight = measured
    spend = stopped.outcome(2)[1]
    fold = np.empty(N, dtype=int)
    fold[np.argsort(spend)] = np.arange(N) * 3 // N  # cheap rows in the first fold, expensive ones in the last
    sorted_folds = OperatingCurve.of(stopped, weight, fold, refit, refit_weight)
    mixed = measured[0]
    assert sorted_folds.bound_at(WEIGHTS[2], 0.95) > mixed.bound_at(WEIGHTS[2], 0.95)
    expected = spend_bound(spend, weight, fold, norm.ppf(0.95), BATCH_SHARE)
    excess = max(0.0, mixed.refit_spend[mixed.cost_weight == WEIGHTS[2]][0] - np.average(spend, weights=weight))
    assert sorted_folds.bound_at(WEIGHTS[2], 0.95) == pytest.approx(expected + excess)


@given(st.integers(0, 50), st.floats(0.0, 12.0), st.floats(0.5, 0.99))
def test_no_point_for_a_budget_exceeds_it(seed, budget, confidence):
    fold = np.arange(N) % 3
    curve = OperatingCurve.of(random_stops(seed), np.ones(N), fold, random_stops(seed + 1), np.ones(N))
    chosen = curve.for_budget(budget, confidence)
    assert chosen is not None
    assert curve.bound_at(chosen, confidence) <= budget
    more = curve.for_budget(1.5 * budget, confidence)
    surer = curve.for_budget(budget, (1 + confidence) / 2)
    loss = {weight: curve.loss[curve.cost_weight == weight].item() for weight in (chosen, more, surer)}
    assert loss[more] <= loss[chosen] <= loss[surer]


def test_the_best_point_within_a_budget_is_chosen():
    curve = curve_of()
    assert [curve.for_budget(budget, 0.5) for budget in (0.0, 1.9, 2.0, 3.9, 4.0, 5.9, 6.0, 99.0)] == [
        *(np.inf, np.inf, 1.0, 1.0, 0.1, 0.1, 0.0, 0.0)
    ]
    assert curve.for_budget(2.0, 0.95) == np.inf
    assert curve.for_budget(2.0 + 0.1 * norm.ppf(0.95) + 1e-9, 0.95) == 1.0


def test_a_point_that_costs_more_and_loses_more_is_not_chosen():
    curve = curve_of(loss=[1.0, 0.2, 0.3, 0.1])
    assert curve.for_budget(5.0, 0.5) == 1.0
    assert curve.for_budget(6.0, 0.5) == 0.0


def test_the_spend_of_the_final_model_counts():
    curve = curve_of(refit_spend=[0.0, 3.0, 0.0, 0.0])
    assert curve.for_budget(2.5, 0.5) == np.inf
    assert curve.for_budget(3.0, 0.5) == 1.0
    assert curve.spend_at(1.0) == 2.0


def test_there_may_be_no_point_within_a_budget():
    assert curve_of(spend=[1.0, 2.0, 4.0, 6.0]).for_budget(0.5, 0.5) is None


def test_the_economical_point_is_the_cheapest_whose_loss_is_not_clearly_larger():
    assert curve_of().economical() == 0.1
    assert curve_of(loss_error=[0.1, 0.1, 0.01, 0.0]).economical() == 0.0
    assert curve_of(loss_error=[0.1, 0.5, 0.01, 0.0]).economical() == 1.0
    assert curve_of(loss=[0.1, 0.1, 0.1, 0.1]).economical() == np.inf


def test_between_two_points_spends_are_interpolated():
    curve = curve_of()
    assert curve.spend_at(np.inf) == 0.0
    assert curve.spend_at(7.0) == 0.0  # larger than all cost weights for which stops were learned
    assert curve.spend_at(np.sqrt(0.1)) == pytest.approx(3.0)
    assert curve.spend_at(0.025) == pytest.approx(5.5)
    assert curve.bound_at(np.sqrt(0.1), 0.5) == pytest.approx(3.0)


def test_the_position_of_a_cost_weight():
    assert position_among(WEIGHTS, 2.1) == (-1, 0.0)
    assert position_among(WEIGHTS, np.inf) == (-1, 0.0)
    assert position_among(WEIGHTS, 2.0) == (0, 0.0)
    assert position_among(WEIGHTS, 1.0) == pytest.approx((0, 0.5))  # the geometric mean of 2 and 0.5
    assert position_among(WEIGHTS, 0.5) == (1, 0.0)
    assert position_among(WEIGHTS, 0.02) == (3, 0.0)
    assert position_among(WEIGHTS, 0.005) == pytest.approx((3, 0.75))
    assert position_among(WEIGHTS, 0.0) == (3, EVERYTHING)
    assert position_among(WEIGHTS, np.nextafter(0.5, 1.0))[1] != EVERYTHING


@given(st.floats(0.0, 2.0, exclude_min=True))
def test_a_cost_weight_is_found_again_at_its_position(cost_weight):
    column, share = position_among(WEIGHTS, cost_weight)
    high, low = WEIGHTS[column : column + 2]
    assert low <= cost_weight <= high
    assert 0.0 <= share <= 1.0
    again = high * (low / high) ** share if low > 0 else (1 - share) * high
    assert again == pytest.approx(cost_weight, rel=1e-9, abs=1e-12)
