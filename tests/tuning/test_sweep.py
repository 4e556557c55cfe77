"""Sweeps: many settings from few fits give the same models as one fit per setting."""

from dataclasses import replace

import numpy as np
import pytest

from thrifty import ASTCClassifier, GreedyMiserClassifier, ThriftyClassifier, TruncatedClassifier
from thrifty.datasets import load_heart
from thrifty.models.rows import Rows
from thrifty.models.tables.preparation import learned_encoder
from thrifty.tuning.methods import METHODS
from thrifty.tuning.problem import Problem, Task
from thrifty.tuning.sweep import Sweep

HEART = load_heart()


@pytest.fixture(scope="module")
def problem():
    raw = Rows(HEART.X, HEART.y)
    return Problem.of(raw, learned_encoder(raw, HEART.costs), HEART.costs, Task.BINARY)


def test_numbers_of_rounds_are_prefixes_of_one_ensemble(problem):
    settings = tuple(
        {"cost_weight": weight, "n_estimators": n} for n in (3, 10) for weight in (1e-4, 1e-5)
    )  # not in the order of the batches
    batches = Sweep("miser", GreedyMiserClassifier(), settings).batches()
    assert [[each["n_estimators"] for each in batch.settings] for batch in batches] == [[3, 10], [3, 10]]
    for batch in batches:
        for fitted in batch.fit(problem):
            alone = GreedyMiserClassifier(costs=HEART.costs, **fitted.setting).fit(HEART.X, HEART.y)
            np.testing.assert_array_equal(fitted.model.acquire(HEART.X).score, alone.acquire(HEART.X).score)
            assert fitted.model.get_params()["n_estimators"] == fitted.setting["n_estimators"]


def test_cost_weights_of_the_adaptive_model_are_points_of_one_fit(problem):
    settings = tuple({"cost_weight": weight} for weight in (1e-4, 1e-1, 1e-3))
    light = {"n_estimators": 10, "n_rounds": 0, "random_state": 0}
    (batch,) = Sweep("thrifty", ThriftyClassifier(**light), settings).batches()
    fitted = batch.fit(problem)
    assert len({id(each.model.policy_) for each in fitted}) == 1
    for each in fitted:
        alone = ThriftyClassifier(costs=HEART.costs, **light, **each.setting).fit(HEART.X, HEART.y)
        np.testing.assert_array_equal(each.model.acquire(HEART.X).score, alone.acquire(HEART.X).score)
        assert each.model.get_params()["cost_weight"] == each.setting["cost_weight"]


def test_a_mean_spend_is_a_cost_weight_of_the_same_fit(problem):
    settings = ({"cost_weight": 1e-3}, {"mean_spend": 60.0}, {"mean_spend": 20.0})
    light = {"n_estimators": 10, "n_rounds": 0, "random_state": 0}
    for chosen in (settings, settings[1:]):
        (batch,) = Sweep("thrifty", ThriftyClassifier(**light), chosen).batches()
        fitted = batch.fit(problem)
        assert len({id(each.model.policy_) for each in fitted}) == 1
        for each, target in zip(fitted[-2:], (60.0, 20.0), strict=True):
            assert 0.8 * target < each.acquire(problem.rows, None).spend.mean() <= target
            assert each.setting == {"cost_weight": each.model.cost_weight}  # parameters of the method
            assert batch.unfitted(each.setting).cost_weight == each.model.cost_weight
    capped = batch.fit(replace(problem, cap=30.0))[0]
    assert 20.0 < capped.acquire(problem.rows, 30.0).spend.mean() <= 30.0


def test_the_sweep_of_the_adaptive_model_has_mean_spends_near_the_budget(problem):
    method = METHODS["thrifty"]
    settings = method.sweep(method.estimator(Task.BINARY), replace(problem, budget=40.0))
    assert [each["mean_spend"] for each in settings if "mean_spend" in each] == [38.0, 34.0, 30.0, 24.0]
    useless = method.sweep(method.estimator(Task.BINARY), replace(problem, budget=1e6))
    assert not [each for each in useless if "mean_spend" in each]


def test_the_sweep_of_the_adaptive_model_goes_from_nothing_to_almost_everything(problem):
    method = METHODS["thrifty"]
    weights = [each["cost_weight"] for each in method.sweep(method.estimator(Task.BINARY), problem)]
    light = ThriftyClassifier(costs=HEART.costs, n_estimators=10, n_rounds=0, random_state=0)
    spends = [model.spend(HEART.X).mean() for model in light.path(HEART.X, HEART.y, cost_weights=weights)]
    assert spends[0] == 0
    assert spends[-1] > 0.5 * HEART.costs.total


def test_caps_run_one_fit(problem):
    (batch,) = Sweep("truncated", TruncatedClassifier(), ({"cap": 3.0}, {"cap": 30.0})).batches()
    few, many = batch.fit(problem)
    assert few.model is many.model
    assert (few.limit(None), many.limit(None), many.limit(9.0)) == (3.0, 30.0, 9.0)


def test_settings_of_different_parameters_are_fitted_one_by_one(problem):
    settings = ({"max_depth": 1}, {"max_depth": 2, "node_budget": 5.0})
    batches = Sweep("tree", ASTCClassifier(), settings).batches()
    assert [batch.settings for batch in batches] == [(settings[0],), (settings[1],)]
    (deep,) = batches[1].fit(problem)
    assert deep.model.tree_.n_nodes == 3


def test_unfitted_has_the_setting_and_no_costs():
    sweep = Sweep("tree", ASTCClassifier(costs=[1.0]), ({"max_depth": 2, "cap": 9.0},))
    estimator = sweep.unfitted(sweep.settings[0])
    assert (estimator.max_depth, estimator.costs) == (2, None)
