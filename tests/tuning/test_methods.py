"""What decides whether a method is tried, and on how many rows it is fitted."""

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.rows import Rows
from thrifty.models.tables.preparation import learned_encoder
from thrifty.tuning.methods import LEAST_ROWS, METHODS, SCOUT_ROWS, usual
from thrifty.tuning.problem import Problem, Task


def problem_of(n_columns, n_classes=2):
    rows, costs = Rows(np.eye(20, n_columns), np.arange(20) % n_classes), CostModel(np.ones(n_columns))
    task = Task.MULTICLASS if n_classes > 2 else Task.BINARY
    return Problem.of(rows, learned_encoder(rows, costs), costs, task)


def test_methods_whose_fits_take_long_are_left_out_if_there_are_many_columns_or_classes():
    few, many, most = problem_of(90), problem_of(150), problem_of(150, n_classes=10)
    assert set(usual(few)) - set(usual(many)) == {"dynamic"}
    assert usual(few)[0] == usual(many)[0] == "thrifty"
    assert "thrifty" not in usual(most)
    assert "greedy-miser" in usual(most)


def test_a_method_whose_time_grows_with_the_rows_is_fitted_on_fewer_of_them_if_there_are_many_columns():
    method = METHODS["dynamic"]
    sizes = [method.max_rows(problem_of(n)) for n in (10, 20, 40, 60, 1_000)]
    assert sizes == [20_000, 5_000, SCOUT_ROWS, 555, LEAST_ROWS]


def test_the_default_model_is_fitted_on_fewer_rows_if_there_are_many_columns_and_classes():
    method = METHODS["thrifty"]
    assert method.max_rows(problem_of(50)) == method.max_values // 50
    assert method.max_rows(problem_of(50, n_classes=4)) == method.max_values // 200
    assert method.max_rows(problem_of(150, n_classes=10)) == SCOUT_ROWS
    assert METHODS["l1"].max_rows(problem_of(150)) is None
