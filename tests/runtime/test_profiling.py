"""Latencies are measured call by call, and become prices in milliseconds; a call of several features is a bundle."""

import asyncio
import time

import pytest

from thrifty import CostModel, SourceError, source
from thrifty.runtime.profiling import Profile, price_list, profile_sources

SLOW = 0.01  # seconds


@source(provides=["tsh", "tt4"])
def labs(key):
    time.sleep(SLOW)
    return key, None


@source(provides={"age": int})
async def age(key):
    await asyncio.sleep(SLOW)
    return key


def test_blocking_and_asynchronous_sources_are_measured_one_key_a_call():
    steps = []
    profiles = profile_sources([labs, age], [1, 2, 3], warmup=4, advance=lambda: steps.append(1))
    assert [(each.source, each.features, each.n_calls) for each in profiles] == [
        ("labs", ("tsh", "tt4"), 3),
        ("age", ("age",), 3),
    ]
    for each in profiles:
        assert len(each.latencies) == 3
        assert min(each.latencies) > 0.9 * 1000 * SLOW
        assert each.median <= each.p95 <= max(each.latencies)
    assert len(steps) == 2 * (4 + 3)


def test_calls_before_the_measurement_are_not_counted_and_use_the_same_keys():
    calls = []
    profile = profile_sources([source(provides="a")(lambda key: calls.append(key) or key)], [1, 2], warmup=3)[0]
    assert calls == [1, 2, 1, 1, 2]
    assert profile.n_calls == 2


def test_failures_and_unknown_keys_are_counted():
    @source(provides={"a": int, "b": int}, timeout=0.5)
    def odd(key):
        if key == "raises":
            raise KeyError("tsh")
        if key == "slow":
            time.sleep(0.6)
        return None if key == "unknown" else (1, "text" if key == "wrong" else 2)

    profile = profile_sources([odd], ["raises", "slow", "unknown", "wrong", "good"], warmup=0)[0]
    assert (profile.n_calls, profile.n_failures, profile.n_unknown, len(profile.latencies)) == (5, 3, 1, 2)
    assert profile.error == "KeyError ('tsh')"


def test_an_asynchronous_call_ends_at_its_timeout():
    @source(provides="a", timeout=0.5)
    async def slow(key):
        await asyncio.sleep(0 if key == 1 else 60)
        return key

    profile = profile_sources([slow], [1, 2], warmup=0)[0]
    assert (profile.n_failures, profile.error) == (1, "TimeoutError")


def test_a_source_that_always_fails_is_refused():
    with pytest.raises(SourceError, match=r"source 'down' failed in all 2 calls.*OSError \(no route\)\. Repair"):
        profile_sources([source(provides="a", name="down")(_no_route)], [1, 2])


def test_a_source_that_knows_no_key_is_refused():
    with pytest.raises(SourceError, match=r"source 'empty' found no record in its only call.*Check the keys"):
        profile_sources([source(provides=["a", "b"], name="empty")(lambda key: None)], [1])


def test_without_keys_there_is_nothing_to_measure():
    with pytest.raises(SourceError, match="no keys"):
        profile_sources([labs], [])


def test_sources_are_closed_also_after_an_error():
    closed = []
    down = source(provides="a")(_no_route)
    down.close = lambda: closed.append("down")
    with pytest.raises(SourceError, match="failed"):
        profile_sources([down], [1], warmup=0)
    assert closed == ["down"]


def test_prices_are_rounded_and_never_zero():
    profile = Profile("a", ("a",), (0.00001, 0.00002), 2)
    assert profile.price() == 0.001
    assert Profile("a", ("a",), (1.23456, 1.23456), 2).price("mean") == 1.235
    with pytest.raises(ValueError, match="statistic is 'max'; expected one of median, p95, mean"):
        profile.price("max")


def test_a_bundle_is_charged_once_and_has_a_name_of_its_own():
    prices = price_list(
        [Profile("tsh", ("tsh", "tt4"), (2.0, 4.0), 2), Profile("age", ("age",), (0.5,), 1)], statistic="p95"
    )
    assert prices == CostModel({"tsh": 0.0, "tt4": 0.0, "age": 0.5}, bundles={"tsh'": (["tsh", "tt4"], 3.9)}, unit="ms")
    assert prices.of([True, True, False]) == 3.9


@pytest.mark.parametrize("suffix", ["csv", "toml", "yaml"])
def test_a_price_list_survives_its_file(suffix, tmp_path):
    prices = price_list([Profile("labs", ("tsh", "tt4"), (2.0,), 1), Profile("age", ("age",), (0.5,), 1)])
    assert CostModel.from_file(prices.to_file(tmp_path / f"costs.{suffix}")) == prices


def _no_route(key):
    raise OSError("no route")
