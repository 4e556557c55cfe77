"""Mixtures in a search: a test that pays only if it is bought for all rows is bought for some."""

import numpy as np
import pandas as pd
import pytest

from thrifty import BudgetSearchCV, StaticSelectionClassifier, TableModel, load, save
from thrifty.models.mixtures.mixture import Mixture
from thrifty.models.rows import Rows
from thrifty.tuning.mixing import best_pair, rise_at
from thrifty.tuning.stored_search import StoredSearch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=600) > 0, "ill", "well")  # only the expensive column tells
COSTS = [10.0, 1.0, 1.0]
TEST = RNG.normal(size=(3000, 3))
TEST_Y = np.where(TEST[:, 0] + 0.3 * RNG.normal(size=3000) > 0, "ill", "well")


def fitted(**options):
    return BudgetSearchCV(["static", "l1"], costs=COSTS, cv=4, **{"budget": 5.0, **options}).fit(X, Y)


@pytest.fixture(scope="module")
def search():
    return fitted(mix=True)


def test_a_mixture_spends_what_single_models_leave(search):
    plain = fitted()
    assert plain.promise_.spend_bound < 2.5
    assert plain.promise_.score < 0.6
    promise = search.promise_
    assert 4.5 < promise.spend_bound <= 5.0
    assert promise.spend < promise.spend_bound
    assert 0.65 < promise.score < 0.75
    assert " + " in promise.method
    assert isinstance(search.best_estimator_.estimator_, Mixture)


def test_what_is_promised_is_kept(search):
    assert search.spend(TEST).mean() <= 5.0
    assert abs(search.score(TEST, TEST_Y) - search.promise_.score) < 4 * search.promise_.score_error + 0.02


def test_the_bound_counts_that_rows_are_drawn(search):
    """If both models spend a constant, the variance of a row is p (1 - p) times their squared difference."""
    line = search.frontier_.loc[search.best_index_]
    share, n = line["parameters"]["share"], 600 / 4
    rows = np.sqrt(share * (1 - share)) * 9.0 / np.sqrt(n)
    assert line["spend_bound"] - line["spend"] > 1.5 * rows


def test_the_frontier_has_mixtures_of_several_shares_from_one_fit(search):
    mixtures = search.frontier_[["share" in each for each in search.frontier_["parameters"]]]
    assert mixtures["spend"].is_monotonic_decreasing
    assert mixtures["score"].corr(mixtures["spend"]) > 0.95
    assert len(set(mixtures["method"])) == 1
    assert (mixtures["n_folds"] == 4).all()


def test_another_budget_is_mixed_anew(search):
    model = search.at_budget(3.0, cap=11)
    assert 2.5 < model.promise_.spend_bound <= 3.0
    assert model.promise_.cap == 11
    assert model.spend(TEST).mean() <= 3.0
    assert 0.58 < model.promise_.score < search.promise_.score


def test_a_stored_search_is_mixed_anew(search, tmp_path):
    loaded = load(save(search, tmp_path / "model.thrifty"))
    np.testing.assert_array_equal(loaded.acquire(TEST).acquired, search.acquire(TEST).acquired)
    stored = StoredSearch(loaded, search.frontier_, search.anchors_)
    found = stored.at_budget(Rows(X, Y), 4.0, mix=True)
    assert 3.4 < found.promise_.spend_bound <= 4.0
    assert (found.frontier_["score"] == found.promise_.score).any()
    again = stored.at_budget(Rows(X, Y), 5.0)  # the mixture that is in the frontier
    assert again.promise_.parameters == search.promise_.parameters


def test_scores_that_are_no_means_over_rows_are_measured_on_the_mixture():
    found = fitted(mix=True, scoring="roc_auc", budget=6.0)
    line = found.frontier_.loc[found.best_index_]
    assert " + " in line["method"]
    measured = found.score(TEST, TEST_Y)
    assert abs(measured - line["score"]) < 4 * line["score_error"] + 0.02


def test_queries_are_mixed_as_a_whole():
    qid = np.repeat(np.arange(60), 10)
    relevance = np.clip(np.round(X[:, 0] + 1), 0, 3)
    found = BudgetSearchCV(["l1"], budget=5.0, costs=COSTS, cv=3, mix=True).fit(X, relevance, qid=qid)
    spend = found.spend(X, qid=qid).reshape(60, 10)
    assert (spend == spend[:, :1]).all()
    assert len(np.unique(spend)) == 2
    assert found.promise_.spend_bound <= 5.0


def test_estimators_of_the_user_are_mixed_too():
    grid = {"cap": [1.0, 12.0]}
    found = BudgetSearchCV([(StaticSelectionClassifier(), grid)], budget=6.0, costs=COSTS, cv=3, mix=True).fit(X, Y)
    assert found.promise_.method == "StaticSelectionClassifier + StaticSelectionClassifier"
    assert found.promise_.parameters["dear_cap"] == 12.0


def test_without_a_gain_nothing_is_mixed():
    line = {"method": "l1", "error": "", "n_folds": 5}
    points = [{**line, "parameters": {"cost_weight": w}, "spend": s, "spend_bound": s, "score": v} for w, s, v in [
        (0.3, 1.0, 0.8), (0.2, 2.0, 0.8), (0.1, 9.0, 0.8),
    ]]  # fmt: skip
    assert best_pair(pd.DataFrame(points), 4.0) is None
    points[2]["score"] = 0.9
    pair = best_pair(pd.DataFrame(points), 4.0)
    assert (pair.dear, round(pair.share, 3)) == (2, 0.375)
    assert best_pair(pd.DataFrame(points), 10.0) is None
    calibrated = {**line, "method": "thrifty", "parameters": {"mean_spend": 4.0}, "spend": 4.0, "spend_bound": 4.0}
    assert best_pair(pd.DataFrame([*points, {**calibrated, "score": 0.9}]), 4.0) is None  # better than any mixture
    assert best_pair(pd.DataFrame([*points, {**calibrated, "score": 0.5}]), 4.0) == pair  # no part of a mixture


def test_the_frontier_rises_as_far_as_a_mixture_is_better_than_the_point():
    line = {"method": "l1", "error": ""}
    points = [(0.4, 1.0, 0.7), (0.2, 2.0, 0.8), (0.1, 6.0, 0.9)]
    table = pd.DataFrame(
        {**line, "parameters": {"cost_weight": w}, "spend": s, "spend_bound": s, "score": v} for w, s, v in points
    )
    assert rise_at(table, 4.0, 1) == pytest.approx(0.05)
    assert rise_at(table, 4.0, 0) == pytest.approx(0.15)
    assert rise_at(table, 2.0, 1) == 0.0
    assert rise_at(table, 7.0, 2) == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": None, "mix": True}, "mix is True; expected False, because there is no budget"),
        ({"mix": "yes"}, "mix is 'yes'; expected True or False"),
    ],
)
def test_what_cannot_be_mixed_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(**options)


def test_a_table_model_of_a_mixture_can_be_fitted_again(search):
    again = TableModel(search.best_estimator_.estimator, costs=COSTS).fit(X, Y)
    assert 3.0 < again.spend(TEST).mean() < 5.5


def test_rows_on_a_cluster_are_not_mixed():
    dask = pytest.importorskip("dask.array")
    search = BudgetSearchCV(["l1"], budget=5.0, costs=COSTS, mix=True)
    with pytest.raises(ValueError, match="X is a Dask collection, and mix is not supported there"):
        search.fit(dask.from_array(X), dask.from_array(np.searchsorted(np.unique(Y), Y)))
