"""What is stored of a session: who it belongs to, its limits, and the answers that it was given."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Client:
    """Who makes a request.

    Attributes
    ----------
    owner : str
        Whose sessions the client may see: those of its token, or all if there are no tokens.
    name : str
        For whom sessions are counted: the token, or the address if there are no tokens.
    """

    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class Record:
    """A session without the model.

    Attributes
    ----------
    id : str
    model : str
        The digest of the model that asks. Another model would ask for other values.
    client : Client
    cap : float or None
        Hard limit on the spend.
    budget : float or None
        The operating point.
    answers : tuple of dict
        The values of each step that was answered.
    done : bool
        Whether the session has ended.
    expires : float
        Unix time.
    """

    id: str
    model: str
    client: Client
    cap: float | None
    budget: float | None
    answers: tuple[dict[str, Any], ...]
    done: bool
    expires: float

    @property
    def step(self) -> int:
        """The number of the step that waits for an answer."""
        return len(self.answers)

    def answered(self, values: dict[str, Any], *, done: bool, expires: float) -> "Record":
        """Return the record after one more answer."""
        return replace(self, answers=(*self.answers, values), done=done, expires=expires)
