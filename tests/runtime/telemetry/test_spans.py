"""OpenTelemetry spans of results."""

import json
import sys
import time

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from thrifty import MissingExtraError
from thrifty.runtime import Call, Result, Step, Trace
from thrifty.runtime.telemetry import Spans

AGE = Call("crm", ("age",), "ok", 1.0, 0.1, 0.2, 1, 4, "", {"age": 5959})
CHOLESTEROL = Call("lab", ("chol",), "invalid", 7.0, 0.4, 0.5, 2, 1, "'6161' is not a number", {"chol": None})
STEPS = (Step(("age",), 1.0, "because age was 4747", (AGE,)), Step(("chol",), 7.0, "", (CHOLESTEROL,)))
RESULT = Result("patient 17", "ill", {"ill": 0.9}, 1.2, 8.0, 1.0, True, 3, "done", "Model", Trace("patient 17", STEPS))


@pytest.fixture
def written():
    return InMemorySpanExporter()


@pytest.fixture
def tracer(written):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(written))
    return provider.get_tracer("tests")


def by_source(written):
    spans = {span.attributes.get("thrifty.source", "row"): span for span in written.get_finished_spans()}
    assert len(spans) == len(written.get_finished_spans())
    return spans


def test_a_row_has_a_span_and_its_calls_have_spans_below_it(tracer, written):
    Spans(tracer)(RESULT)
    spans = by_source(written)
    assert {source: span.name for source, span in spans.items()} == {
        "row": "thrifty.predict", "crm": "thrifty.call", "lab": "thrifty.call"
    }  # fmt: skip
    for source in ("crm", "lab"):
        assert spans[source].parent.span_id == spans["row"].context.span_id
        assert spans[source].context.trace_id == spans["row"].context.trace_id
        assert spans[source].kind is SpanKind.CLIENT
    assert spans["row"].parent is None


def test_a_row_is_below_the_span_that_is_current(tracer, written):
    with tracer.start_as_current_span("request") as request:
        Spans(tracer)(RESULT)
    row = next(span for span in written.get_finished_spans() if span.name == "thrifty.predict")
    assert row.parent.span_id == request.get_span_context().span_id


def test_times_are_those_of_the_row(tracer, written):
    before = time.time_ns()
    Spans(tracer)(RESULT)
    after = time.time_ns()
    spans = by_source(written)
    row = spans["row"]
    assert before <= row.end_time <= after
    assert row.end_time - row.start_time == 1_000_000_000
    offsets = {
        source: (spans[source].start_time - row.start_time, spans[source].end_time - row.start_time)
        for source in ("crm", "lab")
    }
    assert offsets == {"crm": (100_000_000, 300_000_000), "lab": (400_000_000, 900_000_000)}


def test_attributes_tell_cost_outcome_and_degradation(tracer, written):
    Spans(tracer)(RESULT)
    spans = by_source(written)
    assert dict(spans["row"].attributes) == {
        "thrifty.model": "Model",
        "thrifty.spend": 8.0,
        "thrifty.degraded": True,
        "thrifty.exit": 3,
        "thrifty.reason": "done",
        "thrifty.steps": 2,
    }
    assert dict(spans["crm"].attributes) == {
        "thrifty.source": "crm",
        "thrifty.features": ("age",),
        "thrifty.cost": 1.0,
        "thrifty.outcome": "ok",
        "thrifty.attempts": 1,
        "thrifty.rows": 4,
    }
    assert spans["crm"].status.status_code is StatusCode.UNSET
    assert (spans["lab"].status.status_code, spans["lab"].status.description) == (StatusCode.ERROR, "invalid")


def test_keys_values_predictions_and_messages_are_left_out(tracer, written):
    Spans(tracer)(RESULT)
    shown = "".join(span.to_json() for span in written.get_finished_spans())
    for secret in ("patient", "5959", "6161", "4747", "ill"):
        assert secret not in shown


def test_values_are_shown_on_request(tracer, written):
    Spans(tracer, values=True)(RESULT)
    spans = by_source(written)
    assert (spans["row"].attributes["thrifty.key"], spans["row"].attributes["thrifty.prediction"]) == (
        "patient 17", "ill"
    )  # fmt: skip
    assert json.loads(spans["crm"].attributes["thrifty.values"]) == {"age": 5959}
    assert json.loads(spans["lab"].attributes["thrifty.values"]) == {"chol": None}
    assert spans["lab"].attributes["thrifty.error"] == "'6161' is not a number"


def test_redacted_values_are_never_shown(tracer, written):
    redacted = Call("crm", ("age",), "ok", 1.0, 0.1, 0.2, 1, 1, "", None)
    step = Step(("age",), 1.0, "", (redacted,))
    Spans(tracer, values=True)(Result("k", 1, None, 0.0, 1.0, 1.0, False, 0, "done", "Model", Trace("k", (step,))))
    assert "thrifty.values" not in by_source(written)["crm"].attributes


def test_the_tracer_of_the_process_is_the_default():
    Spans()(RESULT)  # without a provider nothing is written


def test_a_missing_library_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    expected = r"Spans needs opentelemetry\. Run: pip install 'thrifty\[telemetry\]'"
    with pytest.raises(MissingExtraError, match=expected):
        Spans()
