"""The record of a fit: number of rows, date, and a fingerprint of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import numpy as np
from scipy.sparse import issparse

from thrifty.arrays import host_dtype, to_host
from thrifty.stored import Text, Whole, stored

MAX_BYTES = 2**25  # a hash of more bytes would take long compared with a fast fit
_with_fingerprint: ContextVar[bool] = ContextVar("with_fingerprint", default=True)


@stored(n_rows=Whole(0), date=Text(), fingerprint=Text())
@dataclass(frozen=True)
class Training:
    """When and on what data a model was fitted.

    Attributes
    ----------
    n_rows : int
        Number of rows with a positive weight.
    date : str
        Date and time in UTC, in ISO 8601 format.
    fingerprint : str
        SHA-256 of the shapes and values of rows and targets. For a large table only evenly spaced rows are hashed.
        Empty for models that are fitted inside `without_fingerprint`.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor
    >>> model = CostWeightedL1Regressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.training_.n_rows, model.training_.fingerprint[:8]
    (3, '0dc7fd01')
    """

    n_rows: int
    date: str
    fingerprint: str

    @classmethod
    def on(cls, X: Any, y: np.ndarray) -> Training:
        """Return the record of a fit that happens now."""
        hashed = fingerprint(X, y) if _with_fingerprint.get() else ""
        return cls.now(X.shape[0], hashed)

    @classmethod
    def now(cls, n_rows: int, fingerprint: str) -> Training:
        """Return the record of a fit that happens now, on rows with this fingerprint."""
        return cls(n_rows, _now(), fingerprint)

    @classmethod
    def of_nothing(cls) -> Training:
        """Return the record of a model that was made now without training rows, such as a converted forest."""
        return cls(0, _now(), "")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def without_fingerprint() -> Iterator[None]:
    """Do not hash the data of fits in this context, because their models are only measured and then discarded."""
    token = _with_fingerprint.set(False)
    try:
        yield
    finally:
        _with_fingerprint.reset(token)


def fingerprint(X: Any, y: np.ndarray) -> str:
    """Return a hash that differs between training tables."""
    digest = sha256(repr((tuple(X.shape), y.shape)).encode())
    parts = [X.data, X.indices, X.indptr] if issparse(X) else [X]
    step = max(1, -(-sum(math.prod(part.shape) * host_dtype(part).itemsize for part in parts) // MAX_BYTES))
    for part in parts:
        digest.update(to_host(part[::step, ...]).astype(host_dtype(part).newbyteorder("<"), copy=False).tobytes())
    digest.update("\0".join(map(str, y[::step].ravel().tolist())).encode())
    return digest.hexdigest()
