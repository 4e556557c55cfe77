"""Prometheus metrics of one worker: its requests, and those of the engine."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from starlette.types import Scope

from thrifty.runtime.telemetry.metrics import SECONDS_BUCKETS

METHODS = ("GET", "POST", "DELETE")  # that an endpoint has; a client may send any word
OTHER = "other"


class RequestCounts:
    """Counts requests by route and status. Labels are never made from what a client sends.

    Attributes
    ----------
    registry : CollectorRegistry
        Where all metrics of the worker are.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        where: dict[str, Any] = {"namespace": "thrifty", "registry": self.registry}
        self._requests = Counter("requests", "Requests, by route and status", ["method", "route", "status"], **where)
        self._seconds = Histogram(
            "request_seconds", "Seconds from request to reply", ["route"], buckets=SECONDS_BUCKETS, **where
        )
        self._known: dict[tuple[Any, ...], tuple[Any, Any]] = {}  # looking labels up takes time
        self._sessions = Gauge("sessions", "Sessions that have not expired, of all workers", **where)

    def show_sessions(self, count: Callable[[], int]) -> None:
        """Report the number of sessions."""
        self._sessions.set_function(count)

    def add(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request."""
        route = getattr(scope.get("route"), "path", OTHER)
        key = (scope["method"] if route != OTHER and scope["method"] in METHODS else OTHER, route, status)
        if (found := self._known.get(key)) is None:
            found = self._known[key] = (self._requests.labels(*key), self._seconds.labels(route))
        found[0].inc()
        found[1].observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus, each with the worker that reports it."""
        return generate_latest(_OfThisWorker(self.registry))


class _OfThisWorker(CollectorRegistry):
    """A view of a registry that adds the number of the process to every sample."""

    def __init__(self, registry: CollectorRegistry):
        self._registry = registry

    def collect(self) -> Iterator[Any]:
        worker = {"worker": str(os.getpid())}
        for metric in self._registry.collect():
            metric.samples = [sample._replace(labels={**sample.labels, **worker}) for sample in metric.samples]
            yield metric
