"""Prediction against real feature sources: what the model asks for is fetched when it asks for it.

    sources/     where features come from: functions, tables, databases, web services
    engine.py    drives sessions of a model, and calls the sources that they need
    trace.py     what was asked for, from where, for how much, and how long it took
    watch/       whether the spend and the rows are still what they were at training
    telemetry/   Prometheus metrics and OpenTelemetry spans

Names are imported on first use, so that importing the package is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thrifty.exceptions import SourceError as SourceError
    from thrifty.runtime.engine import Engine as Engine
    from thrifty.runtime.sources.base import AsyncSource as AsyncSource
    from thrifty.runtime.sources.base import BlockingSource as BlockingSource
    from thrifty.runtime.sources.base import Source as Source
    from thrifty.runtime.sources.catalog import Catalog as Catalog
    from thrifty.runtime.sources.catalog import load_sources as load_sources
    from thrifty.runtime.sources.frame import FrameSource as FrameSource
    from thrifty.runtime.sources.function import source as source
    from thrifty.runtime.sources.http import HTTPSource as HTTPSource
    from thrifty.runtime.sources.sql import SQLSource as SQLSource
    from thrifty.runtime.telemetry.metrics import Metrics as Metrics
    from thrifty.runtime.telemetry.spans import Spans as Spans
    from thrifty.runtime.trace import Call as Call
    from thrifty.runtime.trace import Result as Result
    from thrifty.runtime.trace import Step as Step
    from thrifty.runtime.trace import Trace as Trace
    from thrifty.runtime.trace import TraceFile as TraceFile
    from thrifty.runtime.trace import read_traces as read_traces
    from thrifty.runtime.watch.reference import Reference as Reference
    from thrifty.runtime.watch.watch import Health as Health
    from thrifty.runtime.watch.watch import PromiseWarning as PromiseWarning
    from thrifty.runtime.watch.watch import Watch as Watch

_HOMES = {
    "exceptions": ["SourceError"],
    "runtime.engine": ["Engine"],
    "runtime.sources.base": ["AsyncSource", "BlockingSource", "Source"],
    "runtime.sources.catalog": ["Catalog", "load_sources"],
    "runtime.sources.frame": ["FrameSource"],
    "runtime.sources.function": ["source"],
    "runtime.sources.http": ["HTTPSource"],
    "runtime.sources.sql": ["SQLSource"],
    "runtime.telemetry.metrics": ["Metrics"],
    "runtime.telemetry.spans": ["Spans"],
    "runtime.trace": ["Call", "Result", "Step", "Trace", "TraceFile", "read_traces"],
    "runtime.watch.reference": ["Reference"],
    "runtime.watch.watch": ["Health", "PromiseWarning", "Watch"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AsyncSource",
    "BlockingSource",
    "Call",
    "Catalog",
    "Engine",
    "FrameSource",
    "HTTPSource",
    "Health",
    "Metrics",
    "PromiseWarning",
    "Reference",
    "Result",
    "SQLSource",
    "Source",
    "SourceError",
    "Spans",
    "Step",
    "Trace",
    "TraceFile",
    "Watch",
    "load_sources",
    "read_traces",
    "source",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'thrifty.runtime' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"thrifty.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
