"""The task of a search, in the order: what the user wants, what the estimators are, what the targets look like."""

import numpy as np
import pytest

from thrifty import ASTCClassifier, ASTCRegressor, GreedyMiserRanker
from thrifty.datasets import load_heart
from thrifty.models.rows import Rows
from thrifty.models.tables.preparation import learned_encoder
from thrifty.tuning.problem import Problem, Task

MANY = np.arange(30) / 2


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.array(["a", "b", "a"]), "binary"),
        (np.array([True, False]), "binary"),
        (np.array([0, 1, 2, 0]), "multiclass"),
        (np.array([0.0, 1.0, 1.0]), "binary"),
        (np.array([0.5, 1.0]), "regression"),
        (np.arange(20), "multiclass"),
        (np.arange(21), "regression"),
    ],
)
def test_the_task_of_targets(y, task):
    assert Task.of(y) == task
    assert Task.of(y, qid=np.zeros(len(y))) == "ranking"


def test_the_user_decides_before_the_estimators_and_these_before_the_targets():
    assert Task.of(MANY, estimators=[ASTCClassifier()]) == "multiclass"
    assert Task.of(MANY, wanted="regression", estimators=[ASTCClassifier()]) == "regression"
    assert Task.of(np.array([0, 1]), estimators=[ASTCRegressor()]) == "regression"
    assert Task.of(np.array([0, 1]), estimators=[ASTCRegressor(), ASTCClassifier()]) == "binary"
    assert Task.of(np.array([0, 1]), qid=np.zeros(2), estimators=[GreedyMiserRanker()]) == "ranking"


def test_the_scale_of_a_problem():
    heart = load_heart()
    raw = Rows(heart.X, heart.y)
    encoder = learned_encoder(raw, heart.costs)
    assert Problem.of(raw, encoder, heart.costs, Task.BINARY).max_spend == heart.costs.total
    assert Problem.of(raw, encoder, heart.costs, Task.BINARY, cap=5.0).max_spend == 5.0
    assert Problem.of(raw, encoder, heart.costs, Task.BINARY).target_variance == 1.0
    assert Problem.of(raw, encoder, heart.costs, Task.REGRESSION).target_variance == np.var(heart.y)
    assert Problem.of(Rows(heart.X, 0 * heart.y), encoder, heart.costs, Task.REGRESSION).target_variance == 1.0
