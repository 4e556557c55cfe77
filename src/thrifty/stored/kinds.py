"""What a kind of stored field is: how a value is written as a node of JSON, and what a node must satisfy to be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from thrifty.stored.medium import Place


class Kind(ABC):
    """The kind of a field."""

    required = True  # whether an estimator must have the attribute

    @abstractmethod
    def write(self, value: Any, place: Place) -> Any:
        """Return a value as a node of JSON."""

    @abstractmethod
    def read(self, node: Any, place: Place) -> Any:
        """Return the value of a node; raise ModelFileError if it is not of this kind."""
