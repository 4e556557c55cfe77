import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from thrifty.models.boosting.adaboost_rs import AdaBoostRSClassifier
from thrifty.models.forests.forest import Forest

random = np.random.default_rng(0)
X = random.normal(size=(500, 6)).round(1)  # few distinct values, so that each has its own bin
SIGNAL = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * X[:, 3] + random.normal(scale=0.4, size=500)
Y = np.where(SIGNAL > 0, "yes", "no")
PRICES = [1.0, 1.0, 8.0, 2.0, 1.0, 4.0]


def fitted(n_samples=50, costs=PRICES, **parameters):
    return AdaBoostRSClassifier(costs=costs, n_samples=n_samples, random_state=0, **parameters).fit(X, Y)


def test_with_many_draws_it_votes_like_ada_boost():
    """The vote of a large sample is that of AdaBoost for all costs, because rare trees have larger weights."""
    stumps = {"n_estimators": 12, "max_depth": 1, "min_samples_leaf": 1}
    original = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=12).fit(X, Y)
    margin = original.decision_function(X)
    for costs in (PRICES, None):
        model = fitted(200_000, costs, **stumps)
        slope, offset = np.polyfit(margin, model.decision_function(X), 1)
        np.testing.assert_allclose(model.decision_function(X), slope * margin + offset, atol=0.05 * slope)
        assert slope > 0


def test_no_split_has_the_same_vote_on_both_sides():
    model = fitted(10_000, n_estimators=12, max_depth=2)
    forest = model.forest_
    inner = np.flatnonzero(forest.feature >= 0)
    leaves = (forest.feature[forest.left[inner]] < 0) & (forest.feature[forest.right[inner]] < 0)
    votes = forest.value[:, 0]
    assert leaves.any()
    assert (votes[forest.left[inner]] != votes[forest.right[inner]])[leaves].all()


def draws_of_column(model, column):
    return model.draws_[model.forest_.tree_reads[:, column]].sum()


def test_trees_are_drawn_by_weight_over_cost():
    stumps = {"n_estimators": 8, "max_depth": 1}
    model, expensive = fitted(100_000, **stumps), fitted(100_000, [1.0, 1.0, 80.0, 2.0, 1.0, 4.0], **stumps)
    odds, odds_if_expensive = (draws_of_column(each, 2) / draws_of_column(each, 3) for each in (model, expensive))
    assert odds / odds_if_expensive == pytest.approx(10, rel=0.1)


def test_fewer_draws_cost_less():
    spends = [fitted(n).spend(X).mean() for n in (1, 5, 400)]
    assert spends == sorted(spends)
    assert fitted(400).score(X, Y) > 0.85 > 0.5 < fitted(5).score(X, Y)


def test_trees_are_in_the_order_of_their_draws():
    few, many = fitted(3), fitted(30)
    assert many.draws_.sum() == 30
    np.testing.assert_array_equal(
        few.forest_.feature[few.forest_.starts], many.forest_.feature[many.forest_.starts][: len(few.draws_)]
    )


def test_free_features_are_drawn_often_but_not_always():
    model = fitted(2000, [0.0, 0.0, 8.0, 2.0, 1.0, 4.0])
    assert model.spend(X).max() > 0
    assert fitted(10, np.zeros(6)).spend(X).max() == 0


def test_a_row_with_a_cap_of_0_gets_the_prior():
    model = fitted()
    odds = np.mean(Y == "yes") / np.mean(Y == "no")
    np.testing.assert_allclose(model.decision_function(X, cap=0.5), np.log(odds))


def test_log_odds_are_calibrated():
    probability = fitted(400).predict_proba(X)[:, 1]
    assert abs(probability.mean() - np.mean(Y == "yes")) < 0.02


def test_constant_features_and_perfect_features():
    model = AdaBoostRSClassifier().fit(np.zeros((40, 2)), np.repeat(["a", "b"], [30, 10]))
    assert set(model.predict(np.zeros((3, 2)))) == {"a"}
    assert model.spend(np.zeros((3, 2))).max() == 0
    perfect = AdaBoostRSClassifier(min_samples_leaf=1).fit(np.arange(10.0)[:, None], np.arange(10) > 4)
    assert perfect.score(np.arange(10.0)[:, None], np.arange(10) > 4) == 1.0
    assert Forest.from_model(perfect).n_trees == 1


def test_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="y has 3 classes"):
        AdaBoostRSClassifier().fit(X, np.digitize(SIGNAL, [-1, 1]))


@pytest.mark.parametrize("name", ["n_estimators", "n_samples", "max_depth", "min_samples_leaf"])
def test_bad_parameters_are_refused(name):
    for wrong in (0, 2.5, "many"):
        with pytest.raises(ValueError, match=f"{name} is {wrong!r}"):
            AdaBoostRSClassifier(**{name: wrong}).fit(X, Y)
