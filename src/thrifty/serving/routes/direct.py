"""Routes that call their endpoint with the request. FastAPI documents them, but does not read bodies for them."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response


class DirectRoute(APIRoute):
    """A route whose endpoint takes the request, and the parameters of its path."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""

        async def answer(request: Request) -> Response:
            return await self.endpoint(request, **request.path_params)

        return answer
