"""Sweeps: many settings from few fits, and the same models as from many."""

import numpy as np
import pytest

from thrifty import ASTCClassifier, BudgetSearchCV, GreedyMiserClassifier, TruncatedClassifier
from thrifty.datasets import load_heart
from thrifty.tuning.raw_rows import RawRows
from thrifty.tuning.sweep import Sweep

HEART = load_heart()


@pytest.fixture(scope="module")
def rows():
    raw = RawRows.checked(BudgetSearchCV(), HEART.X, HEART.y)
    return raw.encoded(raw.encoder(HEART.costs), HEART.costs)


def test_numbers_of_rounds_are_prefixes_of_one_ensemble(rows):
    settings = tuple(
        {"cost_weight": weight, "n_estimators": n} for n in (3, 10) for weight in (1e-4, 1e-5)
    )  # in an order that batches have to put right
    batches = Sweep("miser", GreedyMiserClassifier(), settings).batches()
    assert [[each["n_estimators"] for each in batch.settings] for batch in batches] == [[3, 10], [3, 10]]
    for batch in batches:
        for fitted in batch.fit(rows):
            alone = GreedyMiserClassifier(costs=HEART.costs, **fitted.setting).fit(HEART.X, HEART.y)
            np.testing.assert_array_equal(fitted.model.acquire(HEART.X).score, alone.acquire(HEART.X).score)
            assert fitted.model.get_params()["n_estimators"] == fitted.setting["n_estimators"]


def test_caps_run_one_fit(rows):
    (batch,) = Sweep("truncated", TruncatedClassifier(), ({"cap": 3.0}, {"cap": 30.0})).batches()
    few, many = batch.fit(rows)
    assert few.model is many.model
    assert (few.limit(None), many.limit(None), many.limit(9.0)) == (3.0, 30.0, 9.0)


def test_unlike_settings_are_fitted_one_by_one(rows):
    settings = ({"max_depth": 1}, {"max_depth": 2, "node_budget": 5.0})
    batches = Sweep("tree", ASTCClassifier(), settings).batches()
    assert [batch.settings for batch in batches] == [(settings[0],), (settings[1],)]
    (deep,) = batches[1].fit(rows)
    assert deep.model.tree_.n_nodes == 3


def test_unfitted_is_what_a_user_would_have_made():
    sweep = Sweep("tree", ASTCClassifier(costs=[1.0]), ({"max_depth": 2, "cap": 9.0},))
    estimator = sweep.unfitted(sweep.settings[0])
    assert (estimator.max_depth, estimator.costs) == (2, None)
