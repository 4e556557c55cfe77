"""The parts of a running service, from start to end: model, sessions, engine, and whether its kernels are compiled."""

import asyncio
import gc

from thrifty.models.session import drive
from thrifty.persistence.key_files import read_key
from thrifty.runtime.engine import Engine
from thrifty.runtime.telemetry.metrics import Metrics
from thrifty.serving.request_counts import RequestCounts
from thrifty.serving.rows import FEW, predict_rows
from thrifty.serving.served_model import ServedModel
from thrifty.serving.sessions.sessions import Sessions
from thrifty.serving.sessions.store import SessionStore
from thrifty.serving.settings import Settings


class Service:
    """The model of a worker, with all that serves it.

    Parameters
    ----------
    settings : Settings

    Attributes
    ----------
    counts : RequestCounts
    served : ServedModel
    sessions : Sessions
    engine : Engine or None
        None if there are no sources.
    ready : bool
        Whether the kernels are compiled.
    """

    def __init__(self, settings: Settings):
        self.settings = settings
        self.counts = RequestCounts()
        key = read_key(settings.key_file)
        self.served = ServedModel.open(settings.model, key, settings.cap, settings.examples)
        self.engine: Engine | None = None
        self.ready = False

    async def open(self) -> None:
        """Open the store and the engine, and begin to compile kernels."""
        settings = self.settings
        self.sessions = Sessions(self.served, SessionStore.open(settings), settings.session_seconds)
        self.counts.show_sessions(self.sessions.count)
        if settings.sources is not None:
            self.engine = Engine(
                self.served.model,
                settings.sources,
                deadline=settings.deadline,
                on_result=lambda result: metrics(result),  # which watch this engine, so they are made after it
            )
            metrics = Metrics(self.counts.registry, watch=self.engine.watch)
        self._warming = asyncio.create_task(self._warm())
        if settings.warm_first:
            await self._warming

    async def close(self) -> None:
        """Close the engine and the store."""
        await self._warming
        if self.engine is not None:
            await self.engine.aclose()
        self.sessions.close()

    async def _warm(self) -> None:
        await asyncio.to_thread(warm, self.served)
        gc.collect()
        gc.freeze()  # what is here stays: going through all of it again would stop requests for a tenth of a second
        self.ready = True


def warm(served: ServedModel) -> None:
    """Use the model as requests do, so that its kernels are compiled."""
    row = served.examples.valid_row()
    for n_rows in (1, FEW + 1):
        predict_rows(served, [row] * n_rows, None, None)
    session = served.model.session()
    session.answer_so_far()
    drive(session, lambda feature: row[served.names[feature]])
