"""The time of a search: how long fits took, how long others will take, and whether they end before the time limit."""

from time import perf_counter
from typing import Any

import numpy as np


class Clock:
    """Predicts the time of fits from measured ones, in proportion to the number of rows.

    For methods that were not fitted yet there may be a guess, see `expect`. If fits of other methods took longer than
    guessed, it is multiplied by the largest such ratio.

    Parameters
    ----------
    limit : float or None
        The seconds that the search may take; None means any time.
    n_workers : int
        The number of fits at a time.
    n_refitted : int
        The number of rows of the final fit.

    Examples
    --------
    >>> clock = Clock(60.0, n_workers=1, n_refitted=5000)
    >>> clock.record("l1", "path", 1000, 2.0)
    >>> clock.predict("l1", "another path", 2000), clock.allows("l1", "path", 1000, n_fits=50)
    (4.0, False)
    """

    def __init__(self, limit: float | None, n_workers: int, n_refitted: int):
        self.limit, self.n_workers, self.n_refitted = limit, max(n_workers, 1), n_refitted
        self.start = perf_counter()
        self._rates: dict[Any, float] = {}
        self._slowness = 1.0  # how much longer fits took than was guessed, because the machine is slow or busy
        self._guesses: dict[str, tuple[float, int]] = {}

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return perf_counter() - self.start

    @property
    def left(self) -> float:
        """Seconds until the time limit."""
        return np.inf if self.limit is None else self.limit - self.elapsed

    def expect(self, method: str, seconds: float, n_rows: int) -> None:
        """Guess how long a fit of a method will take, for as long as none was measured.

        It takes as long for fewer rows, and longer in proportion for more rows.
        """
        self._guesses[method] = seconds, n_rows

    def record(self, method: str, batch: Any, n_rows: int, seconds: float) -> None:
        """Remember how long a batch of settings took on some rows."""
        if method in self._guesses and method not in self._rates:
            self._slowness = max(self._slowness, seconds / self._guess(method, n_rows))
        for key in (method, (method, batch)):
            self._rates[key] = max(seconds / n_rows, 0.5 * self._rates.get(key, 0.0))

    def predict(self, method: str, batch: Any, n_rows: int) -> float:
        """Return the seconds that a batch will take on some rows.

        A method of which nothing is known is expected to take as long as the median of the others.
        """
        rate = self._rates.get((method, batch), self._rates.get(method))
        if rate is not None:
            return rate * n_rows
        if method in self._guesses:
            return self._guess(method, n_rows) * self._slowness
        known = [each for key, each in self._rates.items() if isinstance(key, str)]
        return float(np.median(known)) * n_rows if known else 0.0

    def _guess(self, method: str, n_rows: int) -> float:
        seconds, n_guessed = self._guesses[method]
        return seconds * max(n_rows / n_guessed, 1.0)

    def refit(self, method: str, batch: Any) -> float:
        """Return the seconds that the final fit of a batch will take."""
        return self.predict(method, batch, self.n_refitted)

    def allows(self, method: str, batch: Any, n_rows: int, n_fits: int, reserve: float = 0.0) -> bool:
        """Tell whether fits of a batch, and a final fit of it or of what takes `reserve` seconds, end in time.

        With a reserve of minus infinity they are allowed in any case.
        """
        fits = self.predict(method, batch, n_rows) * np.ceil(n_fits / self.n_workers)
        return reserve == -np.inf or bool(fits + max(self.refit(method, batch), reserve) < self.left)
