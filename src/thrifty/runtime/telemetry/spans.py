"""OpenTelemetry spans of results: one for the row, and one below it for each call of a source."""

from __future__ import annotations

import json
import time
from typing import Any

from thrifty.runtime.telemetry.library import telemetry_library
from thrifty.runtime.trace import FAILED, Call, Result, plain

NANOSECONDS = 1_000_000_000


class Spans:
    """Writes results as OpenTelemetry spans: pass it to an engine as `on_result`.

    The span of a row is "thrifty.predict". Below it there is a span "thrifty.call" for each call. Spans are written
    when the result is there. A result holds durations only, so the time of day is computed: the row is taken to end
    when it is passed to `Spans`, and everything else follows from the durations. Rows of one batch are passed when the
    whole batch has ended, so a row that ended earlier is shown too late by that difference. The order and the durations
    of its calls are right.

    Attributes of a row are thrifty.model, thrifty.spend, thrifty.degraded, thrifty.exit, thrifty.reason and
    thrifty.steps (how many). Those of a call are thrifty.source, thrifty.features (names), thrifty.cost,
    thrifty.outcome, thrifty.attempts and thrifty.rows (how many shared the call). A call that failed has the status
    ERROR, with its outcome.

    Parameters
    ----------
    tracer : opentelemetry.trace.Tracer, optional
        By default the tracer "thrifty" of the tracer provider of the process.
    values : bool, default=False
        Whether spans also have the key of the row (thrifty.key), its prediction (thrifty.prediction), the values that
        sources returned (thrifty.values, as JSON) and error messages (thrifty.error), which may quote keys and values.
        Values that the engine redacts are never shown, but an error message may quote them.

    Examples
    --------
    >>> from opentelemetry.sdk.trace import TracerProvider
    >>> from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    >>> from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    >>> from thrifty.runtime import Result, Trace
    >>> from thrifty.runtime.telemetry import Spans
    >>> provider, written = TracerProvider(), InMemorySpanExporter()
    >>> provider.add_span_processor(SimpleSpanProcessor(written))
    >>> spans = Spans(provider.get_tracer("example"))
    >>> spans(Result("a17", "no", None, -1.5, 2.0, 0.01, False, 0, "done", "ASTCClassifier", Trace("a17", ())))
    >>> [(span.name, span.attributes["thrifty.spend"]) for span in written.get_finished_spans()]
    [('thrifty.predict', 2.0)]
    """

    def __init__(self, tracer: Any = None, *, values: bool = False):
        self._library = telemetry_library("opentelemetry.trace", "Spans")
        self._tracer = self._library.get_tracer("thrifty") if tracer is None else tracer
        self._values = values

    def __call__(self, result: Result) -> None:
        """Write the spans of a result.

        Parameters
        ----------
        result : Result
        """
        end = time.time_ns()
        start = end - _nanoseconds(result.elapsed)
        row = self._tracer.start_span("thrifty.predict", start_time=start, attributes=self._row_attributes(result))
        below = self._library.set_span_in_context(row)
        for call in result.trace.calls:
            self._write_call(call, start, below)
        row.end(end)

    def _write_call(self, call: Call, row_start: int, below: Any) -> None:
        start = row_start + _nanoseconds(call.started)
        span = self._tracer.start_span(
            "thrifty.call",
            below,
            kind=self._library.SpanKind.CLIENT,
            start_time=start,
            attributes=self._call_attributes(call),
        )
        if call.outcome in FAILED:
            span.set_status(self._library.Status(self._library.StatusCode.ERROR, call.outcome))
        span.end(start + _nanoseconds(call.elapsed))

    def _row_attributes(self, result: Result) -> dict[str, Any]:
        attributes = {
            "thrifty.model": result.model,
            "thrifty.spend": float(result.spend),
            "thrifty.degraded": bool(result.degraded),
            "thrifty.exit": int(result.exit),
            "thrifty.reason": result.reason,
            "thrifty.steps": len(result.trace.steps),
        }
        if self._values:
            attributes |= {"thrifty.key": str(result.key), "thrifty.prediction": str(result.prediction)}
        return attributes

    def _call_attributes(self, call: Call) -> dict[str, Any]:
        attributes = {
            "thrifty.source": call.source,
            "thrifty.features": call.features,
            "thrifty.cost": float(call.cost),
            "thrifty.outcome": call.outcome,
            "thrifty.attempts": call.attempts,
            "thrifty.rows": call.n_rows,
        }
        if self._values and call.values is not None:
            attributes["thrifty.values"] = json.dumps(plain(call.values), ensure_ascii=False)
        if self._values and call.error:
            attributes["thrifty.error"] = call.error
        return attributes


def _nanoseconds(seconds: float) -> int:
    return round(seconds * NANOSECONDS)
