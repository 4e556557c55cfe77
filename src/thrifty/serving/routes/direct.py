"""Routes that call their endpoint with the request. FastAPI documents them, but does not read bodies for them."""

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Match
from starlette.types import Receive, Scope, Send


class DirectRoute(APIRoute):
    """A route whose endpoint takes the request, and the parameters of its path."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell whether the route is for a request. Most paths have no parameters, so that comparing them is enough."""
        if not self.param_convertors and not scope["path"].endswith(self.path):
            return Match.NONE, {}
        return super().matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        methods = self.methods or set()
        if scope["method"] not in methods:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(methods))})
        response = await self.endpoint(Request(scope, receive), **scope["path_params"])
        await response(scope, receive, send)
