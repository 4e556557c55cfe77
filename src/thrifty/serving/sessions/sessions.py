"""Start, answer, look up and end sessions. Any worker can serve any session, because the store has its answers."""

import math
import secrets
import time
from collections import OrderedDict
from typing import Any

from thrifty.serving.problems import RefusedError, refusing
from thrifty.serving.served_model import ServedModel
from thrifty.serving.sessions.live import LiveSession
from thrifty.serving.sessions.record import Client, Record
from thrifty.serving.sessions.store import UNAVAILABLE, SessionStore, TooManySessionsError
from thrifty.stored.medium import shown

ID_BYTES = 16
MAX_LIVE = 2_000  # sessions that a worker keeps, so that a step does not replay all steps before it


class Sessions:
    """The sessions of all clients.

    Parameters
    ----------
    served : ServedModel
    store : SessionStore
    seconds : float
        How long a session lives after its last step.
    """

    def __init__(self, served: ServedModel, store: SessionStore, seconds: float):
        self._served, self._store, self._seconds = served, store, seconds
        self._live: OrderedDict[str, tuple[Record, LiveSession]] = OrderedDict()

    def start(self, client: Client, cap: float | None, budget: float | None) -> tuple[str, bytes]:
        """Start a session; return its id, and its state as JSON."""
        with refusing():
            limits = (self._served.limited(cap), budget)
            name = secrets.token_urlsafe(ID_BYTES)
            live = LiveSession(self._served, *limits, name)
        now = time.time()
        owned = (name, self._served.digest, client)
        record = Record(*owned, *limits, (), live.done, now + self._seconds)
        try:
            self._store.add(record, now)
        except TooManySessionsError as full:
            wait = max(1, math.ceil(full.until - now))
            raise RefusedError(
                429,
                f"there are too many sessions. End some with DELETE, or wait: the first expires in {wait} seconds.",
                {"Retry-After": str(wait)},
            ) from None
        self._keep(record, live)
        return record.id, live.state(record.id, record.expires)

    def state(self, client: Client, session_id: str) -> bytes:
        """Return the state of a session as JSON."""
        record = self._record(client, session_id)
        return self._at(record).state(session_id, record.expires)

    def answer(self, client: Client, session_id: str, step: int, values: dict[str, Any]) -> bytes:
        """Answer a step of a session; return its state after it, as JSON.

        The answer to the step before may be repeated: a client that did not get the reply may send it again.
        """
        if (known := self._known(client, session_id, step)) is not None:
            try:
                if (state := self._advanced(known, values)) is not None:
                    return state
            except RefusedError as refused:
                if refused.status == UNAVAILABLE:
                    raise
                # the store may know more; if not, it is refused again
        record = self._record(client, session_id)
        if step == record.step - 1 and values == record.answers[-1]:
            return self._at(record).state(session_id, record.expires)
        self._refuse_other_step(record, step)
        state = self._advanced(record, values)
        return self.answer(client, session_id, step, values) if state is None else state

    def _advanced(self, record: Record, values: dict[str, Any]) -> bytes | None:
        """Answer the present step of a record; return the state after it, or None if the store is not at this step."""
        live, now = self._at(record), time.time()
        try:
            with refusing(409 if live.done else 422):
                live.observe(values)
        except BaseException:
            del self._live[record.id]  # it may have taken a part of the values; the record has not
            raise
        answered = record.answered(values, done=live.done, expires=now + self._seconds)
        if not self._store.advance(answered, now):  # another worker was faster
            del self._live[record.id]
            return None
        self._keep(answered, live)
        return live.state(record.id, answered.expires)

    def end(self, client: Client, session_id: str) -> None:
        """Remove a session."""
        if not self._store.remove(session_id, client.owner):
            raise _unknown()
        self._live.pop(session_id, None)

    def count(self) -> int:
        """Return how many sessions there are."""
        return self._store.count(time.time())

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _record(self, client: Client, session_id: str) -> Record:
        record = self._store.get(session_id, self._served.digest, client.owner, time.time())
        if record is None:
            raise _unknown()
        return record

    def _known(self, client: Client, session_id: str, step: int) -> Record | None:
        """Return a session that this worker has served last, if it waits for a step; the store may know more."""
        record = self._live[session_id][0] if session_id in self._live else None
        if record is None or (record.client.owner, record.step) != (client.owner, step):
            return None
        return record

    def _refuse_other_step(self, record: Record, step: int) -> None:
        if step == record.step - 1:
            raise RefusedError(
                409,
                f"step {step} was answered with other values. The session waits for step {record.step}; "
                "GET it to see what was answered.",
            )
        if step != record.step:
            raise RefusedError(
                409,
                f"step is {shown(step)}, but the session waits for step {record.step}. GET the session, and go on from "
                "there.",
            )

    def _at(self, record: Record) -> LiveSession:
        """Return the session of a record, after the answers of the record."""
        known = self._live.get(record.id)
        live = None if known is None else known[1]
        if live is None or live.n_answers > record.step:
            live = LiveSession(self._served, record.cap, record.budget, record.id)
        for values in record.answers[live.n_answers :]:
            live.observe(values)
        self._keep(record, live)
        return live

    def _keep(self, record: Record, live: LiveSession) -> None:
        self._live[record.id] = record, live
        self._live.move_to_end(record.id)
        if len(self._live) > MAX_LIVE:
            self._live.popitem(last=False)


def _unknown() -> RefusedError:
    return RefusedError(404, "there is no such session, or it has expired. Start a new one with POST /sessions.")
