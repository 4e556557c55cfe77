"""Another budget from a frontier that was measured before."""

import numpy as np
import pandas as pd
import pytest

from thrifty import BudgetSearchCV, CostWeightedL1Classifier, StaticSelectionClassifier
from thrifty.models.rows import Rows
from thrifty.tuning.other_budgets import places_of
from thrifty.tuning.stored_search import StoredSearch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X[:, 0] + X[:, 1] > 0


@pytest.fixture(scope="module")
def search():
    return BudgetSearchCV(["l1"], budget=2, costs=[1, 1, 2], cv=2).fit(X, Y)


def test_a_setting_that_is_listed_twice_has_a_place_for_each():
    table = pd.DataFrame({"method": ["l1"] * 3, "parameters": [{"cost_weight": each} for each in (0.1, 0.2, 0.1)]})
    places = places_of(table, {"l1": CostWeightedL1Classifier()}, {"l1": 7})
    assert [batch.settings[k]["cost_weight"] for batch, k in places] == [0.1, 0.2, 0.1]
    assert {batch.max_rows for batch, _ in places} == {7}


def test_a_smaller_cap_is_measured_and_the_frontier_of_the_file_has_what_was_measured(search):
    stored = StoredSearch(search.best_estimator_, search.frontier_, search.anchors_)
    found = stored.at_budget(Rows(X, Y), 2, cap=1)
    line = found.frontier_[found.frontier_["note"] == "measured again under the cap of 1"].iloc[0]
    names = ["method", "parameters", "spend", "spend_bound", "score", "score_error"]
    assert [line[name] for name in names] == [getattr(found.promise_, name) for name in names]
    assert line["spend"] <= line["spend_bound"] <= 1
    assert search.frontier_.drop(index=line.name).equals(found.frontier_.drop(index=line.name))


def test_under_a_smaller_cap_the_point_that_is_best_there_is_chosen():
    """Without the cap, the first purchase of the best point is the dear column, which the cap forbids."""
    decides, hints = np.sign(X[:, :1]), np.sign(X[:, :1] + 0.8 * X[:, 1:2])
    search = BudgetSearchCV(
        [
            (StaticSelectionClassifier(), {"ranking": ["forward"]}),
            (CostWeightedL1Classifier(), {"cost_weight": [0.05]}),
        ],
        budget=20,
        costs=[10, 1],
        cv=2,
    ).fit(np.hstack([decides, hints]), X[:, 0] > 0)
    assert search.promise_.score == 1.0
    cheaper = search.at_budget(20, cap=2).promise_
    assert cheaper.spend == 1.0
    assert cheaper.score > 0.6


@pytest.mark.parametrize("limits", [{"budget": -1}, {"budget": np.nan}, {"budget": 1, "cap": -1}])
def test_limits_that_are_not_valid_are_refused(search, limits):
    stored = StoredSearch(search.best_estimator_, search.frontier_, search.anchors_)
    with pytest.raises(ValueError, match=r"BudgetSearchCV: (budget|cap) is .*; expected a finite number of at least 0"):
        search.at_budget(**limits)
    with pytest.raises(ValueError, match=r"BudgetSearchCV: (budget|cap) is .*; expected a finite number of at least 0"):
        stored.at_budget(Rows(X, Y), **limits)
