"""AND-OR cascades: the objective and its descent, what stages may use, who is rejected where."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from reference import cstc as reference
from thrifty import AndOrClassifier, CostModel
from thrifty.costs import Ledger
from thrifty.datasets import make_ltr_skewed
from thrifty.models.expected_cost.and_or import AndOrObjective
from thrifty.models.expected_cost.objective import Parameters
from thrifty.models.expected_cost.penalties import PathPenalty
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.forests.feature_map import BoostedFeatureMap
from thrifty.testing import CHECKS

N_STAGES, N_FEATURES = 4, 7
COSTS = CostModel([1.0, None, 0.5, 2.0, None, 0.0, 1.5], bundles={"panel": ([1, 2, 3], 4.0), "visit": ([3, 4, 5], 2.5)})
SMALL_FOREST = GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=0)


def pose(logistic, facing, seed=0, n=60):
    """Return an objective and the reference's problem, in which the rare class is always +1."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, N_FEATURES))
    targets = np.where(X[:, :1] + random.normal(size=(n, 1)) > 0.7, facing, -facing)
    weight = random.dirichlet(np.ones(n))
    class_weights = np.where(targets[:, 0] > 0, 3.0, 0.7)
    topology = Topology.cascade(N_STAGES)
    objective = AndOrObjective(
        X=X,
        targets=targets,
        weight=weight,
        loss_weight=weight * class_weights,
        topology=topology,
        penalty=PathPenalty(COSTS, np.arange(N_FEATURES), topology),
        cost_weight=0.3,
        l1_weight=0.02,
        sharpness=1.0,
        logistic=logistic,
        facing=facing,
        allowed=np.ones((N_STAGES, N_FEATURES), dtype=bool),
        temperature=0.1,
    )
    loss = "logistic" if logistic else "squared"
    y = facing * targets[:, 0]
    problem = reference.Problem(X, y, weight, COSTS.requirement, COSTS.unit_costs, loss, 0.02, 0.3, class_weights)
    return objective, problem


def draw(facing, seed=0, zeros=0.4):
    random = np.random.default_rng(seed)
    weights = random.normal(size=(N_STAGES, 1, N_FEATURES)) * (random.random((N_STAGES, 1, N_FEATURES)) > zeros)
    intercepts = random.normal(size=(N_STAGES, 1))
    return Parameters(weights, intercepts, np.zeros(N_STAGES), np.full((N_STAGES, 1), facing))


def reference_cascade(weights, intercepts):
    """Return the reference's cascade of stages (K, d) that go on above zero."""
    n_stages = len(weights)
    upper, lower = [*range(1, n_stages), reference.END], [reference.END] * n_stages
    directions = [np.ones(1)] * n_stages
    return reference.Tree(upper, lower, list(weights[:, None]), list(intercepts[:, None]), [0.0] * n_stages, directions)


def stages_of(tree, n_columns):
    """Return the scores' weights (K, d) and intercepts (K,) of a fitted cascade, in raw units."""
    weights = np.zeros((tree.n_nodes, n_columns))
    for k, (first, last) in enumerate(zip(tree.arrays.at[:-1], tree.arrays.at[1:], strict=True)):
        weights[k, tree.holds(k)] = tree.arrays.scores[0, int(first) : int(last)]
    return weights, tree.arrays.score_intercept[:, 0]


def needle(n=3000, seed=0):
    """One row in twenty-five is rare; a cheap column tells most of the rest apart, a dear one the last."""
    random = np.random.default_rng(seed)
    y = random.random(n) < 0.04
    cheap = np.where(y, 2.0, np.where(random.random(n) < 0.9, -2.0, 2.0)) + 0.5 * random.normal(size=n)
    dear = np.where(y, 2.0, -2.0) + 0.5 * random.normal(size=n)
    return np.column_stack([cheap, dear, random.normal(size=(n, 3))]), y


NEEDLE_COSTS = [1.0, 20.0, 1.0, 1.0, 1.0]
PAPER_LIMITS = [5, 20, 50, 150, 200]


@pytest.fixture(scope="module")
def skewed():
    return make_ltr_skewed(40, n_features=40, random_state=0)


def fitted(data, **settings):
    settings = {"costs": data.costs, "price_limits": PAPER_LIMITS, "cost_weight": 3e-4} | settings
    return AndOrClassifier(**settings).fit(data.X, data.y)


# The objective


@pytest.mark.parametrize("facing", [1.0, -1.0])
@pytest.mark.parametrize("logistic", [False, True])
def test_the_value_is_the_references(logistic, facing):
    objective, problem = pose(logistic, facing)
    parameters = draw(facing)
    cascade = reference_cascade(facing * parameters.weights[:, 0], facing * parameters.intercepts[:, 0])
    assert objective.value(parameters) == pytest.approx(reference.objective("and_or", cascade, problem), rel=1e-12)


@pytest.mark.parametrize("facing", [1.0, -1.0])
@pytest.mark.parametrize("logistic", [False, True])
def test_gradients_are_finite_differences(logistic, facing):
    objective, _ = pose(logistic, facing)
    parameters = draw(facing, zeros=0.0)
    evaluation = objective.evaluate(parameters)
    assert not evaluation.thresholds.any()
    for values, gradient in (
        (parameters.weights, evaluation.weights),
        (parameters.intercepts, evaluation.intercepts),
    ):
        for at in np.ndindex(values.shape):
            there, before = [], values[at]
            for step in (1e-6, -1e-6):
                values[at] = before + step
                there.append(objective.evaluate(parameters).value)
            values[at] = before
            assert gradient[at] == pytest.approx((there[0] - there[1]) / 2e-6, rel=2e-5, abs=1e-7)


def test_the_solver_sees_nearly_the_objective():
    objective, _ = pose(False, 1.0)
    most = objective.temperature * np.log(N_STAGES) * objective.loss_weight.sum()
    for seed in range(10):
        parameters = draw(1.0, seed)
        assert 0 < abs(objective.evaluate(parameters).value - objective.value(parameters)) <= most


def standard_problem(model, X, y):
    """Return the reference's problem over standardised columns with balanced classes."""
    w = np.full(len(X), 1 / len(X))
    class_weights = np.where(y == 1, 0.5 / np.mean(y == 1), 0.5 / np.mean(y == 0))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    costs = model.cost_model_
    settings = (costs.requirement, costs.unit_costs, model.loss, model.l1_weight, model.cost_weight, class_weights)
    return reference.Problem(Z, np.where(y == 1, 1.0, -1.0), w, *settings)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_descent_ends_in_a_minimum_of_the_references_objective(loss, skewed):
    model = fitted(skewed, loss=loss, fine_tune=None)
    assert model.converged_
    assert model.n_iter_ == len(model.objective_) - 1 > 1
    assert (np.diff(model.objective_) <= 0).all()
    problem = standard_problem(model, skewed.X, skewed.y)
    raw, intercepts = stages_of(model.tree_, skewed.X.shape[1])
    intercepts = intercepts + raw @ skewed.X.mean(axis=0)
    weights = raw * skewed.X.std(axis=0)
    at_end = reference.objective("and_or", reference_cascade(weights, intercepts), problem)
    assert model.objective_[-1] == pytest.approx(at_end, rel=1e-6)
    random = np.random.default_rng(0)
    for scale in (1e-3, 1e-2):
        for _ in range(10):
            moved = weights + scale * (weights != 0) * random.normal(size=weights.shape)
            level = intercepts + scale * random.normal(size=intercepts.shape)
            there = reference.objective("and_or", reference_cascade(moved, level), problem)
            assert there > at_end - 2e-4 * at_end


def test_a_single_stage_without_penalties_is_least_squares(skewed):
    X, y = skewed.X[:400], np.arange(400) % 5 == 0
    settings = {"price_limits": [np.inf], "cost_weight": 0, "l1_weight": 0, "class_weight": None, "fine_tune": None}
    model = AndOrClassifier(**settings).fit(X, y)
    design = np.column_stack([X, np.ones(400)])
    expected = design @ np.linalg.lstsq(design, np.where(y, 1.0, -1.0), rcond=None)[0]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-3)


def test_too_few_rounds_are_reported(skewed):
    with pytest.warns(ConvergenceWarning, match="AndOrClassifier ended after 1 rounds"):
        model = fitted(skewed, max_iter=1, tol=0)
    assert not model.converged_


# What stages may use


@pytest.mark.parametrize("fine_tune", ["support", "held", None])
def test_stages_weigh_only_what_is_within_their_limit(fine_tune, skewed):
    model = fitted(skewed, fine_tune=fine_tune, cost_weight=1e-5)
    prices = skewed.costs.unit_costs
    dearest = [prices[weighed].max(initial=0.0) for weighed in model.node_supports()]
    assert (dearest <= model.price_limits_).all()
    assert dearest[1] > 5
    assert dearest[-1] > 50


def test_limits_share_out_the_distinct_prices(skewed):
    model = fitted(skewed, price_limits=None, n_stages=3)
    distinct = np.unique(skewed.costs.unit_costs)
    assert set(model.price_limits_) <= set(distinct)
    shares = np.diff([0, *np.searchsorted(distinct, model.price_limits_, side="right")])
    assert len(shares) == 3
    assert shares.sum() == len(distinct)
    assert np.ptp(shares) <= 1


def test_there_are_no_more_stages_than_prices():
    X, y = needle(400)
    assert AndOrClassifier(costs=NEEDLE_COSTS).fit(X, y).price_limits_.tolist() == [1.0, 20.0]
    alike = AndOrClassifier().fit(X, y)
    assert alike.tree_.n_nodes == len(alike.price_limits_) == 1
    assert AndOrClassifier(price_limits=[1, 1, 1]).fit(X, y).tree_.n_nodes == 3


def test_a_bundle_counts_in_the_price_of_its_members():
    X, y = needle(1000)
    costs = CostModel([1.0, 1.0, 1.0, 1.0, 1.0], bundles={"scan": ([1, 2], 6.0)})
    model = AndOrClassifier(costs=costs, price_limits=[6.9, 7.0], cost_weight=1e-4).fit(X, y)
    assert model.node_supports()[:, 1].tolist() == [False, True]


def test_a_tree_of_a_feature_map_has_the_price_of_all_that_it_reads():
    X, y = needle(800)
    forest = BoostedFeatureMap(SMALL_FOREST.fit(X, y), evaluation_costs=0.5)
    model = AndOrClassifier(costs=NEEDLE_COSTS, feature_map=forest, cost_weight=1e-5).fit(X, y)
    prices = Ledger(forest.cost_model(model.cost_model_)).prices
    dearest = [prices[model.tree_.weighs(k)].max(initial=0.0) for k in range(model.tree_.n_nodes)]
    assert (dearest <= model.price_limits_).all()
    assert model.tree_.n_nodes > 1
    assert average_precision_score(y, model.decision_function(X)) > 0.9


@pytest.mark.parametrize("limits", [[], [5, 3], [-1, 2], [np.nan], "cheap", 5, [[1, 2]], [None]])
def test_limits_that_are_none_are_refused(limits):
    with pytest.raises(ValueError, match=r"AndOrClassifier: price_limits is .*; expected rising prices"):
        AndOrClassifier(price_limits=limits).fit(*needle(50))


# Who is rejected where


def test_a_row_ends_at_the_first_stage_that_scores_it_below_zero(skewed):
    model = fitted(skewed, fine_tune=None)
    elsewhere = make_ltr_skewed(5, n_features=40, random_state=1).X
    cascade = reference_cascade(*stages_of(model.tree_, 40))
    costs = model.cost_model_
    expected = [reference.hard_route(row, cascade, costs.requirement, costs.unit_costs) for row in elsewhere]
    exits, acquired, spend = (np.array(each) for each in zip(*expected, strict=True))
    acquisition = model.acquire(elsewhere)
    assert len(set(exits)) > 2
    np.testing.assert_array_equal(acquisition.exit, exits)
    np.testing.assert_array_equal(acquisition.acquired, acquired)
    np.testing.assert_allclose(acquisition.spend, spend)


@pytest.mark.parametrize(("fine_tune", "loss"), [("support", "squared"), ("held", "logistic")])
@pytest.mark.parametrize("rare", [0, 1])
def test_fine_tuning_rejects_the_same_rows_and_calls_none_of_them_rare(fine_tune, loss, rare, skewed):
    names = np.array(["a", "b"])
    y = names[np.where(skewed.y == 1, rare, 1 - rare)]
    settings = {"costs": skewed.costs, "price_limits": PAPER_LIMITS, "cost_weight": 3e-4, "loss": loss}
    settings["class_weight"] = {names[rare]: 300, names[1 - rare]: 1}  # so eager that even odds are put below zero
    learned = AndOrClassifier(fine_tune=None, **settings).fit(skewed.X, y).acquire(skewed.X)
    tuned = AndOrClassifier(fine_tune=fine_tune, **settings).fit(skewed.X, y).acquire(skewed.X)
    np.testing.assert_array_equal(tuned.exit, learned.exit)
    rejected = tuned.exit < len(PAPER_LIMITS) - 1
    assert 0.1 < rejected.mean() < 0.95
    assert (tuned.prediction[rejected] == names[1 - rare]).all()
    assert (learned.prediction[rejected] == names[1 - rare]).all()


@pytest.mark.parametrize(("loss", "cost_weight"), [("squared", 1e-3), ("logistic", 1e-4)])
def test_most_others_are_rejected_before_the_dear_column_is_bought(loss, cost_weight):
    X, y = needle()
    X_test, y_test = needle(seed=1)
    acquisition = AndOrClassifier(costs=NEEDLE_COSTS, cost_weight=cost_weight, loss=loss).fit(X, y).acquire(X_test)
    assert acquisition.spend[~y_test].mean() < 0.3 * acquisition.spend[y_test].mean()
    assert acquisition.acquired[y_test, 1].mean() > 0.95
    assert average_precision_score(y_test, acquisition.score) > 0.95


def test_the_rarer_class_goes_through_whatever_it_is_called():
    X, y = needle()
    first, second = (
        AndOrClassifier(costs=NEEDLE_COSTS, cost_weight=1e-3).fit(X, labels).acquire(X)
        for labels in (np.where(y, "a", "b"), np.where(y, "b", "a"))
    )
    np.testing.assert_array_equal(first.exit, second.exit)
    np.testing.assert_allclose(first.score, -second.score, rtol=1e-6, atol=1e-6)
    assert first.exit[y].mean() > 0.9


@pytest.mark.parametrize("half", [10, 11])
def test_of_two_classes_as_frequent_the_second_goes_through(half):
    y = np.repeat([0, 1], half)
    X = np.column_stack([2.0 * y - 1, np.random.default_rng(0).normal(size=2 * half)])
    model = AndOrClassifier(costs=[1.0, 2.0], cost_weight=1e-4).fit(X, y)
    assert model.acquire(X).exit.tolist() == y.tolist()


def test_weighting_a_row_is_repeating_it(skewed):
    X, y = skewed.X[::7], skewed.y[::7]
    count = np.random.default_rng(0).integers(1, 4, len(X))
    settings = {"costs": skewed.costs, "price_limits": PAPER_LIMITS, "cost_weight": 1e-3}
    weighted = AndOrClassifier(**settings).fit(X, y, sample_weight=count).acquire(X)
    repeated = AndOrClassifier(**settings).fit(X.repeat(count, axis=0), y.repeat(count)).acquire(X)
    np.testing.assert_array_equal(weighted.exit, repeated.exit)
    np.testing.assert_allclose(weighted.score, repeated.score, rtol=1e-6, atol=1e-6)


# Sweeps, data at the edge, the contract


def test_a_path_goes_from_buying_little_to_buying_much(skewed):
    template = AndOrClassifier(costs=skewed.costs, price_limits=PAPER_LIMITS)
    models = template.path(skewed.X, skewed.y, cost_weights=[1e-4, 1e-1, 1e-2, 1e-3])
    assert [model.cost_weight for model in models] == [1e-1, 1e-2, 1e-3, 1e-4]
    spend = [model.spend(skewed.X).mean() for model in models]
    assert spend == sorted(spend)
    assert spend[0] < 0.1 * spend[-1]
    prices = skewed.costs.unit_costs
    for model in models:
        assert (np.diff(model.objective_) <= 0).all()
        dearest = [prices[weighed].max(initial=0.0) for weighed in model.node_supports()]
        assert (dearest <= model.price_limits_).all()


def test_it_can_stop_early(skewed):
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
    ids=["free", "too dear", "no penalty", "nothing allowed", "nothing allowed at first", "one unit"],
)
def test_odd_settings_give_a_sound_model(settings, loss):
    X, y = needle(200)
    model = AndOrClassifier(**{"costs": NEEDLE_COSTS, "cost_weight": 1e-4, "loss": loss} | settings).fit(X, y)
    acquisition = model.acquire(X)
    assert np.isfinite(acquisition.score).all()
    assert model.converged_
    if settings.get("cost_weight") == 1e6 or settings.get("price_limits") == [0.5]:
        assert not acquisition.acquired.any()
    else:
        assert average_precision_score(y, acquisition.score) > 0.9


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_odd_data_give_a_sound_model(loss):
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
