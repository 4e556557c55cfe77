"""What decides whether a method is tried, and on how many rows it is fitted."""

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.rows import Rows
from thrifty.models.tables.preparation import learned_encoder
from thrifty.tuning.methods import METHODS, SCOUT_ROWS, usual
from thrifty.tuning.problem import Problem, Task


def problem_of(n_columns, n_classes=2):
    rows, costs = Rows(np.eye(20, n_columns), np.arange(20) % n_classes), CostModel(np.ones(n_columns))
    task = Task.MULTICLASS if n_classes > 2 else Task.BINARY
    return Problem.of(rows, learned_encoder(rows, costs), costs, task)


def test_a_method_whose_time_grows_with_the_square_of_the_columns_is_left_out_if_there_are_many():
    few, many = problem_of(100), problem_of(101)
    assert set(usual(few)) - set(usual(many)) == {"dynamic"}
    assert usual(few)[0] == usual(many)[0] == "thrifty"


def test_the_default_model_is_fitted_on_fewer_rows_if_there_are_many_columns_and_classes():
    method = METHODS["thrifty"]
    assert method.max_rows(problem_of(50)) == method.max_values // 50
    assert method.max_rows(problem_of(50, n_classes=4)) == method.max_values // 200
    assert method.max_rows(problem_of(150, n_classes=10)) == SCOUT_ROWS
    assert METHODS["l1"].max_rows(problem_of(150)) is None
