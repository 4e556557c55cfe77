"""Prometheus metrics of one worker: its requests, and those of the engine."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from starlette.types import Scope

from thrifty.runtime.telemetry.metrics import SECONDS_BUCKETS

METHODS = ("GET", "POST", "DELETE")  # that an endpoint has; a client may send any word
OTHER = "other"


class RequestCounts(Collector):
    """Counts requests by route and status. Labels are never made from what a client sends.

    Attributes
    ----------
    registry : CollectorRegistry
        Where all metrics of the worker are.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self._requests: dict[tuple[str, str, int], int] = {}
        self._seconds: dict[str, _Seconds] = {}
        self._sessions = Gauge(
            "sessions", "Sessions that have not expired, of all workers", namespace="thrifty", registry=self.registry
        )

    def show_sessions(self, count: Callable[[], int]) -> None:
        """Report the number of sessions."""
        self._sessions.set_function(count)

    def add(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request. A dictionary is enough, because one thread counts; `collect` makes metrics of it."""
        route = getattr(scope.get("route"), "path", OTHER)
        key = (scope["method"] if route != OTHER and scope["method"] in METHODS else OTHER, route, status)
        self._requests[key] = self._requests.get(key, 0) + 1
        if (of_route := self._seconds.get(route)) is None:
            of_route = self._seconds[route] = _Seconds()
        of_route.add(seconds)

    def collect(self) -> Iterator[Metric]:
        """Return the metrics of requests."""
        requests = CounterMetricFamily(
            "thrifty_requests", "Requests, by route and status", labels=["method", "route", "status"]
        )
        for (method, route, status), n in self._requests.items():
            requests.add_metric([method, route, str(status)], n)
        seconds = HistogramMetricFamily("thrifty_request_seconds", "Seconds from request to reply", labels=["route"])
        for route, of_route in self._seconds.items():
            seconds.add_metric([route], of_route.buckets(), of_route.total)
        yield from (requests, seconds)

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus, each with the worker that reports it."""
        return generate_latest(_OfThisWorker(self.registry))


class _Seconds:
    """How long requests took: how many in each bucket, and in all."""

    def __init__(self) -> None:
        self._counts, self.total = [0] * (len(SECONDS_BUCKETS) + 1), 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(SECONDS_BUCKETS, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Return how many requests took at most as long as each bound."""
        bounds = [*map(floatToGoString, SECONDS_BUCKETS), "+Inf"]
        return list(zip(bounds, accumulate(self._counts), strict=True))


class _OfThisWorker(CollectorRegistry):
    """A view of a registry that adds the number of the process to every sample."""

    def __init__(self, registry: CollectorRegistry):
        self._registry = registry

    def collect(self) -> Iterator[Any]:
        worker = {"worker": str(os.getpid())}
        for metric in self._registry.collect():
            metric.samples = [sample._replace(labels={**sample.labels, **worker}) for sample in metric.samples]
            yield metric
