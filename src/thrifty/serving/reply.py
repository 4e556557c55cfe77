"""A reply as JSON. FastAPI would check it against a model again, which takes longer than the prediction."""

import json
from typing import Any

from starlette.responses import Response


class Reply(Response):
    """A reply with plain values. Numbers have to be finite."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as JSON in ASCII, which can hold any text."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
