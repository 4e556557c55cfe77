"""A search with error costs minimises the mean total cost; class weights count in fits only."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from reference import error_costs as reference
from thrifty import BudgetSearchCV, CostWeightedL1Classifier, TableModel, load, save
from thrifty.datasets import load_heart, make_ltr, make_quadrants
from thrifty.models.session import drive

HEART = load_heart(as_frame=True)
Y = np.where(HEART.y == HEART.y.max(), "present", "absent")
MATRIX = [[0.0, 200.0], [800.0, 0.0]]  # missing a disease is worse than a false alarm
PAIRS = {("absent", "present"): 200.0, ("present", "absent"): 800.0}
TRAIN = np.arange(len(Y)) % 3 > 0


def codes(classes):
    return (np.asarray(classes) == "present").astype(int)


def total_cost(spend, y, answers):
    return reference.mean_total_cost(spend, codes(y), codes(answers), MATRIX)


@pytest.fixture(scope="module")
def search():
    return BudgetSearchCV(["l1"], costs=HEART.costs, error_costs=PAIRS).fit(HEART.X[TRAIN], Y[TRAIN])


def test_the_point_with_the_smallest_total_cost_is_chosen_without_a_budget(search):
    assert search.scoring_ == search.promise_.scoring == "total_cost"
    assert search.promise_.budget is None
    assert search.best_score_ == search.frontier_["score"].max()
    found = search.acquire(HEART.X[~TRAIN])
    total = total_cost(found.spend, Y[~TRAIN], found.prediction)
    assert search.score(HEART.X[~TRAIN], Y[~TRAIN]) == pytest.approx(-total)
    probabilities = search.predict_proba(HEART.X[~TRAIN])
    answers = [search.classes_[reference.cheapest_answer(p, MATRIX)] for p in probabilities]
    assert found.prediction.tolist() == answers


def test_points_are_measured_with_the_answers_of_least_expected_cost(search):
    point = search.frontier_["score"].idxmax()
    totals = []
    X, y = HEART.X[TRAIN], Y[TRAIN]
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        estimator = CostWeightedL1Classifier(**search.frontier_["parameters"][point])
        model = TableModel(estimator, costs=HEART.costs, error_costs=PAIRS).fit(X.iloc[train], y[train])
        found = model.acquire(X.iloc[test])
        totals.append(total_cost(found.spend, y[test], found.prediction))
    assert search.frontier_["score"][point] == pytest.approx(-np.mean(totals))


def test_anchors_are_the_cheapest_constant_answer_and_all_columns(search):
    constant, everything = search.anchors_.loc["constant"], search.anchors_.loc["everything"]
    y = codes(Y[TRAIN])
    best = reference.cheapest_constant(y, np.ones(len(y)), MATRIX)
    assert constant["score"] == pytest.approx(-reference.mean_cost(y, [best] * len(y), MATRIX))
    assert everything["score"] < -HEART.costs.total
    assert search.best_score_ > max(constant["score"], everything["score"])


def test_sessions_and_files_answer_as_the_batch(search, tmp_path):
    rows = HEART.X[~TRAIN]
    loaded = load(save(search, tmp_path / "model.thrifty"))
    answers = loaded.predict(rows)
    np.testing.assert_array_equal(answers, search.predict(rows))
    for i in range(0, len(rows), 15):
        assert drive(loaded.session(), lambda name, i=i: rows[name].iloc[i]).prediction == answers[i]


def test_all_forms_of_costs_find_the_same_model(search):
    frame = pd.DataFrame(MATRIX, index=["absent", "present"], columns=["absent", "present"])
    for form in (MATRIX, frame):
        other = clone(search).set_params(error_costs=form).fit(HEART.X[TRAIN], Y[TRAIN])
        assert other.promise_ == search.promise_


def test_a_budget_and_another_score_may_still_be_given():
    search = BudgetSearchCV(["l1"], costs=HEART.costs, error_costs=PAIRS, budget=3, scoring="balanced_accuracy")
    search.fit(HEART.X, Y)
    assert search.promise_.spend_bound <= 3
    assert 0.5 < search.best_score_ <= 1


def test_methods_with_error_costs_of_their_own_get_them():
    search = BudgetSearchCV(["thrifty"], costs=HEART.costs, error_costs=PAIRS, cv=2).fit(HEART.X, Y)
    model = search.best_estimator_
    assert model.estimator_.error_costs_.tolist() == MATRIX
    answers = model.estimator_.predict(model.encoder_.transform(HEART.X))
    np.testing.assert_array_equal(answers, search.predict(HEART.X))


@pytest.mark.parametrize("form", [2.0, {"squared": 2.0}, {"absolute": 6.0}], ids=str)
def test_errors_of_numbers(form):
    data = make_quadrants(300, random_state=0)
    search = BudgetSearchCV(["l1"], costs=data.costs, error_costs=form).fit(data.X, data.y.astype(float) + 0.5)
    found = search.acquire(data.X)
    error = np.abs(data.y + 0.5 - found.prediction)
    price = 6.0 * error if form == {"absolute": 6.0} else 2.0 * error**2
    assert search.score(data.X, data.y + 0.5) == pytest.approx(-(found.spend + price).mean())


def test_the_constant_answer_to_absolute_errors_is_the_median():
    data = make_quadrants(300, random_state=0)
    y = np.exp(3.0 * np.random.default_rng(0).normal(size=300))
    search = BudgetSearchCV(["l1"], costs=data.costs, error_costs={"absolute": 1.0}, cv=2, refit=False).fit(data.X, y)
    halves = [np.abs(y - np.median(y)).mean(), np.abs(y - y.mean()).mean()]
    assert search.anchors_["score"]["constant"] > -sum(halves) / 2  # much nearer to that of the median


def test_class_weights_count_in_fits_only():
    y = np.where(np.arange(len(Y)) % 4 == 0, "present", "absent")
    y[:40] = Y[:40]
    rows = HEART.X, y
    estimator = (CostWeightedL1Classifier(), {"cost_weight": [0.001]})
    plain, balanced = (
        BudgetSearchCV([estimator], costs=HEART.costs, class_weight=weight, scoring="log_loss").fit(*rows)
        for weight in (None, "balanced")
    )
    by_hand = TableModel(CostWeightedL1Classifier(cost_weight=0.001), costs=HEART.costs, class_weight="balanced")
    np.testing.assert_allclose(balanced.predict_proba(HEART.X), by_hand.fit(*rows).predict_proba(HEART.X))
    assert balanced.best_score_ < plain.best_score_  # log-loss without weights prefers probabilities without weights


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"scoring": "r2"}, "scoring is 'r2', which compares numbers, but the targets are classes"),
        ({"scoring": "total_cost"}, "scoring is 'total_cost', but there are no error costs"),
        ({"error_costs": {("absent", "sick"): 1}}, r"error_costs is .*: 'sick' is not a class"),
        ({"error_costs": 3.0}, r"error_costs is 3.0; expected a matrix of shape \(2, 2\)"),
        ({"class_weight": "heavy"}, "class_weight is 'heavy'; expected 'balanced'"),
        ({"class_weight": {"sick": 1.0}}, "class_weight has 'sick', which is not a class of y"),
    ],
)
def test_what_cannot_work_is_refused_before_any_fit(parameters, problem):
    with pytest.raises(ValueError, match=f"BudgetSearchCV: {problem}"):
        BudgetSearchCV(["l1"], costs=HEART.costs, **parameters).fit(HEART.X, Y)


def test_rankings_have_no_error_costs():
    data = make_ltr(10, 10, 5, random_state=0)
    for name in ("error_costs", "class_weight"):
        with pytest.raises(ValueError, match=f"BudgetSearchCV: {name} is 1.0; expected None for ranking"):
            BudgetSearchCV(["l1"], **{name: 1.0}).fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="class_weight is 'balanced'; expected None for regression"):
        BudgetSearchCV(["l1"], class_weight="balanced").fit(data.X, data.X[:, 0])
