"""Figure 1a of He et al. (2012), and the left of Figure 1 of Xu et al. (2012)."""

import pytest

from thrifty.bench.reproductions import dynamic_figure_1_curves, dynamic_figure_1a, miser_figure_1_left
from thrifty.bench.results import Result, Results
from thrifty.bench.runs import Key

SMOOTH, ROUGH = [0.1, 0.2, 0.3, 0.4], [0.1, 0.4, 0.1, 0.4]


@pytest.mark.parametrize(
    ("dagger", "coaching", "outcomes"),
    [
        (ROUGH, [*SMOOTH[:3], 0.5], ["reproduced", "reproduced"]),
        (SMOOTH, [*ROUGH[:3], 0.3], ["not reproduced", "not reproduced"]),
    ],
)
def test_figure_1a_is_judged_by_last_reward_and_roughness(dagger, coaching, outcomes):
    results = Results()
    for seed in range(3):
        for setting, reward in (("DAgger", dagger), ("Coaching", coaching)):
            moved = [value + 0.001 * seed for value in reward]
            results.append(Result(Key("dynamic_figure_1a", seed, setting), {"setting": setting, "reward": moved}))
    assert [verdict.outcome for verdict in dynamic_figure_1a.verdicts(results)] == outcomes
    assert "seeds 0, 1, 2" in dynamic_figure_1a.verdicts(results)[0].sentence
    assert len(dynamic_figure_1a.figure(results).axes) == 2


def test_accuracy_within_half_of_the_cost_is_that_of_a_cheap_setting():
    curve = {"total": 10.0, "baseline": 0.3, "held_baseline": 0.3, "spend": [2.0, 6.0], "score": [0.7, 0.9]}
    curve |= {"held_spend": [2.0, 6.0], "held_score": [0.6, 0.8]}
    assert dynamic_figure_1_curves._within(curve, 5.0) == 0.7
    assert dynamic_figure_1_curves._within(curve, 6.0) == 0.9


@pytest.mark.parametrize(("factor", "outcome"), [(-1.0, "reproduced"), (1.0, "not reproduced")])
def test_the_left_of_the_miser_figure_is_judged_by_early_spends(factor, outcome):
    results = Results()
    for seed in range(2):
        for k, weight in enumerate(miser_figure_1_left.COST_WEIGHTS):
            values = {"problem": "queries", "cost_weight": weight, "iterations": [1, 5, 10, 50]}
            values |= {"spend": [1.0, 10 + factor * k + 0.01 * seed, 20.0, 21.0]}
            values |= {"score": [0.1, 0.2, 0.3, 0.4], "held_score": [0.1, 0.2, 0.4, 0.3]}
            results.append(Result(Key("miser_figure_1_left", seed, str(k)), values))
    (verdict,) = miser_figure_1_left.verdicts(results)
    assert verdict.outcome == outcome
    assert len(miser_figure_1_left.figure(results).axes) == 1
