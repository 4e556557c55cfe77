"""What the service is given. Worker processes get it as JSON, so it holds paths instead of what is in the files."""

import json
from dataclasses import asdict, dataclass

MIB = 2**20


@dataclass(frozen=True)
class Settings:
    """The files of the service, and its limits.

    Parameters
    ----------
    model : str
        The model file.
    key_file : str, optional
        A file with the key that the model file must be signed with.
    sources : str, optional
        A Python file that defines sources; without it there is no prediction by key.
    examples : str, optional
        A table with complete rows, which the page offers as cases.
    token_file : str, optional
        A file with bearer tokens, one per line. Without it the service is open to everyone who can reach it.
    store : str, optional
        The SQLite file that holds the sessions. Without it they are in memory, for one process only.
    cap : float, optional
        The largest cap that a client may ask for, and the cap of clients that ask for none.
    deadline : float, optional
        How many seconds a prediction by key may take.
    session_seconds : float, default=1800
        How long a session lives after its last step.
    max_sessions : int, default=10000
        How many sessions there may be.
    max_sessions_per_client : int, default=2000
        How many sessions a client may have: a token, or an address if there are no tokens.
    max_bytes : int, default=4194304
        The largest body of a request.
    max_rows : int, default=10000
        How many rows a request may have.
    warm_first : bool, default=False
        Whether a worker compiles its kernels before it takes requests. With several workers the others answer
        meanwhile; a single one takes requests at once, and `/readyz` says when it is ready.

    Examples
    --------
    >>> from thrifty.serving import Settings
    >>> settings = Settings("heart.thrifty", cap=150.0)
    >>> Settings.from_json(settings.to_json()) == settings
    True
    """

    model: str
    key_file: str | None = None
    sources: str | None = None
    examples: str | None = None
    token_file: str | None = None
    store: str | None = None
    cap: float | None = None
    deadline: float | None = None
    session_seconds: float = 1800.0
    max_sessions: int = 10_000
    max_sessions_per_client: int = 2_000
    max_bytes: int = 4 * MIB
    max_rows: int = 10_000
    warm_first: bool = False

    def to_json(self) -> str:
        """Return the settings as JSON.

        Returns
        -------
        str
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        """Return the settings that `to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        Settings
        """
        return cls(**json.loads(text))
