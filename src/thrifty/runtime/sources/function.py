"""A Python function as a source of features: `@source`."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from thrifty.exceptions import SourceError
from thrifty.runtime.sources.base import AsyncSource, BlockingSource, Record, Source
from thrifty.runtime.sources.values import checked_records


def source(
    *,
    provides: Sequence[str] | Mapping[str, type | None] | str,
    cost: float | None = None,
    name: str | None = None,
    batch: bool = False,
    max_batch: int | None = None,
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], "FunctionSource | AsyncFunctionSource"]:
    """Make a source of a function: ``f(key)`` returns the features of one key.

    What the function returns for a key may be

    - a dict with all features that it provides; further names are ignored;
    - a list or tuple with the values, in the order of `provides`;
    - the value itself, if it provides one feature;
    - None, if the key is unknown. If the function provides one feature, None means that its value is unavailable.

    A value of None or NaN in a dict or a list means that this value is unavailable.

    Parameters
    ----------
    provides : str, sequence of str, or dict
        The features that the function returns; a dict also tells their types: float, int, bool, str, or None for any.
    cost : float, optional
        The price of a call.
    name : str, optional
        How traces, metrics and messages call the source; by default the name of the function.
    batch : bool, default=False
        Whether the function takes a list of keys, and returns a list with one of the above for each key.
    max_batch : int, optional
        How many keys a call may have, if `batch` is True; by default any number.
    timeout : float, optional
        How many seconds a call may take. It replaces the timeout of the engine.

    Returns
    -------
    callable
        A decorator. It returns a `FunctionSource`, or an `AsyncFunctionSource` for a coroutine function (``async
        def``). Both can be called like the function itself.

    Examples
    --------
    >>> from thrifty import source
    >>> @source(provides={"age": int, "sex": str}, cost=1.0)
    ... def person(key):
    ...     return {"age": 61, "sex": "f"}
    >>> person
    FunctionSource('person', provides=['age', 'sex'])
    >>> person("a17"), person.read(["a17"])
    ({'age': 61, 'sex': 'f'}, [{'age': 61, 'sex': 'f'}])
    """
    declared = [provides] if isinstance(provides, str) else provides

    def decorate(function: Callable[..., Any]) -> FunctionSource | AsyncFunctionSource:
        if isinstance(function, Source) or not callable(function):
            raise SourceError(f"@source was given {function!r}; expected a function.")
        own_name = name or getattr(function, "__name__", type(function).__name__)
        if not batch and max_batch not in (None, 1):
            raise SourceError(
                f"source {own_name!r}: max_batch is {max_batch!r}, but the function takes one key. Pass batch=True."
            )
        kind = AsyncFunctionSource if _is_async(function) else FunctionSource
        return kind(function, declared, batch=batch, name=own_name, cost=cost, max_batch=max_batch, timeout=timeout)

    return decorate


class _Function(Source):
    """The parts that functions and coroutine functions share.

    A function that takes one key is always called with one key at a time: `max_batch` is 1.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        provides: Sequence[str] | Mapping[str, type | None],
        *,
        batch: bool = False,
        max_batch: int | None = None,
        **options: Any,
    ):
        super().__init__(provides, max_batch=max_batch if batch else 1, **options)
        declared = vars(self).copy()
        update_wrapper(self, function)  # copies the attributes of the function too
        vars(self).update(declared)
        self._function, self._batch = function, batch

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)

    def _records(self, keys: Sequence[Any], returned: Any) -> list[Record | None]:
        """Return the entries of a batch as records, one per key."""
        return [as_record(self, entry) for entry in checked_records(self, keys, returned)]


class FunctionSource(_Function, BlockingSource):
    """A function as a source; `source` makes it. The engine calls it in a thread.

    Parameters
    ----------
    function : callable
        Takes a key, or a list of keys if `batch` is True.
    provides : sequence of str, or dict
        The features that it returns, and their types if it is a dict.
    batch : bool, default=False
        Whether the function takes a list of keys.
    max_batch : int, optional
        How many keys a call may have, if `batch` is True; by default any number.
    **options
        Further parameters of `Source`: name, cost, timeout.

    Examples
    --------
    >>> from thrifty.runtime.sources.function import FunctionSource
    >>> FunctionSource(len, ["length"]).read(["a17", "b"])
    [{'length': 3}, {'length': 1}]
    """

    def read(self, keys: Sequence[Any]) -> Sequence[Record | None]:
        """Call the function, once for each key or once for all.

        Parameters
        ----------
        keys : sequence

        Returns
        -------
        list of dict or None
        """
        if self._batch:
            return self._records(keys, self._function(list(keys)))
        return [as_record(self, self._function(key)) for key in keys]


class AsyncFunctionSource(_Function, AsyncSource):
    """A coroutine function as a source; `source` makes it. The engine awaits it on its event loop.

    Parameters
    ----------
    function : callable
        A coroutine function that takes a key, or a list of keys if `batch` is True.
    provides : sequence of str, or dict
        The features that it returns, and their types if it is a dict.
    batch : bool, default=False
        Whether the function takes a list of keys.
    max_batch : int, optional
        How many keys a call may have, if `batch` is True; by default any number.
    **options
        Further parameters of `Source`: name, cost, timeout.

    Examples
    --------
    >>> import asyncio
    >>> from thrifty import source
    >>> @source(provides="length", batch=True)
    ... async def length(keys):
    ...     return [len(key) for key in keys]
    >>> asyncio.run(length.fetch(["a17", "b"]))
    [{'length': 3}, {'length': 1}]
    """

    async def fetch(self, keys: Sequence[Any]) -> Sequence[Record | None]:
        """Await the function, once for each key or once for all.

        Parameters
        ----------
        keys : sequence

        Returns
        -------
        list of dict or None
        """
        if self._batch:
            return self._records(keys, await self._function(list(keys)))
        return [as_record(self, await self._function(key)) for key in keys]


def as_record(source: Source, entry: Any) -> Any:
    """Return what a function returned for a key as a record; see `source`.

    An entry that is not valid is returned unchanged. `record_values` refuses it, so that other keys of the same call
    are not concerned.

    Parameters
    ----------
    source : Source
        The source that was called.
    entry : object
        What it returned for a key.

    Returns
    -------
    dict or None, or the entry

    Examples
    --------
    >>> from thrifty import source
    >>> @source(provides=["age", "sex"])
    ... def person(key): ...
    >>> as_record(person, (61, "f")), as_record(person, None)
    ({'age': 61, 'sex': 'f'}, None)
    """
    if isinstance(entry, Mapping):
        return entry
    features = source.features
    if len(features) == 1:
        return {features[0]: _only_value(entry)}
    if _is_list(entry) and len(entry) == len(features):
        return dict(zip(features, entry, strict=True))
    return entry  # None: the key is unknown; anything else is refused for this key only


def _only_value(entry: Any) -> Any:
    """Return the value of the only feature, which may be in a list of one."""
    return entry[0] if _is_list(entry) and len(entry) == 1 else entry


def _is_list(entry: Any) -> bool:
    return isinstance(entry, list | tuple) or (isinstance(entry, np.ndarray) and entry.ndim > 0)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
