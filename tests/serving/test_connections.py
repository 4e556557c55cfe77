"""A client that does not send its request or read its reply in time loses the connection; a slow service does not."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
from starlette.responses import JSONResponse, Response

from serving.http_load import read_reply, request_bytes
from thrifty.serving import connections
from thrifty.serving.connections import Connection

LIMIT = 0.3
LARGE = 32 * 2**20  # bytes, more than the operating system keeps for a client
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


async def echo(scope, receive, send):
    """Read the whole body, and reply with its length."""
    received = 0
    while (message := await receive())["type"] == "http.request":
        received += len(message["body"])
        if not message["more_body"]:
            await JSONResponse(received)(scope, receive, send)
            return


async def large_reply(scope, receive, send):
    await Response(bytes(LARGE))(scope, receive, send)


async def refuse(scope, receive, send):
    """Reply before the body has arrived."""
    await Response(status_code=413)(scope, receive, send)


@asynccontextmanager
async def running(app):
    server = uvicorn.Server(uvicorn.Config(app, port=0, http=Connection, lifespan="off", log_level="error"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server
    server.should_exit = True
    await task


def port_of(server):
    return server.servers[0].sockets[0].getsockname()[1]


async def only_connection(server):
    """Return the server's end of the only connection, when it is there."""
    while not server.server_state.connections:
        await asyncio.sleep(0.01)
    return next(iter(server.server_state.connections))


async def until_unread(connection):
    """Wait until a part of a reply waits to be read."""
    while not connection._counted.n_unread:
        await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    monkeypatch.setattr(connections, "SECONDS_TO_SEND", LIMIT)


@pytest.fixture
def by_hand(limit, monkeypatch):
    """Leave it to the test when to look at connections."""
    monkeypatch.setattr(connections, "SECONDS_TO_SEND", 1000.0)


@pytest.mark.parametrize(
    "content",
    [b"", HEAD, HEAD + b"Content-Length: 5\r\n\r\nab", HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"],
    ids=["nothing", "a part of the head", "a part of the body", "a part of the chunks"],
)
def test_a_request_that_does_not_arrive_loses_its_connection(content):
    async def wait_for_the_end():
        async with running(echo) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
            writer.write(content)
            with suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), 30) == b""
            writer.close()

    asyncio.run(wait_for_the_end())


def test_sending_bytes_now_and_then_does_not_keep_a_connection():
    async def drip():
        async with running(echo) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
            for _ in range(200):
                writer.write(b"G")
                await asyncio.sleep(LIMIT / 5)
                if closed := reader.at_eof() or reader.exception() is not None:
                    break
            writer.close()
            return closed

    assert asyncio.run(drip())


def test_a_reply_may_take_longer_and_the_connection_stays(by_hand):
    async def ask_again():
        called, go_on = asyncio.Event(), asyncio.Event()

        async def slow_echo(scope, receive, send):
            called.set()
            await go_on.wait()
            await echo(scope, receive, send)

        async with running(slow_echo) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
            connection = await only_connection(server)
            for _ in range(2):
                writer.write(request_bytes("POST", "/", "abc"))
                await called.wait()
                for _ in range(3):
                    connection._look()
                go_on.set()
                assert (await read_reply(reader)).json() == 5
                called.clear()
                go_on.clear()
            writer.close()

    asyncio.run(ask_again())


def slow_reader(port):
    """Return a socket on which little arrives before it is read."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", port))
    sock.setblocking(False)
    return sock


@pytest.mark.parametrize("n_requests", [1, 3])
def test_a_reply_that_is_not_read_loses_its_connection(n_requests):
    async def read_nothing():
        async with running(large_reply) as server:
            with slow_reader(port_of(server)) as sock:
                sock.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * n_requests)
                await only_connection(server)
                while server.server_state.connections:
                    await asyncio.sleep(LIMIT / 5)

    asyncio.run(asyncio.wait_for(read_nothing(), 60))


def test_a_reply_that_is_read_slowly_arrives(by_hand):

    async def read_slowly():
        async with running(large_reply) as server:
            with slow_reader(port_of(server)) as sock:
                sock.send(request_bytes("GET", "/"))
                connection = await only_connection(server)
                await until_unread(connection)
                received, looks = 0, 0
                while received < LARGE:
                    received += len(await asyncio.get_running_loop().sock_recv(sock, 2**22))
                    taken = 0 if connection._n_read is None else connection._counted.n_read - connection._n_read
                    if taken >= connections.BYTES_TO_READ or connection._n_read is None:
                        connection._look()
                        looks += 1
                assert looks > 3
                assert server.server_state.connections

    asyncio.run(asyncio.wait_for(read_slowly(), 60))


@pytest.mark.parametrize(
    "content", [b"no HTTP\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000, HEAD + b"\x00: 1\r\n\r\n"]
)
def test_what_is_not_http_gets_a_problem(content):
    async def send():
        async with running(echo) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
            writer.write(content)
            reply = await read_reply(reader)
            assert await reader.read() == b""
            writer.close()
            return reply

    reply = asyncio.run(send())
    assert (reply.status, reply.headers["content-type"]) == (400, "application/problem+json")
    assert json.loads(reply.body)["detail"].startswith("the request is not valid HTTP/1.1, or its head has more than")
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_a_body_that_stops_being_http_after_the_reply_ends_the_connection(caplog):
    async def send():
        async with running(refuse) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
            writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
            assert (await read_reply(reader)).status == 413
            writer.write(b"not a length\r\n")
            assert await reader.read() == b""
            writer.close()

    asyncio.run(send())
    assert caplog.text == ""


def test_a_client_that_sends_no_more_gets_its_reply():
    async def send():
        async with running(echo) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
            writer.write(request_bytes("POST", "/", "abc"))
            writer.write_eof()
            reply = await read_reply(reader)
            assert await reader.read() == b""
            writer.close()
            return reply

    assert asyncio.run(send()).json() == 5


def test_a_wish_for_another_protocol_is_ignored(caplog):
    async def send():
        async with running(echo) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))
            writer.write(request_bytes("POST", "/", "abc", ["Connection: Upgrade", "Upgrade: websocket"]))
            reply = await read_reply(reader)
            writer.close()
            return reply

    assert asyncio.run(send()).json() == 5
    assert caplog.text == ""
