"""Brings rows what their current steps ask for: from the cache, or from calls that rows share."""

import asyncio
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from threading import Lock
from typing import Any

from thrifty.runtime.calls import Caller, Reply
from thrifty.runtime.rows import Delivery, Row
from thrifty.runtime.sources.base import Source
from thrifty.runtime.sources.values import record_values


class Dispatcher:
    """Calls sources for rows.

    Parameters
    ----------
    callers : dict
        The caller of each source, by the name of the source.
    cache : dict-like or None
        Holds the values that sources returned, by (name of the source, key).
    """

    def __init__(self, callers: Mapping[str, Caller], cache: MutableMapping[Any, Any] | None):
        self._callers, self._cache, self._cache_lock = callers, cache, Lock()

    async def deliver(self, rows: Sequence[Row], began: float, deadline: float) -> None:
        """Call every source that the current steps of rows need, for as many rows at a time as it takes.

        Parameters
        ----------
        rows : sequence of Row
        began : float
            The time of the event loop at which the rows began.
        deadline : float
            The time of the event loop at which calls are given up.
        """
        wanted: dict[str, list[Row]] = {}
        for row in rows:
            for name in row.sources_to_call():
                wanted.setdefault(name, []).append(row)
        calls = [
            self._call(self._callers[name], part, began, deadline)
            for name, asking in wanted.items()
            for part in _parts(asking, self._callers[name].source.max_batch)
        ]
        if len(calls) == 1:  # a task would take longer
            await calls[0]
        elif calls:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(call)

    async def _call(self, caller: Caller, rows: Sequence[Row], began: float, deadline: float) -> None:
        source = caller.source
        known = self._cached(source, rows)
        keys = [key for key in dict.fromkeys(row.key for row in rows) if key not in known]
        if keys:
            for part, reply in await caller.call_in_parts(keys, deadline):
                brought = deliveries(source, part, reply, began)
                self._remember(source, brought)
                known |= brought
        for row in rows:
            row.deliver(source, known[row.key])

    def _cached(self, source: Source, rows: Sequence[Row]) -> dict[Any, Delivery]:
        if self._cache is None:
            return {}
        with self._cache_lock:
            held = {row.key: self._cache.get((source.name, row.key)) for row in rows}
        return {key: Delivery("cached", values) for key, values in held.items() if values is not None}

    def _remember(self, source: Source, brought: Mapping[Any, Delivery]) -> None:
        if self._cache is None:
            return
        with self._cache_lock:
            for key, delivery in brought.items():
                if delivery.outcome == "ok" and not delivery.problems:
                    self._cache[source.name, key] = delivery.values


def deliveries(source: Source, keys: Sequence[Any], reply: Reply, began: float) -> dict[Any, Delivery]:
    """Return what a call brought for each key.

    Parameters
    ----------
    source : Source
    keys : sequence
        The keys of the call.
    reply : Reply
        How the call ended.
    began : float
        The time of the event loop at which the rows began.

    Returns
    -------
    dict
        The delivery of each key.
    """
    shared: dict[str, Any] = {
        "attempts": reply.attempts,
        "started": reply.started - began,
        "elapsed": reply.elapsed,
        "n_rows": len(keys),
    }
    if reply.outcome != "ok":
        return {key: Delivery(reply.outcome, error=reply.error, **shared) for key in keys}
    return {
        key: Delivery("missing", error="the source has no record for the key", **shared)
        if record is None
        else Delivery("ok", *record_values(source, record), **shared)
        for key, record in zip(keys, reply.records, strict=True)
    }


def _parts(rows: list[Row], size: int | None) -> Iterable[Sequence[Row]]:
    step = size or len(rows)
    return (rows[start : start + step] for start in range(0, len(rows), step))
