"""Connections: a client that does not send its request in time loses the connection, so that others can have it. The
head and the body of a reply are sent together, because a call of the operating system takes as long as a prediction.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_TO_SEND = 30.0  # that a client has for a request, at least; at most twice as many


class Connection(H11Protocol):
    """HTTP/1.1 that looks at a connection from time to time, and closes it if the client has made no progress."""

    _timer: asyncio.TimerHandle | None = None
    _seen: tuple[Any, ...] | None = None  # the point at the last look

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look at the connection."""
        super().connection_made(SendsTogether(transport, self.loop))  # type: ignore[arg-type]
        self._timer = self.loop.call_later(SECONDS_TO_SEND, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """End to look at the connection."""
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        point = self._point()
        if point == self._seen and self._waits_for_client():
            self.transport.abort()
            return
        self._seen = point
        self._timer = self.loop.call_later(SECONDS_TO_SEND, self._look)

    def _point(self) -> tuple[Any, ...]:
        """Return how far the connection has come: its last request, and whether its body and its reply are complete."""
        return (self.cycle, self.cycle and self.cycle.more_body, self.cycle and self.cycle.response_complete)

    def _waits_for_client(self) -> bool:
        """Tell whether the next thing to happen is that the client sends a request, or the rest of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body


class SendsTogether:
    """A transport that sends everything that is written in one turn of the event loop in one go."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop):
        self._transport, self._loop = transport, loop
        self._written: list[bytes] = []

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
            self._transport.write(b"".join(self._written))
            self._written = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
