"""The contract of a source: it returns the values of its features for some keys, in one call.

A source provides one or more features. One call returns all of them, so a bundle is one source. A call may serve
several keys at once, if `max_batch` allows it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from thrifty.exceptions import SourceError

Record = Mapping[str, Any]
TYPES = (float, int, bool, str)


class Source:
    """What every source declares. Derive a source from `AsyncSource` or from `BlockingSource`.

    Parameters
    ----------
    provides : sequence of str, or dict
        The features that a call returns; a dict also tells their types: float, int, bool, str, or None for any.
    name : str, optional
        How traces, metrics and messages call the source; by default its first feature.
    cost : float, optional
        The price of a call, for your own records. What a row is charged are the prices that its model was fitted with.
    max_batch : int or None, default=1
        How many keys a call may have; None for any number.
    timeout : float, optional
        How many seconds a call may take. It replaces the timeout of the engine.

    Attributes
    ----------
    features : tuple of str
        The features that a call returns.
    types : dict
        The type of each feature; None for any.
    """

    def __init__(
        self,
        provides: Sequence[str] | Mapping[str, type | None],
        *,
        name: str | None = None,
        cost: float | None = None,
        max_batch: int | None = 1,
        timeout: float | None = None,
    ):
        if isinstance(provides, str) or not all(isinstance(each, str) for each in provides):
            raise SourceError(f"provides is {provides!r}; expected a list of feature names, or {{name: type}}.")
        types = dict(provides) if isinstance(provides, Mapping) else dict.fromkeys(provides)
        self.name = name or next(iter(types), "")
        if not types or len(types) != len(provides):
            raise SourceError(f"source {self.name!r} provides {list(provides)}; expected at least one name, each once.")
        for feature, kind in types.items():
            if kind is not None and kind not in TYPES:
                known = ", ".join(each.__name__ for each in TYPES)
                raise SourceError(f"source {self.name!r}: {feature!r} has type {kind!r}; expected {known} or None.")
        if cost is not None and not cost >= 0:
            raise SourceError(f"source {self.name!r}: cost is {cost!r}; expected a number of at least 0.")
        if max_batch is not None and max_batch < 1:
            raise SourceError(f"source {self.name!r}: max_batch is {max_batch!r}; expected at least 1, or None.")
        if timeout is not None and not timeout > 0:
            raise SourceError(f"source {self.name!r}: timeout is {timeout!r}; expected seconds above 0, or None.")
        self.features: tuple[str, ...] = tuple(types)
        self.types = types
        self.cost, self.max_batch, self.timeout = cost, max_batch, timeout

    def close(self) -> None:
        """Free what the source holds, such as connections."""

    async def aclose(self) -> None:
        """Free what the source holds on the running event loop."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, provides={list(self.features)})"


class AsyncSource(Source, ABC):
    """A source whose calls are awaited on the event loop."""

    @abstractmethod
    async def fetch(self, keys: Sequence[Any]) -> Sequence[Record | None]:
        """Return the record of each key, in order; None for a key that is unknown.

        Parameters
        ----------
        keys : sequence
            At most `max_batch` keys.

        Returns
        -------
        sequence of dict or None
        """


class BlockingSource(Source, ABC):
    """A source whose calls block, so that the engine makes them in a thread."""

    @abstractmethod
    def read(self, keys: Sequence[Any]) -> Sequence[Record | None]:
        """Return the record of each key, in order; None for a key that is unknown.

        Parameters
        ----------
        keys : sequence
            At most `max_batch` keys.

        Returns
        -------
        sequence of dict or None
        """
