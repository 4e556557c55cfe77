"""A client that does not send its request in time loses the connection; a service that is slow does not."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
from starlette.responses import JSONResponse

from serving.http_load import read_reply, request_bytes
from thrifty.serving import connections
from thrifty.serving.connections import Connection

LIMIT = 0.3
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


async def slow_echo(scope, receive, send):
    """Read the whole body, take longer than a client may, and reply."""
    received = 0
    while (message := await receive())["type"] == "http.request":
        received += len(message["body"])
        if not message["more_body"]:
            await asyncio.sleep(3 * LIMIT)
            await JSONResponse(received)(scope, receive, send)
            return


@asynccontextmanager
async def serving():
    server = uvicorn.Server(uvicorn.Config(slow_echo, port=0, http=Connection, lifespan="off", log_level="error"))
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await running


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    monkeypatch.setattr(connections, "SECONDS_TO_SEND", LIMIT)


@pytest.mark.parametrize(
    "content",
    [b"", HEAD, HEAD + b"Content-Length: 5\r\n\r\nab", HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"],
    ids=["nothing", "a part of the head", "a part of the body", "a part of the chunks"],
)
def test_a_request_that_does_not_arrive_loses_its_connection(content):
    async def wait_for_the_end():
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(content)
            with suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), 30) == b""
            writer.close()

    asyncio.run(wait_for_the_end())


def test_sending_bytes_now_and_then_does_not_keep_a_connection():
    async def drip():
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(200):
                writer.write(b"G")
                await asyncio.sleep(LIMIT / 5)
                if closed := reader.at_eof() or reader.exception() is not None:
                    break
            writer.close()
            return closed

    assert asyncio.run(drip())


def test_a_reply_may_take_longer_and_the_connection_stays():
    async def ask_again():
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            replies = []
            for _ in range(4):
                writer.write(request_bytes("POST", "/", "abc"))
                replies.append((await read_reply(reader)).json())
            writer.close()
            return replies

    assert asyncio.run(ask_again()) == [5] * 4
