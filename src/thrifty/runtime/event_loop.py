"""An event loop in a thread of its own, for callers that are not asynchronous."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from threading import Lock, Thread, current_thread
from typing import Any

from thrifty.exceptions import SourceError


class LoopThread:
    """Runs coroutines for callers that wait for them. The thread starts with the first one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._closed = False

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end, and return its result; it is cancelled if the caller is interrupted."""
        future = self._submitted(work)
        try:
            return future.result()
        except CancelledError:
            raise SourceError("the engine was closed during the prediction.") from None
        except BaseException:  # the work may still be under way if this is a KeyboardInterrupt
            future.cancel()
            raise

    def close(self, last: Coroutine[Any, Any, Any]) -> None:
        """Cancel what is under way, run a last coroutine, and end the thread; nothing runs if it never started."""
        self._refuse_own_thread(last)
        with self._lock:  # after this, nothing can be submitted
            self._closed = True
        if self._loop is None or self._thread is None:
            last.close()
            return
        try:
            asyncio.run_coroutine_threadsafe(_after_all_others(last), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _submitted(self, work: Coroutine[Any, Any, Any]) -> Future:
        self._refuse_own_thread(work)
        with self._lock:
            if self._closed:
                work.close()
                raise SourceError("the engine is closed. Make a new one.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, name="thrifty-engine", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _refuse_own_thread(self, work: Coroutine[Any, Any, Any]) -> None:
        """Raise SourceError if the loop itself would wait for work of the loop, which would never end."""
        if current_thread() is self._thread:
            work.close()
            raise SourceError(
                "a source or an observer of an engine called a method of the same engine that waits. Use apredict in "
                "asynchronous sources, and close the engine elsewhere."
            )


async def _after_all_others(last: Coroutine[Any, Any, Any]) -> None:
    """Cancel all other tasks of the running loop, wait for them, and then run a coroutine."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await last
