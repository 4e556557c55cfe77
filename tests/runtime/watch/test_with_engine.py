"""The watch of an engine: references, results and sources have the same names and exits."""

import numpy as np
import pytest

from thrifty import ASTCClassifier, TableModel
from thrifty.datasets import load_heart
from thrifty.runtime import Engine, PromiseWarning, Reference, source

HEART = load_heart()


def engine_for(model, names, X):
    @source(provides=names, batch=True)
    def record(keys):
        return [dict(zip(names, X[key].tolist(), strict=True)) for key in keys]

    return Engine(model, [record], reference=Reference.of(model, HEART.X))


def fitted(wrapped):
    tree = ASTCClassifier(max_depth=2, node_budget=3)
    return (TableModel(tree) if wrapped else tree).fit(HEART.X, HEART.y)  # without names


@pytest.mark.parametrize("wrapped", [False, True])
def test_rows_of_the_reference_are_no_drift(wrapped):
    rows = np.random.default_rng(0).choice(len(HEART.X), 1000).tolist()
    names = [f"x{j}" for j in range(HEART.X.shape[1])]
    with engine_for(fitted(wrapped), names, HEART.X) as engine:
        engine.predict_many(rows)
        health = engine.health()
    assert (health.ok, health.n_rows, health.n_degraded) == (True, 1000, 0)


@pytest.mark.parametrize("wrapped", [False, True])
def test_columns_in_another_unit_are_drift(wrapped, caplog):
    rows = np.random.default_rng(0).choice(len(HEART.X), 500).tolist()
    names = [f"x{j}" for j in range(HEART.X.shape[1])]
    with engine_for(fitted(wrapped), names, 1000.0 * HEART.X + 1.0) as engine:
        engine.predict_many(rows)  # warnings are errors here, and the engine logs errors of its observers
        health = engine.health()
    assert PromiseWarning.__name__ in caplog.text
    assert not health.ok
    assert {each.name for each in health.drifted} & set(names)
