"""CSTC as users call it: parameters, validation, paths, feature maps."""

from itertools import product

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split
from xgboost import XGBRegressor

from thrifty import AndOrClassifier, BoostedFeatureMap, CostModel, CSCCClassifier, CSTCClassifier, CSTCRegressor
from thrifty.datasets import load_heart, make_ltr, make_quadrants
from thrifty.metrics import ndcg_at_k


@pytest.fixture(scope="module")
def heart():
    return load_heart()


@pytest.fixture(scope="module")
def curved():
    """Return rows for which forests are better than linear models; two of eight columns matter."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(600, 8))
    return X, np.sin(4 * X[:, 0]) + np.abs(X[:, 1]) + 0.1 * random.normal(size=600)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost_weight": -1}, "cost_weight is -1; expected a number of at least 0"),
        ({"cost_weight": np.nan}, "cost_weight is nan"),
        ({"max_depth": 0}, "max_depth is 0; expected a whole number of at least 1"),
        ({"max_depth": 2.5}, "max_depth is 2.5"),
        ({"structure": "tall"}, "structure is 'tall'; expected one of 'full', 'prune', 'grow'"),
        ({"loss": "hinge"}, "loss is 'hinge'; expected one of 'squared', 'logistic'"),
        ({"solver": "magic"}, "solver is 'magic'; expected one of 'joint', 'block'"),
        ({"fine_tune": True}, "fine_tune is True; expected one of 'auto', 'support', 'held', 'refit', 'paper', None"),
        ({"sharpness": 0}, "sharpness is 0; expected a number above 0"),
        ({"validation_fraction": 1.0}, "validation_fraction is 1.0; expected a share between 0 and 1"),
        ({"early_stopping": True, "scoring": "ndcg@5"}, "scoring='ndcg@5' is computed by query. Pass qid="),
        ({"costs": [1.0] * 12}, "costs has 12 entries but X has 13 features"),
    ],
)
def test_bad_parameters_are_refused(heart, parameters, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")) as error:
        CSTCClassifier(**parameters).fit(heart.X, heart.y)
    assert str(error.value).startswith("CSTCClassifier: ")


def test_regression_takes_squared_loss_only(curved):
    with pytest.raises(ValueError, match="loss is 'logistic'; expected one of 'squared'"):
        CSTCRegressor(loss="logistic").fit(*curved)


def test_one_class_is_refused(heart):
    with pytest.raises(ValueError, match="at least 2 classes"):
        CSTCClassifier().fit(heart.X, np.ones(len(heart.X)))


def test_bad_validation_rows_are_refused(heart):
    model = CSTCClassifier(structure="prune")
    with pytest.raises(ValueError, match=r"expected a tuple \(X, y\)"):
        model.fit(heart.X, heart.y, validation=heart.X)
    with pytest.raises(ValueError, match="Pass one query per row"):
        model.fit(heart.X, heart.y, qid=[1, 2, 3])


def test_missing_convergence_is_reported(heart):
    with pytest.warns(ConvergenceWarning, match=r"ended after 1 rounds with an optimality residual of .* above tol"):
        model = CSTCClassifier(costs=heart.costs, max_iter=1, tol=1e-9).fit(heart.X, heart.y)
    assert not model.converged_
    assert model.residual_ > 1e-9


def test_probabilities_are_calibrated(heart):
    X, X_test, y, y_test = train_test_split(heart.X, heart.y, test_size=0.4, random_state=0, stratify=heart.y)
    for loss, fine_tune in product(("squared", "logistic"), ("support", "paper", None)):
        settings = {"max_depth": 2, "loss": loss, "fine_tune": fine_tune}
        model = CSTCClassifier(costs=heart.costs, cost_weight=1e-4, **settings).fit(X, y)
        positive = model.predict_proba(X_test)[:, 1]
        assert brier_score_loss(y_test, positive) < 0.2  # the share of positives alone gives 0.247
        np.testing.assert_array_equal(model.predict(X_test), model.classes_[(positive > 0.5).astype(int)])


@pytest.mark.parametrize(
    "model", [CSTCClassifier(max_depth=2), CSCCClassifier(n_stages=2), AndOrClassifier(n_stages=1, class_weight=None)]
)
@pytest.mark.parametrize("fine_tune", ["support", "paper", None])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_log_odds_need_no_further_slope_or_offset(model, fine_tune, loss):
    random = np.random.default_rng(0)
    X = random.normal(size=(8000, 5))
    y = random.random(8000) < expit(X @ [2.0, -1.0, 1.0, 0.5, 0.0] - 1.0)
    model = clone(model).set_params(fine_tune=fine_tune, loss=loss, cost_weight=0.05).fit(X[:4000], y[:4000])
    log_odds = model.decision_function(X[4000:])
    again = LogisticRegression(C=1e6).fit(log_odds[:, None], y[4000:])
    assert again.coef_[0, 0] == pytest.approx(1.0, abs=0.15)
    assert again.intercept_[0] == pytest.approx(0.0, abs=0.15)


def test_many_classes_share_routes_and_features():
    digits = load_digits()
    X, X_test, y, y_test = train_test_split(digits.data, digits.target, random_state=0)
    expensive, cheap = (CSTCClassifier(max_depth=2, cost_weight=w).fit(X, y) for w in (0.1, 0.5))
    assert expensive.score(X_test, y_test) > 0.93
    assert cheap.score(X_test, y_test) > 0.85
    assert cheap.spend(X_test).mean() < 0.7 * expensive.spend(X_test).mean()
    assert expensive.predict_proba(X_test).sum(axis=1) == pytest.approx(1)


def test_a_path_goes_from_low_to_high_spend(heart):
    weights = np.geomspace(1e-4, 1e-1, 5)
    models = CSTCClassifier(costs=heart.costs, max_depth=2).path(heart.X, heart.y, cost_weights=weights)
    assert [model.cost_weight for model in models] == pytest.approx(weights[::-1])
    spends = [model.spend(heart.X).mean() for model in models]
    assert spends[0] < spends[-1]
    assert (np.diff(spends) > -0.1 * max(spends)).all()
    usual = [model.spend(heart.X).mean() for model in CSTCClassifier(costs=heart.costs).path(heart.X, heart.y)]
    assert usual[0] == 0
    assert usual[-1] > 0.9 * heart.costs.total


def test_bad_cost_weights_are_refused(heart):
    for bad in ([], 0.1, ["a"]):
        with pytest.raises(ValueError, match="cost_weight"):
            CSTCClassifier().path(heart.X, heart.y, cost_weights=bad)


def test_structures_are_chosen_on_validation_rows():
    data = make_quadrants(1200, random_state=0)
    extra = make_quadrants(400, random_state=1)
    sizes = {}
    for structure in ("full", "prune", "grow"):
        model = CSTCRegressor(costs=data.costs, max_depth=4, cost_weight=1e-4, structure=structure)
        model.fit(data.X, data.y, validation=None if structure == "full" else (extra.X, extra.y))
        sizes[structure] = model.tree_.n_nodes
        assert model.score(extra.X, extra.y) > 0.99
    assert sizes["prune"] <= sizes["full"]
    assert sizes["grow"] <= sizes["full"]


@pytest.mark.parametrize("structure", ["prune", "grow"])
def test_structures_can_be_chosen_by_ndcg(structure):
    data = make_ltr(30, n_features=15, random_state=0)
    model = CSTCRegressor(costs=data.costs, max_depth=3, cost_weight=1e-4, structure=structure, scoring="ndcg@5")
    model.fit(data.X, data.y, qid=data.qid)
    assert ndcg_at_k(data.y, model.predict(data.X), qid=data.qid, k=5) > 0.5
    again = clone(model).fit(data.X, data.y, qid=data.qid, sample_weight=np.ones(len(data.y)))
    assert again.tree_.n_nodes >= 1


@pytest.mark.parametrize("fine_tune", ["support", "paper", None])
def test_early_stopping_keeps_the_best_round_of_the_answers_that_are_served(heart, fine_tune):
    X, X_held, y, y_held = train_test_split(heart.X, heart.y, test_size=0.3, random_state=1, stratify=heart.y)
    settings = {"early_stopping": True, "scoring": "neg_log_loss", "max_depth": 3, "fine_tune": fine_tune}
    model = CSTCClassifier(costs=heart.costs, cost_weight=1e-4, **settings)
    model.fit(X, y, validation=(X_held, y_held))
    assert model.n_iter_ >= 1
    assert len(model.validation_scores_) == model.n_iter_
    from sklearn.metrics import get_scorer

    assert get_scorer("neg_log_loss")(model, X_held, y_held) == pytest.approx(max(model.validation_scores_))


FORESTS = [
    GradientBoostingRegressor(n_estimators=30, max_depth=2, random_state=0),
    RandomForestRegressor(n_estimators=20, max_depth=3, random_state=0),
    LGBMRegressor(n_estimators=30, num_leaves=4, verbose=-1),
    XGBRegressor(n_estimators=30, max_depth=2),
]


@pytest.mark.parametrize("forest", FORESTS, ids=lambda forest: type(forest).__name__)
def test_a_feature_map_makes_nodes_nonlinear(curved, forest):
    X, y = curved
    costs = CostModel([1.0, 1.0, *[5.0] * 6])
    linear = CSTCRegressor(costs=costs, max_depth=2, cost_weight=1e-3).fit(X[:400], y[:400])
    nonlinear = CSTCRegressor(
        costs=costs, max_depth=2, cost_weight=1e-3, feature_map=clone(forest).fit(X[:400], y[:400])
    ).fit(X[:400], y[:400])
    assert nonlinear.score(X[400:], y[400:]) > linear.score(X[400:], y[400:]) + 0.1
    acquisition = nonlinear.acquire(X[400:])
    assert acquisition.acquired[:, :2].any()
    np.testing.assert_allclose(acquisition.spend, costs.of(acquisition.acquired))


def test_evaluating_trees_is_paid_for(curved):
    X, y = curved
    forest = GradientBoostingRegressor(n_estimators=20, max_depth=2, random_state=0).fit(X, y)
    free, expensive, too_expensive = (
        CSTCRegressor(max_depth=2, cost_weight=0.03, feature_map=BoostedFeatureMap(forest, evaluation_costs=e)).fit(
            X, y
        )
        for e in (0.0, 2.0, 100.0)
    )
    assert free.spend(X).min() > 0
    assert too_expensive.spend(X).max() == 0
    acquisition = expensive.acquire(X)
    assert (acquisition.spend > expensive.cost_model_.of(acquisition.acquired)).all()


def test_an_unfitted_forest_is_fitted_with_the_tree(heart):
    model = CSTCClassifier(
        costs=heart.costs,
        cost_weight=1e-4,
        max_depth=2,
        feature_map=GradientBoostingClassifier(n_estimators=10, max_depth=2, random_state=0),
    ).fit(heart.X, heart.y)
    assert model.score(heart.X, heart.y) > 0.75
    assert model.feature_map_.forest.n_trees == 10


def test_progress_is_shown_on_request(heart, capsys):
    CSTCClassifier(costs=heart.costs, max_depth=2, verbose=True).fit(heart.X, heart.y)
    assert "CSTCClassifier" in capsys.readouterr().err


def test_shuffled_and_repeated_rows_give_the_same_model(heart):
    """Also if rows are repeated instead of weighted."""
    random = np.random.default_rng(0)
    count = random.integers(1, 4, size=len(heart.X))
    weighted = CSTCClassifier(costs=heart.costs, max_depth=2).fit(heart.X, heart.y, sample_weight=count)
    rows = random.permutation(np.repeat(np.arange(len(heart.X)), count))
    repeated = CSTCClassifier(costs=heart.costs, max_depth=2).fit(heart.X[rows], heart.y[rows])
    np.testing.assert_array_equal(repeated.spend(heart.X), weighted.spend(heart.X))
    np.testing.assert_allclose(repeated.decision_function(heart.X), weighted.decision_function(heart.X), rtol=1e-9)


def test_a_class_whose_rows_are_all_held_out_is_refused():
    random = np.random.default_rng(0)
    query = np.repeat(range(5), 20)
    X, y = random.normal(size=(100, 3)), np.where(query == 3, 2, random.integers(0, 2, 100))
    with pytest.raises(ValueError, match="all rows of class 2 are held out for validation"):
        CSTCClassifier(structure="prune", max_depth=2, random_state=3).fit(X, y, qid=query)


def test_single_precision_far_from_zero_is_not_biased():
    random = np.random.default_rng(0)
    X = (1e6 + random.normal(size=(2000, 4))).astype(np.float32)
    y = (X.astype(float) - 1e6) @ [1.0, 2.0, 3.0, 4.0]
    model = CSTCRegressor(max_depth=1, cost_weight=0, l1_weight=0).fit(X, y)
    assert abs(np.mean(model.predict(X) - y)) < 1e-6 * y.std()


def test_copies_of_columns_are_paid_for_once(curved):
    X, y = curved
    for cost_weight in (0.01, 0.1):
        plain = CSTCRegressor(cost_weight=cost_weight).fit(X, y)
        twice = np.hstack([X, 3 * X + 1])
        doubled = CSTCRegressor(cost_weight=cost_weight, costs=[1.0] * 8 + [1.1] * 8).fit(twice, y)
        assert not doubled.acquire(twice).acquired[:, 8:].any()
        assert doubled.objective_[-1] == pytest.approx(plain.objective_[-1], rel=1e-3)


def test_the_first_model_of_a_path_buys_nothing(curved):
    X, y = curved
    first = CSTCRegressor(max_depth=1).path(X, y)[0]
    assert first.spend(X).max() == 0


def test_a_path_has_one_model_if_nothing_has_a_price(curved):
    X, y = curved
    models = CSTCRegressor(costs=np.zeros(8), max_depth=1).path(X, y)
    assert len(models) == 1
    assert models[0].score(X, y) > 0.05


def test_unknown_classes_in_validation_rows_are_refused(heart):
    with pytest.raises(ValueError, match="validation has class 2, which is not in y of fit"):
        CSTCClassifier(early_stopping=True).fit(heart.X, heart.y, validation=(heart.X, heart.y + 1))


@pytest.mark.parametrize("unused", [{"validation": "nonsense"}, {"validation": (np.ones((2, 13)), [0, 1])}])
def test_validation_rows_that_would_not_be_used_are_refused(heart, unused):
    for call in (CSTCClassifier().fit, CSTCClassifier().path):
        with pytest.raises(
            ValueError, match=r"^CSTCClassifier: validation is given, but no validation rows are scored"
        ):
            call(heart.X, heart.y, **unused)


def test_a_scoring_that_would_not_be_used_is_refused(heart):
    with pytest.raises(ValueError, match=r'scoring is .accuracy., but no validation rows .* structure to "prune"'):
        CSTCClassifier(scoring="accuracy").fit(heart.X, heart.y)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"early_stopping": "no"}, "early_stopping is 'no'; expected True or False"),
        ({"verbose": 2}, "verbose is 2; expected True or False"),
        ({"random_state": "luck"}, "random_state is 'luck'; expected a whole number, a RandomState or None"),
        ({"scoring": 5}, "scoring is 5; expected a name, a function or None"),
    ],
)
def test_settings_are_checked_even_where_they_have_no_effect(heart, setting, message):
    with pytest.raises(ValueError, match=f"^CSTCClassifier: {message}"):
        CSTCClassifier(**setting).fit(heart.X, heart.y)


@pytest.mark.parametrize("structure", ["full", "prune"])
def test_a_tree_that_would_fill_the_memory_is_refused(heart, structure):
    message = "max_depth is 16, which makes 65,535 nodes. Their paths and .* take about 38.7 GB; expected at most 1 GB"
    with pytest.raises(ValueError, match=f"^CSTCClassifier: {message}"):
        CSTCClassifier(max_depth=16, structure=structure).fit(heart.X, heart.y)
    with pytest.raises(ValueError, match=r"^CSTCClassifier: max_depth is 1000000, which makes"):
        CSTCClassifier(max_depth=1_000_000, structure=structure).fit(heart.X, heart.y)


def test_a_tree_that_grows_may_become_as_deep_as_it_has_to(heart):
    model = CSTCClassifier(max_depth=1_000_000, structure="grow", random_state=0).fit(heart.X, heart.y)
    assert 1 <= model.tree_.n_nodes < 100


@pytest.mark.parametrize("structure", ["prune", "grow"])
def test_too_few_rows_to_hold_out_are_refused(structure):
    for model, y in ((CSTCRegressor, [0.5, 1.5]), (CSTCClassifier, [0, 1])):
        with pytest.raises(ValueError, match=f"^{model.__name__}: n_samples=2 is too few to hold out rows"):
            model(structure=structure).fit(np.eye(2), y)


@pytest.mark.parametrize("scale", [1e-300, 1e-250, 1e250, 1e300])
def test_the_unit_of_prices_may_be_tiny_or_huge(curved, scale):
    X, y = curved
    plain = CSTCRegressor(cost_weight=0.05).fit(X, y)
    scaled = CSTCRegressor(costs=np.full(8, scale), cost_weight=0.05 / scale).fit(X, y)
    if scale == 1e-300:  # the cost model keeps eight digits of such a price
        assert scaled.objective_[-1] == pytest.approx(plain.objective_[-1], rel=1e-3)
        assert scaled.spend(X).mean() / scale == pytest.approx(plain.spend(X).mean(), rel=0.05)
    else:
        np.testing.assert_array_equal(scaled.predict(X), plain.predict(X))
        np.testing.assert_allclose(scaled.spend(X) / scale, plain.spend(X))
    free_or_nothing = CSTCRegressor(costs=np.full(8, scale), cost_weight=1e8).fit(X, y)
    assert free_or_nothing.spend(X).any() == (scale < 1)
