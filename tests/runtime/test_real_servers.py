"""The engine against a real PostgreSQL, and against a web service that is killed and started again under load."""

import asyncio

import numpy as np
import pytest
from benchmarks.runtime import HEART, PANELS, fitted, keys, panels_in_postgres, records, under_load

from runtime.servers import web_service
from thrifty import Engine


@pytest.fixture(scope="module")
def model():
    return fitted()[0]


def test_values_in_postgres(model):
    with panels_in_postgres(dict.fromkeys(PANELS, 0.0)) as sources, Engine(model, sources, timeout=30) as engine:
        results = engine.predict_many(keys())
        unknown = engine.predict(10**6)
    batch = model.acquire(HEART.X[keys()])
    np.testing.assert_array_equal([result.spend for result in results], batch.spend)
    np.testing.assert_array_equal([result.prediction for result in results], batch.prediction)
    assert {call.outcome for result in results for call in result.trace.calls} == {"ok"}
    assert (unknown.degraded, next(unknown.trace.calls).outcome) == (True, "missing")


def test_a_web_service_that_dies_and_comes_back(model):
    with web_service(records()) as server:
        figures = asyncio.run(under_load(model, server, seconds=6.0))
    assert figures["errors"] == figures["wrongly charged"] == figures["open at the end"] == figures["tasks"] == 0
    assert figures["kills"] > 0
    assert figures["open"] > 0
    assert 0 < figures["degraded"] < figures["answered"]
    assert figures["threads"] <= 1
    assert figures["sockets"] <= 1
