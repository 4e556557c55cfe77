"""Blocks of rows cover all rows in order, and several threads may run them at once."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from thrifty.kernels import threads


@pytest.mark.parametrize("n_rows", [0, 1, 4095, 8192, 100_003])
@pytest.mark.parametrize("cores", [1, 2, 7])
def test_blocks_cover_every_row_once(monkeypatch, n_rows, cores):
    monkeypatch.setattr(threads, "n_threads", lambda: cores)
    blocks = threads.row_blocks(n_rows)
    assert [row for first, last in blocks for row in range(first, last)] == list(range(n_rows))
    assert len(blocks) <= cores


def test_results_are_in_block_order(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 4)
    assert threads.over_rows(lambda first, last: first, 40_000) == [0, 10_000, 20_000, 30_000]


def test_an_error_in_a_block_is_raised(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    with pytest.raises(ZeroDivisionError):
        threads.over_rows(lambda first, last: 1 // first, 30_000)


def test_many_threads_may_predict_at_once():
    from thrifty import ASTCRegressor

    X = np.random.default_rng(0).normal(size=(20_000, 5))
    model = ASTCRegressor(max_depth=3, node_budget=1).fit(X, X.sum(axis=1))
    expected = model.predict(X)
    with ThreadPoolExecutor(8) as pool:
        for prediction in pool.map(lambda _: model.predict(X), range(24)):
            np.testing.assert_array_equal(prediction, expected)


AFTER_THE_MAIN_THREAD = """
import threading
from thrifty.kernels import threads

threads.n_threads = lambda: 3
threads.over_rows(lambda first, last: first, 30_000)

def work():
    threading.main_thread().join()
    print(threads.over_rows(lambda first, last: first, 30_000))

threading.Thread(target=work).start()
"""


def test_a_thread_that_outlives_the_main_thread_works_serially():
    run = subprocess.run([sys.executable, "-c", AFTER_THE_MAIN_THREAD], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("[0, 10000, 20000]\n", "")


@pytest.mark.parametrize("cores", [1, 3])
def test_tasks_run_at_once_and_their_results_are_in_order(monkeypatch, cores):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: range(cores), raising=False)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: cores)
    together = threading.Barrier(cores)

    def task(k):
        together.wait(timeout=10)  # ends only if as many tasks run as there are cores
        return k, threads.n_threads()

    assert threads.in_threads([partial(task, k) for k in range(2 * cores)]) == [(k, 1) for k in range(2 * cores)]


def test_an_error_in_a_task_is_raised(monkeypatch):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: range(2), raising=False)
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        threads.in_threads([lambda: 1, lambda: 1 // 0, lambda: 2])
