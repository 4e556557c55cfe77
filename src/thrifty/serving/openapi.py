"""OpenAPI with examples from the model that is served, so that they work when they are pasted."""

from typing import Any

from fastapi import FastAPI

from thrifty.models.session import Acquire
from thrifty.serving.routes.documented import JSON, SCHEMAS
from thrifty.serving.served_model import ServedModel

DESCRIPTION = "A model that asks for what it needs, one step at a time, and says what that costs."
OF_SESSION = {"read_session": "get", "answer_step": "post", "end_session": "delete"}


def describe(app: FastAPI, served: ServedModel) -> None:
    """Add examples, links, the token and the schema of errors to the OpenAPI document of an application."""
    make = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.description = DESCRIPTION
            complete(make(), served)
        return app.openapi_schema  # type: ignore[return-value]

    app.openapi = document  # type: ignore[method-assign]


def complete(document: dict[str, Any], served: ServedModel) -> None:
    """Add to an OpenAPI document what FastAPI does not know."""
    schemas = document["components"]["schemas"]
    schemas |= {each.__name__: each.model_json_schema() for each in SCHEMAS}
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"token": []}]
    for (method, path), example in _examples(served).items():
        document["paths"][path][method]["requestBody"]["content"][JSON]["example"] = example
    _link_sessions(document["paths"])


def _examples(served: ServedModel) -> dict[tuple[str, str], Any]:
    return {
        ("post", "/predict"): {"key": 0},
        ("post", "/predict/rows"): {"rows": [served.examples.valid_row()]},
        ("post", "/sessions"): {},
        ("post", "/sessions/{session_id}"): {"step": 0, "values": _first_answer(served)},
    }


def _first_answer(served: ServedModel) -> dict[str, Any]:
    step = served.model.session().next()
    names = [served.names[feature] for feature in step.features] if isinstance(step, Acquire) else []
    return {name: served.examples.valid_value(name) for name in names}


def _link_sessions(paths: dict[str, Any]) -> None:
    """Say that the id in the reply to a new session is the id of the other requests about sessions."""
    of_session = paths["/sessions/{session_id}"]
    links = {
        name: {"operationId": of_session[method]["operationId"], "parameters": {"session_id": "$response.body#/id"}}
        for name, method in OF_SESSION.items()
    }
    paths["/sessions"]["post"]["responses"]["201"]["links"] = links
