"""JSON in model files: strict, and limited in size."""

import json
from typing import Any

from thrifty.exceptions import ModelFileError
from thrifty.persistence.errors import refuse_unless

MAX_BYTES = 2**26


def written(document: Any) -> bytes:
    """Return a document as JSON without spaces."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def parsed(content: bytes, name: str) -> Any:
    """Return a document; raise ModelFileError if it is not JSON, has a key twice, or is too large."""
    too_large = f"the {name} has {len(content)} bytes; expected at most {MAX_BYTES}."
    refuse_unless(len(content) <= MAX_BYTES, too_large)
    try:
        return json.loads(content.decode(), parse_constant=_refuse_constant, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the {name} is not JSON.") from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a key appears twice")
    return entries
