"""Predictions: by key from sources, or of rows with given values."""

import logging
from typing import Any

import anyio
from anyio import CapacityLimiter
from fastapi import FastAPI, Request
from starlette.responses import Response

from thrifty.serving.bodies import ByKey, KeyPrediction, RowPredictions, Rows
from thrifty.serving.problems import RefusedError, refusing
from thrifty.serving.reply import Reply
from thrifty.serving.routes.documented import takes
from thrifty.serving.routes.reading import body_of, content_of, read
from thrifty.serving.rows import predict_rows
from thrifty.serving.service import Service

BATCHES_AT_A_TIME = 2
SMALL = 8_192  # bytes of a body whose rows do not keep other requests waiting


def add_predictions(app: FastAPI, service: Service) -> None:
    """Add the endpoints of predictions to an application."""
    limiter = CapacityLimiter(BATCHES_AT_A_TIME)

    @app.post("/predict/rows", **takes(Rows, RowPredictions))
    async def predict_given_rows(request: Request) -> Response:
        """Predict rows with given values. A value that the model does not ask for is not read and not charged."""
        content = await content_of(request)
        if len(content) <= SMALL:  # a thread would take longer than the prediction
            return predicted(service, content)
        return await anyio.to_thread.run_sync(predicted, service, content, limiter=limiter)

    @app.post("/predict", **takes(ByKey, KeyPrediction, 503))
    async def predict_by_key(request: Request) -> Response:
        """Predict the row of a key. The service fetches what the model asks for, and nothing else."""
        body = await body_of(request, ByKey)
        if service.engine is None:
            raise RefusedError(
                503, "the service has no sources, so it cannot predict by key. Start it with --sources, or POST rows."
            )
        with refusing():
            cap = service.served.limited(body.cap)
        result = await service.engine.apredict(body.key, cap)
        return Reply(_without_error_texts(result.as_dict()))


def predicted(service: Service, content: bytes) -> Response:
    """Return the reply to a body with rows."""
    body = read(content, Rows)
    if len(body.rows) > service.settings.max_rows:
        raise RefusedError(
            422, f"there are {len(body.rows):,} rows; expected at most {service.settings.max_rows:,}. Send fewer."
        )
    with refusing():
        return Reply(predict_rows(service.served, body.rows, body.cap, body.budget))


def _without_error_texts(result: dict[str, Any]) -> dict[str, Any]:
    """Log the errors of sources, and leave their texts out: they can show queries, addresses or secrets."""
    for call in (call for step in result["steps"] for call in step["calls"] if call["error"]):
        logging.getLogger("thrifty").warning("source %s: %s: %s", call["source"], call["outcome"], call["error"])
        call["error"] = f"{call['outcome']}; the log of the service says more"
    return result
