"""Web services as sources, against a real server in a process of its own."""

import asyncio
import os
import sys
import threading
import time

import httpx
import numpy as np
import pytest

from runtime.servers import GARBAGE, web_service
from thrifty.exceptions import MissingExtraError, SourceError
from thrifty.runtime.sources.http import HTTPSource

RECORDS = {
    "a": {"age": 63, "tsh": 1.5, "more": {"deep": [1, {"x": 2}]}},
    "b": {"age": 41, "tsh": None},
    "7": {"age": 7, "tsh": 0.5},
    "none": None,
    "text": "no record",
    "../control": {"age": 1, "tsh": 1},
    "a/b?c=d#e&f": {"age": 2, "tsh": 2},
    "100%": {"age": 3, "tsh": 3},
    "{key}": {"age": 4, "tsh": 4},
    "žluť 漢": {"age": 5, "tsh": 5},
    "line\r\nHost: evil": {"age": 6, "tsh": 6},
}
QUIET = {"delay": 0.0, "error_rate": 0.0, "garbage": "", "redirect": "", "status": 503}


@pytest.fixture(scope="module")
def running():
    with web_service(RECORDS) as service:
        yield service


@pytest.fixture
def service(running):
    running.set(**QUIET)
    return running


def one(service, **settings):
    return HTTPSource(f"{service.url}/{{key}}", **{"provides": ["age", "tsh"], "name": "lab", **settings})


def many(service, form="list", **settings):
    settings = {"provides": ["age", "tsh"], "name": "lab", "max_batch": None, **settings}
    return HTTPSource(f"{service.url}?form={form}", method="POST", **settings)


def fetch(source, *batches):
    """Return the replies to some batches of keys, each fetched after the other on one event loop."""

    async def run():
        try:
            return [await source.fetch(keys) for keys in batches]
        finally:
            await source.aclose()

    return asyncio.run(run())


def error_of(source, keys):
    with pytest.raises(SourceError) as caught:
        fetch(source, keys)
    assert str(caught.value).startswith("source 'lab': ")
    assert len(str(caught.value)) < 500
    return str(caught.value)


def test_one_key_per_call(service):
    source = one(service)
    assert source.max_batch == 1
    assert fetch(source, ["a"], ["b"], ["z"], ["none"], [7]) == [
        [RECORDS["a"]],
        [{"age": 41, "tsh": None}],
        [None],
        [None],
        [RECORDS["7"]],
    ]


@pytest.mark.parametrize("form", ["list", "object"])
def test_a_batch_is_one_call(service, form):
    before = service.counts()
    keys = ["b", "z", "a", np.int64(7), "none", "b"]
    expected = [RECORDS["b"], None, RECORDS["a"], RECORDS["7"], None, RECORDS["b"]]
    assert fetch(many(service, form), keys, []) == [expected, []]
    after = service.counts()
    assert after["calls"] - before["calls"] == 1
    assert after["keys"] - before["keys"] == 6


@pytest.mark.parametrize("key", [key for key, record in RECORDS.items() if isinstance(record, dict)])
def test_keys_stay_keys(service, key):
    assert fetch(one(service), [key]) == [[RECORDS[key]]]
    assert fetch(many(service, "object"), [key]) == [[RECORDS[key]]]


@pytest.mark.parametrize("key", ["", ".", ".."])
def test_keys_that_would_change_the_path_are_refused(service, key):
    assert f"key {key!r} cannot be part of a URL" in error_of(one(service), [key])


def test_the_path_finds_the_record(service):
    assert fetch(one(service, path="more.deep.1", provides=["x"]), ["a"]) == [[{"x": 2}]]
    assert fetch(one(service, path=["more", "deep", 1], provides=["x"]), ["a"]) == [[{"x": 2}]]
    assert fetch(one(service, path="tsh.x"), ["b"]) == [[None]]
    assert "it has no 'most' of the path 'most.deep'" in error_of(one(service, path="most.deep"), ["a"])
    assert "it has no '9' of the path 'more.deep.9'" in error_of(one(service, path="more.deep.9"), ["a"])
    assert "it has no 'x' of the path 'age.x'" in error_of(one(service, path="age.x"), ["a"])


def test_a_status_of_an_error_is_told(service):
    service.set(error_rate=1.0, status=500)
    assert 'status 500: {"error": "the service has a problem"}' in error_of(one(service), ["a"])
    service.set(status=404)
    assert fetch(one(service), ["a"]) == [[None]]
    assert "status 404" in error_of(many(service), ["a"])
    service.set(status=401)
    source = one(service, headers={"Authorization": "Bearer secret"})
    assert "secret" not in error_of(source, ["a"])


@pytest.mark.parametrize("kind", sorted(GARBAGE))
def test_garbage_is_an_error(service, kind):
    service.set(garbage=kind)
    if kind == "null":
        assert fetch(one(service), ["a"]) == [[None]]
    else:
        error_of(one(service), ["a"])
    error_of(many(service), ["a"])
    service.set(garbage="")
    assert fetch(one(service), ["a"]) == [[RECORDS["a"]]]


@pytest.mark.parametrize(
    ("kind", "source", "message"),
    [
        ("text", one, "the reply is not valid JSON: <html>Service not available</html>"),
        ("deep", one, "the reply is not valid JSON: [[["),
        ("large", one, "the reply is longer than 1048576 bytes"),
        ("hang_up", one, "the request failed (RemoteProtocolError"),
        ("list", one, "expected an object for key 'a', not a list. Found [1, 2, 3]"),
        ("number", many, "expected a list of records, or an object of records by key, not a number"),
        ("list", many, "expected one record for each of 1 keys, not 3 records"),
        ("large", lambda service: many(service, max_bytes=10_000_000), "it has key 'text', which was not asked for"),
    ],
)
def test_messages_say_what_is_wrong(service, kind, source, message):
    service.set(garbage=kind)
    assert message in error_of(source(service), ["a"])


def test_a_record_that_is_no_object(service):
    assert "expected an object for key 'text', not a text" in error_of(one(service), ["text"])
    assert "expected an object for key 'text', not a text" in error_of(many(service), ["a", "text"])


def test_redirects_are_not_followed(service):
    with web_service(RECORDS) as other:
        service.set(redirect=f"{other.url}/a")
        message = error_of(one(service, headers={"Authorization": "secret"}), ["a"])
        assert f"status 302: a redirect to {other.url}/a, which is not followed" in message
        assert other.counts()["calls"] == 0


def test_a_client_of_the_caller_decides_and_stays_open(service):
    async def run():
        async with httpx.AsyncClient(follow_redirects=True) as client:
            source = one(service, client=client)
            replies = [await source.fetch(["z"])]
            await source.aclose()
            source.close()
            return [*replies, await source.fetch(["a"])]

    assert asyncio.run(run()) == [[None], [RECORDS["a"]]]


def test_a_server_that_is_killed_and_comes_back():
    with web_service(RECORDS) as service:
        source = one(service)

        async def run():
            try:
                assert await source.fetch(["a"]) == [RECORDS["a"]]
                service.kill()
                for _ in range(3):
                    with pytest.raises(SourceError, match="source 'lab': the request failed"):
                        await source.fetch(["a"])
                service.start()
                assert await source.fetch(["a"]) == [RECORDS["a"]]
            finally:
                await source.aclose()

        asyncio.run(run())


def test_a_slow_server_can_be_given_up_without_a_leak(service):
    service.set(delay=30)
    source = one(service)

    async def run():
        calls = [asyncio.ensure_future(source.fetch(["a"])) for _ in range(20)]
        await asyncio.sleep(0.2)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert all(call.cancelled() for call in calls)
        service.set(delay=0)
        assert await source.fetch(["a"]) == [RECORDS["a"]]
        await source.aclose()
        return len(asyncio.all_tasks())

    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    assert asyncio.run(run()) == 1
    assert before == 0 or len(os.listdir("/proc/self/fd")) <= before


def test_a_caller_without_an_engine_does_not_wait_forever(service):
    service.set(delay=30)
    began = time.monotonic()
    assert "ReadTimeout" in error_of(one(service, timeout=0.05), ["a"])
    assert time.monotonic() - began < 15


def test_two_hundred_calls_at_a_time(service):
    service.set(delay=0.05)
    source = one(service)

    async def run():
        try:
            return await asyncio.gather(*(source.fetch(["a"]) for _ in range(400)))
        finally:
            await source.aclose()

    assert asyncio.run(run()) == [[RECORDS["a"]]] * 400


def test_the_server_takes_two_hundred_connections(service):
    service.set(delay=0.3)

    async def run():
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(limits=limits, timeout=30) as client:
            source = one(service, client=client)
            return await asyncio.gather(*(source.fetch(["a"]) for _ in range(200)))

    assert asyncio.run(run()) == [[RECORDS["a"]]] * 200
    assert service.counts()["most_connections"] >= 150


def test_each_event_loop_has_its_client(service):
    source = one(service)
    for _ in range(3):
        assert fetch(source, ["a"], ["a"]) == [[RECORDS["a"]]] * 2
    assert len(source._clients) == 0


def test_close_closes_clients_of_other_loops(service):
    source = one(service)
    idle, busy = asyncio.new_event_loop(), asyncio.new_event_loop()
    assert idle.run_until_complete(source.fetch(["a"])) == [RECORDS["a"]]
    thread = threading.Thread(target=busy.run_forever)
    thread.start()
    assert asyncio.run_coroutine_threadsafe(source.fetch(["a"]), busy).result(10) == [RECORDS["a"]]
    clients = list(source._clients.values())
    source.close()
    assert [client.is_closed for client in clients] == [True, True]
    assert len(source._clients) == 0
    busy.call_soon_threadsafe(busy.stop)
    thread.join()
    idle.close()
    busy.close()


@pytest.mark.parametrize(
    ("url", "settings", "message"),
    [
        ("http://host/records", {}, "expected {key} in its path or its query"),
        ("http://{key}/records", {}, "url has {key} in its host"),
        ("ftp://host/{key}", {}, "expected an address that begins with http:// or https://"),
        ("host/{key}", {}, "expected an address that begins"),
        ("http://host/{key}", {"method": "PUT"}, "method is 'PUT'; expected 'GET' or 'POST'"),
        ("http://host/{key}", {"max_batch": 5}, "max_batch is 5, but 'GET' asks for one key. Use method='POST'"),
    ],
)
def test_wrong_settings_are_refused(url, settings, message):
    with pytest.raises(SourceError) as caught:
        HTTPSource(url, provides=["x"], **settings)
    assert message in str(caught.value)


def test_missing_httpx_is_answered_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'thrifty\[http\]'"):
        HTTPSource("http://host/{key}", provides=["x"])
