"""Fits of rows in several blocks: the same models as in one block, up to rounding.

Rounds of the solver magnify rounding errors, so fits that take many rounds may end at slightly different objectives.
"""

import numpy as np
import pytest
from sklearn.base import clone

from models.expected_cost.blocks import Blocks, fit_in_blocks
from models.expected_cost.problems import pose
from models.expected_cost.test_device import COSTS, MODELS, same_model, table, targets_for
from thrifty import CSTCClassifier, CSTCRegressor
from thrifty.models.expected_cost import initial_parameters
from thrifty.models.expected_cost.row_blocks import TrainingRows
from thrifty.models.expected_cost.row_sample import drawn, keys_at
from thrifty.models.homes import Here

CUTS = {"even": [100, 200], "skewed": [3, 3, 240]}
NOT_IN_BLOCKS = ("CSTC, pruned", "CSTC, grown", "CSTC, stopped early")  # these hold out rows


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("name", [name for name in MODELS if name not in NOT_IN_BLOCKS])
def test_model_equals_the_one_fitted_to_one_block(name, cuts):
    X, y = table(missing=0.05)
    y, model = targets_for(name, y), clone(MODELS[name]).set_params(costs=COSTS, cost_weight=3e-3, max_iter=4)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    same_model(fit_in_blocks(model, CUTS[cuts], X, y, weight), clone(model).fit(X, y, weight), X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", [{"structure": "prune"}, {"early_stopping": True}])
def test_given_validation_rows(options):
    X, y = table()
    given = table(seed=1)
    model = CSTCRegressor(costs=COSTS, max_depth=2, max_iter=4, **options)
    same_model(fit_in_blocks(model, [100], X, y, validation=given), clone(model).fit(X, y, validation=given), X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("class_weight", ["balanced", {1: 2.0}])
def test_class_weights_count_over_all_blocks(class_weight):
    X, y = table()
    y = (y > 0).astype(int)
    model = clone(MODELS["CSCC"]).set_params(costs=COSTS, class_weight=class_weight, max_iter=4)
    order = np.argsort(y)  # all rows of the first block are of one class
    same_model(fit_in_blocks(model, [40], X[order], y[order]), clone(model).fit(X, y), X)


def test_copies_of_a_column_are_found_over_all_blocks():
    X, y = table()
    X = np.column_stack([X, X[:, 2]])
    X[200:, -1] += 1e-3  # a copy in the first block only
    model = CSTCRegressor(max_depth=1)
    for columns in (X, np.column_stack([X, X[:, 1]])):
        same_model(fit_in_blocks(model, [100], columns, y), clone(model).fit(columns, y), columns)


def test_a_sample_of_many_rows_is_the_same_one(monkeypatch):
    monkeypatch.setattr(initial_parameters, "MAX_ROWS", 60)
    X, y = table()
    model = CSTCRegressor(costs=COSTS, max_depth=3, max_iter=3, tol=10.0)
    same_model(fit_in_blocks(model, [100, 170], X, y), clone(model).fit(X, y), X)


def test_keys_are_found_by_rank():
    random = np.random.default_rng(0)
    keys = np.sort_complex(
        random.integers(-2, 3, 200) + 1j * random.normal(size=200) * 10.0 ** random.integers(-200, 200, 200)
    )
    keys[50] = keys[51]  # the same row in two blocks
    block_of = random.permutation(200) % 3
    rows = Blocks([_rows(keys[block_of == block]) for block in range(4)])  # the last one is empty
    ranks = np.array([0, 7, 50, 51, 120, 199])
    np.testing.assert_array_equal(keys_at(rows, ranks), keys[ranks])
    sample = drawn(rows, 200).block
    np.testing.assert_array_equal(sample.keys, np.delete(keys, 51))
    assert sample.weight.sum() == pytest.approx(200)
    assert sample.weight[50] == 2


def _rows(keys):
    return TrainingRows(np.column_stack([keys.real, keys.imag]), keys.real[:, None], *np.ones((2, len(keys))), keys)


def test_the_objective_is_a_sum_over_blocks():
    objective = pose("cronus", "cascade", "bundles").objective
    assert drawn(objective.rows, 100) is objective.rows
    assert isinstance(objective.sample(20).rows, Here)


def test_a_whole_fit_ends_at_the_same_objective():
    X, y = table(n=1500)
    model = CSTCRegressor(costs=COSTS, max_depth=3)
    fitted, wanted = fit_in_blocks(model, [500, 900], X, y), clone(model).fit(X, y)
    assert wanted.converged_
    same_model(fitted, wanted, X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "grow"}, r"needs validation rows, but none are given.*validation=\(X, y\)"),
        ({"solver": "block"}, "solver is 'block'.*solver=\"joint\""),
        ({"device": "cuda"}, "device is 'cuda'.*Leave device out"),
        ({"early_stopping": True}, r"needs validation rows, but none are given.*validation=\(X, y\)"),
    ],
)
def test_settings_that_need_all_rows_in_one_process(options, message):
    X, y = table()
    with pytest.raises(ValueError, match=f"^CSTCClassifier: .*{message}"):
        fit_in_blocks(CSTCClassifier(**options), [100], X, y > 0)
