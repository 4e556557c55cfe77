"""The engine: it predicts rows by key, and fetches from real sources what the model asks for, when it asks for it."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thrifty.exceptions import SourceError
from thrifty.models.base import BudgetedEstimator
from thrifty.models.parameters import is_number, is_whole
from thrifty.models.row_positions import position_of
from thrifty.models.session import Session, Stop
from thrifty.runtime.breaker import Breaker
from thrifty.runtime.calls import Caller, Concurrency
from thrifty.runtime.dispatch import Dispatcher
from thrifty.runtime.event_loop import LoopThread
from thrifty.runtime.rows import ModelColumns, Row
from thrifty.runtime.sources.base import Source
from thrifty.runtime.sources.catalog import Catalog, column_names
from thrifty.runtime.trace import Result, Trace, plain
from thrifty.runtime.watch.reference import Reference
from thrifty.runtime.watch.watch import Health, Watch

ROWS_AT_A_TIME = 64  # rows that advance before other tasks of the event loop get a turn
Observer = Callable[[Result], object]


class Engine:
    """Predicts rows by key: it drives a session of the model, and fetches what the session asks for.

    Sources are called only for features that the model asks for, once per row unless a call fails, and in parallel
    where a step needs several. A source that fails makes its features unavailable for the rows concerned, and the model
    answers without them.

    Parameters
    ----------
    model : BudgetedEstimator or BudgetSearchCV
        A fitted model.
    sources : sequence of Source, or path-like
        The sources of all columns that the model can ask for, or the path of a Python file that defines them.
    deadline : float, optional
        How many seconds a row may take. A row that is late gets the answer of the model for what it has by then.
    timeout : float, optional
        How many seconds a call may take; the timeout of a source replaces it. A function that blocks cannot be
        interrupted: its row goes on, and its thread is free again when the function returns.
    retries : int, default=0
        How often a failed call is tried again. Before retry k the engine waits a random time between 0 and
        min(5, 0.05 * 2**k) seconds.
    on_failure : {"degrade", "raise"}, default="degrade"
        Whether the model answers without features whose source failed, or `SourceError` is raised.
    cache : dict-like, optional
        Holds what sources returned, by (name of the source, key), such as ``cachetools.TTLCache``. Values from the
        cache are not charged.
    concurrency : int, default=64
        How many calls may be under way at a time, and how many threads make blocking calls.
    charge_failures : bool, default=True
        Whether a call that was made and failed is charged. A call that was not made is never charged.
    redact : bool or sequence of str, default=()
        The features whose values are left out of traces; True for all. They are not compared with `reference`.
    on_result : callable or sequence of callables, optional
        Called with each `Result`: `TraceFile`, `Metrics`, `Spans`, or your own function.
    reference : Reference or path-like, optional
        What rows looked like at training, so that `health` can tell whether they still do.
    breaker_failures : int, default=5
        How many calls of a source have to fail in a row before it is not called any more.
    breaker_pause : float, default=5.0
        After how many seconds such a source is tried again.

    Attributes
    ----------
    model : BudgetedEstimator
        The model.
    sources : Catalog
        The sources.
    watch : Watch
        Compares the spend with the promise of the model, and rows with the reference.

    Examples
    --------
    >>> from thrifty import ASTCClassifier, Engine, source
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> model = ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=4).fit(heart.X, heart.y)
    >>> @source(provides=heart.names, batch=True)
    ... def record(keys):
    ...     return [dict(zip(heart.names, heart.X[key])) for key in keys]
    >>> with Engine(model, [record]) as engine:
    ...     result = engine.predict(17)
    >>> bool(result.spend == model.spend(heart.X[17:18])[0]), result.degraded
    (True, False)
    """

    def __init__(
        self,
        model: Any,
        sources: Sequence[Source] | str | PathLike[str],
        *,
        deadline: float | None = None,
        timeout: float | None = None,
        retries: int = 0,
        on_failure: str = "degrade",
        cache: MutableMapping[Any, Any] | None = None,
        concurrency: int = 64,
        charge_failures: bool = True,
        redact: bool | Iterable[str] = (),
        on_result: Observer | Sequence[Observer] | None = None,
        reference: Reference | str | PathLike[str] | None = None,
        breaker_failures: int = 5,
        breaker_pause: float = 5.0,
    ):
        for name, seconds in (("deadline", deadline), ("timeout", timeout)):
            _require(seconds is None or (is_number(seconds) and seconds > 0), name, seconds, "seconds above 0, or None")
        _require(is_whole(retries, 0), "retries", retries, "a whole number of at least 0")
        _require(on_failure in ("degrade", "raise"), "on_failure", on_failure, "'degrade' or 'raise'")
        _require(cache is None or isinstance(cache, MutableMapping), "cache", cache, "a dict-like object, or None")
        _require(is_whole(concurrency, 1), "concurrency", concurrency, "a whole number above 0")
        _require(isinstance(charge_failures, bool), "charge_failures", charge_failures, "True or False")
        _require(is_whole(breaker_failures, 1), "breaker_failures", breaker_failures, "a whole number above 0")
        _require(is_number(breaker_pause) and breaker_pause >= 0, "breaker_pause", breaker_pause, "seconds from 0 on")
        served = isinstance(model, BudgetedEstimator) or hasattr(model, "best_estimator_")
        _require(served, "model", model, "a fitted estimator of thrifty, or a search with one")
        check_is_fitted(model)
        self.model = getattr(model, "best_estimator_", model)
        self.sources = Catalog.of(sources)
        self.sources.refuse_incomplete(self.model)
        self._columns = _model_columns(self.model, self.sources)
        self._redacted = _redacted(redact, self._columns)
        self._deadline, self._on_failure, self._charge_failures = deadline, on_failure, charge_failures
        if not isinstance(reference, Reference | None):
            reference = Reference.load(reference)
        self.watch = Watch(self.model, reference)
        self._observers: list[Observer] = [self.watch, *_as_list(on_result)]
        self._threads = ThreadPoolExecutor(int(concurrency), thread_name_prefix="thrifty-source")
        self._concurrency = shared = Concurrency(int(concurrency), self._threads)
        self._callers = {
            each.name: Caller(each, Breaker(breaker_failures, breaker_pause), shared, timeout, retries)
            for each in self.sources
        }
        self._dispatcher = Dispatcher(self._callers, cache)
        self._loop = LoopThread()
        self._closed = False

    # Prediction

    def predict(self, key: Any, cap: float | None = None) -> Result:
        """Predict one row.

        Parameters
        ----------
        key : object
            What sources know the row by.
        cap : float, optional
            Hard limit on the spend of the row.

        Returns
        -------
        Result
        """
        self._refuse_closed()
        return self._loop.run(self.apredict(key, cap))

    def predict_many(self, keys: Sequence[Any], cap: Any = None) -> list[Result]:
        """Predict many rows together: rows that ask the same source in the same step share its calls.

        Parameters
        ----------
        keys : sequence
            One key per row.
        cap : float or sequence of float, optional
            Hard limit on the spend of each row.

        Returns
        -------
        list of Result
            In the order of the keys.
        """
        self._refuse_closed()
        return self._loop.run(self.apredict_many(keys, cap))

    async def apredict(self, key: Any, cap: float | None = None) -> Result:
        """Predict one row on the running event loop; see `predict`.

        Parameters
        ----------
        key : object
            What sources know the row by.
        cap : float, optional
            Hard limit on the spend of the row.

        Returns
        -------
        Result
        """
        return (await self.apredict_many([key], cap))[0]

    async def apredict_many(self, keys: Sequence[Any], cap: Any = None) -> list[Result]:
        """Predict many rows together on the running event loop; see `predict_many`.

        Parameters
        ----------
        keys : sequence
            One key per row.
        cap : float or sequence of float, optional
            Hard limit on the spend of each row.

        Returns
        -------
        list of Result
            In the order of the keys.
        """
        self._refuse_closed()
        _require(isinstance(keys, Iterable) and not isinstance(keys, str | bytes), "keys", keys, "a list of keys")
        began = asyncio.get_running_loop().time()
        deadline = math.inf if self._deadline is None else began + self._deadline
        rows = self._rows(list(keys), cap)
        results: dict[int, Result] = {}
        waiting = list(range(len(rows)))
        while waiting := await self._advanced(rows, waiting, results, began):
            await self._dispatcher.deliver([rows[i] for i in waiting], began, deadline)
        ordered = [results[i] for i in range(len(rows))]
        for result in ordered:  # not when rows end: rows with few steps end first, so the watch would see sorted rows
            self._tell(result)
        return ordered

    def health(self) -> Health:
        """Return whether the promise of the model still holds, whether rows have changed, and the state of sources.

        Returns
        -------
        Health
        """
        breakers = {name: caller.breaker.state for name, caller in self._callers.items()}
        return replace(self.watch.health(), sources=breakers)

    # The end

    def close(self) -> None:
        """Cancel calls of `predict` and `predict_many`, close the sources, and wait for functions that block.

        Await or cancel calls of `apredict` and `apredict_many` yourself before.
        """
        if self._closed:
            return
        self._loop.close(self._close_on_loop())
        self._closed = self._concurrency.closed = True
        self._threads.shutdown(cancel_futures=True)
        for each in self.sources:
            each.close()

    async def aclose(self) -> None:
        """Close the sources on the running event loop, and then the engine; see `close`."""
        await self._close_on_loop()
        await asyncio.to_thread(self.close)

    async def _close_on_loop(self) -> None:
        for each in self.sources:
            await each.aclose()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise SourceError("the engine is closed. Make a new one.")

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Engine({type(self.model).__name__}, sources={[each.name for each in self.sources]})"

    # Rows

    def _rows(self, keys: list[Any], cap: Any) -> list[Row]:
        caps = list(cap) if np.ndim(cap) else [cap] * len(keys)
        if len(caps) != len(keys):
            raise ValueError(f"Engine: cap has {len(caps)} entries, but there are {len(keys)} keys. Pass one per key.")
        for key in keys:
            _refuse_unhashable(key)
        return [
            Row(key, self._session(key, limit), self._columns, self._charge_failures, self._redacted)
            for key, limit in zip(keys, caps, strict=True)
        ]

    def _session(self, key: Any, cap: Any) -> Session:
        """Return a session; a mixture of models answers a key always with the same one of them."""
        return self.model.for_positions([position_of(key)]).session(cap)

    async def _advanced(
        self, rows: list[Row], waiting: list[int], results: dict[int, Result], began: float
    ) -> list[int]:
        """Advance rows to their next step. Return those that have one, and add the results of the others."""
        clock, going_on = asyncio.get_running_loop().time, []
        for turn, i in enumerate(waiting, start=1):
            goes_on = rows[i].advance(clock() - began)
            self._refuse_failure(rows[i])
            if goes_on:
                going_on.append(i)
            else:
                results[i] = self._result(rows[i], clock() - began)
            if turn % ROWS_AT_A_TIME == 0:
                await asyncio.sleep(0)  # other tasks get a turn
        return going_on

    def _refuse_failure(self, row: Row) -> None:
        if self._on_failure == "raise" and (call := row.failure):
            raise SourceError(
                f"source {call.source!r} did not provide {', '.join(map(repr, call.features))} for key {row.key!r} "
                f"({call.outcome}): {call.error}. Repair the source, or pass on_failure='degrade'."
            )

    def _result(self, row: Row, elapsed: float) -> Result:
        stop = row.step
        assert isinstance(stop, Stop)
        failure = row.failure
        late = any(call.outcome == "deadline" for step in row.steps for call in step.calls)
        return Result(
            key=row.key,
            prediction=_scalar(stop.prediction),
            probability=self._probability(stop.score),
            score=plain(stop.score),
            spend=row.spend,
            elapsed=elapsed,
            degraded=failure is not None,
            exit=int(stop.exit),
            reason="deadline" if late else stop.reason,
            model=type(self.model).__name__,
            trace=Trace(row.key, tuple(row.steps)),
        )

    def _probability(self, score: Any) -> dict[Any, float] | None:
        if self._classes is None:
            return None
        return dict(zip(self._classes, self.model._probabilities(np.asarray(score)[None])[0].tolist(), strict=True))

    @cached_property
    def _classes(self) -> list[Any] | None:
        return self.model.classes_.tolist() if hasattr(self.model, "predict_proba") else None

    def _tell(self, result: Result) -> None:
        """Pass a result to the observers; an observer that fails does not harm the prediction."""
        for observer in self._observers:
            try:
                observer(result)
            except Exception:
                logging.getLogger("thrifty").exception("%r failed on the result of key %r", observer, result.key)


def _model_columns(model: Any, catalog: Catalog) -> ModelColumns:
    names = column_names(model)
    positions = {feature: position for position, feature in enumerate(names)}
    providers = {feature: catalog.provider_of[name] for feature, name in names.items() if name in catalog.provider_of}
    return ModelColumns(names, positions, providers, model.cost_model_)


def _redacted(redact: bool | Iterable[str], columns: ModelColumns) -> frozenset[str]:
    known = frozenset(columns.names.values())
    if isinstance(redact, bool):
        return known if redact else frozenset()
    chosen = frozenset([redact] if isinstance(redact, str) else redact)
    _require(chosen <= known, "redact", sorted(chosen - known), "names of features of the model, or True")
    return chosen


def _scalar(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _as_list(observers: Observer | Sequence[Observer] | None) -> list[Observer]:
    if observers is None:
        return []
    chosen = [observers] if callable(observers) else list(observers)
    for each in chosen:
        _require(callable(each), "on_result", each, "a callable, or a list of callables")
    return chosen


def _refuse_unhashable(key: Any) -> None:
    try:
        hash(key)
    except TypeError as error:
        raise ValueError(
            f"Engine: key is {key!r}; expected a hashable value, such as a number, a text or a tuple."
        ) from error


def _require(valid: bool, name: str, value: Any, expected: str) -> None:
    if not valid:
        raise ValueError(f"Engine: {name} is {value!r}; expected {expected}.")
