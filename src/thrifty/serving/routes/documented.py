"""What OpenAPI says about the bodies and the errors of an endpoint."""

from typing import Any

from thrifty.serving.bodies import Answer, Body, ByKey, ProblemBody, Rows, Start
from thrifty.serving.problems import MEDIA_TYPE

JSON = "application/json"
SCHEMAS = (Answer, ByKey, ProblemBody, Rows, Start)  # that FastAPI does not find, because requests are read by hand
WITHOUT_BODY = {401: "The request has no valid token.", 421: "The request is for another host."}
WITH_BODY = {
    400: "The body is not valid JSON.",
    413: "The body is too large.",
    415: "The body has another type than JSON.",
    422: "A value is not valid.",
}
SOMETIMES = {
    404: "There is no such session.",
    409: "The session waits for another step, or was answered with other values.",
    429: "There are too many sessions.",
    503: "The service cannot do this now: it has no sources, is not ready, or cannot store sessions.",
}


def takes(body: type[Body], reply: type, *more: int, status: int = 200) -> dict[str, Any]:
    """Return the options of an endpoint that takes a body: its request, its reply, and its errors."""
    request = {"required": True, "content": {JSON: {"schema": reference(body)}}}
    return {"openapi_extra": {"requestBody": request}, **gives(reply, *more, *WITH_BODY, status=status)}


def gives(reply: type | None, *more: int, status: int = 200) -> dict[str, Any]:
    """Return the options of an endpoint: its reply, and its errors."""
    known = WITHOUT_BODY | WITH_BODY | SOMETIMES
    content = {MEDIA_TYPE: {"schema": reference(ProblemBody)}}
    errors: dict[int | str, Any] = {
        each: {"description": known[each], "content": content} for each in (*WITHOUT_BODY, *more)
    }
    replies = errors if reply is None else {status: {"model": reply}, **errors}
    return {"status_code": status, "response_model": None, "responses": replies}


def reference(schema: type) -> dict[str, str]:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{schema.__name__}"}
