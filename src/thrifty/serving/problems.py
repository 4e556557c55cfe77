"""Errors as problem+json (RFC 9457): the sentence of the project, and never a traceback."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus

from starlette.responses import Response

from thrifty.exceptions import ThriftyError
from thrifty.stored.medium import shown

MEDIA_TYPE = "application/problem+json"


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


def nothing_at(path: str) -> RefusedError:
    """Return the refusal of a path that does not exist."""
    return RefusedError(404, f"there is nothing at {shown(path)}. See /openapi.json for what there is.")


def not_allowed(method: str, path: str, allowed: Sequence[str]) -> RefusedError:
    """Return the refusal of a method that a path does not have."""
    detail = f"{shown(path)} does not accept {shown(method)}. See /openapi.json for what it accepts."
    return RefusedError(405, detail, {"Allow": ", ".join(allowed)})
