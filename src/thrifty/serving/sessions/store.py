"""Where sessions are stored: SQLite, in memory for one process, or in a file that several workers share.

A step is one UPDATE that names the step before it. If two workers answer the same step at the same time, one of them
changes no line, so a step is charged once.
"""

import json
import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thrifty.serving.problems import RefusedError
from thrifty.serving.sessions.record import Client, Record
from thrifty.serving.settings import Settings

SECONDS_TO_WAIT = 5.0  # for a lock that another worker holds
PASSING = {  # errors of a file that can be used again later
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
}
ALL = "*"  # the line of `counts` that counts the sessions of all clients
UNAVAILABLE = 503  # the status of a request that finds the file locked or full
IN_MEMORY = ":memory:"
OURS = int.from_bytes(b"thr\x03")  # the application id of the files: three letters, and the version of the schema
SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, model TEXT, owner TEXT, client TEXT, cap REAL, budget REAL,
    step INTEGER, answers TEXT, -- JSON, a line for each step
    done INTEGER, expires REAL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_expiry ON sessions (expires);
CREATE INDEX IF NOT EXISTS ended ON sessions (client, expires) WHERE done = 1;

-- SQLite would read all lines to count them
CREATE TABLE IF NOT EXISTS counts (client TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS one_more AFTER INSERT ON sessions BEGIN
    INSERT INTO counts VALUES ('*', 1), (new.client, 1) ON CONFLICT (client) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER IF NOT EXISTS one_less AFTER DELETE ON sessions BEGIN
    UPDATE counts SET n = n - 1 WHERE client IN ('*', old.client);
    DELETE FROM counts WHERE client = old.client AND n = 0;
END;
"""


class TooManySessionsError(Exception):
    """There are as many sessions as allowed; `until` is the time when the first of them expires."""

    def __init__(self, until: float):
        super().__init__()
        self.until = until


class SessionStore:
    """Sessions by id.

    Parameters
    ----------
    path : str, optional
        The SQLite file; without it sessions are in memory.
    max_total : int
        How many sessions there may be.
    max_per_client : int
        How many sessions a client may have.
    """

    def __init__(self, path: str | None = None, *, max_total: int, max_per_client: int):
        self._limits = (max_total, max_per_client)
        self._database = sqlite3.connect(
            IN_MEMORY if path is None else _private_file(path),
            timeout=SECONDS_TO_WAIT,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=32,
        )
        self._prepare()

    @classmethod
    def open(cls, settings: Settings) -> "SessionStore":
        """Open the store of a service; raise ValueError if its file cannot be used."""
        limits = {"max_total": settings.max_sessions, "max_per_client": settings.max_sessions_per_client}
        try:
            return cls(settings.store, **limits)
        except (sqlite3.Error, OSError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise ValueError(
                f"--store {settings.store}: the file cannot be used ({reason}). Pass the path of a new file, or of one "
                "that a service has written."
            ) from error

    def _prepare(self) -> None:
        try:
            self._refuse_foreign()
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = OFF")  # sessions have to outlive a process, not the machine
            self._database.executescript(SCHEMA)
        except BaseException:
            self.close()
            raise

    def _refuse_foreign(self) -> None:
        """Raise an error if the file belongs to another program, or to another version of this one."""
        if self._database.execute("PRAGMA application_id").fetchone() == (OURS,):
            return
        if self._database.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise sqlite3.DatabaseError("it is a database of another program or version")
        self._database.execute(f"PRAGMA application_id = {OURS}")

    def add(self, record: Record, now: float) -> None:
        """Store a new session. If there are too many, remove one that has ended, or raise an error."""
        with self._transaction():
            self._execute("DELETE FROM sessions WHERE expires <= ?", (now,))
            for limit, client in zip(self._limits, (ALL, record.client.name), strict=True):
                if self._counted(client) >= limit:
                    self._make_room(client)
            self._execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _line(record))

    def _make_room(self, client: str) -> None:
        where, who = ("1", ()) if client == ALL else ("client = ?", (client,))
        ended = f"SELECT id FROM sessions WHERE {where} AND done = 1 ORDER BY expires LIMIT 1"
        if not self._execute(f"DELETE FROM sessions WHERE id IN ({ended})", who).rowcount:
            first = self._execute(f"SELECT min(expires) FROM sessions WHERE {where}", who).fetchone()
            raise TooManySessionsError(first[0])

    def get(self, session_id: str, model: str, owner: str, now: float) -> Record | None:
        """Return a session with a model, of an owner; None if there is none, or if it has expired."""
        found = self._execute(
            "SELECT client, cap, budget, answers, done, expires FROM sessions "
            "WHERE id = ? AND model = ? AND owner = ? AND expires > ?",
            (session_id, model, owner, now),
        ).fetchone()
        if found is None:
            return None
        client, cap, budget, answers, done, expires = found
        known = (session_id, model, Client(owner, client), cap, budget)
        return Record(*known, tuple(map(json.loads, answers.splitlines())), bool(done), expires)

    def advance(self, record: Record, now: float) -> bool:
        """Store a session after one more answer; return whether it was there, at the step before."""
        after = (record.step, _as_line(record.answers[-1]), record.done, record.expires)
        changed = self._execute(
            "UPDATE sessions SET step = ?, answers = answers || ?, done = ?, expires = ? "
            "WHERE id = ? AND step = ? AND expires > ?",
            (*after, record.id, record.step - 1, now),
        )
        return changed.rowcount == 1

    def remove(self, session_id: str, owner: str) -> bool:
        """Remove a session of an owner; return whether there was one."""
        return self._execute("DELETE FROM sessions WHERE id = ? AND owner = ?", (session_id, owner)).rowcount == 1

    def count(self, now: float) -> int:
        """Return how many sessions there are."""
        return self._execute("SELECT count(*) FROM sessions WHERE expires > ?", (now,)).fetchone()[0]

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _counted(self, client: str) -> int:
        found = self._execute("SELECT n FROM counts WHERE client = ?", (client,)).fetchone()
        return found[0] if found else 0

    def _execute(self, query: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute a statement; raise RefusedError if the file is locked, full or read-only."""
        try:
            return self._database.execute(query, parameters)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in PASSING:  # further bits tell details
                raise
            logging.getLogger("thrifty").warning("the file of the sessions: %s", error)
            raise RefusedError(
                UNAVAILABLE,
                "the service cannot store sessions now. Its log has the reason. Try again.",
                {"Retry-After": "1"},
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:  # SQLite ends it by itself if the disk is full
                self._execute("ROLLBACK")
            raise


def _private_file(path: str) -> str:
    """Make a file that only this user can read, because it holds values; leave one that exists as it is."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    return os.path.abspath(path)  # SQLite would take some words, such as ":memory:", for something else than a file


def _as_line(values: dict[str, Any]) -> str:
    return json.dumps(values) + "\n"


def _line(record: Record) -> tuple[Any, ...]:
    client, answers = record.client, "".join(map(_as_line, record.answers))
    limits = (record.cap, record.budget)
    return (
        record.id,
        record.model,
        client.owner,
        client.name,
        *limits,
        record.step,
        answers,
        record.done,
        record.expires,
    )
