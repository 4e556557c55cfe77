"""The application: a gate, the endpoints, and the page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from thrifty import __version__
from thrifty.serving.gate import Gate
from thrifty.serving.openapi import describe
from thrifty.serving.routes.descriptions import add_descriptions
from thrifty.serving.routes.direct import DirectRoute
from thrifty.serving.routes.predictions import add_predictions
from thrifty.serving.routes.sessions import add_sessions
from thrifty.serving.service import Service
from thrifty.serving.settings import Settings
from thrifty.serving.tokens import Tokens

PAGE = Path(__file__).parent / "page"


class Application(FastAPI):
    """An application whose gate stands directly before its routes: middleware takes as long as a small prediction."""

    gate: Gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["app"] = self
        await self.gate(scope, receive, send)


def create_app(settings: Settings) -> FastAPI:
    """Return the ASGI application that serves a model.

    Parameters
    ----------
    settings : Settings
        The files of the service, and its limits.

    Returns
    -------
    FastAPI
    """
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.open()
        yield
        await service.close()

    app = Application(
        title="thrifty", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.router.route_class = DirectRoute
    for add_endpoints in (add_sessions, add_predictions, add_descriptions):  # routes are tried in this order
        add_endpoints(app, service)
    _add_page(app)
    describe(app, service.served)
    app.gate = Gate(app.router, Tokens.read(settings.token_file), settings.max_bytes, service.counts)
    return app


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return FileResponse(PAGE / "index.html")

    app.mount("/static", StaticFiles(directory=PAGE))
