"""Prometheus metrics of results."""

import re
import sys
import warnings
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from thrifty import MissingExtraError
from thrifty.costs import CostModel
from thrifty.runtime import Call, Result, Step, Trace
from thrifty.runtime.telemetry import Metrics
from thrifty.runtime.watch import Watch


def call(source="crm", outcome="ok", cost=2.0, elapsed=0.03, attempts=1, values=None):
    return Call(source, ("age",), outcome, cost, 0.0, elapsed, attempts, 1, "", values)


def result(*calls, spend=2.0, degraded=False, key="secret key"):
    trace = Trace(key, (Step(("age",), spend, "", calls),))
    return Result(key, 1, None, 0.5, spend, 0.04, degraded, 0, "done", "Model", trace)


@pytest.fixture
def registry():
    return CollectorRegistry()


def test_rows_spend_and_time_are_counted(registry):
    metrics = Metrics(registry)
    metrics(result(spend=3.0))
    metrics(result(spend=30.0, degraded=True))
    value = registry.get_sample_value
    assert value("thrifty_rows_total") == 2
    assert value("thrifty_degraded_rows_total") == 1
    assert (value("thrifty_spend_count"), value("thrifty_spend_sum")) == (2, 33)
    assert (value("thrifty_spend_bucket", {"le": "2.0"}), value("thrifty_spend_bucket", {"le": "5.0"})) == (0, 1)
    assert value("thrifty_row_seconds_sum") == pytest.approx(0.08)


def test_calls_are_counted_by_source_and_outcome(registry):
    metrics = Metrics(registry)
    metrics(result(call(cost=2.0), call("lab", "timeout", cost=5.0, elapsed=1.0, attempts=3)))
    metrics(result(call(cost=1.0), call("lab", "refused", cost=0.0, elapsed=0.0, attempts=0)))
    value = registry.get_sample_value
    assert value("thrifty_calls_total", {"source": "crm", "outcome": "ok"}) == 2
    assert value("thrifty_calls_total", {"source": "lab", "outcome": "timeout"}) == 1
    assert value("thrifty_calls_total", {"source": "lab", "outcome": "refused"}) == 1
    assert value("thrifty_source_spend_total", {"source": "crm"}) == 3
    assert value("thrifty_source_spend_total", {"source": "lab"}) == 5
    assert value("thrifty_call_seconds_count", {"source": "lab"}) == 1  # a call that was refused has no time
    assert value("thrifty_call_seconds_sum", {"source": "lab"}) == 1.0


def test_features_of_an_earlier_call_are_charged_but_are_no_call(registry):
    Metrics(registry)(result(call(cost=2.0), call(cost=1.0, attempts=0, elapsed=0.0)))
    assert registry.get_sample_value("thrifty_calls_total", {"source": "crm", "outcome": "ok"}) == 1
    assert registry.get_sample_value("thrifty_source_spend_total", {"source": "crm"}) == 3


def test_keys_values_and_unknown_outcomes_are_no_labels(registry):
    Metrics(registry)(result(call(outcome="exploded at 12:01", values={"age": 59})))
    text = generate_latest(registry).decode()
    assert 'outcome="other"' in text
    assert not re.search("secret|exploded|age", text)
    assert set(re.findall(r"[{,](\w+)=", text)) == {"source", "outcome", "le"}


def test_gauges_show_what_the_watch_found(registry):
    watch = Watch(SimpleNamespace(cost_model_=CostModel([10.0]), budget=2.0))
    metrics = Metrics(registry, watch=watch)
    assert registry.get_sample_value("thrifty_promise_broken") == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(200):
            watch(result(spend=9.0))
            metrics(result(spend=9.0))
    assert registry.get_sample_value("thrifty_promise_broken") == 1
    assert registry.get_sample_value("thrifty_drifted") == 0


def test_without_a_watch_there_are_no_gauges(registry):
    Metrics(registry)
    assert "promise" not in generate_latest(registry).decode()


def test_two_engines_need_two_namespaces(registry):
    Metrics(registry)
    Metrics(registry, "other")(result())
    assert registry.get_sample_value("other_rows_total") == 1
    with pytest.raises(ValueError, match="Metrics: the metrics of namespace 'thrifty' cannot be registered"):
        Metrics(registry)


def test_buckets_of_the_spend_can_be_chosen(registry):
    Metrics(registry, spend_buckets=[1.5])(result(spend=1.0))
    assert registry.get_sample_value("thrifty_spend_bucket", {"le": "1.5"}) == 1


def test_a_missing_library_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    expected = r"Metrics needs prometheus_client\. Run: pip install 'thrifty\[telemetry\]'"
    with pytest.raises(MissingExtraError, match=expected):
        Metrics()
