"""ThriftyClassifier and ThriftyRegressor as a whole."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

import thrifty
from models.adaptive.problems import FAST
from thrifty import CostModel, ThriftyClassifier, ThriftyRegressor
from thrifty.datasets import make_cube
from thrifty.kernels.threads import on_one_thread
from thrifty.models.adaptive import estimator
from thrifty.models.session import Acquire, Stop, drive

COSTS = CostModel(
    {"age": 0.0, "temperature": 1.0, "hdl": None, "ldl": None, "scan": 10.0},
    bundles={"blood": (["hdl", "ldl"], 4.0)},
    unit="$",
)


def patients(n, seed):
    """An extreme temperature decides; otherwise the blood test does. The scan and the age say nothing."""
    X = pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 5)), columns=COSTS.names)
    doubtful = X["temperature"].abs() < 0.7
    ill = np.where(doubtful, X["hdl"] + X["ldl"] > 0, X["temperature"] > 0)
    return X, np.where(ill, "ill", "well")


def threshold_problem(n_columns, n=300, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n_columns))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def binary():
    return ThriftyClassifier(costs=COSTS, cost_weight=0.02, n_rounds=1, **FAST).fit(*patients(500, 0))


@pytest.fixture(scope="module")
def three_classes():
    X = np.random.default_rng(0).normal(size=(400, 4))
    y = np.digitize(X[:, 1] + 0.5 * X[:, 3], [-0.5, 0.5])
    model = ThriftyClassifier(costs=[1.0, 2.0, 1.0, 3.0], cost_weight=0.02, n_rounds=1, **FAST)
    return model.fit(X[:300], y[:300]), X[300:], y[300:]


@pytest.fixture(scope="module")
def regressor():
    X = np.random.default_rng(0).normal(size=(500, 4))
    y = 50.0 + 10.0 * X[:, 2] + 3.0 * X[:, 0]
    model = ThriftyRegressor(costs=CostModel([1.0, 1.0, 2.0, 1.0], unit="ms"), cost_weight=0.005, n_rounds=1, **FAST)
    return model.fit(X[:400], y[:400]), X[400:], y[400:]


# What it learns


def test_two_classes(binary):
    X, y = patients(500, 1)
    assert binary.classes_.tolist() == ["ill", "well"]
    assert binary.score(X, y) > 0.85
    np.testing.assert_allclose(binary.predict_proba(X).sum(axis=1), 1.0)
    bought = binary.acquire(X)
    assert bought.acquired[:, 1].mean() > 0.95
    assert bought.acquired[:, 4].mean() < 0.05


def test_rows_whose_temperature_decides_do_not_buy_the_blood_test(binary):
    X, _ = patients(500, 1)
    blood = binary.acquire(X).acquired[:, 2]
    extreme = X["temperature"].abs() > 1.2
    doubtful = X["temperature"].abs() < 0.5
    assert blood[doubtful].mean() > 0.8
    assert blood[extreme].mean() < 0.2


def test_bundles_and_free_columns(binary):
    X, _ = patients(200, 1)
    for model in (binary, binary.at_cost_weight(0.1), binary.at_budget(2.0)):
        bought = model.acquire(X)
        np.testing.assert_array_equal(bought.acquired[:, 2], bought.acquired[:, 3])
        assert bought.acquired[:, 0].all()
        np.testing.assert_allclose(bought.spend, COSTS.of(bought.acquired))
    assert binary.at_cost_weight(0.0).spend(X).tolist() == [15.0] * 200


def test_three_classes(three_classes):
    model, X, y = three_classes
    assert model.score(X, y) > 0.75
    proba = model.predict_proba(X)
    assert proba.shape == (100, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    bought = model.acquire(X).acquired
    assert bought[:, 1].mean() > 0.9
    assert bought[:, [0, 2]].mean() < 0.2


def test_numbers(regressor):
    model, X, y = regressor
    assert model.score(X, y) > 0.8
    assert model.acquire(X).acquired[:, 2].mean() > 0.9
    assert model.target_mean_ == pytest.approx(50.0, abs=2.0)
    constant = model.at_budget(0.0)
    assert not constant.spend(X).any()
    assert constant.score(X, y) < 0.05
    np.testing.assert_allclose(constant.predict(X), model.target_mean_, atol=2.0)


@pytest.mark.parametrize("name", ["binary", "three_classes", "regressor"])
def test_sessions_buy_what_batches_buy(name, request):
    fitted = request.getfixturevalue(name)
    model, X = (fitted, patients(40, 1)[0]) if name == "binary" else (fitted[0], fitted[1][:40])
    values = np.asarray(X, dtype=float)
    ids = list(X.columns) if name == "binary" else list(range(values.shape[1]))
    spends = set()
    for cap in (np.inf, 5.0, 2.0, 0.0):
        bought = model.acquire(X, cap=cap)
        assert (bought.spend <= cap).all()
        for i, row in enumerate(values):
            session = model.session(cap=cap)
            end = drive(session, dict(zip(ids, row, strict=True)).__getitem__)
            assert end.prediction == bought.prediction[i]
            np.testing.assert_array_equal(end.score, bought.score[i])
            assert (session.spend, end.exit) == (bought.spend[i], bought.exit[i])
            spends.add(session.spend)
    assert len(spends) > 2


def test_it_beats_fixed_sets_and_a_constant_on_the_cube():
    data, test = make_cube(500, random_state=0), make_cube(1000, random_state=1)
    fast = FAST | {"n_estimators": 8, "learning_rate": 0.5, "n_folds": 2}
    model = ThriftyClassifier(costs=data.costs, n_rounds=0, **fast).fit(data.X, data.y)
    for n_columns in (4, 6):
        fixed = [model.policy_.factors.groups[group][0] for group in model.policy_.order[:n_columns]]
        boosted = HistGradientBoostingClassifier(max_iter=8, learning_rate=0.5, random_state=0)
        with threadpool_limits(1):  # many threads for so few rows are slow on a busy machine
            accuracy = boosted.fit(data.X[:, fixed], data.y).score(test.X[:, fixed], test.y)
        assert accuracy > 0.3  # a constant has 0.125
        at_budget = model.at_budget(n_columns, confidence=0.5)
        assert at_budget.spend(test.X).mean() < n_columns + 0.2
        assert at_budget.score(test.X, test.y) > accuracy


# Missing values, categories and weights


def test_missingness_itself_is_learned():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 3)), random.integers(0, 2, 300)
    X[y == 1, 1] = np.nan
    model = ThriftyClassifier(cost_weight=0.05, n_rounds=0, **FAST).fit(X, y)
    bought = model.acquire(X)
    assert np.mean(bought.prediction == y) == 1.0
    assert bought.acquired.sum(axis=0).tolist() == [0, 300, 0]
    session = model.session()
    assert session.next().features == (1,)
    session.observe({1: None})  # unavailable
    assert session.next().prediction == 1


@pytest.fixture(scope="module")
def without_missing():
    X, y = threshold_problem(2)
    return ThriftyClassifier(costs=[1.0, 3.0], cost_weight=0.05, n_rounds=0, **FAST).fit(X, y)


def test_a_missing_value_that_never_occurred_counts_as_not_bought(without_missing):
    X = np.array([[np.nan, 1.0], [np.nan, -1.0]])
    answers = without_missing.at_cost_weight(0.0).predict_proba(X)
    only_second = without_missing.at_cost_weight(0.0)
    nothing = without_missing.at_budget(0.0).predict_proba(X)
    bought = without_missing.acquire(X)
    assert bought.acquired[:, 0].all()
    assert bought.spend.tolist() == [without_missing.cost_model_.of(row[None])[0] for row in bought.acquired]
    np.testing.assert_allclose(answers, nothing, atol=0.2)  # the second column says nothing
    assert only_second.spend(X).tolist() == [4.0, 4.0]
    known = without_missing.predict_proba(np.array([[1.0, 0.0], [-1.0, 0.0]]))[:, 1]
    assert known[0] > 0.9
    assert known[1] < 0.1


def test_categories_are_grouped_whatever_their_codes():
    codes = np.random.default_rng(0).integers(0, 8, (400, 2)).astype(float)
    y = np.isin(codes[:, 1], [0, 2, 4, 6]).astype(int)
    frame = pd.DataFrame(codes, columns=["shape", "colour"])
    model = ThriftyClassifier(categorical_features=["colour"], cost_weight=0.05, n_rounds=0, **FAST).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.acquire(frame).acquired.sum(axis=0).tolist() == [0, 400]
    in_one_split = [codes for codes in model.policy_.predictor.forest.categories.values() if len(codes) == 4]
    assert in_one_split


def test_a_missing_category_is_a_category():
    random = np.random.default_rng(0)
    X, y = random.integers(0, 4, (300, 2)).astype(float), random.integers(0, 2, 300)
    X[y == 1, 1] = np.nan
    model = ThriftyClassifier(categorical_features=[1], cost_weight=0.05, n_rounds=0, **FAST).fit(X, y)
    assert model.score(X, y) == 1.0


def test_a_weight_is_a_number_of_repetitions():
    random = np.random.default_rng(1)
    X, y = threshold_problem(3, 150, 1)
    weight = random.integers(1, 4, 150)
    plain = ThriftyClassifier(cost_weight=0.05, n_rounds=0, **FAST)
    weighted = clone(plain).fit(X, y, sample_weight=weight)
    repeated = clone(plain).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    unweighted = clone(plain).fit(X, y)
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    np.testing.assert_array_equal(weighted.curve_.spend, repeated.curve_.spend)
    assert (weighted.predict_proba(X) != unweighted.predict_proba(X)).any()


def test_prerequisites_are_paid_with_what_requires_them():
    X, _ = threshold_problem(3)
    y = (X[:, 2] > 0).astype(int)
    costs = CostModel([1.0, 2.0, 4.0], requires={2: [0]})
    model = ThriftyClassifier(costs=costs, cost_weight=0.02, n_rounds=0, **FAST).fit(X, y)
    bought = model.acquire(X)
    assert (bought.spend >= 5.0).mean() > 0.9
    np.testing.assert_allclose(bought.spend, costs.of(bought.acquired))
    assert bought.acquired[:, 0].mean() > 0.9  # it is free after it was paid as a prerequisite
    first = model.session().next()
    assert (sorted(first.features), first.cost) == ([0, 2], 5.0)


# Error costs


@pytest.fixture(scope="module")
def with_error_costs():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] + 0.7 * np.random.default_rng(1).normal(size=300) > 0).astype(int)

    def fit(error_costs, price=1.0):
        model = ThriftyClassifier(costs=[price, price], error_costs=error_costs, n_rounds=0, **FAST)
        return model.fit(X, y)

    return fit, X, y


def test_error_costs_decide_answers_and_purchases(with_error_costs):
    fit, X, y = with_error_costs
    symmetric, asymmetric = fit([[0.0, 20.0], [20.0, 0.0]]), fit([[0.0, 5.0], [50.0, 0.0]])
    assert symmetric.cost_weight_ == asymmetric.cost_weight_ == 1.0
    assert symmetric.spend(X).mean() > 0.5
    assert asymmetric.predict(X).mean() > symmetric.predict(X).mean() + 0.1
    expected = asymmetric.predict_proba(X) @ np.array([[0.0, 5.0], [50.0, 0.0]])
    np.testing.assert_array_equal(asymmetric.predict(X), expected.argmin(axis=1))
    cheap_errors = fit([[0.0, 0.1], [0.1, 0.0]])
    assert not cheap_errors.spend(X).any()  # no mistake costs as much as a column

    def total(model):
        return (np.array([[0.0, 20.0], [20.0, 0.0]])[y, model.predict(X)] + model.spend(X)).mean()

    assert total(symmetric) < total(cheap_errors)
    assert total(symmetric) < total(symmetric.at_cost_weight(0.0))


def test_error_costs_as_a_dictionary(with_error_costs):
    fit, X, _ = with_error_costs
    matrix, listed = fit([[0.0, 5.0], [50.0, 0.0]]), fit({(0, 1): 5.0, (1, 0): 50.0})
    assert listed.error_costs_.tolist() == [[0.0, 5.0], [50.0, 0.0]]
    np.testing.assert_array_equal(matrix.predict(X), listed.predict(X))
    np.testing.assert_array_equal(matrix.spend(X), listed.spend(X))


@pytest.mark.parametrize(
    "bad",
    [
        [[0.0, 1.0]],
        [[0.0, -1.0], [1.0, 0.0]],
        [[0.0, np.inf], [1.0, 0.0]],
        [[0.0, np.nan], [1.0, 0.0]],
        3.0,
        "high",
        {(0, 2): 1.0},
        {0: 1.0},
        {(0, 1): "much"},
        {(0, 1): -1.0},
    ],
    ids=repr,
)
def test_bad_error_costs_are_refused(bad):
    with pytest.raises(ValueError, match=r"ThriftyClassifier: error_costs is .*; expected a matrix of shape \(2, 2\)"):
        ThriftyClassifier(error_costs=bad).fit(*threshold_problem(2, 40))


def test_error_costs_of_numbers():
    X, _ = threshold_problem(2)
    y = 3.0 * X[:, 0]
    spends = []
    for error_costs in (0.01, 10.0):
        model = ThriftyRegressor(error_costs=error_costs, n_rounds=0, **FAST).fit(X, y)
        assert model.cost_weight_ == pytest.approx(0.5 / (error_costs * np.var(y)))
        spends.append(model.spend(X).mean())
    assert spends[0] == 0.0  # all errors together cost 0.09, a column costs 1
    assert spends[1] > 0.9
    for bad in (0.0, -1.0, "high", [[0, 1], [1, 0]]):
        with pytest.raises(ValueError, match=r"ThriftyRegressor: error_costs is .*; expected a cost above 0"):
            ThriftyRegressor(error_costs=bad).fit(X, y)


# Operating points


def test_operating_points_share_the_fit_and_leave_the_original(binary):
    X, _ = patients(200, 1)
    before = binary.spend(X)
    cheap, thorough = binary.at_budget(0.5), binary.at_cost_weight(0.001)
    for other in (cheap, thorough):
        assert type(other) is ThriftyClassifier
        assert other.policy_ is binary.policy_
        assert other.stopping_rule_ is binary.stopping_rule_
    assert (binary.budget, binary.cost_weight, binary.cost_weight_) == (None, 0.02, 0.02)
    assert (cheap.budget, cheap.cost_weight, cheap.confidence) == (0.5, None, 0.95)
    assert (thorough.budget, thorough.cost_weight) == (None, 0.001)
    assert cheap.at_cost_weight(0.02).spend(X).tolist() == before.tolist() == binary.spend(X).tolist()
    assert cheap.spend(X).mean() < before.mean() < thorough.spend(X).mean()


def test_budgets_are_kept_on_other_rows(binary):
    X, y = patients(1000, 2)
    previous, accuracies = -1.0, []
    for budget in (0.0, 1.0, 3.0, 5.0, 20.0):
        model = binary.at_budget(budget)
        spend = model.spend(X).mean()
        assert spend <= budget
        assert model.spend_bound_ <= budget
        assert model.expected_spend_ <= model.spend_bound_
        assert spend >= previous
        previous = spend
        accuracies.append(model.score(X, y))
    assert accuracies[0] < 0.6
    assert accuracies[-1] > 0.85
    surer = binary.at_budget(3.0, confidence=0.999)
    assert surer.cost_weight_ >= binary.at_budget(3.0).cost_weight_
    assert surer.confidence == 0.999


def test_a_budget_given_at_once_is_the_same_as_later():
    X, y = threshold_problem(2)
    given = ThriftyClassifier(costs=[1.0, 3.0], budget=0.5, n_rounds=0, **FAST).fit(X, y)
    later = ThriftyClassifier(costs=[1.0, 3.0], n_rounds=0, **FAST).fit(X, y).at_budget(0.5)
    assert given.cost_weight_ == later.cost_weight_
    assert given.spend(X).mean() <= 0.5


def test_nothing_is_bought_if_no_purchase_fits_the_budget(binary):
    X, _ = patients(50, 1)
    nothing = binary.at_budget(0.0)
    assert nothing.cost_weight_ == np.inf
    assert not nothing.spend(X).any()
    assert (nothing.expected_spend_, nothing.spend_bound_) == (0.0, 0.0)


def test_a_path_goes_from_cheap_to_expensive_and_does_not_fit_the_estimator():
    X, y = threshold_problem(3)
    model = ThriftyClassifier(costs=[1.0, 2.0, 4.0], n_rounds=0, **FAST)
    usual = model.usual_cost_weights(X, y)
    loss = -np.mean(np.log(np.where(y == 1, y.mean(), 1 - y.mean())))
    np.testing.assert_allclose(usual[[0, -1]], [loss / 1.0, loss / 7000.0])
    assert (np.diff(usual) < 0).all()
    path = model.path(X, y)
    assert [each.cost_weight for each in path] == usual.tolist()
    spends = [each.spend(X).mean() for each in path]
    assert spends[0] == 0.0
    assert spends[-1] >= 1.0
    assert not hasattr(model, "policy_")
    given = model.path(X, y, cost_weights=[0.01, 0.1])
    assert [each.cost_weight_ for each in given] == [0.1, 0.01]
    with pytest.raises(ValueError, match="cost_weight is -1"):
        model.path(X, y, cost_weights=[-1])


# Explanations, files, parameters


def test_sessions_explain_purchases_and_stops(binary):
    session = binary.session()
    first = session.next()
    assert first == Acquire(("age",), 0.0, "they are free")
    session.observe({"age": 0.0})
    second = session.next()
    assert (second.features, second.cost) == (("temperature",), 1.0)
    assert second.explanation.startswith("expected to save 0.")
    assert " nats, worth $" in second.explanation
    session.observe({"temperature": 2.5})
    end = session.next()
    assert isinstance(end, Stop)
    assert (end.prediction, end.reason) == ("ill", "done")
    assert end.explanation.startswith("going on is expected to cost ")
    assert end.explanation.endswith(" more than it saves")


def test_sessions_explain_caps_and_operating_points_without_purchases(binary, regressor):
    capped = drive(binary.session(cap=0.5), lambda _: 0.0)
    assert (capped.reason, capped.explanation) == ("cap", "what would be worth its cost exceeds the cap")
    nothing = drive(binary.at_budget(0.0).session(), lambda _: 0.0)
    assert (nothing.reason, nothing.explanation) == ("done", "nothing is worth its price at this cost weight")
    everything = drive(binary.at_cost_weight(0.0).session(), lambda _: 0.0)
    assert everything.explanation == "everything has been bought"
    number = regressor[0].session().next()
    assert number.features == (2,)
    assert " of the squared error, worth " in number.explanation


def test_outline_lists_columns_in_the_order_of_purchase(binary):
    outline = binary.outline()
    assert (outline.model, outline.unit, outline.total) == ("ThriftyClassifier", "$", 15.0)
    steps = {use.feature: use.first for use in outline.uses}
    assert steps.keys() == set(COSTS.names)
    assert steps["hdl"] == steps["ldl"]
    assert steps["temperature"] < steps["scan"]
    assert {use.feature: use.price for use in outline.uses}["hdl"] == 4.0


def test_files_keep_everything(binary, regressor, tmp_path):
    X, _ = patients(100, 1)
    for model, rows in ((binary, X), (binary.at_budget(0.0), X), (regressor[0], regressor[1])):
        loaded = thrifty.load(thrifty.save(model, tmp_path / "model.thrifty"))
        assert type(loaded) is type(model)
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
        np.testing.assert_array_equal(loaded.acquire(rows).acquired, model.acquire(rows).acquired)
        assert loaded.cost_weight_ == model.cost_weight_
        assert loaded.n_rounds_ == model.n_rounds_
        assert loaded.spend_bound_ == model.spend_bound_
        for one, other in ((loaded.at_budget(3.0), model.at_budget(3.0)),):
            assert one.cost_weight_ == other.cost_weight_
            np.testing.assert_array_equal(one.spend(rows), other.spend(rows))


def test_files_keep_error_costs(with_error_costs, tmp_path):
    fit, X, _ = with_error_costs
    model = fit([[0.0, 5.0], [50.0, 0.0]])
    loaded = thrifty.load(thrifty.save(model, tmp_path / "model.thrifty"))
    assert loaded.error_costs_.tolist() == model.error_costs_.tolist()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_random_state_makes_fits_reproducible():
    X, y = threshold_problem(3)
    first, again, other = (
        ThriftyClassifier(n_rounds=1, **(FAST | {"random_state": seed})).fit(X, y) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    np.testing.assert_array_equal(first.curve_.loss, again.curve_.loss)
    assert (first.curve_.loss != other.curve_.loss).any()


def test_fits_do_not_depend_on_the_number_of_threads():
    X, y = patients(300, 0)
    models = []
    for alone in (nullcontext, on_one_thread):
        with alone():
            models.append(ThriftyClassifier(costs=COSTS, n_rounds=1, **FAST).fit(X, y))
    np.testing.assert_array_equal(*(each.predict_proba(X) for each in models))
    np.testing.assert_array_equal(*(each.stopping_rule_.forest.value for each in models))


def test_of_many_rows_a_sample_learns_the_policy_and_all_rows_fit_the_predictor(monkeypatch):
    monkeypatch.setattr(estimator, "MAX_WALKING_ROWS", 300)
    X, y = patients(3000, 0)
    y = np.where(np.arange(3000) < 4, "unknown", y)  # a rare class
    model = ThriftyClassifier(costs=COSTS, cost_weight=0.02, n_rounds=1, **FAST).fit(X, y)
    assert model.curve_.spend.size
    few = ThriftyClassifier(costs=COSTS, cost_weight=0.02, n_rounds=1, **FAST).fit(X[:300], y[:300])
    new, answers = patients(2000, 1)
    accuracy, of_few = (np.mean(each.at_cost_weight(0.0).predict(new) == answers) for each in (model, few))
    assert accuracy > of_few + 0.02


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"budget": -1.0}, "budget is -1.0; expected a bound of at least 0 on the mean spend"),
        ({"budget": np.nan}, "budget is nan; expected a bound"),
        ({"cost_weight": -0.1}, "cost_weight is -0.1; expected a number of at least 0, or None"),
        ({"cost_weight": np.inf}, "cost_weight is inf; expected a number"),
        ({"budget": 5.0, "cost_weight": 0.1}, "cost_weight is 0.1; expected None beside a budget"),
        ({"confidence": 0.4}, "confidence is 0.4; expected a number from 0.5 to below 1"),
        ({"confidence": 1.0}, "confidence is 1.0; expected a number from 0.5 to below 1"),
        ({"n_estimators": 0}, "n_estimators is 0; expected a whole number of at least 1"),
        ({"n_estimators": 1.5}, "n_estimators is 1.5; expected a whole number"),
        ({"min_samples_leaf": 0}, "min_samples_leaf is 0; expected a whole number of at least 1"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes is 1; expected a whole number of at least 2"),
        ({"n_rounds": -1}, "n_rounds is -1; expected a whole number of at least 0"),
        ({"max_steps": 0}, "max_steps is 0; expected a whole number of at least 1"),
        ({"n_folds": 1}, "n_folds is 1; expected a whole number of at least 2"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; expected a number above 0, up to 1"),
        ({"l2_regularization": -1.0}, "l2_regularization is -1.0; expected a number of at least 0"),
        ({"verbose": "yes"}, "verbose is 'yes'; expected True or False"),
        ({"categorical_features": [7]}, r"categorical_features is \[7\]; expected names or positions of columns"),
        ({"factors": [[0, 0]]}, "factors lists feature 0 twice"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [ThriftyClassifier, ThriftyRegressor])
def test_bad_parameters_are_refused(kind, parameters, message):
    with pytest.raises(ValueError, match=f"{kind.__name__}: {message}"):
        kind(**parameters).fit(*threshold_problem(2, 40))


def test_bad_operating_points_are_refused(binary):
    with pytest.raises(ValueError, match="budget is -1; expected a bound"):
        binary.at_budget(-1)
    with pytest.raises(ValueError, match="confidence is 2; expected"):
        binary.at_budget(1.0, confidence=2)
    with pytest.raises(ValueError, match="cost_weight is 'low'; expected"):
        binary.at_cost_weight("low")
    with pytest.raises(ValueError, match="not fitted"):
        ThriftyClassifier().at_budget(1.0)


def test_declared_factors_are_bought_together():
    X, y = threshold_problem(4)
    model = ThriftyClassifier(factors=[[0, 3]], cost_weight=0.05, n_rounds=0, **FAST).fit(X, y)
    bought = model.acquire(X)
    np.testing.assert_array_equal(bought.acquired[:, 0], bought.acquired[:, 3])
    assert set(bought.spend.tolist()) <= {0.0, 2.0, 3.0, 4.0}
    assert bought.spend.mean() >= 1.9


# Unusual data


def test_free_columns_do_not_crowd_out_the_others():
    X = np.random.default_rng(0).normal(size=(400, 12))
    y = X[:, 10] + X[:, 11] > 0
    model = ThriftyClassifier(costs=[0.0] * 10 + [1.0, 1.0], cost_weight=0.0, n_rounds=0, **FAST).fit(X, y)
    assert model.score(X, y) > 0.85


def test_everything_may_be_free():
    X, y = threshold_problem(2)
    model = ThriftyClassifier(costs=[0.0, 0.0], **FAST).fit(X, y)
    assert model.score(X, y) > 0.9
    assert (model.spend(X) == 0).all()


def test_repeated_rows_are_in_several_folds():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, size=(1000, 2)).astype(float)
    y = np.where(random.random(1000) < 0.1, 1 - X[:, 0], X[:, 0])
    loss = ThriftyClassifier(n_rounds=0, **FAST).fit(X, y).curve_.loss
    assert loss[0] == pytest.approx(np.log(2), abs=0.01)
    assert loss[-1] == pytest.approx(0.325, abs=0.05)  # the entropy of a share of 0.1


def test_a_new_category_is_not_taken_for_a_missing_one():
    random = np.random.default_rng(0)
    codes = random.integers(0, 4, size=600).astype(float)
    y = (codes == 3).astype(int)
    missing = random.random(600) < 0.3
    codes[missing], y[missing] = np.nan, 1
    X = np.column_stack([codes, random.normal(size=600)])
    model = ThriftyClassifier(categorical_features=[0], cost_weight=0.0, n_rounds=0, **FAST).fit(X, y)
    unseen, absent = model.predict_proba([[4.0, 0.0], [np.nan, 0.0]])[:, 1]
    assert absent > 0.9
    assert unseen < absent
