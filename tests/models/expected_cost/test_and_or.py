"""AND-OR cascades: the fit, the features that stages may use, and the rows that they reject."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from models.expected_cost.problems import as_cascade
from reference import cstc as reference
from thrifty import AndOrClassifier, CostModel
from thrifty.costs import Ledger
from thrifty.datasets import make_ltr_skewed
from thrifty.models.expected_cost.fitting import choose_structure, solve
from thrifty.models.expected_cost.problem import pose
from thrifty.models.forests.feature_map import BoostedFeatureMap
from thrifty.testing import CHECKS

SMALL_FOREST = GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=0)


def learned_stages(model, X, y):
    """Return the learned weights (K, d) and intercepts (K,) of a cascade, over standardised columns."""
    problem = pose(model, model._located(X, y), None)
    parameters = solve(model, problem, choose_structure(model, problem)[1]).parameters
    return parameters.weights[:, 0, problem.scales.columns.argsort()], parameters.intercepts[:, 0]


def with_rare_class(n=3000, seed=0):
    """One row in twenty-five is rare; a cheap column identifies most of the others, an expensive one the rest."""
    random = np.random.default_rng(seed)
    y = random.random(n) < 0.04
    cheap = np.where(y, 2.0, np.where(random.random(n) < 0.9, -2.0, 2.0)) + 0.5 * random.normal(size=n)
    expensive = np.where(y, 2.0, -2.0) + 0.5 * random.normal(size=n)
    return np.column_stack([cheap, expensive, random.normal(size=(n, 3))]), y


RARE_CLASS_COSTS = [1.0, 20.0, 1.0, 1.0, 1.0]
PAPER_LIMITS = [5, 20, 50, 150, 200]


@pytest.fixture(scope="module")
def skewed():
    return make_ltr_skewed(40, n_features=40, random_state=0)


def fitted(data, **settings):
    settings = {"costs": data.costs, "price_limits": PAPER_LIMITS, "cost_weight": 3e-4} | settings
    return AndOrClassifier(**settings).fit(data.X, data.y)


# The fit


def standard_problem(model, X, y):
    """Return the problem for the reference, over standardised columns with balanced classes."""
    w = np.full(len(X), 1 / len(X))
    class_weights = np.where(y == 1, 0.5 / np.mean(y == 1), 0.5 / np.mean(y == 0))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    costs = model.cost_model_
    settings = (costs.requirement, costs.unit_costs, model.loss, model.l1_weight, model.cost_weight, class_weights)
    return reference.Problem(Z, np.where(y == 1, 1.0, -1.0), w, *settings)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_fit_ends_in_a_minimum_of_the_objective_of_the_reference(loss, skewed):
    model = fitted(skewed, loss=loss, fine_tune=None)
    assert model.converged_
    assert model.n_iter_ == len(model.objective_) - 1 > 1
    assert (np.diff(model.objective_) <= 0).all()
    problem = standard_problem(model, skewed.X, skewed.y)
    weights, intercepts = learned_stages(clone(model), skewed.X, skewed.y)
    at_end = reference.objective("and_or", as_cascade(weights, intercepts), problem)
    assert model.objective_[-1] == pytest.approx(at_end, rel=1e-6)
    random = np.random.default_rng(0)
    for scale in (1e-3, 1e-2):
        for _ in range(10):
            moved = weights + scale * (weights != 0) * random.normal(size=weights.shape)
            level = intercepts + scale * random.normal(size=intercepts.shape)
            there = reference.objective("and_or", as_cascade(moved, level), problem)
            assert there > at_end - 2e-4 * at_end


def test_a_single_stage_without_penalties_equals_least_squares(skewed):
    X, y = skewed.X[:400], np.arange(400) % 5 == 0
    settings = {"price_limits": [np.inf], "cost_weight": 0, "l1_weight": 0, "class_weight": None, "fine_tune": None}
    model = AndOrClassifier(**settings).fit(X, y)
    design = np.column_stack([X, np.ones(400)])
    expected = design @ np.linalg.lstsq(design, np.where(y, 1.0, -1.0), rcond=None)[0]
    weights, intercepts = learned_stages(clone(model), X, y)
    learned = (X - X.mean(axis=0)) / X.std(axis=0) @ weights[0] + intercepts[0]
    np.testing.assert_allclose(learned, expected, atol=2e-3)
    slope, _ = np.polyfit(learned, log_odds := model.decision_function(X), 1)
    assert slope > 0
    assert np.corrcoef(learned, log_odds)[0, 1] == pytest.approx(1.0)


def test_missing_convergence_is_reported(skewed):
    with pytest.warns(ConvergenceWarning, match="AndOrClassifier ended after 1 rounds"):
        model = fitted(skewed, max_iter=1, tol=0)
    assert not model.converged_


# The features that stages may use


@pytest.mark.parametrize("fine_tune", ["support", "held", None])
def test_stages_weigh_only_features_within_their_limit(fine_tune, skewed):
    model = fitted(skewed, fine_tune=fine_tune, cost_weight=1e-5)
    prices = skewed.costs.unit_costs
    highest = [prices[weighed].max(initial=0.0) for weighed in model.node_supports()]
    assert (highest <= model.price_limits_).all()
    assert highest[1] > 5
    assert highest[-1] > 50


def test_default_limits_divide_the_distinct_prices_evenly(skewed):
    model = fitted(skewed, price_limits=None, n_stages=3)
    distinct = np.unique(skewed.costs.unit_costs)
    assert set(model.price_limits_) <= set(distinct)
    shares = np.diff([0, *np.searchsorted(distinct, model.price_limits_, side="right")])
    assert len(shares) == 3
    assert shares.sum() == len(distinct)
    assert np.ptp(shares) <= 1


def test_there_are_at_most_as_many_stages_as_distinct_prices():
    X, y = with_rare_class(400)
    assert AndOrClassifier(costs=RARE_CLASS_COSTS).fit(X, y).price_limits_.tolist() == [1.0, 20.0]
    one_price = AndOrClassifier().fit(X, y)
    assert one_price.tree_.n_nodes == len(one_price.price_limits_) == 1
    assert AndOrClassifier(price_limits=[1, 1, 1]).fit(X, y).tree_.n_nodes == 3


def test_the_price_of_a_feature_includes_its_bundles():
    X, y = with_rare_class(1000)
    costs = CostModel([1.0, 1.0, 1.0, 1.0, 1.0], bundles={"scan": ([1, 2], 6.0)})
    model = AndOrClassifier(costs=costs, price_limits=[6.9, 7.0], cost_weight=1e-4).fit(X, y)
    assert model.node_supports()[:, 1].tolist() == [False, True]


def test_the_price_of_a_tree_is_the_cost_of_what_it_reads_and_of_its_evaluation():
    X, y = with_rare_class(800)
    forest = BoostedFeatureMap(SMALL_FOREST.fit(X, y), evaluation_costs=0.5)
    model = AndOrClassifier(costs=RARE_CLASS_COSTS, feature_map=forest, cost_weight=1e-5).fit(X, y)
    prices = Ledger(forest.cost_model(model.cost_model_)).prices
    highest = [prices[model.tree_.weighs(k)].max(initial=0.0) for k in range(model.tree_.n_nodes)]
    assert (highest <= model.price_limits_).all()
    assert model.tree_.n_nodes > 1
    assert average_precision_score(y, model.decision_function(X)) > 0.9


@pytest.mark.parametrize("limits", [[], [5, 3], [-1, 2], [np.nan], "cheap", 5, [[1, 2]], [None]])
def test_bad_limits_are_refused(limits):
    with pytest.raises(ValueError, match=r"AndOrClassifier: price_limits is .*; expected prices in ascending order"):
        AndOrClassifier(price_limits=limits).fit(*with_rare_class(50))


# The rows that stages reject


def test_a_row_ends_at_the_first_stage_that_scores_it_below_zero(skewed):
    model = fitted(skewed, fine_tune=None)
    elsewhere = make_ltr_skewed(5, n_features=40, random_state=1).X
    weights, intercepts = learned_stages(clone(model), skewed.X, skewed.y)
    raw = weights / skewed.X.std(axis=0)
    cascade = as_cascade(raw, intercepts - raw @ skewed.X.mean(axis=0))
    costs = model.cost_model_
    expected = [reference.hard_route(row, cascade, costs.requirement, costs.unit_costs) for row in elsewhere]
    exits, acquired, spend = (np.array(each) for each in zip(*expected, strict=True))
    acquisition = model.acquire(elsewhere)
    assert len(set(exits)) > 2
    np.testing.assert_array_equal(acquisition.exit, exits)
    np.testing.assert_array_equal(acquisition.acquired, acquired)
    np.testing.assert_allclose(acquisition.spend, spend)


@pytest.mark.parametrize(("fine_tune", "loss"), [("support", "squared"), ("held", "logistic"), ("paper", "squared")])
@pytest.mark.parametrize("rare", [0, 1])
def test_fine_tuning_rejects_the_same_rows_and_predicts_the_common_class_for_them(fine_tune, loss, rare, skewed):
    names = np.array(["a", "b"])
    y = names[np.where(skewed.y == 1, rare, 1 - rare)]
    settings = {"costs": skewed.costs, "price_limits": PAPER_LIMITS, "cost_weight": 3e-4, "loss": loss}
    settings["class_weight"] = {
        names[rare]: 300,
        names[1 - rare]: 1,
    }  # so large that the log-odds of a score of 0 are positive
    learned = AndOrClassifier(fine_tune=None, **settings).fit(skewed.X, y).acquire(skewed.X)
    tuned = AndOrClassifier(fine_tune=fine_tune, **settings).fit(skewed.X, y).acquire(skewed.X)
    np.testing.assert_array_equal(tuned.exit, learned.exit)
    rejected = tuned.exit < len(PAPER_LIMITS) - 1
    assert 0.1 < rejected.mean() < 0.95
    assert (tuned.prediction[rejected] == names[1 - rare]).all()
    assert (learned.prediction[rejected] == names[1 - rare]).all()


@pytest.mark.parametrize(("loss", "cost_weight"), [("squared", 1e-3), ("logistic", 1e-4)])
def test_most_others_are_rejected_before_the_expensive_column_is_bought(loss, cost_weight):
    X, y = with_rare_class()
    X_test, y_test = with_rare_class(seed=1)
    acquisition = AndOrClassifier(costs=RARE_CLASS_COSTS, cost_weight=cost_weight, loss=loss).fit(X, y).acquire(X_test)
    assert acquisition.spend[~y_test].mean() < 0.3 * acquisition.spend[y_test].mean()
    assert acquisition.acquired[y_test, 1].mean() > 0.95
    assert average_precision_score(y_test, acquisition.score) > 0.95


def test_the_rarer_class_is_accepted_whatever_its_name_is():
    X, y = with_rare_class()
    first, second = (
        AndOrClassifier(costs=RARE_CLASS_COSTS, cost_weight=1e-3).fit(X, labels).acquire(X)
        for labels in (np.where(y, "a", "b"), np.where(y, "b", "a"))
    )
    np.testing.assert_array_equal(first.exit, second.exit)
    np.testing.assert_allclose(first.score, -second.score, rtol=1e-6, atol=1e-6)
    assert first.exit[y].mean() > 0.9


@pytest.mark.parametrize("half", [10, 11])
def test_the_second_of_two_equally_frequent_classes_is_accepted(half):
    y = np.repeat([0, 1], half)
    X = np.column_stack([2.0 * y - 1, np.random.default_rng(0).normal(size=2 * half)])
    model = AndOrClassifier(costs=[1.0, 2.0], cost_weight=1e-4).fit(X, y)
    assert model.acquire(X).exit.tolist() == y.tolist()


def test_weighting_a_row_equals_repeating_it(skewed):
    X, y = skewed.X[::7], skewed.y[::7]
    count = np.random.default_rng(0).integers(1, 4, len(X))
    settings = {"costs": skewed.costs, "price_limits": PAPER_LIMITS, "cost_weight": 1e-3}
    weighted = AndOrClassifier(**settings).fit(X, y, sample_weight=count).acquire(X)
    repeated = AndOrClassifier(**settings).fit(X.repeat(count, axis=0), y.repeat(count)).acquire(X)
    np.testing.assert_array_equal(weighted.exit, repeated.exit)
    np.testing.assert_allclose(weighted.score, repeated.score, rtol=1e-6, atol=1e-6)


# Paths, unusual data, the contract


def test_a_path_goes_from_low_to_high_spend(skewed):
    template = AndOrClassifier(costs=skewed.costs, price_limits=PAPER_LIMITS)
    models = template.path(skewed.X, skewed.y, cost_weights=[1e-4, 1e-1, 1e-2, 1e-3])
    assert [model.cost_weight for model in models] == [1e-1, 1e-2, 1e-3, 1e-4]
    spend = [model.spend(skewed.X).mean() for model in models]
    assert spend == sorted(spend)
    assert spend[0] < 0.1 * spend[-1]
    prices = skewed.costs.unit_costs
    for model in models:
        assert (np.diff(model.objective_) <= 0).all()
        highest = [prices[weighed].max(initial=0.0) for weighed in model.node_supports()]
        assert (highest <= model.price_limits_).all()


def test_early_stopping(skewed):
    model = fitted(skewed, early_stopping=True, scoring="average_precision", random_state=0)
    assert len(model.validation_scores_) == model.n_iter_ > 0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    "settings",
    [
        {"costs": np.zeros(5)},
        {"cost_weight": 1e6},
        {"cost_weight": 0, "l1_weight": 0},
        {"price_limits": [0.5]},
        {"price_limits": [0.5, 1, np.inf]},
        {"costs": CostModel([None] * 5, bundles={"all": (range(5), 3.0)})},
    ],
    ids=["free", "too expensive", "no penalty", "nothing allowed", "nothing allowed at first", "one unit"],
)
def test_unusual_settings_give_a_sound_model(settings, loss):
    X, y = with_rare_class(200)
    model = AndOrClassifier(**{"costs": RARE_CLASS_COSTS, "cost_weight": 1e-4, "loss": loss} | settings).fit(X, y)
    acquisition = model.acquire(X)
    assert np.isfinite(acquisition.score).all()
    assert model.converged_
    if settings.get("cost_weight") == 1e6 or settings.get("price_limits") == [0.5]:
        assert not acquisition.acquired.any()
    else:
        assert average_precision_score(y, acquisition.score) > 0.9


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_unusual_data_give_a_sound_model(loss):
    random = np.random.default_rng(0)
    wide = random.normal(size=(12, 40))
    constant = np.column_stack([np.ones(30), random.normal(size=30), np.ones(30)])
    one_rare = random.normal(size=(30, 3))
    for X, y in ((wide, np.arange(12) < 3), (constant, constant[:, 1] > 1), (one_rare, np.arange(30) == 3)):
        prices = 1.0 + np.arange(X.shape[1]) % 5
        acquisition = AndOrClassifier(costs=prices, loss=loss).fit(X, y).acquire(X)
        assert average_precision_score(y, acquisition.score) > 0.3
        assert not acquisition.acquired[:, np.ptp(X, axis=0) == 0].any()


def test_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match=r"AndOrClassifier: y has 3 classes. Only binary classification is supported"):
        AndOrClassifier().fit(np.eye(6), [0, 1, 2, 0, 1, 2])
    assert not get_tags(AndOrClassifier()).classifier_tags.multi_class


def test_the_number_of_stages_must_agree_with_the_price_limits():
    X, y = with_rare_class(200)
    assert AndOrClassifier(price_limits=[1, 20], costs=RARE_CLASS_COSTS, n_stages=2).fit(X, y).tree_.n_nodes == 2
    with pytest.raises(ValueError, match="n_stages is 3; expected None, or one of 2 price limits"):
        AndOrClassifier(price_limits=[1, 20], costs=RARE_CLASS_COSTS, n_stages=3).fit(X, y)


VARIANTS = [
    AndOrClassifier(n_stages=3, loss="logistic", fine_tune="held"),
    AndOrClassifier(n_stages=2, class_weight=None, fine_tune=None),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", [*VARIANTS, AndOrClassifier(feature_map=SMALL_FOREST)], ids=repr)
def test_contract(estimator, check):
    check(estimator)


@parametrize_with_checks([AndOrClassifier(price_limits=[1, 1], loss="logistic", fine_tune="held")])
def test_scikit_learn(estimator, check):
    check(estimator)
