"""Fits of rows on a device: the same models as in NumPy, and only scalars move in a round of the solver.

The device is array-api-strict, which has nothing but the functions of the standard. PyTorch is tested where it is
installed.
"""

import sys
from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pytest
from sklearn.base import clone

import thrifty
from models.expected_cost.problems import KINDS, draw, pose, with_rows
from thrifty import CostModel, CronusClassifier, CronusRegressor, CSCCClassifier, CSTCClassifier, CSTCRegressor
from thrifty.arrays import counted_moves, enough_memory, is_device_array, moved, to_host
from thrifty.exceptions import MissingExtraError
from thrifty.models.expected_cost import joint_solver
from thrifty.models.expected_cost.joint_solver import solve_jointly
from thrifty.models.expected_cost.products import column_slopes
from thrifty.models.expected_cost.stationarity import Stationarity

COSTS = CostModel([1.0, 2.0, 0.5, None, None, 0.0], bundles={"panel": ([3, 4], 3.0)})
MODELS = {
    "CSTC": CSTCRegressor(max_depth=3),
    "CSTC, shrunk": CSTCRegressor(max_depth=2, fine_tune="held"),
    "CSTC, as learned": CSTCRegressor(max_depth=2, fine_tune=None),
    "CSTC, pruned": CSTCRegressor(max_depth=2, structure="prune", random_state=0),
    "CSTC, grown": CSTCRegressor(max_depth=2, structure="grow", random_state=0),
    "CSTC, two classes": CSTCClassifier(max_depth=2, loss="logistic"),
    "CSTC, three classes": CSTCClassifier(max_depth=2),
    "CSTC, stopped early": CSTCClassifier(max_depth=2, early_stopping=True, random_state=0),
    "CSTC, as in the paper": CSTCClassifier(max_depth=2, fine_tune="paper"),
    "CSCC": CSCCClassifier(n_stages=3),
    "Cronus": CronusClassifier(n_stages=3),
    "Cronus, regression": CronusRegressor(n_stages=3),
}


@pytest.fixture
def until_stuck(monkeypatch):
    """Let fits in NumPy go on for as long as those on a device do."""
    monkeypatch.setattr(joint_solver, "SETTLED", 0.0)


def table(missing=0.0, n=250, d=6, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) @ (np.eye(d) + 0.3 * random.normal(size=(d, d)))
    y = X @ random.normal(size=d) + np.abs(X[:, 0]) + 0.3 * random.normal(size=n)
    X[random.random((n, d)) < missing] = np.nan
    return X, y


def targets_for(name, y):
    if "three" in name:
        return np.digitize(y, [-1.0, 1.0])
    return (y > 0).astype(int) if hasattr(MODELS[name], "predict_proba") else y


def placed(parts):
    return [strict.asarray(np.ascontiguousarray(each)) for each in parts]


def same_model(found, wanted, X):
    assert found.n_iter_ == wanted.n_iter_
    assert found.objective_[-1] == pytest.approx(wanted.objective_[-1], rel=1e-8)
    np.testing.assert_array_equal(found.learned_support_, wanted.learned_support_)
    ours, theirs = found.acquire(X), wanted.acquire(X)
    np.testing.assert_array_equal(ours.acquired, theirs.acquired)
    np.testing.assert_array_equal(ours.exit, theirs.exit)
    np.testing.assert_allclose(ours.score, theirs.score, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.usefixtures("until_stuck")
@pytest.mark.parametrize("name", MODELS)
def test_model_equals_the_one_fitted_in_numpy(name):
    X, y = table(missing=0.05)
    y, model = targets_for(name, y), clone(MODELS[name]).set_params(costs=COSTS, cost_weight=3e-3)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    wanted = clone(model).fit(X, y, weight)
    same_model(model.fit(*placed([X, y, weight])), wanted, X)


@pytest.fixture(scope="module")
def fitted():
    """Return the rows, a model fitted in NumPy, and the same one fitted on the device."""
    X, y = table()
    model = CSTCRegressor(costs=COSTS, max_depth=2)
    return X, y, clone(model).fit(X, y), clone(model).fit(*placed([X, y]))


@pytest.mark.usefixtures("until_stuck")
def test_path_equals_the_one_fitted_in_numpy():
    X, y = table()
    model, weights = CSTCRegressor(costs=COSTS, max_depth=2), [0.1, 0.01]
    wanted = model.path(X, y, cost_weights=weights)
    for ours, theirs in zip(model.path(*placed([X, y]), cost_weights=weights), wanted, strict=True):
        same_model(ours, theirs, X)


def test_usual_cost_weights_equal_those_in_numpy(fitted):
    X, y, wanted, _ = fitted
    np.testing.assert_allclose(wanted.usual_cost_weights(*placed([X, y])), wanted.usual_cost_weights(X, y), rtol=1e-9)


def test_rows_are_predicted_from_a_device(fitted):
    X, _, _, model = fitted
    there = strict.asarray(X)
    np.testing.assert_array_equal(model.predict(there), model.predict(X))
    np.testing.assert_array_equal(model.acquire(there, cap=2.0).spend, model.acquire(X, cap=2.0).spend)


def test_a_saved_model_is_an_ordinary_one(fitted, tmp_path):
    X, _, _, model = fitted
    thrifty.save(model, tmp_path / "model.thrifty")
    loaded = thrifty.load(tmp_path / "model.thrifty")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert not any(is_device_array(value) for value in [*vars(model).values(), *vars(model.tree_).values()])


@pytest.mark.parametrize("kind", KINDS)
def test_value_and_gradient_equal_those_in_numpy(kind):
    for shape in KINDS[kind]:
        objective = pose(kind, shape, "bundles").objective
        parameters = draw(objective)
        there = on_device(objective)
        found, wanted = there.evaluate(parameters.placed(there.X)), objective.evaluate(parameters)
        for name in wanted._fields:
            ours, theirs = np.asarray(getattr(found, name)), getattr(wanted, name)
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12, err_msg=name)
        residual = Stationarity.of(there, parameters.placed(there.X)).residual
        assert residual == pytest.approx(Stationarity.of(objective, parameters).residual, rel=1e-10)


def on_device(objective):
    names = ("X", "targets", "weight", "loss_weight")
    arrays = {name: strict.asarray(getattr(objective, name)) for name in names}
    return replace(with_rows(objective, **arrays), penalty=objective.penalty.placed(arrays["X"]))


@pytest.mark.parametrize("shape", KINDS["cstc"])
def test_only_scalars_move_in_a_round(shape):
    objective = on_device(pose("cstc", shape, "wide", n=200).objective)
    parameters, after_rounds = draw(objective).placed(objective.X), []
    with counted_moves() as moves:

        def count(*_):
            after_rounds.append((moves.to_device, moves.to_host, moves.numbers))
            return False

        solve_jointly(objective, parameters, max_iter=8, callback=count)
    to_device, to_host, numbers = np.diff(after_rounds, axis=0).T
    assert len(numbers) >= 4
    assert not to_device.any()
    assert not to_host.any()
    assert 0 < numbers.max() < 300  # not more for more rows, columns or nodes; an evaluation reads two numbers


def test_the_objective_is_not_higher_than_in_numpy(fitted):
    """Rounds go on for longer on a device, because its sums are rounded differently."""
    _, _, in_numpy, on_the_device = fitted
    assert on_the_device.n_iter_ > in_numpy.n_iter_
    assert on_the_device.objective_[-1] <= in_numpy.objective_[-1] * (1 + 1e-6)


def test_sum_of_parts_is_the_product():
    random = np.random.default_rng(0)
    by_score, X = random.normal(size=(64 * 1024 + 17, 3)), random.normal(size=(64 * 1024 + 17, 2))
    found = column_slopes(strict.asarray(by_score), strict.asarray(X))
    np.testing.assert_allclose(np.asarray(found), by_score.T @ X, rtol=1e-10)


def test_single_precision_stays_single():
    X, y = table()
    single = CSTCRegressor(max_depth=2).fit(*placed([X.astype(np.float32), y]))
    double = CSTCRegressor(max_depth=2).fit(X, y)
    assert single.objective_[-1] == pytest.approx(double.objective_[-1], rel=1e-4)


# Errors


def test_bad_values_are_refused():
    X, y = table()
    infinite = X.copy()
    infinite[3, 2] = np.inf
    with pytest.raises(ValueError, match="CSTCRegressor: X contains infinity"):
        CSTCRegressor().fit(*placed([infinite, y]))
    with pytest.raises(ValueError, match="X has 1 axes; expected 2"):
        CSTCRegressor().fit(*placed([X[:, 0], y]))
    with pytest.raises(ValueError, match=r"column 1 of X is \d.*e\+200"):
        CSTCRegressor().fit(*placed([X * [1, 1e200, 1, 1, 1, 1], y]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CSTCRegressor().fit(*placed([X, y[1:]]))


def test_the_block_solver_is_refused():
    with pytest.raises(ValueError, match=r'solver is .block., which computes with NumPy.*Pass solver="joint"'):
        CSTCRegressor(solver="block").fit(*placed(table()))


def test_rows_return_to_this_process_for_device_cpu(fitted):
    X, y, wanted, _ = fitted
    found = CSTCRegressor(costs=COSTS, max_depth=2, device="cpu", solver="joint").fit(*placed([X, y]))
    np.testing.assert_array_equal(found.predict(X), wanted.predict(X))


@pytest.mark.parametrize("device", [0, "", ["cuda"]])
def test_bad_devices_are_refused(device):
    with pytest.raises(ValueError, match=r"CSTCRegressor: device is .*; expected None, "):
        CSTCRegressor(device=device).fit(*table())


@pytest.fixture
def without(monkeypatch):
    """Return a function after which the import of a package fails as if it were not installed."""
    return lambda package: monkeypatch.setitem(sys.modules, package, None)


def test_a_device_needs_pytorch(without):
    without("torch")
    with pytest.raises(MissingExtraError, match=r"device= needs PyTorch.*pip install torch"):
        CSTCRegressor(device="cuda").fit(*table())


def test_arrays_on_a_device_need_the_extra(without):
    X, y = table()
    there = strict.asarray(X)
    without("array_api_compat")
    with pytest.raises(MissingExtraError, match=r"pip install 'thrifty\[gpu\]'"):
        CSTCRegressor().fit(there, y)


class OutOfMemoryError(Exception):
    """As PyTorch and CuPy call it."""


def test_too_little_memory_is_one_clear_error():
    with (
        pytest.raises(MemoryError, match=r"CSTC: the device has too little memory\. .* about 3 GB.*float64"),
        enough_memory("CSTC", lambda: 3 * 10**9),
    ):
        raise OutOfMemoryError("float64\nand a second line")


def test_other_errors_pass():
    with pytest.raises(KeyError), enough_memory("CSTC", lambda: 1):
        raise KeyError("x")


# PyTorch


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def test_pytorch_fits_the_same_model(fitted, torch):
    X, y, wanted, _ = fitted
    model = clone(wanted).fit(torch.asarray(X), torch.asarray(y))
    same_model(model, wanted, X)
    derived = torch.asarray(X).requires_grad_()
    np.testing.assert_array_equal(model.predict(derived), model.predict(X))


def test_pytorch_says_why_a_device_cannot_be_used(torch):
    with pytest.raises(ValueError, match="CSTCRegressor: device is 'nowhere', which PyTorch cannot use"):
        CSTCRegressor(device="nowhere").fit(*table())


def test_arrays_of_pytorch_move(torch):
    there = torch.asarray([1.0, 2.0])
    assert moved(there, None, "owner") is there
    np.testing.assert_array_equal(moved(there, "cpu", "owner"), [1.0, 2.0])
    assert moved(np.ones(3), "meta", "owner").device.type == "meta"
    assert to_host("no array") == "no array"
