"""Unusual data and settings give a sound model, or a clear error."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning

from thrifty import CronusClassifier, CSCCClassifier, CSTCClassifier, CSTCRegressor
from thrifty.costs import CostModel

N, D = 40, 5
COSTS = [1.0, 2.0, 3.0, 0.0, 5.0]
MODELS = {
    "regression": CSTCRegressor(max_depth=3),
    "logistic": CSTCClassifier(max_depth=3, loss="logistic"),
    "cascade": CSCCClassifier(n_stages=3),
    "cronus": CronusClassifier(n_stages=2, loss="logistic"),
}


@pytest.fixture(params=MODELS)
def model(request):
    return clone(MODELS[request.param]).set_params(costs=COSTS)


def rows(n=N, d=D):
    X = np.random.default_rng(0).normal(size=(n, d))
    return X, X[:, 0] + np.abs(X[:, 1])


def fitted(model, X, aim, **options):
    """Fit a model, a classifier to whether the aim is above its median; ignore missing convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, aim if is_regressor(model) else aim > np.median(aim), **options)


def check_sound(model, X):
    """Assert that all rows get a finite score, and read and pay for exactly what they acquire."""
    outcome = model.acquire(X)
    assert np.isfinite(outcome.score).all()
    np.testing.assert_allclose(outcome.spend, model.cost_model_.of(outcome.acquired))
    masked = np.where(outcome.acquired, X, np.nan)
    np.testing.assert_array_equal(model.predict(masked), outcome.prediction)
    assert (np.diff(model.objective_) <= 0).all()
    return outcome


UNUSUAL_COLUMNS = {
    "constant": lambda X: np.column_stack([X[:, :3], np.ones(N), np.full(N, 1e9)]),
    "all constant": np.ones_like,
    "copies": lambda X: X[:, [0, 0, 0, 1, 1]],
    "two values": np.sign,
    "missing values": lambda X: np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X),
    "all missing": lambda X: np.column_stack([X[:, :4], np.full(N, np.nan)]),
    "single precision": lambda X: X.astype(np.float32),
    "far from zero": lambda X: 1e6 + X,
    "tiny": lambda X: 1e-30 * X,
    "few rows": lambda X: X[:4],
    "repeated rows": lambda X: X[np.arange(N) % 4],
}


@pytest.mark.parametrize("columns", UNUSUAL_COLUMNS)
def test_unusual_columns(model, columns):
    X, aim = rows()
    X = UNUSUAL_COLUMNS[columns](X)
    outcome = check_sound(fitted(model, X, aim[: len(X)]), X)
    constant = np.nanmax(X, axis=0, initial=-np.inf) == np.nanmin(X, axis=0, initial=np.inf)
    assert not outcome.acquired[:, constant].any()


def test_a_constant_target():
    X, _ = rows()
    model = fitted(CSTCRegressor(costs=COSTS), X, np.full(N, 0.1))
    np.testing.assert_allclose(check_sound(model, X).prediction, 0.1)
    assert not model.spend(X).any()


@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"regression"}))
def test_one_class(name):
    X, _ = rows()
    with pytest.raises(ValueError, match="needs samples of at least 2 classes in y, got one class: 1"):
        clone(MODELS[name]).fit(X, np.ones(N, dtype=int))


def test_fewer_rows_than_columns(model):
    X, aim = rows(n=8, d=30)
    check_sound(fitted(model.set_params(costs=None), X, aim), X)


def test_a_cost_weight_so_large_that_nothing_is_bought(model):
    X, aim = rows()
    outcome = check_sound(fitted(model.set_params(cost_weight=1e9), X, aim), X)
    assert not outcome.spend.any()
    assert not outcome.acquired[:, np.array(COSTS) > 0].any()


def test_everything_is_free(model):
    X, aim = rows()
    outcome = check_sound(fitted(model.set_params(costs=np.zeros(D), cost_weight=1.0), X, aim), X)
    assert outcome.acquired.any()
    assert not outcome.spend.any()


def test_everything_requires_one_unit(model):
    X, aim = rows()
    costs = CostModel([None] * D, bundles={"visit": (range(D), 3.0)})
    assert set(check_sound(fitted(model.set_params(costs=costs), X, aim), X).spend) <= {0.0, 3.0}


def test_one_row_has_a_huge_weight(model):
    X, aim = rows()
    check_sound(fitted(model, X, aim, sample_weight=np.where(np.arange(N) < 1, 1e6, 1.0)), X)


@pytest.mark.parametrize("sharpness", [1e-6, 1e6])
def test_extreme_sharpness(model, sharpness):
    """If sigmoids are nearly steps, some branches get no row."""
    X, aim = rows()
    check_sound(fitted(model.set_params(sharpness=sharpness, max_iter=10), X, aim), X)


def test_no_penalty_at_all(model):
    X, aim = rows()
    check_sound(fitted(model.set_params(cost_weight=0.0, l1_weight=0.0), X, aim), X)


@pytest.mark.parametrize("fine_tune", ["paper", "held", None])
def test_other_fine_tuning(model, fine_tune):
    X, aim = rows()
    check_sound(fitted(model.set_params(fine_tune=fine_tune), X, aim), X)


def test_single_precision_is_as_good(model):
    X, aim = rows()
    single, double = fitted(clone(model), X.astype(np.float32), aim), fitted(model, X, aim)
    assert single.objective_[0] == pytest.approx(double.objective_[0], rel=1e-4)
    assert single.objective_[-1] == pytest.approx(double.objective_[-1], rel=0.05)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"cost_weight": -1}, "cost_weight is -1; expected a number of at least 0"),
        ({"l1_weight": float("nan")}, "l1_weight is nan"),
        ({"tol": "low"}, "tol is 'low'"),
        ({"sharpness": 0}, "sharpness is 0; expected a number above 0, or None"),
        ({"solver": "magic"}, "solver is 'magic'; expected one of 'joint', 'block'"),
        ({"fine_tune": "all"}, "fine_tune is 'all'; expected one of 'auto', 'support', 'held', 'refit', 'paper', None"),
        ({"max_iter": 0}, "max_iter is 0; expected a whole number of at least 1"),
        ({"validation_fraction": 1.0}, "validation_fraction is 1.0; expected a share between 0 and 1"),
        ({"costs": [1.0]}, "costs has 1 entries but X has 5 features"),
    ],
)
def test_bad_parameters_are_refused(model, setting, message):
    with pytest.raises(ValueError, match=f"^{type(model).__name__}: {message}"):
        fitted(model.set_params(**setting), *rows())
