"""Sums over blocks on workers: straight from the workers, or by tasks if that fails, with the same result."""

from time import monotonic, sleep

import numpy as np
import pytest

from distributed import wait
from thrifty.distributed import Partitions, holders
from thrifty.distributed import plans as plans_module
from thrifty.distributed.holders import Holders
from thrifty.kernels.threads import n_threads
from thrifty.models.homes import PerBlock

N_BLOCKS = 21  # groups of eight blocks, and groups of groups
UNKNOWN = ("tcp://127.0.0.1:9",)  # nothing answers there


@pytest.fixture
def home(client):
    """Return blocks of numbers whose sum depends on the order of additions."""
    numbers = np.random.default_rng(0).normal(size=(N_BLOCKS, 5)) * 10.0 ** np.arange(-10, 11)[:, None]
    futures = client.map(np.array, list(numbers), pure=False)
    wait(futures)
    return Partitions.of(client, futures)


def scaled(block, factor):
    return block * factor


def scaled_beside(block, other, factor):
    return (block * factor + other).sum(), 1


def used_threads(block):
    return n_threads()


def failing(block):
    raise ZeroDivisionError("this block cannot be divided")


EVENTS = []


def noted(block):
    EVENTS.append("work")


def refuse_tasks(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a task was started")

    monkeypatch.setattr(Partitions, "_start", refuse)


def test_work_that_only_reads_blocks_starts_no_task(home, monkeypatch):
    doubled = home.map(scaled, 2.0)
    refuse_tasks(monkeypatch)
    total, count = home.beside(doubled).sum(scaled_beside, 1.0)
    assert count == N_BLOCKS
    assert total == pytest.approx(3 * home.sum(scaled, 1.0).sum())
    factors = list(range(N_BLOCKS))
    found, blocks = home.collect(scaled, PerBlock(factors)), home.collect(scaled, 1)
    np.testing.assert_array_equal(found, [block * factor for block, factor in zip(blocks, factors, strict=True)])
    assert home.sum(used_threads) == N_BLOCKS


def test_small_results_beside_blocks_need_no_task(home, monkeypatch):
    expected = home.sum(scaled, 12.0)
    refuse_tasks(monkeypatch)
    doubled = home.map_small(scaled, 2.0)
    tripled = doubled.map_small(scaled, PerBlock([3.0] * N_BLOCKS))
    np.testing.assert_allclose(tripled.sum(scaled, 2.0), expected)
    total, count = doubled.beside(tripled).sum(scaled_beside, 1.0)
    assert (total, count) == (pytest.approx(2 / 3 * expected.sum()), N_BLOCKS)


def test_sums_over_blocks_without_weak_references_need_no_task(client, monkeypatch):
    futures = client.map(float, range(3), pure=False)
    wait(futures)
    home = Partitions.of(client, futures)
    refuse_tasks(monkeypatch)
    assert home.sum(scaled, 2.0) == 6.0


def test_workers_keep_results_as_long_as_they_are_wanted(home):
    doubled = home.map_small(scaled, 2.0)
    tripled = doubled.map_small(scaled, 3.0)
    home.sum(scaled, 1.0)  # any sum carries out what is planned
    assert n_kept(doubled) == n_kept(tripled) == N_BLOCKS
    plans = [part.plan for part in doubled._parts[0]]
    sixfold = doubled.map_small(scaled, 3.0)
    del doubled
    home.sum(scaled, 1.0)
    assert not any(plan.key in kept for plan in plans for kept in plans_module._beside.values())
    np.testing.assert_array_equal(sixfold.sum(scaled, 1.0), tripled.sum(scaled, 1.0))


def n_kept(home):
    """Return how many results the workers, which are threads of this process, keep."""
    kept = plans_module._beside.values()
    return sum(part.plan.key in each for part in home._parts[0] for each in kept)


def test_results_go_when_their_block_goes():
    block = np.zeros(3)
    request = plans_module.Request(
        ["block"], [plans_module.Step("new", scaled, ["block"], [2.0], True)], ["new"], [1.0], []
    )
    before = len(plans_module._beside)
    request.answer(scaled, [block])
    assert list(plans_module.kept_beside(block)) == ["new"]
    del block
    assert len(plans_module._beside) == before


@pytest.mark.parametrize("is_carried_out", [False, True])
def test_plans_become_tasks_if_workers_do_not_answer(home, monkeypatch, is_carried_out):
    expected = home.sum(scaled, 24.0)
    doubled = home.map_small(scaled, 2.0)
    if is_carried_out:
        home.sum(scaled, 1.0)
    tripled = doubled.map_small(scaled, 3.0)
    with monkeypatch.context() as patch:
        patch.setattr(Holders, "sums", lambda *arguments: None)
        np.testing.assert_allclose(tripled.sum(scaled, 4.0), expected)
    assert all(part.plan.task is not None for part in doubled._parts[0] + tripled._parts[0])
    refuse_tasks(monkeypatch)
    np.testing.assert_allclose(tripled.map_small(scaled, 2.0).sum(scaled, 2.0), expected)
    np.testing.assert_allclose(doubled.sum(scaled, 12.0), expected)


@pytest.mark.parametrize("is_carried_out", [False, True])
def test_workers_forget_results_that_tasks_give(home, monkeypatch, is_carried_out):
    """Also if some workers have answered a request that others have not."""
    doubled = home.map_small(scaled, 2.0)
    if is_carried_out:
        home.sum(scaled, 1.0)
    ask = Holders._ask

    async def no_answer_of_the_first(self, holder, message):
        answer = await ask(self, holder, message)
        return None if holder == self.places[0][0] else answer

    with monkeypatch.context() as patch:
        patch.setattr(Holders, "_ask", no_answer_of_the_first)
        doubled.sum(scaled, 1.0)
    assert all(part.plan.task is not None for part in doubled._parts[0])
    assert n_kept(doubled) == N_BLOCKS
    home.sum(scaled, 1.0)
    assert n_kept(doubled) == 0
    np.testing.assert_array_equal(doubled.sum(scaled, 1.0), home.sum(scaled, 2.0))


def test_workers_forget_results_even_if_a_function_fails(home):
    doubled = home.map_small(scaled, 2.0)
    home.sum(scaled, 1.0)
    keys = {part.plan.key for part in doubled._parts[0]}
    del doubled
    with pytest.raises(ZeroDivisionError):
        home.sum(failing)
    assert not any(keys & kept.keys() for kept in plans_module._beside.values())


def test_results_of_plans_lie_beside_those_of_tasks(home, monkeypatch):
    doubled, tripled = home.map(scaled, 2.0), home.map_small(scaled, 3.0)
    monkeypatch.setattr(Holders, "sums", lambda *arguments: None)
    total, count = doubled.beside(tripled).sum(scaled_beside, 1.0)
    assert (total, count) == (pytest.approx(5 * home.sum(scaled, 1.0).sum()), N_BLOCKS)


def test_plans_become_tasks_if_workers_have_lost_results(home):
    doubled = home.map_small(scaled, 2.0)
    home.sum(scaled, 1.0)
    plans_module._beside.clear()
    np.testing.assert_allclose(doubled.map_small(scaled, 3.0).sum(scaled, 4.0), home.sum(scaled, 24.0))


def test_blocks_that_are_replaced_are_freed(client, home):
    keys = {block.key for block in home._parts[0]}
    doubled = home.replaced_by(scaled, 2.0)
    doubled.sum(scaled, 1.0)
    deadline = monotonic() + 10
    while keys & held_by_workers(client) and monotonic() < deadline:
        sleep(0.01)
    assert not keys & held_by_workers(client)


def held_by_workers(client):
    return {key for held in client.has_what().values() for key in held}


def test_results_that_are_known_are_not_computed_again(home, monkeypatch):
    home.remember(used_threads, [7] * N_BLOCKS)
    monkeypatch.setattr(Holders, "sums", lambda *arguments: pytest.fail("a worker was asked"))
    assert home.collect(used_threads) == [7] * N_BLOCKS


def test_larger_blocks_wait_for_workers_that_are_paused(home, monkeypatch):
    states = ["paused", "paused", "running"]

    def scheduler_info(n_workers):
        return {"workers": {"one": {"status": "running"}, "other": {"status": states.pop(0)}}}

    monkeypatch.setattr(home._client, "scheduler_info", scheduler_info)
    larger = home.in_larger_blocks(joined, [5] * N_BLOCKS)
    assert states == []
    assert larger.n_blocks == 2
    np.testing.assert_allclose(larger.sum(total), home.sum(total))


def test_larger_blocks_of_planned_results(home):
    larger = home.map_small(scaled, 2.0).in_larger_blocks(joined, [5] * N_BLOCKS)
    assert larger.n_blocks == 2
    np.testing.assert_allclose(larger.sum(total), 2.0 * home.sum(total))


def joined(*blocks):
    return np.concatenate(blocks)


def total(block):
    return block.sum()


def test_additions_have_the_same_order_wherever_blocks_are(home):
    straight, by_tasks = home.sum(scaled, 1.0), home._sum_of_tasks(scaled, (1.0,))
    np.testing.assert_array_equal(straight, by_tasks)
    blocks = home.collect(scaled, 1.0)
    assert any(straight != sum(blocks[::-1]))


def test_tasks_answer_if_a_worker_does_not(home, monkeypatch):
    monkeypatch.setattr("thrifty.distributed.holders.CONNECT", 0.2)
    expected, places = home.sum(scaled, 3.0), list(home._holders.places)
    home._holders.places[4] = UNKNOWN
    np.testing.assert_array_equal(home.sum(scaled, 3.0), expected)
    assert home._holders.places == places  # from here on, blocks are found without tasks again
    refuse_tasks(monkeypatch)
    np.testing.assert_array_equal(home.sum(scaled, 3.0), expected)


def test_tasks_answer_if_a_block_is_on_another_worker(client, home, monkeypatch):
    monkeypatch.setattr("thrifty.distributed.holders.PATIENCE", 0.05)
    expected = home.collect(scaled, 3.0)
    home._holders.places = home._holders.places[1:] + home._holders.places[:1]
    np.testing.assert_array_equal(home.collect(scaled, 3.0), expected)
    assert home._holders.places == Holders.of(client, home._parts[0]).places


def test_errors_of_functions_reach_the_client(home):
    with pytest.raises(ZeroDivisionError, match="cannot be divided"):
        home.sum(failing)
    with pytest.raises(ZeroDivisionError, match="cannot be divided"):
        home.map(failing).collect(scaled, 1.0)


def test_a_worker_reads_a_block_when_a_thread_is_free(client, monkeypatch):
    """Otherwise blocks that are on disk would be in memory together."""
    futures = client.map(np.zeros, range(5), workers=[next(iter(client.nthreads()))], pure=False)
    wait(futures)
    waited = holders._arrival

    async def noted_arrival(worker, key):
        await waited(worker, key)
        EVENTS.append("block")

    monkeypatch.setattr(holders, "_arrival", noted_arrival)
    EVENTS.clear()
    Partitions.of(client, futures).collect(noted)
    assert EVENTS == ["block", "work"] * 5
