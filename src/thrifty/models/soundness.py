"""Checks of what was loaded from a file, before a kernel follows its indices without checking them."""

from typing import Any


def require(condition: Any, otherwise: str) -> None:
    """Raise ValueError with the message `otherwise` unless the condition holds."""
    if not condition:
        raise ValueError(otherwise)
