"""Evaluations of fitted models, compared with what the rows do."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from thrifty import BudgetSearchCV, GreedyMiserRanker, GreedyMiserRegressor, ThriftyClassifier
from thrifty.datasets import make_quadrants
from thrifty.evaluation import Evaluation, evaluate
from thrifty.evaluation.recorded_rows import RecordedRows
from thrifty.metrics import ndcg_at_k


def test_score_and_spend_are_those_of_the_model(tree, held_out):
    X, y = held_out
    found, spend = evaluate(tree, X, y), tree.spend(X)
    assert (found.n_rows, found.unit, found.scoring) == (len(y), "CAD", "accuracy")
    assert found.score.value == pytest.approx(tree.score(X, y))
    assert found.spend.value == pytest.approx(spend.mean())
    assert found.largest_spend == spend.max() <= found.cap == 100
    reach = stats.t.ppf(0.975, len(y) - 1) * spend.std(ddof=1) / math.sqrt(len(y))
    assert (found.spend.low, found.spend.high) == pytest.approx((max(spend.mean() - reach, 0), spend.mean() + reach))
    auc = evaluate(tree, X, y, scoring="roc_auc").score
    assert auc.value == pytest.approx(roc_auc_score(y, tree.decision_function(X)))
    assert auc.low < auc.value < auc.high


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", "roc_auc", "log_loss"])
def test_intervals_end_at_the_best_possible_score(tree, held_out, scoring):
    X, y = held_out[0][:12], held_out[1][:12]
    wrong_in_one_row = np.where(np.arange(12) == 1, -1, 1) * np.where(y == tree.classes_[1], 1, -1)
    rows = RecordedRows.made(tree, tree.acquire(X), y)
    rows = replace(rows, score=9.0 * wrong_in_one_row, prediction=tree.classes_[(wrong_in_one_row > 0).astype(int)])
    score, best = Evaluation.of(tree, rows, scoring=scoring).score, 0.0 if scoring == "log_loss" else 1.0
    assert score.value < score.high == best
    assert score.value + stats.t.ppf(0.975, 11) * score.error > best  # without the limit it would be wider


def test_classes_add_up(tree, held_out):
    X, y = held_out
    found = evaluate(tree, X, y)
    assert sum(each.n_rows for each in found.classes) == len(y)
    assert sum(each.n_rows * each.spend for each in found.classes) / len(y) == pytest.approx(found.spend.value)
    assert sum(each.n_rows * each.right for each in found.classes) / len(y) == pytest.approx(found.score.value)
    assert sum(each.n_rows for each in found.calibration.bins) == len(y)


def test_rows_at_the_cap_would_spend_more_without_it(tree, held_out):
    X, y = held_out
    free = evaluate(tree, X, y, cap=1000)
    capped = evaluate(tree, X, y, cap=10)
    assert free.cap == 100  # the model's own cap is smaller
    assert capped.cap == 10
    assert capped.largest_spend <= 10
    assert capped.at_cap > 0.5
    assert capped.spend.value < free.spend.value


@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_the_promise_is_broken_if_a_one_sided_test_says_so(promising, held_out, confidence):
    X, y = held_out
    spend = promising(None).spend(X)
    for budget in (0.8 * spend.mean(), 0.95 * spend.mean(), 0.99 * spend.mean(), 1.1 * spend.mean()):
        found = evaluate(promising(float(budget), confidence), X, y)
        rejected = stats.ttest_1samp(spend, budget, alternative="greater").pvalue < 1 - confidence
        assert (found.promised, found.confidence) == (budget, confidence)
        assert found.promise_kept is (not rejected)


def test_a_promise_without_a_budget_is_its_bound(promising, held_out):
    found = evaluate(promising(None), *held_out)
    assert found.promised == 2.0
    assert not found.promise_kept


def test_a_model_without_a_promise_has_nothing_to_keep(tree, held_out):
    found = evaluate(tree, *held_out)
    assert found.promised is None
    assert found.promise_kept is None
    assert found.as_dict()["promise_kept"] is None


def test_the_promise_of_an_adaptive_model_is_tested(heart, held_out):
    light = ThriftyClassifier(costs=heart.costs, budget=60, n_estimators=10, n_rounds=0, random_state=0, confidence=0.9)
    X, y = held_out
    found = evaluate(light.fit(heart.X[:150], heart.y[:150]), X, y)
    assert found.promised >= 60
    assert found.confidence == 0.9
    assert found.promise_kept


def test_a_search_is_evaluated_with_its_own_scoring(heart, held_out):
    search = BudgetSearchCV(["l1"], budget=40, costs=heart.costs, cv=3, scoring="roc_auc")
    X, y = held_out
    found = evaluate(search.fit(heart.X[:150], heart.y[:150]), X, y)
    assert found.scoring == "roc_auc"
    assert found.score.value == pytest.approx(search.score(X, y))


def test_numbers_have_no_classes(heart, held_out):
    model = GreedyMiserRegressor(costs=heart.costs, n_estimators=10).fit(heart.X[:150], heart.X["thalach"][:150])
    X, _ = held_out
    found = evaluate(model, X, X["thalach"])
    assert found.scoring == "r2"
    assert found.score.value == pytest.approx(model.score(X, X["thalach"]))
    assert (found.classes, found.calibration) == ((), None)


def test_queries_are_the_units_of_a_ranking():
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(300, 4)), np.repeat(np.arange(30), 10)
    y = np.digitize(X[:, 0] + random.normal(size=300), [0, 1])
    model = GreedyMiserRanker(n_estimators=5, charge="row").fit(X[:200], y[:200], qid=qid[:200])
    found = evaluate(model, X[200:], y[200:], qid=qid[200:])
    assert found.scoring == "ndcg@5"
    by_query = ndcg_at_k(y[200:], model.predict(X[200:]), qid=qid[200:], average=False)
    assert found.score.value == pytest.approx(by_query.mean())
    assert found.score.error == pytest.approx(by_query.std(ddof=1) / math.sqrt(10))


def test_chunks_give_what_the_whole_gives(tree, held_out):
    X, y = held_out
    parts = [RecordedRows.of(tree, X[i : i + 50], y[i : i + 50]) for i in range(0, len(y), 50)]
    whole, joined = RecordedRows.of(tree, X, y), RecordedRows.joined(parts)
    for name, column in vars(whole).items():
        assert np.array_equal(column, getattr(joined, name)), name


def test_few_rows_have_an_unknown_interval(tree, held_out):
    X, y = held_out
    found = evaluate(tree, X[:1], y[:1])
    assert math.isnan(found.spend.error)
    assert found.score.low < found.score.high


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (["present", "ill"], "'ill', which is not a class of the model"),
        (["present"], "1 entries for 2 rows"),
        ([], "at least one row"),
        ([["present"], ["absent"]], "shape"),
    ],
)
def test_bad_targets_are_refused(tree, held_out, y, says):
    with pytest.raises(ValueError, match=says):
        evaluate(tree, held_out[0][:2], y)


def test_missing_numbers_are_refused():
    data = make_quadrants(50, random_state=0)
    model = GreedyMiserRegressor(n_estimators=2).fit(data.X, data.y)
    with pytest.raises(ValueError, match="not a finite number"):
        evaluate(model, data.X, np.where(np.arange(50) == 3, np.nan, 1.0))


def test_a_score_that_does_not_fit_what_the_model_predicts_is_refused(heart, tree, held_out):
    for scoring, says in (
        ("r2", "compares numbers, but the targets are classes"),
        ("total_cost", "without error costs"),
    ):
        with pytest.raises(ValueError, match=says):
            evaluate(tree, *held_out, scoring=scoring)
    numbers = GreedyMiserRegressor(n_estimators=2).fit(heart.X, heart.X["age"])
    with pytest.raises(ValueError, match="compares classes, but the targets are numbers"):
        evaluate(numbers, heart.X, heart.X["age"], scoring="roc_auc")


def test_a_score_that_one_row_does_not_define_is_nan_without_a_warning(tree, held_out):
    X, y = held_out
    assert math.isnan(evaluate(tree, X[:1], y[:1], scoring="roc_auc").score.value)
