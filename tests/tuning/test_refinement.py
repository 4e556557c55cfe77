"""New settings near the budget: each is measured once, also where settings of one curve spend the same."""

import numpy as np

from thrifty import BudgetSearchCV

RNG = np.random.default_rng(3)
X = RNG.normal(size=(100, 4))
Y = X @ [1.0, 1.0, 0.0, 0.5] + RNG.normal(size=100) / 2 > 0


def test_each_setting_is_measured_once_where_settings_spend_the_same():
    search = BudgetSearchCV(["l1"], budget=2, costs=[1, 2, 0, 4], cv=3, refit=False).fit(X, Y)
    weights = [setting["cost_weight"] for setting in search.frontier_["parameters"]]
    spends = search.frontier_["spend"].tolist()
    added = next(k for k in range(1, len(weights)) if weights[k] > weights[k - 1])  # the first settings are in order
    assert len(weights) - added > 1
    assert set(spends[added:]) & set(spends[:added])
    assert len(set(weights)) == len(weights)


def test_a_curve_whose_points_are_all_beyond_the_budget_is_refined_if_it_can_be_as_good_as_the_best():
    search = BudgetSearchCV(["static", "greedy-miser"], budget=2, costs=[1, 2, 3, 4], cv=3, refit=False).fit(X, Y)
    table = search.frontier_[search.frontier_["method"] == "greedy-miser"]
    row = table[[setting["charge"] == "row" for setting in table["parameters"]]]
    weights = row["parameters"].map(lambda setting: setting["cost_weight"])
    added = row[weights > weights.iloc[0]]  # the first one is the largest of the first settings
    assert len(added)
    assert (row["spend_bound"][weights == weights.iloc[0]] > 2).all()


def test_settings_that_share_a_fit_are_measured_together():
    search = BudgetSearchCV(["static", "greedy-miser"], budget=2, costs=[1, 2, 3, 4], cv=3, refit=False).fit(X, Y)
    table = search.frontier_[search.frontier_["method"] == "greedy-miser"]
    rounds = table.groupby(table["parameters"].map(lambda s: (s["charge"], s["cost_weight"])))["parameters"]
    assert rounds.apply(lambda settings: sorted(s["n_estimators"] for s in settings) == [10, 30, 100]).all()
