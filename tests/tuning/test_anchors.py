"""The constant answer for nothing, and all columns for every row."""

import numpy as np
import pytest

from thrifty import BudgetSearchCV, GreedyMiserClassifier, load, read_manifest, save
from thrifty.datasets import load_heart, make_ltr
from thrifty.models.rows import Rows
from thrifty.tuning.splits import folds_of

HEART = load_heart()


@pytest.fixture(scope="module")
def search():
    return BudgetSearchCV(["truncated"], budget=40, costs=HEART.costs, cv=3).fit(HEART.X, HEART.y)


def test_the_constant_answer_is_the_most_frequent_class_for_nothing(search):
    constant = search.anchors_.loc["constant"]
    assert constant["spend"] == 0
    assert constant["score"] == pytest.approx(max(np.mean(HEART.y == 0), np.mean(HEART.y == 1)))


def test_everything_is_boosted_trees_without_prices_on_the_same_folds(search):
    everything, scores = search.anchors_.loc["everything"], []
    for train, test in folds_of(Rows(HEART.X, HEART.y), 3, stratify=True, random_state=0):
        trees = GreedyMiserClassifier(cost_weight=0.0).fit(HEART.X[train], HEART.y[train])
        scores.append(trees.score(HEART.X[test], HEART.y[test]))
    assert everything["spend"] == HEART.costs.total
    assert everything["score"] == pytest.approx(np.mean(scores))
    assert everything["score_error"] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(3))


def test_a_model_file_has_the_anchors(search, tmp_path):
    path = save(search, tmp_path / "model.thrifty")
    assert read_manifest(path).anchors == search.anchors_.to_dict("index")
    assert load(path).promise_ == search.promise_


def test_other_tasks_have_anchors_too():
    random, documents = np.random.default_rng(0), make_ltr(20, 10, 8, random_state=0)
    ranked = BudgetSearchCV(["l1"], costs=documents.costs, cv=2).fit(documents.X, documents.y, qid=documents.qid)
    X = random.normal(size=(90, 2))
    amounts = BudgetSearchCV(["l1"], cv=3).fit(X, X[:, 0])
    grades = BudgetSearchCV(["l1"], cv=3, scoring="neg_log_loss").fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    for found in (ranked, amounts, grades):
        assert found.anchors_["score"]["constant"] < found.anchors_["score"]["everything"]
    assert amounts.anchors_["score"]["constant"] == pytest.approx(0, abs=0.1)
