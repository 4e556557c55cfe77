"""One call of a source, with timeout, retries and circuit breaker. A failed call returns a Reply; it does not raise."""

import asyncio
import math
import random
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from thrifty.runtime.breaker import Breaker
from thrifty.runtime.sources.base import AsyncSource, BlockingSource, Record, Source
from thrifty.runtime.sources.values import checked_records

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0  # seconds between attempts


class Reply(NamedTuple):
    """How a call ended.

    Attributes
    ----------
    records : sequence
        One record per key; empty if the call failed.
    outcome : {"ok", "failed", "timeout", "refused", "deadline"}
        How it ended.
    error : str
        What went wrong; otherwise empty.
    attempts : int
        How often the source was really called.
    started : float
        The time of the event loop at the start.
    elapsed : float
        How many seconds it took.
    """

    records: Sequence[Record | None]
    outcome: str
    error: str
    attempts: int
    started: float
    elapsed: float

    def then(self, later: "Reply") -> "Reply":
        """Return both calls as one; a refusal after a failure does not hide the failure."""
        last = self if later.outcome == "refused" else later
        attempts, ended = self.attempts + later.attempts, later.started + later.elapsed
        return last._replace(attempts=attempts, started=self.started, elapsed=ended - self.started)


class Concurrency:
    """How many calls may be under way at a time, and the threads in which blocking calls are made."""

    def __init__(self, limit: int, threads: Executor):
        self.limit, self.threads = limit, threads
        self.closed = False  # whether the threads have ended, so that no blocking call can be made
        self._by_loop: WeakKeyDictionary[Any, asyncio.Semaphore] = WeakKeyDictionary()

    def semaphore(self) -> asyncio.Semaphore:
        """Return the semaphore of the running event loop; a semaphore cannot be shared between loops."""
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = asyncio.Semaphore(self.limit)
        return self._by_loop[loop]


class Caller:
    """Calls one source.

    Parameters
    ----------
    source : Source
    breaker : Breaker
    concurrency : Concurrency
    timeout : float or None
        How many seconds an attempt may take.
    retries : int
        How often a failed call is tried again. Before retry k it waits a random time between 0 and
        min(5, 0.05 * 2**k) seconds.
    """

    def __init__(self, source: Source, breaker: Breaker, concurrency: Concurrency, timeout: float | None, retries: int):
        self.source, self.breaker, self._concurrency = source, breaker, concurrency
        self._timeout = next((each for each in (source.timeout, timeout) if each is not None), math.inf)
        self._retries = retries

    async def call(self, keys: Sequence[Any], deadline: float) -> Reply:
        """Return the records of some keys; the reply tells whether the call failed.

        Parameters
        ----------
        keys : sequence
        deadline : float
            The time of the event loop at which the call is given up.

        Returns
        -------
        Reply
        """
        clock = asyncio.get_running_loop().time
        began, attempts, last = clock(), 0, None
        for retry in range(self._retries + 1):
            if retry:
                await asyncio.sleep(min(_pause_before(retry), max(deadline - clock(), 0.0)))
            attempt = await self._attempt(keys, deadline)
            attempts += attempt.made
            if last is None or attempt.made:  # a refusal after a failure does not hide the failure
                last = attempt
            if attempt.outcome in ("ok", "refused", "deadline"):
                break
        assert last is not None
        return Reply(last.records, last.outcome, last.error, attempts, began, clock() - began)

    async def call_in_parts(self, keys: Sequence[Any], deadline: float) -> list[tuple[Sequence[Any], Reply]]:
        """Call the source; if a call for several keys fails, call it for each half, so that a bad key fails alone.

        Parameters
        ----------
        keys : sequence
        deadline : float
            The time of the event loop at which the calls are given up.

        Returns
        -------
        list of (sequence, Reply)
            The reply for each part of the keys.
        """
        reply = await self.call(keys, deadline)
        if reply.outcome != "failed" or len(keys) == 1:
            return [(keys, reply)]
        middle = len(keys) // 2
        parts = [
            *await self.call_in_parts(keys[:middle], deadline),
            *await self.call_in_parts(keys[middle:], deadline),
        ]
        return [(part, reply.then(later)) for part, later in parts]

    async def _attempt(self, keys: Sequence[Any], deadline: float) -> "_Attempt":
        clock = asyncio.get_running_loop().time
        semaphore = self._concurrency.semaphore()
        try:
            async with asyncio.timeout_at(None if deadline == math.inf else deadline):
                await semaphore.acquire()
        except TimeoutError:
            return _Attempt("deadline", "the deadline passed before the call")
        try:
            if clock() >= deadline:
                return _Attempt("deadline", "the deadline passed before the call")
            if not self.breaker.allows():
                return _Attempt("refused", "not called: the circuit breaker is open after failed calls")
            return await self._made(keys, min(deadline, clock() + self._timeout), deadline)
        finally:
            semaphore.release()

    async def _made(self, keys: Sequence[Any], limit: float, deadline: float) -> "_Attempt":
        """Call the source once, and tell the breaker how that went."""
        future: Future | None = None
        try:
            async with asyncio.timeout_at(None if limit == math.inf else limit) as scope:
                if isinstance(self.source, AsyncSource):
                    returned, error = await self.source.fetch(keys), ""
                else:
                    assert isinstance(self.source, BlockingSource)
                    future = self._concurrency.threads.submit(_read, self.source, keys)
                    returned, error = await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if _is_cancelled():
                self.breaker.released()
                raise
            self.breaker.failed()
            return _Attempt("failed", "the source cancelled its own call", made=True)
        except (Exception, SystemExit) as exception:
            if self._concurrency.closed:
                self.breaker.released()
                return _Attempt("failed", "the engine was closed", made=future is not None)
            if scope.expired():
                return self._too_late(limit, deadline, made=future is None or not future.cancel())
            returned, error = None, _text(exception)
        return self._judged(keys, returned, error)

    def _judged(self, keys: Sequence[Any], returned: Any, error: str) -> "_Attempt":
        try:
            if not error:
                records = checked_records(self.source, keys, returned)
                self.breaker.succeeded()
                return _Attempt("ok", "", True, records)
        except Exception as exception:
            error = _text(exception)
        if len(keys) == 1:
            self.breaker.failed()
        else:  # one bad key may be the reason; the calls for its halves show it
            self.breaker.released()
        return _Attempt("failed", error, made=True)

    def _too_late(self, limit: float, deadline: float, made: bool) -> "_Attempt":
        if limit >= deadline:  # the row had too little time left; that says nothing about the source
            self.breaker.released()
            return _Attempt("deadline", "the deadline passed during the call", made)
        self.breaker.failed()
        return _Attempt("timeout", f"no reply within {self._timeout:g} s", made)


class _Attempt(NamedTuple):
    outcome: str
    error: str
    made: bool = False
    records: Sequence[Record | None] = ()


def _read(source: BlockingSource, keys: Sequence[Any]) -> tuple[Any, str]:
    """Read in a thread. Exceptions become text, because a future cannot hold every exception (StopIteration)."""
    try:
        return source.read(keys), ""
    except BaseException as exception:
        return None, _text(exception)


def _text(exception: BaseException) -> str:
    message = " ".join(str(exception).split())[:300]
    return f"{type(exception).__name__}: {message}" if message else type(exception).__name__


def _is_cancelled() -> bool:
    """Return whether the running task is being cancelled from outside."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _pause_before(retry: int) -> float:
    """Return a random pause, so that rows that failed together do not call again together."""
    return random.uniform(0.0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**retry))
