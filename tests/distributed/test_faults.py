"""A worker process that is killed in the middle of a fit or of a prediction changes nothing but the time."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

from distributed import Client, LocalCluster
from thrifty import ASTCRegressor, CSTCRegressor, GreedyMiserRegressor
from thrifty.distributed import Partitions

KILL_AT = 10  # the sum over blocks during which a worker is killed
MODEL = ASTCRegressor(max_depth=3, node_budget=3)


@pytest.fixture(scope="module")
def processes():
    """Return a client of two worker processes; a worker that dies is replaced."""
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def kill_a_worker(client):
    pids = client.run(os.getpid)
    os.kill(min(pids.values()), signal.SIGKILL)


def test_a_worker_is_killed_in_the_middle_of_a_fit(processes, table, monkeypatch):
    X, y, _ = table
    calls, add_up = [], Partitions.sum

    def sum_and_kill(self, work, *arguments):
        calls.append(work)
        if len(calls) == KILL_AT:  # some nodes are grown, and state lies beside the rows
            kill_a_worker(processes)
        return add_up(self, work, *arguments)

    monkeypatch.setattr(Partitions, "sum", sum_and_kill)
    fitted = MODEL.fit(da.from_array(X, chunks=(1000, 9)), da.from_array(y, chunks=1000))
    assert len(calls) > KILL_AT + 5
    expected = ASTCRegressor(**MODEL.get_params()).fit(X, y)
    np.testing.assert_array_equal(fitted.tree_.arrays.features, expected.tree_.arrays.features)
    np.testing.assert_allclose(fitted.predict(X), expected.predict(X), rtol=1e-8)


def test_a_worker_is_killed_in_the_middle_of_l_bfgs(processes, table, monkeypatch):
    X, y, _ = table
    calls, add_up = [], Partitions.sum

    def sum_and_kill(self, work, *arguments):
        calls.append(work.__name__)
        if calls.count("passed") == 5 and calls[-1] == "passed":  # of about 20 evaluations of the objective
            kill_a_worker(processes)
        return add_up(self, work, *arguments)

    monkeypatch.setattr(Partitions, "sum", sum_and_kill)
    model = CSTCRegressor(max_depth=2, cost_weight=0.01, max_iter=2, tol=10.0)
    fitted = clone(model).fit(da.from_array(X, chunks=(1500, 9)), da.from_array(y, chunks=1500))
    assert calls.count("passed") > 10
    expected = model.fit(X, y)
    assert fitted.objective_[-1] == pytest.approx(expected.objective_[-1], rel=1e-8)
    np.testing.assert_array_equal(fitted.tree_.arrays.features, expected.tree_.arrays.features)
    np.testing.assert_allclose(fitted.predict(X), expected.predict(X), rtol=1e-5, atol=1e-5)


def test_a_worker_is_killed_while_trees_are_boosted(processes, table, monkeypatch):
    X, y, _ = table
    model = GreedyMiserRegressor(n_estimators=4, max_depth=3, cost_weight=1e-4, subsample=0.8, random_state=0)
    calls, add_up = [], Partitions.sum

    def sum_and_kill(self, work, *arguments):
        if work.__name__ == "node_histograms" and calls.count("leaf_sums") == 1 and "kill" not in calls:
            calls.append("kill")  # the first tree is complete, and the second one is not
            kill_a_worker(processes)
        else:
            calls.append(work.__name__)
        return add_up(self, work, *arguments)

    monkeypatch.setattr(Partitions, "sum", sum_and_kill)
    fitted = clone(model).fit(da.from_array(X, chunks=(1000, 9)), da.from_array(y, chunks=1000))
    expected = clone(model).fit(X, y)
    assert expected.n_iter_ == 4
    assert "kill" in calls
    np.testing.assert_array_equal(fitted.forest_.feature, expected.forest_.feature)
    np.testing.assert_allclose(fitted.forest_.value, expected.forest_.value, rtol=1e-10)


def test_a_worker_is_killed_in_the_middle_of_a_prediction(processes, table):
    X, y, _ = table
    model = ASTCRegressor(**MODEL.get_params()).fit(X, y)

    def slowly(block):
        time.sleep(0.2)
        return block

    lazy = model.predict(da.from_array(X, chunks=(250, 9)).map_blocks(slowly))
    future = processes.compute(lazy)
    threading.Timer(0.8, kill_a_worker, [processes]).start()
    np.testing.assert_array_equal(future.result(timeout=60), model.predict(X))
