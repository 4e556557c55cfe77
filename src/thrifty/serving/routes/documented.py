"""What OpenAPI says about the errors of an endpoint."""

from typing import Any

from thrifty.serving.bodies import ProblemBody
from thrifty.serving.problems import MEDIA_TYPE

ALWAYS = {
    400: "The body cannot be read.",
    401: "The request has no valid token.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The request is for another host.",
    422: "A value is not valid.",
}
SOMETIMES = {
    404: "There is no such session.",
    409: "The session waits for another step.",
    429: "There are too many sessions.",
    503: "The service has no sources, or is not ready.",
}
WITHOUT_BODY = (401, 421)


def problems(*more: int, body: bool = True) -> dict[int | str, dict[str, Any]]:
    """Return the errors of an endpoint for OpenAPI: those of all endpoints, and some more."""
    known = ALWAYS | SOMETIMES
    statuses = [*(ALWAYS if body else WITHOUT_BODY), *more]
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
    return {status: {"description": known[status], "content": content} for status in statuses}


SHARED_SCHEMAS = (ProblemBody,)
