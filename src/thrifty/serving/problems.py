"""Errors as problem+json (RFC 9457): the sentence of the project, and never a traceback."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from thrifty.exceptions import ThriftyError
from thrifty.stored.medium import shown

MEDIA_TYPE = "application/problem+json"
SENTENCES = {
    404: "there is nothing at {path}. See /openapi.json for what there is.",
    405: "{path} does not accept {method}. See /openapi.json for what it accepts.",
}


class RefusedError(Exception):
    """A request that cannot be answered: its status, and a sentence that says why.

    Parameters
    ----------
    status : int
        The status of the reply.
    detail : str
        What is wrong, what was expected, and what to do.
    headers : dict, optional
        Further headers of the reply.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None):
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


class Problem(Response):
    """A reply with an error."""

    media_type = MEDIA_TYPE

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None):
        title = HTTPStatus(status).phrase
        content = {"type": "about:blank", "title": title, "status": status, "detail": detail}
        super().__init__(json.dumps(content), status, headers)


@contextmanager
def refusing(status: int = 422) -> Iterator[None]:
    """Turn errors about what a client sent into `RefusedError`. Wrap only calls that check values of the client."""
    try:
        yield
    except (ThriftyError, ValueError) as error:
        text = str(error).replace(", or None.", ", or None if it is unavailable.")
        raise RefusedError(status, text.replace(", or None if it", ", or null if it")) from error


def refused_by_routes(scope: Scope, error: HTTPException) -> RefusedError:
    """Return the refusal of a request that no route answers."""
    place = {"path": shown(scope["path"]), "method": scope["method"]}
    known = SENTENCES.get(error.status_code, "").format(**place)
    return RefusedError(error.status_code, known or f"{error.detail}.".replace("..", "."), error.headers)
