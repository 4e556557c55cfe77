"""Prometheus metrics of results: rows, spend, latency and failures by source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thrifty.runtime.telemetry.library import telemetry_library
from thrifty.runtime.trace import FAILED, MADE, Call, Result

if TYPE_CHECKING:
    from thrifty.runtime.watch import Watch

OUTCOMES = frozenset({"cached", *MADE, *FAILED})
SPEND_BUCKETS = tuple(step * 10.0**power for power in range(-2, 5) for step in (1.0, 2.0, 5.0))
SECONDS_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """Counts results as Prometheus metrics: pass it to an engine as `on_result`.

    With the namespace "thrifty" the metrics are:

    =============================================  =========  =========================================================
    thrifty_rows_total                             counter    rows
    thrifty_degraded_rows_total                    counter    rows that missed a value, because a source failed or the
                                                              deadline passed
    thrifty_spend                                  histogram  spend of a row, in the unit of the cost model
    thrifty_row_seconds                            histogram  time from question to answer
    thrifty_source_spend_total{source}             counter    what rows were charged for features of a source
    thrifty_call_seconds{source}                   histogram  time of a call, with its retries
    thrifty_calls_total{source,outcome}            counter    calls, by outcome; see `Call`
    thrifty_promise_broken                         gauge      1 if the mean spend is above the promise, otherwise 0
    thrifty_drifted                                gauge      1 if rows differ from the reference, otherwise 0
    =============================================  =========  =========================================================

    Labels are names of sources and outcomes only, never keys or values. A call that several rows share is counted for
    each of these rows. Calls that were not made (outcome "cached", "refused", or "deadline" before the call) have no
    time. The two gauges exist if a watch is given.

    Parameters
    ----------
    registry : prometheus_client.CollectorRegistry, optional
        Where metrics are registered; by default the registry of the process.
    namespace : str, default="thrifty"
        How the names of metrics begin. Use another one for each engine of a process.
    watch : Watch, optional
        The watch whose findings are shown, such as ``engine.watch``.
    spend_buckets : sequence of float, optional
        The upper ends of the bins of thrifty_spend; by default from 0.01 to 50,000.

    Examples
    --------
    >>> from prometheus_client import CollectorRegistry
    >>> from thrifty.runtime import Result, Trace
    >>> from thrifty.runtime.telemetry import Metrics
    >>> registry = CollectorRegistry()
    >>> metrics = Metrics(registry)
    >>> metrics(Result("a17", "no", None, -1.5, 2.0, 0.01, False, 0, "done", "ASTCClassifier", Trace("a17", ())))
    >>> registry.get_sample_value("thrifty_rows_total"), registry.get_sample_value("thrifty_spend_sum")
    (1.0, 2.0)
    """

    def __init__(
        self,
        registry: Any = None,
        namespace: str = "thrifty",
        *,
        watch: Watch | None = None,
        spend_buckets: Sequence[float] | None = None,
    ):
        library = telemetry_library("prometheus_client", "Metrics")
        where: dict[str, Any] = {
            "registry": library.REGISTRY if registry is None else registry,
            "namespace": namespace,
        }
        try:
            self._register(library, where, SPEND_BUCKETS if spend_buckets is None else spend_buckets)
            if watch is not None:
                self._register_watch(library, where, watch)
        except ValueError as error:
            raise ValueError(
                f"Metrics: the metrics of namespace {namespace!r} cannot be registered ({error}). "
                "Pass another namespace, or another registry."
            ) from error

    def _register(self, library: Any, where: dict[str, Any], spend_buckets: Sequence[float]) -> None:
        counter, histogram = library.Counter, library.Histogram
        seconds = {**where, "buckets": SECONDS_BUCKETS}
        self._rows = counter("rows", "Rows that were predicted", **where)
        self._degraded = counter("degraded_rows", "Rows that missed a value that the model asked for", **where)
        self._spend = histogram("spend", "Spend of a row", buckets=spend_buckets, **where)
        self._row_seconds = histogram("row_seconds", "Seconds from question to answer", **seconds)
        self._source_spend = counter("source_spend", "Spend on features of a source", ["source"], **where)
        self._call_seconds = histogram("call_seconds", "Seconds of a call of a source", ["source"], **seconds)
        self._calls = counter("calls", "Calls of a source, for each row", ["source", "outcome"], **where)

    def _register_watch(self, library: Any, where: dict[str, Any], watch: Watch) -> None:
        broken = library.Gauge("promise_broken", "1 if the mean spend is above the promise of the model", **where)
        broken.set_function(lambda: float(watch.health().spend_broken))
        drifted = library.Gauge("drifted", "1 if rows differ from the reference", **where)
        drifted.set_function(lambda: float(bool(watch.health().drifted)))

    def __call__(self, result: Result) -> None:
        """Count a result.

        Parameters
        ----------
        result : Result
        """
        self._rows.inc()
        self._degraded.inc(int(result.degraded))
        self._spend.observe(result.spend)
        self._row_seconds.observe(result.elapsed)
        for call in result.trace.calls:
            self._count(call)

    def _count(self, call: Call) -> None:
        self._source_spend.labels(call.source).inc(call.cost)
        if call.attempts > 0:
            self._call_seconds.labels(call.source).observe(call.elapsed)
        if call.attempts > 0 or call.outcome not in MADE:  # otherwise an earlier call of the row brought the features
            self._calls.labels(call.source, call.outcome if call.outcome in OUTCOMES else "other").inc()
