"""A reply as JSON. FastAPI would check it against a model again, which takes longer than the prediction."""

import json
from typing import Any

from starlette.responses import Response

ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))  # json.dumps would make one for each reply


def encoded(content: Any) -> str:
    """Return plain values as JSON in ASCII, which can hold any text; numbers have to be finite."""
    return ENCODER.encode(content)


class Reply(Response):
    """A reply with plain values, or with JSON in bytes."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as JSON."""
        return content if isinstance(content, bytes) else encoded(content).encode()
