"""The greedy network: what can be bought, and choices that are known on drawn tables. The latter need torch."""

import numpy as np
import pytest

from thrifty.bench.contenders.contender import Training
from thrifty.bench.contenders.greedy_network import CONTENDER, fit
from thrifty.bench.contenders.greedy_network.purchases import Purchases
from thrifty.bench.problems import Table
from thrifty.costs import CostModel
from thrifty.exceptions import MissingExtraError
from thrifty.tuning.problem import Task

COSTS = CostModel([1.0, 2.0, 0.0, 0.0, 0.0], bundles={"panel": ([2, 3], 4.0), "lab": ([1, 2], 3.0)})


def switched(n_rows, seed=0):
    """Return rows whose first column tells one bit of the class, and which of two others tells the second bit.

    The first column has 1 bit of information about the class, each of the others 0.5 bits. A fourth column has none.
    """
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n_rows, 4))
    return Table(X, (2 * (X[:, 0] > 0) + (np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 0)).astype(int))


def order(prices, seed=0):
    """Return the purchases of each row in their order, by steps."""
    networks = pytest.importorskip("thrifty.bench.contenders.greedy_network.networks", reason="torch is not installed")
    costs = CostModel(prices)
    model = networks.trained(Training(switched(600, seed), costs, Task.MULTICLASS, seed, 4))
    rows = switched(200, seed + 1)
    trace = model.trace(rows.X)
    bought = np.diff(trace.known.astype(int), axis=0).argmax(axis=2)
    return rows, trace, bought


def test_columns_with_the_same_units_are_one_purchase():
    purchases = Purchases.of(COSTS)
    found = {tuple(np.flatnonzero(each).tolist()) for each in purchases.columns}
    assert found == {(0, 4), (1, 4), (3, 4), (2, 3, 4)}
    nothing = np.zeros((1, len(purchases.prices)))
    assert purchases.known(nothing).astype(bool).tolist() == [[False, False, False, False, True]]


def test_prices_are_those_of_the_cost_model_in_every_state():
    purchases = Purchases.of(COSTS)
    rng = np.random.default_rng(0)
    for _ in range(20):
        paid = np.minimum(rng.integers(0, 2, purchases.n) @ purchases.units, 1.0)[None]
        known = purchases.known(paid)[0] > 0
        wanted = [COSTS.of(known | (columns > 0)) - COSTS.of(known) for columns in purchases.columns]
        assert COSTS.total * purchases.price(paid)[0] == pytest.approx(np.array(wanted), abs=1e-5)
        assert COSTS.total * (paid[0] @ purchases.prices) == pytest.approx(float(COSTS.of(known)), abs=1e-5)


def test_without_torch_the_error_tells_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"greedy-network needs torch.*pip install 'thrifty\[bench-torch\]'"):
        next(fit(Training(switched(20), CostModel(np.ones(4)), Task.MULTICLASS, 0, 4), {}))


def test_the_first_purchase_has_most_information_and_the_next_depends_on_its_value():
    rows, trace, bought = order(np.ones(4))
    assert (bought[0] == 0).mean() > 0.98
    assert (bought[1] == np.where(rows.X[:, 0] > 0, 1, 2)).mean() > 0.98
    assert (trace.prediction[2] == rows.y).mean() > 0.98
    assert trace.spend[2] == pytest.approx(2.0)


def test_prices_divide_the_information():
    _, _, bought = order([8.0, 1.0, 1.5, 1.0])  # bits per price: 0.125, 0.5, 0.33 and 0; then 0.125 and 0.33
    assert (bought[0] == 1).mean() > 0.98
    assert (bought[1] == 2).mean() > 0.95


def test_rows_stop_at_a_budget_or_once_the_predictor_is_confident():
    pytest.importorskip("torch", reason="torch is not installed")
    costs, rows = CostModel(np.ones(4)), switched(200, 1)
    models = {
        each.name: each for each in fit(Training(switched(600), costs, Task.MULTICLASS, 0, 4), CONTENDER.trials(1)[0])
    }
    half = models["budget 0.541"].answer(rows)
    assert costs.of(half.acquired) == pytest.approx(2.0)
    sure = models["confidence 0.9"].answer(rows)
    assert costs.of(sure.acquired).mean() == pytest.approx(2.0, abs=0.1)
    assert (sure.prediction == rows.y).mean() > 0.98
