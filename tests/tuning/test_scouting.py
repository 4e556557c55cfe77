"""Successive halving: who is kept, on measurements that are given."""

from dataclasses import replace

import numpy as np
import pytest

from thrifty import CostWeightedL1Classifier
from thrifty.costs import CostModel
from thrifty.models.rows import Rows
from thrifty.models.tables.preparation import learned_encoder
from thrifty.tuning.clock import Clock
from thrifty.tuning.cross_validation import Folds, Measurement
from thrifty.tuning.frontier import frontier_table
from thrifty.tuning.problem import Problem, Task
from thrifty.tuning.scouting import curves, drop_dominated, noise
from thrifty.tuning.splits import folds_of
from thrifty.tuning.survey import Survey
from thrifty.tuning.sweep import Sweep

CONSTANT = np.array([0.5, 0.5, 0.5])


@pytest.fixture
def survey():
    rows, costs = Rows(np.arange(60.0)[:, None], np.arange(60) % 2), CostModel([10.0])
    problem = Problem.of(rows, learned_encoder(rows, costs), costs, Task.BINARY)
    positions = folds_of(rows, 3, stratify=True, random_state=0)
    return Survey(Folds(rows, problem, positions), "accuracy", Clock(None, 1, 60), None, lambda name, seconds: None)


def measured(survey, name, points, fold_effects=(0.0, 0.0)):
    """Add one trial for each (cost weight, spend, score), measured on two folds."""
    trials = []
    for weight, spend, score in points:
        (trial,) = survey.add(Sweep(name, CostWeightedL1Classifier(), ({"cost_weight": weight},)))
        for k, effect in enumerate(fold_effects):
            trial.measured[k] = [Measurement(spend, 0.0, spend, score + effect, 0.1)]
        trials.append(trial)
    return trials


def test_the_value_of_a_curve_is_its_smoothed_score_at_the_budget(survey):
    trials = measured(survey, "a", [(0.4, 2.0, 0.7), (0.2, 4.0, 0.9), (0.1, 8.0, 0.7)])
    points = survey.points(trials)
    for budget, value in ((1.0, 0.6), (2.0, 0.7), (3.0, 0.75), (4.0, 0.8), (8.0, 0.8), (np.inf, 0.8)):
        (curve,) = curves(points, (0, 1), budget, CONSTANT)
        assert curve.value == pytest.approx(value)
    (curve,) = curves(points, (0, 1), 5.0, CONSTANT, rises=False)
    assert curve.value == 0.9


def test_noise_is_the_standard_error_of_paired_differences(survey):
    measured(survey, "a", [(0.4, 2.0, 0.8)], (0.0, 0.02))
    measured(survey, "b", [(0.4, 2.0, 0.7)], (0.02, 0.0))
    found = curves(survey.points(), (0, 1), 2.0, CONSTANT)
    differences = found[1].values - found[0].values
    assert noise(found) == pytest.approx(differences.std(ddof=1) / np.sqrt(2))


def test_worse_methods_are_dropped_with_a_reason_and_references_are_kept(survey):
    scores = {"a": 0.9, "b": 0.7, "c": 0.65, "d": 0.6, "l1": 0.6}
    trials = [measured(survey, name, [(0.4, 2.0, score)], (0.0, 0.002))[0] for name, score in scores.items()]
    kept = drop_dominated(survey, trials, (0, 1), [2.0], CONSTANT)
    assert [trial.name for trial in kept] == ["a", "b", "l1"]  # the best third, rounded up, and a reference
    assert trials[2].note == "dropped after 2 folds of 40 rows: score at the budget 0.651, while a has 0.901"
    assert [trial.note for trial in kept] == ["", "", ""]


def test_within_noise_of_the_leader_all_are_kept(survey):
    trials = measured(survey, "a", [(0.4, 2.0, 0.80)], (0.0, 0.1))
    for name, score in (("b", 0.84), ("c", 0.82), ("d", 0.80)):
        trials += measured(survey, name, [(0.4, 2.0, score)], (0.1, 0.0))
    assert len(drop_dominated(survey, trials, (0, 1), [2.0], CONSTANT)) == 4


def test_methods_that_gain_from_rows_have_a_margin_while_rows_are_few(survey):
    trials = [
        measured(survey, name, [(0.4, 2.0, score)], (0.0, 0.001))[0]
        for name, score in (("a", 0.90), ("b", 0.87), ("thrifty", 0.86), ("c", 0.86))
    ]
    assert [trial.name for trial in drop_dominated(survey, trials, (0, 1), [2.0], CONSTANT)] == ["a", "b"]
    for trial in trials:
        trial.n_fitted, trial.note = 20, ""
    assert [t.name for t in drop_dominated(survey, trials, (0, 1), [2.0], CONSTANT)] == ["a", "b", "thrifty"]


def test_only_the_first_point_beyond_the_budget_is_needed(survey):
    trials = measured(survey, "a", [(0.8, 1.0, 0.6), (0.4, 3.0, 0.8), (0.2, 5.0, 0.85), (0.1, 9.0, 0.9)])
    kept = drop_dominated(survey, trials, (0, 1), [4.0], CONSTANT)
    assert [trial.mean("spend", 0) for trial in kept] == [1.0, 3.0, 5.0]
    assert trials[3].note.endswith("a cheaper point of its curve is beyond the budget too")


def test_without_a_budget_what_is_good_at_any_spend_is_kept(survey):
    cheap = measured(survey, "cheap", [(0.4, 1.0, 0.8)], (0.0, 0.001))
    dear = measured(survey, "dear", [(0.4, 9.0, 0.95)], (0.0, 0.001))
    other = measured(survey, "other", [(0.4, 9.0, 0.7)], (0.0, 0.001))
    kept = drop_dominated(survey, cheap + dear + other, (0, 1), [10.0, 1.0], CONSTANT)
    assert [trial.name for trial in kept] == ["cheap", "dear"]


def test_slow_methods_are_kept_only_if_quick_ones_are_not_better(survey):
    trials = measured(survey, "a", [(0.4, 2.0, 0.80)], (0.0, 0.1))
    for name, score in (("b", 0.84), ("c", 0.82), ("slow", 0.80)):
        trials += measured(survey, name, [(0.4, 2.0, score)], (0.1, 0.0))
    assert len(drop_dominated(survey, trials, (0, 1), [2.0], CONSTANT)) == 4
    trials[3].batch = replace(trials[3].batch, is_slow=True)
    assert [t.name for t in drop_dominated(survey, trials, (0, 1), [2.0], CONSTANT)] == ["a", "b", "c"]


def test_a_method_that_is_expected_to_take_longer_than_the_time_limit_is_not_started(survey):
    sweep = Sweep("quick", CostWeightedL1Classifier(), ({"cost_weight": 0.1},))
    survey.clock.limit = 60.0
    trials = survey.add(sweep) + survey.add(replace(sweep, name="slow", scout_seconds=100.0))
    survey.measure(trials, (0, 1))
    assert [len(trial.measured) for trial in trials] == [2, 0]
    assert trials[1].note == "time limit"


def test_the_other_folds_are_left_out_if_the_first_fit_took_longer_than_expected(survey):
    survey.clock.limit = 60.0
    record = survey.clock.record
    survey.clock.record = lambda *what: record(*what[:3], 50.0)
    (trial,) = survey.add(Sweep("slow", CostWeightedL1Classifier(), ({"cost_weight": 0.1},)))
    survey.measure([trial], (0, 1, 2))
    assert (len(trial.measured), trial.note) == (1, "time limit")


def test_measurements_with_few_rows_are_kept_until_as_many_folds_are_measured_with_more(survey):
    (trial,) = survey.add(Sweep("a", CostWeightedL1Classifier(), ({"cost_weight": 0.1},)))
    survey.measure([trial], (0, 1), 20)
    assert (sorted(trial.measured), trial.n_fitted) == ([0, 1], 20)
    survey.measure([trial], (2,))
    assert (sorted(trial.measured), trial.n_fitted) == ([0, 1], 20)
    survey.measure([trial], (0, 1))
    assert (sorted(trial.measured), trial.n_fitted) == ([0, 1], None)


def test_points_that_the_time_limit_stopped_after_two_folds_compete(survey):
    stopped, dropped, once = (measured(survey, name, [(0.4, 2.0, 0.8)])[0] for name in ("stopped", "dropped", "once"))
    survey.measure(survey.add(Sweep("whole", CostWeightedL1Classifier(), ({"cost_weight": 0.1},))), (0, 1, 2))
    del once.measured[1]
    stopped.note, dropped.note, once.note = "time limit", "dropped after 2 folds", "time limit"
    table = frontier_table(survey, 0.95).set_index("method")
    assert table["spend_bound"].notna().to_dict() == {"stopped": True, "dropped": False, "once": False, "whole": True}


def test_a_method_with_a_limit_is_fitted_on_few_rows_of_each_fold_and_competes(survey):
    settings = ({"cost_weight": 0.1},)
    few, most = (
        survey.add(Sweep(name, CostWeightedL1Classifier(), settings, max_rows=limit))[0]
        for name, limit in (("few", 20), ("most", 1_000))
    )
    survey.measure([few, most], (0, 1), 10)
    assert (few.n_fitted, most.n_fitted) == (10, 10)
    survey.measure([few, most], (0, 1, 2))
    assert (few.n_fitted, most.n_fitted) == (20, None)
    assert survey.is_complete(few)
    assert survey.is_complete(most)
    assert len(survey.complete_points()) == 2
