"""Measured latencies of sources, and the price list in milliseconds that follows from them.

A call that returns several features becomes a bundle: its latency is paid once, with the first of them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from time import perf_counter
from typing import Any

import numpy as np

from thrifty.costs import CostModel
from thrifty.costs.distinct_names import DistinctNames
from thrifty.costs.errors import shorten
from thrifty.exceptions import SourceError
from thrifty.runtime.sources.base import AsyncSource, BlockingSource, Source
from thrifty.runtime.sources.catalog import Catalog
from thrifty.runtime.sources.values import checked_records, record_values

STATISTICS = ("median", "p95", "mean")
UNIT = "ms"
DECIMALS = 3  # of prices; the smallest price is 0.001 ms


@dataclass(frozen=True)
class Profile:
    """How long the calls of a source took.

    Attributes
    ----------
    source : str
        The name of the source.
    features : tuple of str
        The features that a call returns.
    latencies : tuple of float
        Milliseconds that each call took that returned valid values, or that told that the key is unknown.
    n_calls : int
        How many calls were measured.
    n_failures : int
        How many of them failed: they raised an error, took too long, or returned values that are not valid.
    n_unknown : int
        How many keys the source did not know.
    error : str
        What went wrong in the first call that failed; otherwise empty.

    Examples
    --------
    >>> from thrifty.runtime.profiling import Profile
    >>> profile = Profile("labs", ("tsh", "tt4"), (2.0, 3.0, 10.0), 4, 1, 0, "TimeoutError")
    >>> profile.median, profile.mean, round(profile.p95, 3)
    (3.0, 5.0, 9.3)
    """

    source: str
    features: tuple[str, ...]
    latencies: tuple[float, ...]
    n_calls: int
    n_failures: int = 0
    n_unknown: int = 0
    error: str = ""

    @property
    def median(self) -> float:
        """The median latency in milliseconds; NaN if all calls failed."""
        return float(np.median(self.latencies)) if self.latencies else math.nan

    @property
    def p95(self) -> float:
        """The latency in milliseconds that 95% of the calls do not exceed; NaN if all calls failed."""
        return float(np.percentile(self.latencies, 95)) if self.latencies else math.nan

    @property
    def mean(self) -> float:
        """The mean latency in milliseconds; NaN if all calls failed."""
        return float(np.mean(self.latencies)) if self.latencies else math.nan

    def price(self, statistic: str = "median") -> float:
        """Return the price of a call in milliseconds, with three decimals and at least 0.001.

        Parameters
        ----------
        statistic : {"median", "p95", "mean"}, default="median"

        Returns
        -------
        float
        """
        if statistic not in STATISTICS:
            raise ValueError(f"statistic is {statistic!r}; expected one of {', '.join(STATISTICS)}.")
        return max(round(getattr(self, statistic), DECIMALS), 10.0**-DECIMALS)

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON.

        Returns
        -------
        dict
        """
        return {
            "source": self.source,
            "features": list(self.features),
            "calls": self.n_calls,
            "failures": self.n_failures,
            "unknown_keys": self.n_unknown,
            "median": self.median,
            "p95": self.p95,
            "mean": self.mean,
            "error": self.error,
        }


def profile_sources(
    sources: Catalog | Sequence[Source],
    keys: Iterable[Any],
    *,
    warmup: int = 5,
    advance: Callable[[], None] = lambda: None,
) -> list[Profile]:
    """Call each source for each key, one key a call, and measure how long it takes.

    Parameters
    ----------
    sources : Catalog or sequence of Source
        The sources. They are closed at the end.
    keys : iterable
        The keys.
    warmup : int, default=5
        How many calls of each source are made before the measurement, because first calls often open connections.
    advance : callable, optional
        Called after each call.

    Returns
    -------
    list of Profile
        One per source. A source that fails for all keys, or knows none of them, raises SourceError.

    Examples
    --------
    >>> from thrifty import source
    >>> from thrifty.runtime.profiling import profile_sources
    >>> @source(provides=["length"])
    ... def length(key):
    ...     return len(key)
    >>> profile = profile_sources([length], ["a17", "b3"])[0]
    >>> profile.n_calls, profile.n_failures, profile.median < 1000
    (2, 0, True)
    """
    catalog, keys = Catalog.of(sources), list(keys)
    if not keys:
        raise SourceError("there are no keys to call the sources with. Pass at least one.")
    with asyncio.Runner() as loop:
        try:
            return [loop.run(_profile(each, keys, warmup, advance)) for each in catalog]
        finally:
            _close(catalog, loop)


def price_list(profiles: Iterable[Profile], statistic: str = "median") -> CostModel:
    """Return the prices of features in milliseconds, from the latencies of their sources.

    Parameters
    ----------
    profiles : iterable of Profile
    statistic : {"median", "p95", "mean"}, default="median"
        The latency that is the price of a call.

    Returns
    -------
    CostModel
        A source with one feature is a plain price. The features of any other source are a bundle with the price of the
        call, and their own prices are 0.

    Examples
    --------
    >>> from thrifty.runtime.profiling import Profile, price_list
    >>> labs = Profile("labs", ("tsh", "tt4"), (2.0, 3.0, 10.0), 3)
    >>> prices = price_list([labs, Profile("age", ("age",), (0.5,), 1)])
    >>> prices.costs, prices.bundles, prices.unit
    ({'tsh': 0.0, 'tt4': 0.0, 'age': 0.5}, {'labs': (('tsh', 'tt4'), 3.0)}, 'ms')
    """
    profiles = list(profiles)
    names = DistinctNames(feature for each in profiles for feature in each.features)
    costs: dict[str, float] = {}
    bundles = {}
    for each in profiles:
        price, alone = each.price(statistic), len(each.features) == 1
        costs |= dict.fromkeys(each.features, price if alone else 0.0)
        if not alone:
            bundles[names.add(each.source)] = (each.features, price)
    return CostModel(costs, bundles=bundles, unit=UNIT)


async def _profile(source: Source, keys: Sequence[Any], warmup: int, advance: Callable[[], None]) -> Profile:
    for key in islice(cycle(keys), warmup):
        await _call(source, key)
        advance()
    calls = []
    for key in keys:
        calls.append(await _call(source, key))
        advance()
    failures = [call.error for call in calls if call.error]
    profile = Profile(
        source.name,
        source.features,
        tuple(call.elapsed for call in calls if not call.error),
        len(calls),
        len(failures),
        sum(call.unknown for call in calls),
        failures[0] if failures else "",
    )
    _refuse_useless(profile)
    return profile


@dataclass(frozen=True)
class _Measured:
    """One call: milliseconds, what went wrong, and whether the key is unknown."""

    elapsed: float
    error: str = ""
    unknown: bool = False


async def _call(source: Source, key: Any) -> _Measured:
    record, error, start = None, "", perf_counter()
    try:
        async with asyncio.timeout(source.timeout):
            returned = await _returned(source, key)
    except (Exception, SystemExit) as exception:
        error = f"{type(exception).__name__} ({exception})".removesuffix(" ()")
    elapsed = perf_counter() - start
    if not error and source.timeout is not None and elapsed > source.timeout:
        error = f"the call took {elapsed:.3g} s, but its timeout is {source.timeout:g} s"
    if not error:
        record, error = _checked(source, key, returned)
    return _Measured(1000 * elapsed, shorten(error), record is None and not error)


async def _returned(source: Source, key: Any) -> Any:
    if isinstance(source, AsyncSource):
        return await source.fetch([key])
    assert isinstance(source, BlockingSource)
    return source.read([key])  # on this thread, because a change of threads would be measured too


def _checked(source: Source, key: Any, returned: Any) -> tuple[Any, str]:
    """Return the record of a key, and what is wrong with it."""
    try:
        record = checked_records(source, [key], returned)[0]
    except SourceError as error:
        return None, str(error)
    _, problems = ({}, {}) if record is None else record_values(source, record)
    return record, "; ".join(f"{feature!r}: {problem}" for feature, problem in problems.items())


def _refuse_useless(profile: Profile) -> None:
    """Raise SourceError if no call tells how long a successful one takes."""
    calls = f"all {profile.n_calls} calls" if profile.n_calls > 1 else "its only call"
    if profile.n_failures == profile.n_calls:
        raise SourceError(
            f"source {profile.source!r} failed in {calls}, so its latency is unknown: {profile.error.rstrip('.')}. "
            "Repair the source, or remove it."
        )
    if profile.n_unknown + profile.n_failures == profile.n_calls:
        raise SourceError(
            f"source {profile.source!r} found no record in {calls}, so its latency is not that of a record. Check the "
            "keys: their column and their type."
        )


def _close(catalog: Catalog, loop: asyncio.Runner) -> None:
    for each in catalog:
        loop.run(each.aclose())
        each.close()
