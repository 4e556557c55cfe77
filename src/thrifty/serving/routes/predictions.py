"""Predictions: by key from sources, or of rows with given values."""

import anyio
from anyio import CapacityLimiter
from fastapi import APIRouter
from starlette.responses import Response

from thrifty.serving.bodies import ByKey, KeyPrediction, RowPredictions, Rows
from thrifty.serving.problems import RefusedError, refusing
from thrifty.serving.reply import Reply
from thrifty.serving.routes.documented import problems
from thrifty.serving.rows import FEW, predict_rows
from thrifty.serving.service import Service, engine_of

BATCHES_AT_A_TIME = 2


def prediction_routes(service: Service) -> APIRouter:
    """Return the routes of predictions."""
    router, limiter = APIRouter(tags=["predictions"]), CapacityLimiter(BATCHES_AT_A_TIME)

    @router.post("/predict", response_model=None, responses={200: {"model": KeyPrediction}, **problems(503)})
    async def predict_by_key(body: ByKey) -> Response:
        """Predict the row of a key. The service fetches what the model asks for, and nothing else."""
        engine = engine_of(service)
        with refusing():
            cap = service.served.limited(body.cap)
        return Reply((await engine.apredict(body.key, cap)).as_dict())

    @router.post("/predict/rows", response_model=None, responses={200: {"model": RowPredictions}, **problems()})
    async def predict_given_rows(body: Rows) -> Response:
        """Predict rows with given values. A value that the model does not ask for is not read and not charged."""
        if len(body.rows) > service.settings.max_rows:
            raise RefusedError(
                422, f"there are {len(body.rows):,} rows; expected at most {service.settings.max_rows:,}. Send fewer."
            )
        with refusing():
            given = (service.served, body.rows, body.cap, body.budget)
            if len(body.rows) <= FEW:  # a thread would take longer than the prediction
                return Reply(predict_rows(*given))
            return Reply(await anyio.to_thread.run_sync(predict_rows, *given, limiter=limiter))

    return router
