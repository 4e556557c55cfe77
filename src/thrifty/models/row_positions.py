"""Positions of rows that come one by one, for models that look at them; see `thrifty.models.mixtures`."""

import random
from hashlib import blake2b
from typing import Any

import numpy as np

N_POSITIONS = 2**32  # that are drawn from


def position_of(key: Any) -> int:
    """Return a position for a key, such as a patient's number: the same in every process, and spread like random ones.

    >>> position_of("patient 17") == position_of("patient 17"), position_of("patient 17") == position_of("patient 18")
    (True, False)
    """
    plain = key.item() if isinstance(key, np.generic) else key  # a number is the same key in any type
    return int.from_bytes(blake2b(repr(plain).encode(), digest_size=4).digest(), "big")


def drawn_position() -> int:
    """Return a random position, for a row of which nothing else is known."""
    return random.randrange(N_POSITIONS)
