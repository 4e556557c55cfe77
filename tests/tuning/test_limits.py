"""Time limits, interruptions, other budgets, groups, time-ordered splits and weights."""

import pickle
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import TimeSeriesSplit

from thrifty import BudgetSearchCV, CostWeightedL1Classifier, load, read_manifest, save
from thrifty.datasets import load_heart
from thrifty.models.rows import Rows
from thrifty.tuning.stored_search import StoredSearch

HEART = load_heart()
QUICK = {"costs": HEART.costs, "cv": 3}


@pytest.fixture(scope="module")
def search():
    return BudgetSearchCV(["l1", "truncated"], budget=60, **QUICK).fit(HEART.X, HEART.y)


def test_a_time_limit_that_is_over_at_once_still_gives_a_model_with_a_promise():
    search = BudgetSearchCV(["l1", "cstc"], budget=60, time_limit=1e-3, **QUICK).fit(HEART.X, HEART.y)
    table = search.frontier_
    assert search.promise_.method == "l1"
    assert search.promise_.n_rows == 180  # two of three folds
    assert search.promise_.kept
    assert search.spend(HEART.X).mean() <= 60
    late = table[table["method"] == "cstc"]
    assert (late["note"] == "time limit").all()
    assert (late["n_folds"] == 0).all()
    assert late["spend_bound"].isna().all()
    assert late["dominated"].all()


def test_a_large_time_limit_changes_nothing(search):
    other = BudgetSearchCV(["l1", "truncated"], budget=60, time_limit=1e4, **QUICK).fit(HEART.X, HEART.y)
    assert other.best_params_ == search.best_params_
    pd.testing.assert_frame_equal(other.anchors_, search.anchors_)


class InterruptingScore:
    """A scorer that interrupts the search after some calls, as Ctrl-C does."""

    def __init__(self, n_calls):
        self.left = n_calls

    def __call__(self, model, X, y):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return float(np.mean(model.predict(X) == y))


def test_an_interruption_keeps_the_best_so_far_only_if_asked():
    grid = CostWeightedL1Classifier(), {"cost_weight": [0.1, 0.01]}
    candidates = {"first": grid, "second": grid}
    scorer = InterruptingScore(6 + 6 + 3)  # anchors, the first candidate, and a part of the second
    kept = BudgetSearchCV(candidates, budget=60, scoring=scorer, keep_best=True, **QUICK).fit(HEART.X, HEART.y)
    assert kept.promise_.method == "first"
    second = kept.frontier_[kept.frontier_["method"] == "second"]
    assert (second["note"] == "interrupted").all()
    assert (second["n_folds"] == 1).all()
    with pytest.raises(KeyboardInterrupt):
        BudgetSearchCV(candidates, scoring=InterruptingScore(15), **QUICK).fit(HEART.X, HEART.y)


def test_another_budget_is_another_point_of_the_same_frontier(search):
    model = search.at_budget(5)
    promise, table = model.promise_, search.frontier_
    assert (promise.budget, promise.cap, promise.kept) == (5, None, True)
    assert model.spend(HEART.X).mean() <= 5
    chosen = table[(table["method"] == promise.method) & (table["spend"] == promise.spend)]
    assert promise.score in set(chosen["score"])
    assert search.at_budget(60).promise_ == search.promise_


def test_under_a_smaller_cap_the_point_is_measured_again(search):
    model = search.at_budget(60, cap=3)
    assert model.spend(HEART.X).max() <= 3
    assert model.promise_.cap == 3
    assert model.promise_.spend_bound <= 3
    with pytest.raises(ValueError, match="cap is -1; expected a finite number of at least 0"):
        search.at_budget(60, cap=-1)


def test_training_rows_are_not_saved_with_a_search(search, tmp_path):
    twin = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(twin.predict(HEART.X), search.predict(HEART.X))
    with pytest.raises(ValueError, match="training rows were not saved with the search"):
        twin.at_budget(5)


def test_a_model_file_and_the_rows_serve_another_budget(search, tmp_path):
    path = save(search, tmp_path / "model.thrifty")
    model, manifest = load(path), read_manifest(path)
    stored = StoredSearch.of(model, manifest.frontier, manifest.anchors)
    found = stored.at_budget(Rows(HEART.X, HEART.y), 5)
    assert found.promise_ == search.at_budget(5).promise_
    assert found.best_estimator_.spend(HEART.X).mean() <= 5
    assert stored.at_budget(Rows(HEART.X, HEART.y), 60, cap=3).best_estimator_.spend(HEART.X).max() <= 3
    again = read_manifest(save(found, tmp_path / "other.thrifty"))
    assert len(again.frontier) == len(manifest.frontier)
    with pytest.raises(ValueError, match="does not come from a search"):
        StoredSearch.of(model.estimator_, None, None)


def test_rows_of_a_group_are_held_out_together():
    X, y = np.repeat(HEART.X, 3, axis=0), np.repeat(HEART.y, 3)
    leaking = BudgetSearchCV(["truncated"], refit=False, **QUICK).fit(X, y)
    honest = BudgetSearchCV(["truncated"], refit=False, **QUICK).fit(X, y, groups=np.repeat(np.arange(270), 3))
    assert honest.frontier_["n_rows"].eq(810).all()
    assert honest.frontier_["score"].max() != leaking.frontier_["score"].max()
    with pytest.raises(ValueError, match=r"groups has shape \(3,\)"):
        BudgetSearchCV(["l1"]).fit(X, y, groups=[1, 2, 3])


def test_time_ordered_folds_promise_for_the_rows_that_were_held_out():
    pairs = list(TimeSeriesSplit(4).split(HEART.X))
    grid = CostWeightedL1Classifier(), {"cost_weight": [0.1, 0.01]}
    search = BudgetSearchCV([grid], cv=iter(pairs), costs=HEART.costs, budget=60).fit(HEART.X, HEART.y)
    assert search.promise_.n_rows == sum(len(held) for _, held in pairs) == 216
    assert search.best_estimator_.training_.n_rows == 270


def test_weights_count_in_spends_and_scores():
    """A weight of k is k equal rows in one fold."""
    weight = np.random.default_rng(0).integers(1, 4, 270)
    pairs = [(np.arange(k, 270, 2), np.arange(1 - k, 270, 2)) for k in (0, 1)]
    source = np.repeat(np.arange(270), weight)
    repeated = [tuple(np.flatnonzero(np.isin(source, part)) for part in pair) for pair in pairs]
    grid = CostWeightedL1Classifier(), {"cost_weight": [0.1, 0.01]}
    options = {"costs": HEART.costs, "refit": False}
    weighted = BudgetSearchCV([grid], cv=pairs, **options).fit(HEART.X, HEART.y, weight.astype(float)).frontier_
    rows = BudgetSearchCV([grid], cv=repeated, **options).fit(HEART.X[source], HEART.y[source]).frontier_
    np.testing.assert_allclose(weighted[["spend", "score"]], rows[["spend", "score"]], rtol=1e-6)
    doubled = BudgetSearchCV([grid], cv=pairs, **options).fit(HEART.X, HEART.y, 2.0 * weight).frontier_
    np.testing.assert_allclose(doubled["spend_bound"], weighted["spend_bound"])  # as many effective rows
