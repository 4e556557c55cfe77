"""Reading the body of a request, and saying what is wrong with it."""

from collections.abc import Mapping
from typing import Any, TypeVar

from fastapi import Request
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from thrifty.serving.bodies import Body
from thrifty.serving.problems import RefusedError
from thrifty.stored.medium import shown

AnyBody = TypeVar("AnyBody", bound=Body)


async def body_of(request: Request, kind: type[AnyBody]) -> AnyBody:
    """Return the body of a request; raise RefusedError if it is not valid."""
    return read(await content_of(request), kind)


def read(content: bytes, kind: type[AnyBody]) -> AnyBody:
    """Return a body; raise RefusedError if it is not valid."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise refusal_of(error) from error


async def content_of(request: Request) -> bytes:
    """Return the body of a request as bytes; most bodies arrive in one part."""
    message = await request.receive()
    content: bytes = message.get("body", b"")
    while message.get("more_body", False):
        message = await request.receive()
        content += message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return content


def refusal_of(error: ValidationError) -> RefusedError:
    """Return the refusal of a body, from the first thing that is wrong with it."""
    found = error.errors(include_url=False)[0]
    if found["type"] == "json_invalid":
        reason = found["msg"].removeprefix("Invalid JSON: ")
        return RefusedError(400, f"the body is not valid JSON: {reason}. Correct it.")
    return RefusedError(422, sentence(found))


def sentence(found: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, where, and what was expected."""
    place = shown(".".join(map(str, found["loc"])) or "the body")[1:-1]  # printable, without the quotes
    if found["type"] == "missing":
        return f"{place} is missing. Add it; see /openapi.json."
    if found["type"] == "extra_forbidden":
        return f"{place} is not known here. Remove it, or correct its name; see /openapi.json."
    expected = found["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return f"{place} is {shown(found['input'])}; expected {expected}."
