"""What rows buy step by step if nothing stops them, and what is predicted after each step."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Trace:
    """Steps 0, 1, ..., of which the first has bought nothing.

    Attributes
    ----------
    known : ndarray of bool, shape (n_steps, n, d)
    spend : ndarray of shape (n_steps, n)
        In the unit of the cost model; a row that has everything spends the same in all later steps.
    prediction : ndarray of shape (n_steps, n)
    confidence : ndarray of shape (n_steps, n)
        The probability of the predicted class; 0 for numbers.
    """

    known: np.ndarray
    spend: np.ndarray
    prediction: np.ndarray
    confidence: np.ndarray


class Tracer(Protocol):
    """A fitted model that follows rows."""

    def trace(self, X: np.ndarray) -> Trace:
        """Return what rows buy."""
        ...


class Traced:
    """Traces of a fitted model; that of the latest rows is kept, because all operating points read it."""

    def __init__(self, model: Tracer):
        self.model = model
        self._latest: tuple[Any, Trace] | None = None

    def of(self, X: np.ndarray) -> Trace:
        """Return the trace of rows."""
        if self._latest is None or self._latest[0] is not X:
            self._latest = (X, self.model.trace(X))
        return self._latest[1]
