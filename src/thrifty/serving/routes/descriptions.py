"""The model, what each budget buys, and the state of the service."""

from typing import Any

from fastapi import APIRouter
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response

from thrifty.serving.bodies import Frontier, ModelDescription, Status
from thrifty.serving.frontier import frontier
from thrifty.serving.problems import Problem
from thrifty.serving.reply import Reply
from thrifty.serving.routes.documented import problems
from thrifty.serving.service import Service

METRICS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Metrics of this worker.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def description_routes(service: Service) -> APIRouter:
    """Return the routes of descriptions."""
    router = APIRouter(tags=["descriptions"])
    guarded = problems(body=False)
    model, reachable = service.served.described(), frontier(service.served)

    @router.get("/model", response_model=None, responses={200: {"model": ModelDescription}, **guarded})
    async def describe_model() -> Response:
        """Return the model: its columns with prices, its promise, its outline and its manifest."""
        return Reply(model)

    @router.get("/frontier", response_model=None, responses={200: {"model": Frontier}, **guarded})
    async def show_frontier() -> Response:
        """Return the scores that can be reached for each spend."""
        return Reply(reachable)

    @router.get("/healthz", response_model=None, responses={200: {"model": Status}, **problems(body=False)})
    async def is_alive() -> Response:
        """Tell that the process answers."""
        return Reply({"status": "ok"})

    @router.get("/readyz", response_model=None, responses={200: {"model": Status}, **problems(503, body=False)})
    async def is_ready() -> Response:
        """Tell whether kernels are compiled, so that requests are answered fast."""
        if not service.ready:
            return Problem(503, "the service is starting: it compiles the kernels of the model.", {"Retry-After": "1"})
        return Reply({"status": "ready"})

    @router.get("/metrics", response_model=None, responses={**METRICS, **guarded})
    async def show_metrics() -> Response:
        """Return metrics of this worker in the format of Prometheus."""
        return Response(service.counts.text(), media_type=CONTENT_TYPE_LATEST)

    return router
