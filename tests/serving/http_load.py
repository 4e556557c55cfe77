"""A small HTTP/1.1 client on asyncio: it takes less time than the server, so it can load it, and it can misbehave."""

import asyncio
import json as json_module
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Reply:
    """A reply: its status, headers and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json_module.loads(self.body)


class Connection:
    """A connection that is kept alive. It is opened when it is needed, and again after the server closed it."""

    def __init__(self, port: int, host: str = "127.0.0.1"):
        self._address, self._streams = (host, port), None

    async def request(self, method: str, path: str, body: Any = None, headers: Sequence[str] = ()) -> Reply:
        """Make a request with a JSON body."""
        return await self.send(request_bytes(method, path, body, headers))

    async def send(self, content: bytes) -> Reply:
        """Send bytes, and read a reply; raise ConnectionError if there is none."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        try:
            writer.write(content)
            reply = await read_reply(reader)
        except BaseException as error:
            await self.close()
            if isinstance(error, asyncio.IncompleteReadError):
                raise ConnectionResetError("the server closed the connection") from error
            raise
        if reply.headers.get("connection", "").lower() == "close":
            await self.close()
        return reply

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def request_bytes(method: str, path: str, body: Any = None, headers: Sequence[str] = ()) -> bytes:
    """Return a request with a JSON body."""
    content = b"" if body is None else json_module.dumps(body).encode()
    typed = ["Content-Type: application/json"] if body is not None else []
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(content)}", *typed, *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Reply(int(head[0].split()[1]), headers, body)


async def times_of(port: int, content: bytes, n_connections: int, seconds: float) -> list[float]:
    """Send the same request on several connections for some time; return how long each reply took."""
    times: list[float] = []
    until = perf_counter() + seconds

    async def repeat() -> None:
        connection = Connection(port)
        while (began := perf_counter()) < until:
            reply = await connection.send(content)
            assert reply.status < 300, reply
            times.append(perf_counter() - began)
        await connection.close()

    await asyncio.gather(*(repeat() for _ in range(n_connections)))
    return times
