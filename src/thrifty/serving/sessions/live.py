"""A session of the model, driven by answers, and its state as JSON. Past steps are encoded once."""

from collections.abc import Mapping
from typing import Any

from thrifty.costs import Ledger
from thrifty.exceptions import SessionError
from thrifty.models.row_positions import position_of
from thrifty.models.session import Acquire, Stop
from thrifty.serving.reply import encoded
from thrifty.serving.served_model import ServedModel

DECIMALS = 9  # of differences between amounts


class LiveSession:
    """A session of the model. It has the same state wherever the same answers are replayed.

    Parameters
    ----------
    served : ServedModel
    cap : float or None
        Hard limit on the spend.
    budget : float or None
        The operating point.
    name : str
        A mixture of models answers sessions of one name always with the same model.
    """

    def __init__(self, served: ServedModel, cap: float | None, budget: float | None, name: str):
        self._served, self._limits = served, {"cap": cap, "budget": budget}
        self._session = served.at(budget).for_positions([position_of(name)]).session(cap)
        self._ledger = Ledger(served.model.cost_model_)
        self._history: list[str] = []  # JSON of the steps that were answered
        self._go_on()

    @property
    def n_answers(self) -> int:
        """The number of answers so far."""
        return len(self._history)

    @property
    def done(self) -> bool:
        """Whether the session has ended."""
        return isinstance(self._step, Stop)

    def observe(self, values: Mapping[str, Any]) -> None:
        """Take the values of the present step; raise SessionError if they are not what it asks for."""
        if isinstance(self._step, Stop):
            raise SessionError("the session has ended. Read its result, or start a new session.")
        names = {self._served.names[feature]: feature for feature in self._step.features}
        if unasked := [name for name in values if name not in names]:
            raise SessionError(f"observed {unasked}, but the step asks for {list(names)}. Pass what it asks for.")
        if missing := [name for name in names if name not in values]:
            raise SessionError(f"{missing[0]!r} is missing. Pass its value, or null if it is unavailable.")
        self._session.observe({feature: values[name] for name, feature in names.items()})
        past = {"step": self.n_answers, "features": list(names), "values": dict(values)}
        past |= {"cost": self._step.cost, "explanation": self._step.explanation}
        self._go_on()
        self._history.append(encoded(past | {"belief": self._belief}))

    def _go_on(self) -> None:
        """Plan the next step, and what the model would answer before it."""
        self._step = self._session.next()
        self._so_far = self._session.answer_so_far()
        self._belief = self._served.belief(self._so_far)
        asked = self._step.features if isinstance(self._step, Acquire) else ()
        self._asks = [self._ask(feature) for feature in asked]

    def _ask(self, feature: Any) -> dict[str, Any]:
        name, price = self._served.names[feature], self._ledger.buy(self._served.positions[feature])
        return {"feature": name, "price": price} | self._served.kinds[name]

    def state(self, session_id: str, expires: float) -> bytes:
        """Return all that a client can know about the session, as JSON."""
        present = encoded(self._present(session_id, expires))
        return f'{present[:-1]},"history":[{",".join(self._history)}]}}'.encode()

    def _present(self, session_id: str, expires: float) -> dict[str, Any]:
        """Return the state without the past steps."""
        step, spend = self._step, float(self._session.spend)
        asking = isinstance(step, Acquire)
        return {
            "id": session_id,
            "step": self.n_answers,
            "status": "asking" if asking else "done",
            "asks": self._asks,
            "cost": float(step.cost) if isinstance(step, Acquire) else 0.0,
            "explanation": step.explanation,
            "spend": spend,
            "saved": max(round(self._served.model.cost_model_.total - spend, DECIMALS), 0.0),
            "belief": self._belief,
            "path": self._served.paths.of(self._so_far),
            "expires": expires,
            **self._limits,
            "result": None if isinstance(step, Acquire) else self._result(step),
        }

    def _result(self, stop: Stop) -> dict[str, Any]:
        return self._served.answer(stop) | {"reason": stop.reason, "explanation": stop.explanation}
