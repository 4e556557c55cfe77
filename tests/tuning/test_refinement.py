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
