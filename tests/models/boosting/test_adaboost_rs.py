import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from reference import samme as reference
from thrifty.models.boosting.adaboost import ada_boost, tree_learner
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


# Several classes


def several_classes(seed, n=60, missing=0.1):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).round(1)
    labels = np.digitize(X[:, 0] + 0.5 * X[:, 1] + random.normal(scale=0.5, size=n), [-0.7, 0.7])
    X[random.random(X.shape) < missing] = np.nan
    return X, labels, random.integers(1, 4, n).astype(float)


def nested(tree, node=0):
    """Return the tree below a node in the nested form of the reference, without splits that change no vote."""
    if tree.feature[node] < 0:
        return "leaf", int(tree.value[node].argmax())
    split = int(tree.feature[node]), tree.threshold[node], bool(tree.missing_left[node])
    return "split", *split, nested(tree, tree.left[node]), nested(tree, tree.right[node])


def without_idle_splits(tree):
    if tree[0] == "leaf":
        return tree
    left, right = (without_idle_splits(side) for side in tree[4:])
    return left if left == right and left[0] == "leaf" else (*tree[:4], left, right)


def same_tree(ours, theirs):
    if theirs[0] == "leaf" or ours[0] == "leaf":
        return ours == theirs
    same = ours[1] == theirs[1] and np.isclose(ours[2], theirs[2]) and ours[3] == theirs[3]
    return same and same_tree(ours[4], theirs[4]) and same_tree(ours[5], theirs[5])


@pytest.mark.parametrize("max_depth", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_trees_and_weights_for_several_classes_are_those_of_samme(max_depth, seed):
    rows, labels, count = several_classes(seed)
    model = AdaBoostRSClassifier(max_depth=max_depth, min_samples_leaf=8)
    targets = np.eye(3)[labels]
    learn = tree_learner(model, rows, targets, count, np.random.default_rng(0))
    voters = ada_boost(learn, targets, count, 6)
    expected = reference.boost(rows.tolist(), labels.tolist(), 3, count.tolist(), 6, max_depth, 8)
    expected = [(tree, alpha) for tree, alpha in expected if without_idle_splits(tree)[0] == "split"]
    assert len(voters) == len(expected) > 2
    for voter, (tree, alpha) in zip(voters, expected, strict=True):
        assert same_tree(nested(voter.tree), without_idle_splits(tree))
        assert voter.weight == pytest.approx(alpha)
        votes = [reference.answer(tree, row) for row in rows.tolist()]
        np.testing.assert_array_equal(voter.votes.argmax(axis=1), votes)


@pytest.mark.parametrize("seed", range(2))
def test_trees_for_several_classes_are_drawn_by_weight_over_cost(seed):
    rows, labels, count = several_classes(seed)
    prices, n_draws = [1.0, 5.0, 2.0], 200_000
    stumps = {"n_estimators": 6, "max_depth": 1, "min_samples_leaf": 8, "random_state": 0}
    model = AdaBoostRSClassifier(costs=prices, n_samples=n_draws, **stumps).fit(rows, labels, count)
    expected = reference.boost(rows.tolist(), labels.tolist(), 3, count.tolist(), 6, 1, 8)
    expected = [(tree, alpha) for tree, alpha in expected if tree[0] == "split"]
    probabilities = reference.draw_probabilities(expected, prices)
    np.testing.assert_allclose(np.sort(model.draws_) / n_draws, np.sort(probabilities), atol=0.005)


def test_with_many_draws_it_votes_like_samme_of_scikit_learn():
    labels = np.digitize(SIGNAL, [-0.8, 0.8])
    original = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8).fit(X, labels)
    coded = original.decision_function(X)  # 1 for the class of a vote, -1 / 2 for the others, weighted means
    share = (2 * coded + 1) / 3
    model = AdaBoostRSClassifier(
        costs=PRICES, n_estimators=8, n_samples=400_000, max_depth=2, min_samples_leaf=1, random_state=0
    ).fit(X, labels)
    votes = model.decision_function(X) - model.forest_.base
    slope = votes.sum(axis=1).mean()
    np.testing.assert_allclose(votes / slope, share, atol=0.02)


def test_several_classes_are_predicted():
    digits, labels = load_digits(return_X_y=True)
    model = AdaBoostRSClassifier(n_samples=300, max_depth=3, random_state=0).fit(digits[:1200], labels[:1200])
    assert model.score(digits[1200:], labels[1200:]) > 0.8
    prior = np.log(np.bincount(labels[:1200]) / 1200)
    np.testing.assert_allclose(model.decision_function(digits[:2], cap=0), [prior, prior])
    log_loss = -np.log(model.predict_proba(digits[1200:])[np.arange(597), labels[1200:]]).mean()
    assert log_loss < 0.5 * np.log(10)


@pytest.mark.parametrize("name", ["n_estimators", "n_samples", "max_depth", "min_samples_leaf"])
def test_bad_parameters_are_refused(name):
    for wrong in (0, 2.5, "many"):
        with pytest.raises(ValueError, match=f"{name} is {wrong!r}"):
            AdaBoostRSClassifier(**{name: wrong}).fit(X, Y)
