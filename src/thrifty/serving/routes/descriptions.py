"""The model, what each budget buys, and the state of the service."""

from fastapi import FastAPI, Request
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import PlainTextResponse, Response

from thrifty.serving.bodies import Frontier, ModelDescription, Status
from thrifty.serving.frontier import frontier
from thrifty.serving.problems import Problem
from thrifty.serving.reply import Reply
from thrifty.serving.routes.documented import gives
from thrifty.serving.service import Service


def add_descriptions(app: FastAPI, service: Service) -> None:
    """Add the endpoints of descriptions to an application."""
    model, reachable = Reply(service.served.described()), Reply(frontier(service.served))

    @app.get("/model", **gives(ModelDescription))
    async def describe_model(request: Request) -> Response:
        """Return the model: its columns with prices, its promise, its outline and its manifest."""
        return model

    @app.get("/frontier", **gives(Frontier))
    async def show_frontier(request: Request) -> Response:
        """Return the scores that can be reached for each spend."""
        return reachable

    @app.get("/healthz", **gives(Status))
    async def is_alive(request: Request) -> Response:
        """Tell that the process answers."""
        return Reply({"status": "ok"})

    @app.get("/readyz", **gives(Status, 503))
    async def is_ready(request: Request) -> Response:
        """Tell whether kernels are compiled, so that requests are answered fast."""
        if not service.ready:
            return Problem(503, "the service is starting: it compiles the kernels of the model.", {"Retry-After": "1"})
        return Reply({"status": "ready"})

    @app.get("/metrics", **gives(None) | {"response_class": PlainTextResponse})
    async def show_metrics(request: Request) -> Response:
        """Return metrics of this worker in the format of Prometheus."""
        return Response(service.counts.text(), media_type=CONTENT_TYPE_LATEST)
