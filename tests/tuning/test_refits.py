"""Final fits are calibrated to the budget on all rows before another point is taken."""

import numpy as np
import pytest

from thrifty import (
    ASTCClassifier,
    BudgetSearchCV,
    CostWeightedL1Classifier,
    ThriftyClassifier,
    TruncatedClassifier,
    load,
    read_manifest,
    save,
)
from thrifty.datasets import load_heart
from thrifty.models.rows import Rows
from thrifty.models.tables.preparation import learned_encoder
from thrifty.tuning.problem import Problem, Task
from thrifty.tuning.refits import Refits
from thrifty.tuning.stored_search import StoredSearch
from thrifty.tuning.sweep import Sweep

HEART = load_heart()


@pytest.fixture(scope="module")
def problem():
    raw = Rows(HEART.X, HEART.y)
    return Problem.of(raw, learned_encoder(raw, HEART.costs), HEART.costs, Task.BINARY)


LIGHT = ThriftyClassifier(n_estimators=10, n_rounds=0, random_state=0)


@pytest.mark.parametrize(
    ("estimator", "setting", "knob"),
    [
        (LIGHT, {"cost_weight": 1e-3}, "cost_weight"),
        (TruncatedClassifier(), {"cap": 330.0}, "cap"),
    ],
)
def test_the_knob_is_moved_until_the_spend_is_within_the_budget(problem, estimator, setting, knob):
    sweep = Sweep("method", estimator, (setting,))
    (as_measured,) = sweep.fit(problem)
    spent = as_measured.acquire(problem.rows, None).spend.mean()
    refits = Refits([(sweep, 0)], problem)
    point, fitted = refits.first_within([0], 0.95 * spent)
    assert point == 0
    assert 0 < fitted.acquire(problem.rows, None).spend.mean() <= 0.95 * spent
    assert refits.notes[0].startswith(f"on all rows it spends {spent:.4g}, so {knob} was set to ")
    assert getattr(refits.estimator(0, fitted), knob, fitted.setting["cap"] if knob == "cap" else None) is not None
    assert fitted.setting[knob] != setting[knob]


def test_a_search_measures_models_that_buy_the_best_column_for_as_many_rows_as_the_budget_pays(tmp_path):
    """With one cost weight, the models of some folds buy that column for many rows, and those of others for none."""
    random = np.random.default_rng(2)
    X = random.normal(size=(300, 3))
    y = random.random(300) < 1 / (1 + np.exp(-2.5 * X[:, 0] - X[:, 1]))
    search = BudgetSearchCV(["thrifty"], budget=12, costs=[40, 1, 1]).fit(X, y)
    calibrated = search.frontier_[["mean_spend" in each for each in search.frontier_["parameters"]]]
    targets = [each["mean_spend"] for each in calibrated["parameters"]]
    assert np.allclose(targets, [11.4, 10.2, 9.0, 7.2])
    assert (np.abs(calibrated["spend"] / targets - 1.0) < 0.5).all()
    assert search.spend(X).mean() <= search.promise_.spend_bound <= 12
    save(search, tmp_path / "m.thrifty")
    manifest = read_manifest(tmp_path / "m.thrifty")
    stored = StoredSearch.of(load(tmp_path / "m.thrifty"), manifest.frontier, manifest.anchors)
    again = stored.at_budget(Rows(X, y), 12)
    assert again.promise_ == search.promise_
    assert again.best_estimator_.spend(X).mean() == search.spend(X).mean()


def test_a_model_that_the_budget_allows_is_not_changed(problem):
    refits = Refits([(Sweep("l1", CostWeightedL1Classifier(), ({"cost_weight": 0.05},)), 0)], problem)
    _, fitted = refits.first_within([0], 1000.0)
    assert fitted.setting == {"cost_weight": 0.05}
    assert not refits.notes


def test_a_point_that_cannot_be_calibrated_is_passed_over_with_the_reason(problem):
    tree = Sweep("tree", ASTCClassifier(), ({"max_depth": 1},))  # it has no knob, and buys everything useful
    cheap = Sweep("cheap", TruncatedClassifier(), ({"cap": 4.0},))
    broken = Sweep("broken", ASTCClassifier(max_depth=-1), ({},))
    refits = Refits([(broken, 0), (tree, 0), (cheap, 0)], problem)
    point, fitted = refits.first_within([0, 1, 2], 5.0)
    assert point == 2
    assert fitted.acquire(problem.rows, None).spend.max() <= 4.0
    assert "max_depth is -1" in refits.notes[0]
    assert refits.notes[1].startswith("passed over: on all rows it spends ")
    point, _ = refits.first_within([1], 5.0)  # nothing else: the cheapest on all rows
    assert point == 1


def test_a_point_that_would_buy_almost_nothing_is_the_last_resort(problem):
    steps = Sweep("steps", CostWeightedL1Classifier(), ({"cost_weight": 0.0019},))  # its next point buys much less
    other = Sweep("other", LIGHT, ({"cost_weight": 1e-3},))
    (fitted,) = steps.fit(problem)
    budget = 0.99 * fitted.acquire(problem.rows, None).spend.mean()
    refits = Refits([(steps, 0), (other, 0)], problem)
    assert refits.first_within([0, 1], budget)[0] == 1
    assert "it buys much less" in refits.notes[0]
    point, found = refits.first_within([0], budget)
    assert point == 0
    assert found.acquire(problem.rows, None).spend.mean() <= budget


def test_without_time_nothing_is_fitted_again(problem):
    tree = Sweep("tree", ASTCClassifier(), ({"max_depth": 1, "node_budget": [300.0]},))
    cheap = Sweep("cheap", TruncatedClassifier(), ({"cap": 4.0},))
    late = Refits([(tree, 0), (cheap, 0)], problem, left=lambda: 0.0)
    point, fitted = late.first_within([0, 1], 200.0)
    assert point == 0  # the first fit is always made, and nothing else
    assert fitted.acquire(problem.rows, None).spend.mean() > 200.0
    assert late.notes[0].endswith(", and no time was left to change that")
    point, fitted = Refits([(tree, 0), (cheap, 0)], problem).first_within([0, 1], 200.0)
    assert fitted.acquire(problem.rows, None).spend.mean() <= 200.0


def test_if_nothing_can_be_fitted_the_error_is_raised(problem):
    with pytest.raises(ValueError, match=r"no candidate could be fitted on all rows: .*max_depth is -1"):
        Refits([(Sweep("broken", ASTCClassifier(max_depth=-1), ({},)), 0)], problem).first_within([0], 5.0)


def test_weights_count_in_the_spend_on_all_rows():
    weight = np.where(HEART.y == 1, 10.0, 0.1)
    raw = Rows(HEART.X, HEART.y, weight)
    problem = Problem.of(raw, learned_encoder(raw, HEART.costs), HEART.costs, Task.BINARY)
    sweep = Sweep("thrifty", LIGHT, ({"cost_weight": 1e-3},))
    (fitted,) = sweep.fit(problem)
    spend = np.average(fitted.acquire(problem.rows, None).spend, weights=weight)
    for budget, notes in ((spend * 1.001, 0), (spend * 0.999, 1)):
        refits = Refits([(sweep, 0)], problem)
        refits.first_within([0], budget)
        assert len(refits.notes) == notes
