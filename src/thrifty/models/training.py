"""What a model was fitted on: how many rows, when, and a fingerprint by which the data can be recognised."""

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

import numpy as np

MOST_BYTES = 2**25  # hashing more would be felt beside a quick fit


@dataclass(frozen=True)
class Training:
    """The occasion on which a model was fitted.

    Attributes
    ----------
    n_rows : int
        Rows of positive weight.
    date : str
        When, in UTC, as ISO 8601 writes it.
    fingerprint : str
        SHA-256 of the shape and values of rows and targets; of a large table, of rows spread evenly over it.

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
    def on(cls, X: np.ndarray, y: np.ndarray) -> "Training":
        """Describe a fit that happens now."""
        return cls(len(X), datetime.now(UTC).isoformat(timespec="seconds"), fingerprint(X, y))


def fingerprint(X: np.ndarray, y: np.ndarray) -> str:
    """Return a hash that tells one training table from another."""
    step = max(1, -(-X.nbytes // MOST_BYTES))
    digest = sha256(repr((X.shape, y.shape)).encode())
    digest.update(X[::step].astype(X.dtype.newbyteorder("<"), copy=False).tobytes())
    digest.update("\0".join(map(str, y[::step].ravel().tolist())).encode())
    return digest.hexdigest()
