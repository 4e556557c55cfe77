"""DynamicSelectionClassifier: any data classifier and policy, its learning curve, bundles, weights and messages."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from thrifty import Acquire, CostModel
from thrifty.datasets import load_heart
from thrifty.models.policies.data_model import encode
from thrifty.models.policies.dynamic_selection import DynamicSelectionClassifier
from thrifty.models.policies.oracle import forward_selection_oracle
from thrifty.models.policies.rewards import Reward
from thrifty.models.policies.training_states import ImitationOptions
from thrifty.models.session import drive

QUICK = {"n_iterations": 4, "n_folds": 4, "random_state": 0}


def make_rows(n=400, seed=0):
    """Return rows where column 0 tells which of columns 1 and 2 decides the class; the other three are noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6))
    y = 2 * (X[:, 0] > 0) + (np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 0)
    return X, y


@pytest.fixture(scope="module")
def tree_model():
    """A model with a data classifier that is not linear and can use column 0."""
    X, y = make_rows()
    classifier = DecisionTreeClassifier(max_depth=6, random_state=0)
    model = DynamicSelectionClassifier(classifier=classifier, cost_weight=0.3, masked_training=True, **QUICK)
    return model.fit(X, y)


def test_a_classifier_that_is_not_linear_is_accepted(tree_model):
    X, y = make_rows(seed=1)
    acquisition = tree_model.acquire(X)
    assert (acquisition.prediction == y).mean() > 0.7
    assert acquisition.spend.mean() < 5
    for i in range(15):
        stop = drive(tree_model.session(), X[i].__getitem__)
        assert (stop.prediction, stop.exit) == (acquisition.prediction[i], acquisition.exit[i])
        np.testing.assert_array_equal(stop.score, acquisition.score[i])


def test_a_policy_that_is_not_linear_is_accepted():
    X, y = make_rows(150)
    model = DynamicSelectionClassifier(policy=DecisionTreeClassifier(max_depth=4, random_state=0), **QUICK).fit(X, y)
    acquisition = model.acquire(X)
    assert 0 < acquisition.spend.mean() < 6
    for i in range(15):
        stop = drive(model.session(cap=3), X[i].__getitem__)
        assert stop.prediction == model.predict(X[i : i + 1], cap=3)[0]


def test_the_policy_of_the_paper_is_accepted():
    X, y = make_rows(200)
    paper = {"masked_training": False, "policy": LinearSVC(dual=False, tol=0.1), "weigh_stakes": False}
    model = DynamicSelectionClassifier(cost_weight=0.1, **paper, **QUICK).fit(X, y)
    full = LogisticRegression(max_iter=1000, tol=1e-3).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(model.classifier_.coef_[:, np.argsort(model.factors_.columns)], full.coef_, atol=1e-2)
    acquisition = model.acquire(X)
    assert 0 < acquisition.spend.mean() < 6
    for i in range(15):
        np.testing.assert_array_equal(drive(model.session(), X[i].__getitem__).score, acquisition.score[i])


def test_larger_cost_weights_buy_less():
    X, y = make_rows()
    spends = [
        DynamicSelectionClassifier(cost_weight=weight, **QUICK).fit(X, y).spend(X).mean() for weight in (0.0, 3.0)
    ]
    assert spends[0] > spends[1]


def test_the_best_policy_of_the_learning_curve_is_used():
    X, y = make_rows()
    model = DynamicSelectionClassifier(cost_weight=0.2, **QUICK).fit(X, y)
    curve = model.learning_curve_
    assert len(curve) == len(curve.score) == len(curve.cost) == 4
    assert curve.reward[curve.best] == curve.reward.max()
    assert (curve.cost > 0).all()
    assert (curve.cost < 1).all()
    shorter = DynamicSelectionClassifier(cost_weight=0.2, **(QUICK | {"n_iterations": curve.best + 1})).fit(X, y)
    np.testing.assert_array_equal(shorter.acquire(X).score, model.acquire(X).score)


def test_coaching_decays_from_the_first_policy_on():
    options = ImitationOptions(None, Reward("score", 0.5), 0.5, False, (0.0,), 15, 100, True, np.random.RandomState(0))
    assert options.coach_weight(1) == 0.5
    np.testing.assert_allclose(options.coach_weight(3), 0.5 * np.exp(-2))


def test_coaching_and_dagger_learn_different_policies():
    X, y = make_rows()
    coached, dagger = (DynamicSelectionClassifier(coaching=c, **QUICK).fit(X, y) for c in (0.5, 0.0))
    assert coached.learning_curve_.reward[0] == dagger.learning_curve_.reward[0]
    assert (coached.learning_curve_.reward != dagger.learning_curve_.reward).any()


def test_the_oracle_is_more_accurate():
    X, y = make_rows()
    model = DynamicSelectionClassifier(cost_weight=0.2, **QUICK).fit(X, y)
    Z = encode(model.factors_.sorted_columns(X), model.standardiser_, model.factors_)
    flagged = [[first, first + 1] for first in model.factors_.starts[:-1]]
    run = forward_selection_oracle(model.classifier_, Z, y, costs=[1.0, 0.0] * 6, factors=flagged, cost_weight=0.2)
    acquisition = model.acquire(X)
    assert (run.prediction == y).mean() > (acquisition.prediction == y).mean()


def test_the_features_of_a_bundle_are_bought_together():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    y = (X[:, 1] + X[:, 2] + 0.3 * random.normal(size=300) > 0).astype(int)
    costs = CostModel(
        {"age": 1.0, "hog0": None, "hog1": None, "hog2": None, "sex": 1.0},
        bundles={"hog": (["hog0", "hog1", "hog2"], 4.0)},
        unit="ms",
    )
    model = DynamicSelectionClassifier(costs=costs, cost_weight=0.1, **QUICK).fit(X, y)
    assert sorted(map(len, model.factors_.groups)) == [1, 1, 3]
    session = model.session()
    asked = []
    while isinstance(step := session.next(), Acquire):
        asked.append((set(step.features), step.cost))
        session.observe(dict.fromkeys(step.features, 0.1))
    assert ({"hog0", "hog1", "hog2"}, 4.0) in asked
    acquired = model.acquire(X).acquired
    assert (acquired[:, 1] == acquired[:, 3]).all()


def test_rows_have_free_features_from_the_start():
    X, y = make_rows(200)
    model = DynamicSelectionClassifier(costs=[0.0, 1.0, 1.0, 0.0, 1.0, 1.0], **QUICK).fit(X, y)
    nothing_spent = model.acquire(X, cap=0)
    assert nothing_spent.acquired.all(axis=0).tolist() == [True, False, False, True, False, False]
    assert not nothing_spent.spend.any()
    first = model.session().next()
    assert (set(first.features), first.cost) == ({0, 3}, 0.0)


def test_everything_free_is_bought_by_all():
    X, y = make_rows(100)
    model = DynamicSelectionClassifier(costs=np.zeros(6), **QUICK).fit(X, y)
    assert model.acquire(X).acquired.all()


def test_missing_values_in_training_and_prediction():
    X, y = make_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    X[:, 5] = np.nan
    model = DynamicSelectionClassifier(cost_weight=0.05, **QUICK).fit(X, y)
    acquisition = model.acquire(X)
    assert np.isfinite(acquisition.score).all()
    assert model.score(X, y) > 0.5
    missing = np.full((1, 6), np.nan)
    np.testing.assert_array_equal(drive(model.session(), lambda _: None).score, model.acquire(missing).score[0])


def test_infinite_values_are_refused_if_they_are_bought():
    X, y = make_rows(200)
    model = DynamicSelectionClassifier(cost_weight=0.05, **QUICK).fit(X, y)
    bought = np.flatnonzero(model.acquire(X[:1]).acquired[0])[0]
    X[0, bought] = np.inf
    with pytest.raises(ValueError, match=f"row 0 acquires {bought}, which is inf"):
        model.predict(X[:1])


def test_a_class_with_a_single_row():
    X, y = make_rows(100)
    y = np.where(np.arange(100) == 17, 9, y)
    model = DynamicSelectionClassifier(**QUICK).fit(X, y)
    assert model.predict_proba(X).shape == (100, 5)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_rows(n):
    X = np.arange(2.0 * n).reshape(n, 2)
    model = DynamicSelectionClassifier(random_state=0).fit(X, np.arange(n) % 2)
    assert len(model.predict(X)) == n


def test_weights_count_as_rows():
    X, y = make_rows(80)
    weight = np.random.default_rng(0).integers(1, 4, 80)
    weighted = DynamicSelectionClassifier(**QUICK).fit(X, y, sample_weight=weight)
    repeated = DynamicSelectionClassifier(**QUICK).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.acquire(X).score, repeated.acquire(X).score)
    np.testing.assert_array_equal(weighted.spend(X), repeated.spend(X))


def test_of_many_states_some_are_drawn_by_their_stakes():
    X, y = make_rows(300)
    few = DynamicSelectionClassifier(max_states=200, cost_weight=0.1, **QUICK).fit(X, y)
    assert few.learning_curve_.reward.max() > 0.1
    alike = DynamicSelectionClassifier(weigh_stakes=False, max_states=200, cost_weight=0.1, **QUICK).fit(X, y)
    assert (alike.learning_curve_.reward != few.learning_curve_.reward).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost_weight": -1}, "cost_weight is -1; expected a number of at least 0"),
        ({"coaching": "a lot"}, "coaching is 'a lot'; expected a number of at least 0"),
        ({"n_iterations": 0}, "n_iterations is 0; expected a whole number of at least 1"),
        ({"n_folds": 2.5}, "n_folds is 2.5; expected a whole number of at least 1"),
        ({"max_states": 0}, "max_states is 0; expected a whole number of at least 1"),
        ({"validation_fraction": 1.0}, "validation_fraction is 1.0; expected a share from 0 to below 1"),
        ({"masked_training": "yes"}, "masked_training is 'yes'; expected True or False"),
        ({"weigh_stakes": 1}, "weigh_stakes is 1; expected True or False"),
        ({"coach_stops": None}, "coach_stops is None; expected True or False"),
        ({"stop_biases": ()}, r"stop_biases is \(\); expected a list of at least one number"),
        ({"stop_biases": 0.0}, "stop_biases is 0.0; expected a list of at least one number"),
        ({"stop_biases": [np.inf]}, r"stop_biases is \[inf\]; expected a list of at least one number"),
        ({"margin": "raw"}, "margin is 'raw'; expected 'probability' or 'score'"),
        ({"classifier": "svm"}, "classifier is 'svm'; expected a scikit-learn classifier"),
        ({"policy": LogisticRegression}, "policy is .*; expected a scikit-learn classifier"),
        ({"factors": [[0, 1], [1, 2]]}, "factors lists feature 1 twice"),
        ({"factors": [[0, 99]]}, "factors lists 99, which is not a feature"),
        ({"costs": [1.0, 2.0]}, "costs"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = make_rows(30)
    with pytest.raises(ValueError, match=f"DynamicSelectionClassifier.*{message}"):
        DynamicSelectionClassifier(**parameters).fit(X, y)


class WithoutScores(NearestCentroid):
    """A classifier without scores."""

    predict_proba = property()
    decision_function = property()


def test_a_classifier_without_scores_is_refused():
    X, y = make_rows(30)
    with pytest.raises(ValueError, match=r"classifier is .*, which has neither predict_proba nor decision_function"):
        DynamicSelectionClassifier(classifier=WithoutScores()).fit(X, y)


def test_a_path_equals_separate_fits():
    heart = load_heart()
    model = DynamicSelectionClassifier(costs=heart.costs, n_iterations=2, n_folds=3, random_state=0)
    path = model.path(heart.X, heart.y, cost_weights=[0.1, 1.0])
    assert [each.cost_weight for each in path] == [1.0, 0.1]
    for each in path:
        alone = clone(model).set_params(cost_weight=each.cost_weight).fit(heart.X, heart.y)
        np.testing.assert_array_equal(each.acquire(heart.X).score, alone.acquire(heart.X).score)
        np.testing.assert_array_equal(each.learning_curve_.reward, alone.learning_curve_.reward)
