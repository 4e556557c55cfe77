"""Connections: a client that does not send its request in time, or does not read its reply, loses the connection, so
that others can have it. What is not HTTP is refused as any other request.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from thrifty.serving.gate import OF_DATA
from thrifty.serving.problems import Problem

SECONDS_TO_SEND = 30.0  # that a client has for a request, at least; at most twice as many
BYTES_TO_READ = 2**16  # of a reply, that a client has to read in this time
MAX_HEAD = 16_384  # bytes of a request before its body, if they do not arrive at once
NOT_HTTP = f"the request is not valid HTTP/1.1, or its head has more than {MAX_HEAD:,} bytes. Check its headers."


class Connection(H11Protocol):
    """HTTP/1.1 that looks at a connection from time to time, and closes it if the client has made no progress."""

    _counted: "CountingTransport"
    _timer: asyncio.TimerHandle | None = None
    _seen: tuple[Any, ...] | None = None  # the point of the requests at the last look
    _n_read: int | None = None  # bytes of replies that were read at the last look; None if nothing was left to read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look at the connection."""
        self._counted = CountingTransport(transport, self.loop)
        super().connection_made(self._counted)  # type: ignore[arg-type]
        self._timer = self.loop.call_later(SECONDS_TO_SEND, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """End to look at the connection."""
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection of a client that sends no more until it has its reply."""
        if self.cycle is None or self.cycle.more_body or self.cycle.response_complete:
            self.transport.close()  # asyncio would not send what was written in this turn
            return False
        self.cycle.keep_alive = False
        return True

    def _look(self) -> None:
        if self._reads_too_slowly() or self._sends_too_slowly():
            self.transport.abort()
            return
        self._seen = self._point()
        self._n_read = self._counted.n_read if self._counted.n_unread else None
        self._timer = self.loop.call_later(SECONDS_TO_SEND, self._look)

    def _reads_too_slowly(self) -> bool:
        if not self._counted.n_unread or self._n_read is None:
            return False
        return self._counted.n_read - self._n_read < BYTES_TO_READ

    def _sends_too_slowly(self) -> bool:
        if self._counted.n_unread:
            return False  # it may read its reply first
        waits = self.cycle is None or self.cycle.response_complete or self.cycle.more_body
        return waits and self._point() == self._seen

    def _point(self) -> tuple[Any, ...]:
        """Return how far the requests have come: the last one, and whether its body and its reply are complete."""
        return (self.cycle, self.cycle and self.cycle.more_body, self.cycle and self.cycle.response_complete)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, if a reply to something else is not on its way, and close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem = Problem(400, NOT_HTTP)
            headers = [*problem.raw_headers, *OF_DATA, (b"connection", b"close")]
            head = self.conn.send(h11.Response(status_code=400, headers=headers))
            self.transport.write((head or b"") + bytes(problem.body))
        self.transport.close()

    def _should_upgrade(self) -> bool:
        return False  # a server may ignore the wish for another protocol; uvicorn would log advice about websockets


class CountingTransport:
    """A transport that sends everything that is written in one turn of the event loop together, because a call of the
    operating system takes as long as a prediction. It counts what the other end has read.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop):
        self._transport, self._loop = transport, loop
        self._written: list[bytes] = []
        self._n_sent = 0

    @property
    def n_unread(self) -> int:
        """How many bytes wait to be read, beside those that the operating system keeps for the other end."""
        return self._transport.get_write_buffer_size()

    @property
    def n_read(self) -> int:
        """How many bytes do not wait any more."""
        return self._n_sent - self.n_unread

    def write(self, content: bytes) -> None:
        """Send some bytes soon."""
        if not self._written:
            self._loop.call_soon(self._send)
        self._written.append(content)

    def close(self) -> None:
        """Close the connection after what was written is sent."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._written:
            content = b"".join(self._written)
            self._written = []
            self._n_sent += len(content)
            self._transport.write(content)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
