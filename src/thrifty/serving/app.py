"""The application: a gate, the endpoints, and the page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from thrifty import __version__
from thrifty.serving.gate import Gate
from thrifty.serving.openapi import describe
from thrifty.serving.routes.descriptions import add_descriptions
from thrifty.serving.routes.page import add_page
from thrifty.serving.routes.predictions import add_predictions
from thrifty.serving.routes.routing import Routing
from thrifty.serving.routes.sessions import add_sessions
from thrifty.serving.service import Service
from thrifty.serving.settings import Settings
from thrifty.serving.tokens import Tokens


class Application(FastAPI):
    """An application whose gate stands directly before its endpoints: middleware takes as long as a prediction."""

    gate: Gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or start and end with the server."""
        if scope["type"] == "http":
            await self.gate(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


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

    app = Application(title="thrifty", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for add_endpoints in (add_sessions, add_predictions, add_descriptions, add_page):
        add_endpoints(app, service)
    describe(app, service.served)
    app.gate = Gate(Routing(app.routes), Tokens.read(settings.token_file), settings.max_bytes, service.counts)
    return app
