"""A client of the HTTP service: predictions, and sessions with the same interface as sessions of a local model.

with Client("http://localhost:8000") as client:
    session = client.session(cap=150)
    while isinstance(step := session.next(), Acquire):
        session.observe({feature: fetch(feature) for feature in step.features})
    step.prediction
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from thrifty.exceptions import MissingExtraError, ServiceError, SessionError
from thrifty.models.session import Acquire, Feature, Session, Stop, refusal
from thrifty.models.tables.fields import is_missing
from thrifty.runtime.trace import Result, plain

if TYPE_CHECKING:
    import httpx

LONGEST_PAUSE = 2.0  # seconds between two attempts
ABOUT_A_SESSION = (404, 409, 422)  # a session is gone, or does not accept an answer: SessionError, as of a local one
NOT_NOW = (502, 503, 504)  # from a proxy whose worker is gone


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction of a row with given values.

    Attributes
    ----------
    prediction : object
        The prediction.
    probability : dict or None
        The probability of each class, by the text of the class; None if the model has no probabilities.
    score : float or list
        What the prediction is made from.
    spend : float
        What the row is charged.
    acquired : list of str
        The columns that the model asked for.
    exit : int
        Where the row ended in the model.
    """

    prediction: Any
    probability: dict[str, float] | None
    score: Any
    spend: float
    acquired: list[str]
    exit: int


class Client:
    """A client of a service that ``thrifty serve`` runs.

    A request whose reply is lost is sent again, if that is harmless: a step of a session is charged once, however often
    its answer arrives. A prediction by key is not sent again, because its sources may charge for every call.

    Parameters
    ----------
    base_url : str
        The address of the service, such as "http://localhost:8000".
    token : str, optional
        The bearer token, if the service needs one.
    timeout : float, default=30.0
        How many seconds a request may take.
    retries : int, default=5
        How often a request is sent again. Before retry k = 0, 1, ... the client waits a random time between 0 and
        min(2, 0.1 * 2**k) seconds.

    Examples
    --------
    >>> from thrifty.client import Client
    >>> Client("http://localhost:8000", retries=0)
    Client('http://localhost:8000')
    >>> Client("http://localhost:1", retries=0).predict(17)
    Traceback (most recent call last):
    thrifty.exceptions.ServiceError: http://localhost:1/predict: the service cannot be reached (...). Check the address.
    """

    def __init__(self, base_url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = 5):
        self._httpx = _httpx()
        self._url, self._retries = base_url.rstrip("/"), retries
        headers = {} if token is None else {"Authorization": f"Bearer {_checked(token)}"}
        self._http: httpx.Client = self._httpx.Client(base_url=self._url, headers=headers, timeout=timeout)

    def predict(self, key: Any, cap: float | None = None) -> Result:
        """Predict one row by key, from the sources of the service.

        Parameters
        ----------
        key : int or str
            What sources know the row by.
        cap : float, optional
            Hard limit on the spend of the row.

        Returns
        -------
        Result
        """
        return Result.from_dict(self._post("/predict", {"key": plain(key), "cap": cap}, harmless=False))

    def predict_rows(
        self, rows: Sequence[Mapping[str, Any]], cap: float | None = None, budget: float | None = None
    ) -> list[Prediction]:
        """Predict rows with given values.

        Parameters
        ----------
        rows : sequence of dict
            ``{feature: value}`` for each row. None or NaN says that a value is unavailable.
        cap : float, optional
            Hard limit on the spend of each row.
        budget : float, optional
            Bound on the mean spend per row, for models with operating points.

        Returns
        -------
        list of Prediction
            In the order of the rows.
        """
        values = [{name: _sent(name, value) for name, value in row.items()} for row in rows]
        reply = self._post("/predict/rows", {"rows": values, "cap": cap, "budget": budget})
        return [Prediction(**each) for each in reply["predictions"]]

    def session(self, cap: float | None = None, budget: float | None = None) -> RemoteSession:
        """Start the acquisition of one row whose features are fetched when the model asks for them.

        Parameters
        ----------
        cap : float, optional
            Hard limit on what the session may spend.
        budget : float, optional
            The operating point: a bound on the mean spend, for models that have several.

        Returns
        -------
        RemoteSession
            Driven by ``next()`` and ``observe()``, as a session of a local model.
        """
        return RemoteSession(self, self._post("/sessions", {"cap": cap, "budget": budget}))

    def resume(self, session_id: str) -> RemoteSession:
        """Return a session that was started before.

        Parameters
        ----------
        session_id : str
            The id of the session.

        Returns
        -------
        RemoteSession
        """
        return RemoteSession(self, self._get(f"/sessions/{quote(session_id, safe='')}"))

    def model(self) -> dict[str, Any]:
        """Return the description of the model: its columns, prices, promise and outline.

        Returns
        -------
        dict
        """
        return self._get("/model")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    # Requests

    def _get(self, path: str) -> Any:
        return self._reply("GET", path).json()

    def _post(self, path: str, body: dict[str, Any], *, harmless: bool = True) -> Any:
        known = {name: value for name, value in body.items() if value is not None}
        for name in ("cap", "budget"):
            if isinstance(limit := known.get(name), float) and not math.isfinite(limit):
                raise ValueError(f"Client: {name} is {limit}; expected a finite number of at least 0.")
        return self._reply("POST", path, json=known, harmless=harmless).json()

    def _reply(self, method: str, path: str, *, harmless: bool = True, **options: Any) -> httpx.Response:
        """Make a request, again if its reply is lost; raise an error if it is refused."""
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            try:
                response = self._http.request(method, path, **options)
            except self._httpx.TransportError as error:
                unsent = isinstance(error, self._httpx.ConnectError | self._httpx.ConnectTimeout)
                if last or not (harmless or unsent):
                    raise _unreachable(f"{self._url}{path}", error) from error
            else:
                if last or not harmless or response.status_code not in NOT_NOW:
                    break
            time.sleep(random.uniform(0.0, min(LONGEST_PAUSE, 0.1 * 2**attempt)))
        if response.is_error:
            raise _refused(response, path)
        return response


class RemoteSession(Session):
    """A session of a service, with the interface of a local one. `Client.session` starts it.

    Parameters
    ----------
    client : Client
    state : dict
        The state that the service replied.

    Attributes
    ----------
    id : str
        The id of the session, for `Client.resume`.
    spend : float
        What has been charged so far.
    state : dict
        All that the service says about the session: its history, what it would answer now, when it expires.
    """

    def __init__(self, client: Client, state: dict[str, Any]):
        super().__init__()
        self._client, self.state = client, state
        self.id: str = state["id"]
        self.spend = state["spend"]

    def end(self) -> None:
        """Remove the session from the service."""
        self._client._reply("DELETE", f"/sessions/{self.id}")

    def _plan(self) -> Acquire | Stop:
        state = self.state
        if (result := state["result"]) is None:
            return Acquire(tuple(ask["feature"] for ask in state["asks"]), state["cost"], state["explanation"])
        return Stop(*(result[name] for name in ("prediction", "score", "exit", "reason", "explanation")))

    def _read_all(self, features: Sequence[Feature], values: list[Any]) -> list[Any]:
        return [self._read(feature, value) for feature, value in zip(features, values, strict=True)]

    def _read(self, feature: Feature, value: Any) -> Any:
        return _sent(feature, value)

    def _receive(self, values: list[Any]) -> None:
        asked = [ask["feature"] for ask in self.state["asks"]]
        answer = {"step": self.state["step"], "values": dict(zip(asked, values, strict=True))}
        self.state = self._client._post(f"/sessions/{self.id}", answer)
        self.spend = self.state["spend"]


def _sent(feature: Feature, value: Any) -> Any:
    """Return a value in the types of JSON; what is missing is None."""
    if is_missing(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        raise refusal(feature, value, "a finite number")
    return plain(value)


def _checked(token: str) -> str:
    """Return a token without the line end of the file that it was read from."""
    token = token.strip()
    if not (token.isascii() and token.isprintable()):
        raise ValueError("Client: token is not valid; expected ASCII characters. Pass a line of the file of tokens.")
    return token


def _unreachable(url: str, error: Exception) -> ServiceError:
    reason = str(error).rstrip(".") or type(error).__name__
    return ServiceError(f"{url}: the service cannot be reached ({reason}). Check the address.")


def _refused(response: httpx.Response, path: str) -> Exception:
    """Return the error that a reply stands for, with the sentence of the service."""
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        status = response.status_code
        detail = f"{response.url}: the reply has status {status}, and is not from thrifty. Check the address."
    if path.startswith("/sessions") and response.status_code in ABOUT_A_SESSION:
        return SessionError(detail)
    return ServiceError(detail, response.status_code)


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("Client needs httpx. Run: pip install 'thrifty[http]'") from error
    return httpx
