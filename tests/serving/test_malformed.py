"""Malformed requests get 4xx with a sentence, and the memory of the service stays level."""

import asyncio
import json

import psutil
import pytest

from serving.http_load import Connection
from serving.malformed import malformed
from serving.started import started


async def send_all(port, requests):
    """Send requests on one connection; return the replies."""
    connection = Connection(port)
    replies = [(request, await connection.send(request)) for request in requests]
    await connection.close()
    return replies


@pytest.fixture(scope="module")
def server(files):
    with started(files / "tree.thrifty", "--sources", files / "sources.py") as running:
        yield running


def test_malformed_requests_get_a_sentence(server):
    replies = asyncio.run(send_all(server.port, malformed(1500)))
    statuses = set()
    for request, reply in replies:
        assert 400 <= reply.status < 500, (request[:300], reply)
        assert reply.headers["content-type"] == "application/problem+json"
        detail = json.loads(reply.body)["detail"]
        assert 20 < len(detail) < 500, detail
        assert b"Traceback" not in reply.body
        statuses.add(reply.status)
    assert {400, 404, 405, 415, 422} <= statuses


def test_memory_stays_level(server):
    process = psutil.Process(server.process.pid)
    asyncio.run(send_all(server.port, malformed(1000, seed=1)))
    before = process.memory_info().rss
    asyncio.run(send_all(server.port, malformed(3000, seed=2)))
    assert process.memory_info().rss - before < 10 * 2**20


def test_a_connection_that_breaks_in_the_middle_harms_nobody(server):
    async def break_off():
        for request in malformed(50, seed=3):
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(request[: len(request) // 2])
            await writer.drain()
            writer.close()
        return await send_all(server.port, [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])

    assert asyncio.run(break_off())[0][1].status == 200
