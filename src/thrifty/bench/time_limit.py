"""A limit on the CPU time of one run. CPU time depends less than wall time on what else the machine does."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

LIMIT = 300.0  # seconds
REPEAT = 5.0  # seconds until the next signal, if code that cannot raise ignored the first one


class OutOfTimeError(BaseException):
    """A run exceeds its limit. Not an Exception, so that nothing in between takes it for a failed fit."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTimeError in the body of a ``with`` statement after so many seconds of CPU time.

    Signals reach the main thread only, and some systems have none: there the body runs without a limit.
    """
    if not hasattr(signal, "SIGPROF") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, REPEAT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _stop(*_: Any) -> NoReturn:
    raise OutOfTimeError
