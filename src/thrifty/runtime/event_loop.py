"""An event loop in a thread of its own, for callers that are not asynchronous."""

import asyncio
from collections.abc import Coroutine
from threading import Lock, Thread
from typing import Any


class LoopThread:
    """Runs coroutines for callers that wait for them. The thread starts with the first one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end, and return its result; it is cancelled if the caller is interrupted."""
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except BaseException:  # the work may still be under way if this is a KeyboardInterrupt
            future.cancel()
            raise

    def close(self, farewell: Coroutine[Any, Any, Any]) -> None:
        """Cancel what is under way, run a last coroutine, and end the thread; nothing runs if it never started."""
        if self._loop is None or self._thread is None:
            farewell.close()
            return
        self.run(_after_all_others(farewell))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:  # two threads may ask for the first time at once
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, name="thrifty-engine", daemon=True)
                self._thread.start()
            return self._loop


async def _after_all_others(farewell: Coroutine[Any, Any, Any]) -> None:
    """Cancel all other tasks of the running loop, wait for them, and then run a coroutine."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await farewell
