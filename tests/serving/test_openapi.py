"""The OpenAPI document: its examples work when they are pasted, and random requests get replies that it describes."""

import re
from contextlib import suppress

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from serving.started import SECONDS_TO_START, started

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ENDPOINTS = {
    ("post", "/predict"),
    ("post", "/predict/rows"),
    ("post", "/sessions"),
    ("get", "/sessions/{session_id}"),
    ("post", "/sessions/{session_id}"),
    ("delete", "/sessions/{session_id}"),
    ("get", "/model"),
    ("get", "/frontier"),
    ("get", "/healthz"),
    ("get", "/readyz"),
    ("get", "/metrics"),
}


def operations(document):
    return [(method, path, each) for path, methods in document["paths"].items() for method, each in methods.items()]


@pytest.mark.parametrize("served", ["on_tree", "on_adaptive", "on_rent"])
def test_examples_work_when_they_are_pasted(request, served):
    http = request.getfixturevalue(served)
    document = http.get("/openapi.json").json()
    found = operations(document)
    assert {(method, path) for method, path, _ in found} == ENDPOINTS
    session = http.post("/sessions", json={}).json()["id"]
    for method, path, operation in sorted(found, key=lambda each: each[0] == "delete"):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        assert (method == "post") == ("example" in content)
        options = {"json": content["example"]} if content else {}
        reply = http.request(method, path.replace("{session_id}", session), **options)
        without_sources = path == "/predict" and served != "on_tree"
        assert reply.status_code == 503 if without_sources else reply.is_success, (method, path, reply.text)
        assert str(reply.status_code) in operation["responses"]


def test_every_reference_of_the_document_leads_somewhere(on_tree):
    text = on_tree.get("/openapi.json").text
    schemas = on_tree.get("/openapi.json").json()["components"]["schemas"]
    names = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert names <= set(schemas)
    assert {"SessionState", "ProblemBody", "Answer"} <= names


@pytest.fixture(scope="module")
def fuzzed(files):
    """Return a service with an adaptive model and sources, for random requests."""
    with started(files / "adaptive.thrifty", "--sources", files / "sources.py") as server:
        yield server


@pytest.fixture(scope="module")
def schema(fuzzed):
    return schemathesis.openapi.from_url(f"{fuzzed.address}/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("method", "path"), sorted(ENDPOINTS))
def test_random_requests_get_replies_that_the_document_describes(schema, method, path, mode):
    operation = schema[path][method.upper()]

    @settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case):
        case.call_and_validate(checks=CHECKS, timeout=SECONDS_TO_START)

    with suppress(Unsatisfiable):  # nothing can be wrong with a request without parameters
        send()


@pytest.fixture(scope="module")
def sessions_of_schema(fuzzed):
    return [httpx.post(f"{fuzzed.address}/sessions", json={}, timeout=SECONDS_TO_START).json()["id"] for _ in range(3)]


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_answers_to_real_sessions(schema, sessions_of_schema, data):
    """Without a session that exists, random requests would see 404 only."""
    case = data.draw(schema["/sessions/{session_id}"]["POST"].as_strategy())
    case.path_parameters["session_id"] = data.draw(st.sampled_from(sessions_of_schema))
    case.call_and_validate(checks=CHECKS, timeout=SECONDS_TO_START)


def test_links_lead_from_a_new_session_to_its_steps(fuzzed):
    document = httpx.get(f"{fuzzed.address}/openapi.json", timeout=SECONDS_TO_START).json()
    links = document["paths"]["/sessions"]["post"]["responses"]["201"]["links"]
    known = {each["operationId"] for _, _, each in operations(document)}
    assert {link["operationId"] for link in links.values()} <= known
    assert len(links) == 3


def test_the_random_requests_reached_every_endpoint_and_none_failed(fuzzed):
    """It runs last: the service has counted what the tests above have sent."""
    text = httpx.get(f"{fuzzed.address}/metrics", timeout=SECONDS_TO_START).text
    counted = re.findall(r'requests_total\{method="(\w+)",route="([^"]+)",status="(\d+)",worker="\d+"\} (\d+)', text)
    assert {(method.lower(), route) for method, route, _, _ in counted} >= ENDPOINTS
    failed = [each for each in counted if int(each[2]) >= 500]
    assert {(route, status) for _, route, status, _ in failed} <= {("/readyz", "503")}  # while the service started
    assert sum(int(count) for *_, count in counted) > 400
    answered = {int(status) for _, route, status, _ in counted if route == "/sessions/{session_id}"}
    assert {404, 409, 422} <= answered
