"""The application: a gate, the endpoints, and the page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from thrifty import __version__
from thrifty.serving.gate import Gate
from thrifty.serving.openapi import describe
from thrifty.serving.problems import answer_errors
from thrifty.serving.routes.descriptions import add_descriptions
from thrifty.serving.routes.direct import DirectRoute
from thrifty.serving.routes.predictions import add_predictions
from thrifty.serving.routes.sessions import add_sessions
from thrifty.serving.service import Service
from thrifty.serving.settings import Settings
from thrifty.serving.tokens import Tokens

PAGE = Path(__file__).parent / "page"


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

    app = FastAPI(
        title="thrifty", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.state.service = service
    app.router.route_class = DirectRoute
    answer_errors(app)
    for add_endpoints in (add_sessions, add_predictions, add_descriptions):  # routes are tried in this order
        add_endpoints(app, service)
    _add_page(app)
    describe(app, service.served)
    app.add_middleware(Gate, Tokens.read(settings.token_file), settings.max_bytes, service.counts)
    return app


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return FileResponse(PAGE / "index.html")

    app.mount("/static", StaticFiles(directory=PAGE))
