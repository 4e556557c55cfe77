"""``path``: models for several cost weights, compared with separate fits."""

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

from thrifty import AndOrClassifier, CostModel, CronusClassifier, CSCCClassifier, CSTCClassifier, CSTCRegressor


def rows(seed=0, n=200, d=8):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, X @ np.linspace(-1, 1, d) + 2 * np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * random.normal(size=n)


COSTS = [1.0, 5.0] * 4
MODELS = [
    CSTCRegressor(costs=COSTS, max_depth=3),
    CSTCClassifier(costs=COSTS, max_depth=3),
    CSTCClassifier(costs=COSTS, max_depth=3, loss="logistic"),
]


def data(model):
    X, aim = rows()
    return X, aim if is_regressor(model) else aim > 1


ALL_MODELS = pytest.mark.parametrize("model", MODELS, ids=["regression", "squared", "logistic"])


@ALL_MODELS
def test_a_path_is_as_good_as_separate_fits(model):
    X, y = data(model)
    models = model.path(X, y, cost_weights=[0.001, 0.02, 0.005])
    assert [warm.cost_weight for warm in models] == [0.02, 0.005, 0.001]
    separate = [clone(warm).fit(X, y) for warm in models]
    for warm, cold in zip(models, separate, strict=True):
        assert warm.objective_[-1] <= 1.05 * cold.objective_[-1]
    np.testing.assert_array_equal(models[-1].predict(X), separate[-1].predict(X))


@ALL_MODELS
def test_a_path_goes_from_low_to_high_spend(model):
    X, y = data(model)
    models = model.path(X, y)
    spends = [each.spend(X).mean() for each in models]
    assert 8 <= len(models) <= 13
    assert (np.diff([each.cost_weight for each in models]) < 0).all()
    assert spends[0] == 0
    assert spends[-1] > 0.9 * sum(COSTS)
    assert np.diff(spends).min() > -0.1 * max(spends)


MAY_END_EARLY = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
CASCADES = [CSCCClassifier(n_stages=3), CronusClassifier(n_stages=3), AndOrClassifier()]


@MAY_END_EARLY
@pytest.mark.parametrize("model", [*MODELS, *CASCADES], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("prices", [[0.01, 20.0, 1.0], [1.0, 1.0, 1.0], [1e4, 1.0, 0.1]])
def test_a_path_begins_at_nothing_and_ends_where_all_useful_columns_are_bought(model, prices):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3))
    aim = X @ [0.1, 1.0, 0.3] + 0.03 * random.normal(size=500)
    models = clone(model).set_params(costs=prices).path(X, aim if is_regressor(model) else aim > 0.8)
    assert models[0].spend(X).max() == 0
    last = models[-1].acquire(X)
    assert last.acquired[:, 1].mean() > 0.9
    if is_regressor(model):
        assert models[-1].score(X, aim) > 0.99


def test_a_path_begins_at_nothing_with_many_rows_and_a_tree():
    """At the cost weight at which a single node buys nothing, a tree of three levels still buys."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 10))
    models = CSTCRegressor().path(X, X @ np.linspace(1, 0.1, 10) + random.normal(size=3000))
    assert models[0].spend(X).max() == 0
    assert models[-1].spend(X).mean() > 9


@MAY_END_EARLY
def test_a_solution_that_is_worse_than_buying_nothing_is_given_up():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 10))
    y = X @ np.linspace(1, 0.1, 10) + random.normal(size=2000)
    for cost_weight in (2.5, 3.3, 4.0):
        assert CSTCRegressor(cost_weight=cost_weight).fit(X, y).objective_[-1] <= 3.0 + 1e-9
        path = CSTCRegressor().path(X, y, cost_weights=[0.3, cost_weight])
        assert path[0].objective_[-1] <= 3.0 + 1e-9


def test_at_the_first_cost_weight_a_single_node_does_not_even_buy_a_bundle():
    random = np.random.default_rng(0)
    aim = random.normal(size=200)
    X = aim[:, None] + random.normal(size=(200, 6))
    costs = CostModel([None] * 6, bundles={"panel": (range(6), 10.0)})
    first, second, *_ = CSTCRegressor(costs=costs, max_depth=1).path(X, aim)
    assert first.spend(X).max() == 0
    assert second.spend(X).min() == 10


def test_a_path_does_not_change_the_estimator():
    model = clone(MODELS[0])
    before = model.get_params()
    (fitted,) = model.path(*data(model), cost_weights=[0.02])
    assert model.get_params() == before
    assert not hasattr(model, "tree_")
    assert fitted.get_params() == before | {"cost_weight": 0.02}


@pytest.mark.parametrize("cost_weights", [[], 0.1, [0.1, -1.0], ["much"]])
def test_bad_cost_weights_are_refused(cost_weights):
    with pytest.raises(ValueError, match=r"^CSTCRegressor: cost_weight"):
        MODELS[0].path(*data(MODELS[0]), cost_weights=cost_weights)
