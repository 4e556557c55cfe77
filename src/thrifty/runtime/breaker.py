"""A circuit breaker: it stops calls of a source that keeps failing, and lets one through from time to time."""

import time
from collections.abc import Callable
from threading import Lock


class Breaker:
    """Whether a source may be called.

    The breaker is *closed* while calls succeed. After `failures` failed calls in a row it *opens*, and no call is
    allowed for `pause` seconds. Then it is *half-open*: one call is allowed. If that call succeeds, the breaker closes;
    if it fails, the breaker opens again. See M. Nygard, *Release It!*, Pragmatic Bookshelf, 2007.

    Parameters
    ----------
    failures : int, default=5
        How many calls in a row have to fail before the breaker opens.
    pause : float, default=5.0
        How many seconds it stays open.
    clock : callable, default=time.monotonic
        Returns the time in seconds.

    Examples
    --------
    >>> breaker = Breaker(failures=2, pause=60)
    >>> breaker.failed(), breaker.state, breaker.failed(), breaker.state
    (None, 'closed', None, 'open')
    >>> breaker.allows()
    False
    """

    def __init__(self, failures: int = 5, pause: float = 5.0, clock: Callable[[], float] = time.monotonic):
        self.failures, self.pause = failures, pause
        self._clock, self._lock = clock, Lock()
        self._failed_in_a_row = 0
        self._opened: float | None = None
        self._trying = False

    @property
    def state(self) -> str:
        """Either "closed", "open" or "half-open"."""
        opened = self._opened  # another thread may change it
        if opened is None:
            return "closed"
        return "open" if self._clock() < opened + self.pause else "half-open"

    def allows(self) -> bool:
        """Return whether a call may be made now; the caller must then report how it ended."""
        if self._opened is None:
            return True
        with self._lock:
            if self.state == "open" or (self._opened is not None and self._trying):
                return False
            self._trying = True
            return True

    def succeeded(self) -> None:
        """Report a call that returned."""
        if self._failed_in_a_row or self._opened is not None:
            with self._lock:
                self._failed_in_a_row, self._opened, self._trying = 0, None, False

    def failed(self) -> None:
        """Report a call that failed."""
        with self._lock:
            self._failed_in_a_row += 1
            self._trying = False
            if self._opened is not None or self._failed_in_a_row >= self.failures:
                self._opened = self._clock()

    def released(self) -> None:
        """Report a call that was cancelled, so that nothing is known about the source."""
        with self._lock:
            self._trying = False
