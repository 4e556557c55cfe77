"""The cost-weighted l1 model: its optimum, its path, its refit."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from thrifty import CostModel, CostWeightedL1Classifier, CostWeightedL1Regressor
from thrifty.datasets import load_heart, make_ltr
from thrifty.metrics import cost_curve
from thrifty.models.greedy.weighted_lasso import WeightedLasso
from thrifty.models.least_squares.moments import FilledRows


def regression(seed=0, n=300, d=10):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * random.uniform(0.1, 10, d) + random.uniform(-5, 5, d)
    return X, X / X.std(0) @ random.normal(size=d) + random.normal(size=n)


PRICES = np.array([1.0, 8.0, 2.0, 2.0, 5.0, 1.0, 0.5, 3.0, 9.0, 1.0])


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_solutions_satisfy_the_optimality_conditions(n_targets, weighted):
    """At the optimum |x_j' r| = cost_weight * cost_j on the support, and no more elsewhere (group norm for several)."""
    X, y = regression()
    Y = np.column_stack([y, *np.random.default_rng(1).normal(size=(n_targets - 1, len(y)))])
    count = np.random.default_rng(2).integers(1, 4, len(X)).astype(float) if weighted else np.ones(len(X))
    lasso = WeightedLasso(FilledRows(X, Y, count), CostModel(PRICES))
    penalty = lasso.largest_penalty / 10
    weight = penalty / PRICES.mean()
    coefficients, grid = lasso._solution_path(np.array([penalty]))
    scaled = coefficients[:, :, np.searchsorted(-grid, -penalty)]  # weights of columns divided by relative price
    beta = (scaled / PRICES).T * PRICES.mean()
    p = count / count.sum()
    Z = (X - p @ X) / np.sqrt(p @ (X - p @ X) ** 2)
    T = (Y - p @ Y) / np.sqrt((p @ (Y - p @ Y) ** 2).sum())
    slope = np.linalg.norm(Z.T @ (p[:, None] * (T - Z @ beta)), axis=1)
    support = np.abs(beta).sum(axis=1) > 0
    assert 0 < support.sum() < len(support)
    np.testing.assert_allclose(slope[support], weight * PRICES[support], rtol=2e-2)
    assert (slope[~support] <= weight * PRICES[~support] * 1.01).all()


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_tiny_and_huge_prices_give_the_same_models(unit):
    X, y = regression()
    usual, scaled = (CostWeightedL1Regressor(costs=scale * PRICES).path(X, y) for scale in (1.0, unit))
    for one, other in zip(usual, scaled, strict=True):
        np.testing.assert_array_equal(other.support_, one.support_)
    all_columns = CostWeightedL1Regressor(costs=np.full(10, 1e-300), cost_weight=0.01).fit(X, y).support_
    assert len(all_columns) == 10


def test_weights_are_refitted_on_the_support():
    X, y = regression()
    model = CostWeightedL1Regressor(costs=PRICES, cost_weight=0.02).fit(X, y)
    assert 0 < len(model.support_) < 10
    refit = LinearRegression().fit(X[:, model.support_], y)
    np.testing.assert_allclose(model.predict(X), refit.predict(X[:, model.support_]), rtol=1e-8)
    np.testing.assert_array_equal(model.spend(X), PRICES[model.support_].sum())


def test_a_capped_row_is_answered_by_the_longest_affordable_prefix():
    X, y = regression()
    model = CostWeightedL1Regressor(costs=PRICES, cost_weight=0.001).fit(X, y)
    spent = np.cumsum(PRICES[model.support_])
    for k in (1, 3, 5):
        prefix = model.support_[:k]
        expected = LinearRegression().fit(X[:, prefix], y).predict(X[:, prefix])
        np.testing.assert_allclose(model.predict(X, cap=spent[k - 1]), expected, rtol=1e-8)


def test_the_path_is_nested_in_spend_and_equals_single_fits():
    X, y = regression()
    template = CostWeightedL1Regressor(costs=PRICES)
    models = template.path(X, y)
    spends = [model.spend(X)[0] for model in models]
    assert spends[0] == 0
    assert spends[-1] == PRICES.sum()
    assert not hasattr(template, "tree_")
    for model in models[3::25]:
        alone = CostWeightedL1Regressor(costs=PRICES, cost_weight=model.cost_weight).fit(X, y)
        assert sorted(alone.support_) == sorted(model.support_)
        np.testing.assert_allclose(alone.predict(X), model.predict(X), rtol=1e-8)


def test_no_penalty_buys_everything_and_a_huge_one_nothing():
    X, y = regression()
    assert len(CostWeightedL1Regressor(costs=PRICES, cost_weight=0).fit(X, y).support_) == 10
    none = CostWeightedL1Regressor(costs=PRICES, cost_weight=1e6).fit(X, y)
    np.testing.assert_allclose(none.predict(X), y.mean())
    assert none.spend(X).sum() == 0


def test_the_classifier_is_about_as_good_as_logistic_regression_on_its_support():
    heart = load_heart()
    model = CostWeightedL1Classifier(costs=heart.costs, cost_weight=0.0005).fit(heart.X, heart.y)
    columns = heart.X[:, model.support_]
    scaled = (columns - columns.mean(0)) / columns.std(0)
    logistic = LogisticRegression().fit(scaled, heart.y).score(scaled, heart.y)
    assert model.score(heart.X, heart.y) == pytest.approx(logistic, abs=0.03)


def test_free_features_do_not_break_the_scaling():
    X, y = regression()
    free = CostWeightedL1Regressor(costs=np.r_[0.0, PRICES[1:]], cost_weight=0.05).fit(X, y)
    assert 0 in free.support_
    assert CostWeightedL1Regressor(costs=np.zeros(10), cost_weight=0.05).fit(X, y).spend(X).max() == 0


@pytest.mark.parametrize(
    ("cost_weights", "message"), [([], r"cost_weights is \[\]"), (0.1, "is 0.1"), ([0.1, -1], "-1")]
)
def test_bad_cost_weights_of_a_path_are_refused(cost_weights, message):
    with pytest.raises(ValueError, match=f"CostWeightedL1Regressor: .*{message}"):
        CostWeightedL1Regressor().path(*regression(), cost_weights=cost_weights)


def test_two_fits_on_many_rows_are_equal():
    X, y = regression(n=6000)
    first, second = (CostWeightedL1Classifier().fit(X, y > 0).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("weight", [-1, float("nan"), "small", True])
def test_a_bad_cost_weight_is_refused(weight):
    with pytest.raises(
        ValueError, match=r"CostWeightedL1Regressor: cost_weight is .*; expected a number of at least 0"
    ):
        CostWeightedL1Regressor(cost_weight=weight).fit(*regression())


def test_queries_are_scored_as_a_cost_curve_scores_them():
    train, test = (make_ltr(60, 12, 30, random_state=seed) for seed in (0, 1))
    template = CostWeightedL1Regressor(costs=train.costs)
    models = template.path(train.X, train.y, cost_weights=[0.03, 0.003], qid=train.qid)
    models.append(CostWeightedL1Regressor(costs=train.costs, cost_weight=0.0003).fit(train.X, train.y, qid=train.qid))
    curve = cost_curve(models, test.X, test.y, scoring="ndcg@5", qid=test.qid)
    assert [model.score(test.X, test.y, qid=test.qid) for model in models] == curve.score.tolist()
    assert len(set(curve.score)) == 3
