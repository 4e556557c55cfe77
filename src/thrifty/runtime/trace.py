"""The result of a prediction by an engine, and its trace: what was asked for, from where, for how much, how long."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from thrifty.exceptions import SourceError

MADE = ("ok", "missing", "failed", "timeout", "invalid")  # outcomes of calls that reached their source
FAILED = ("missing", "failed", "timeout", "invalid", "refused", "deadline")  # outcomes that degrade a row


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a source for one row.

    Attributes
    ----------
    source : str
        The name of the source.
    features : tuple of str
        The features that the model asked for.
    outcome : str
        "ok"; "cached"; "missing" (the source has no record for the key); "failed"; "timeout"; "invalid" (a value has
        the wrong type); "refused" (the circuit breaker is open, and the call was not made); "deadline" (the deadline
        of the row passed before the call or during it).
    cost : float
        What the row is charged for these features.
    started : float
        Seconds since the row began.
    elapsed : float
        How many seconds the call took; 0 if an earlier call of the row had brought the features.
    attempts : int
        How often it was tried; 0 if no call was made for these features.
    n_rows : int
        How many different keys the call had.
    error : str
        What went wrong; otherwise empty.
    values : dict or None
        The value of each feature that was asked for, None if it is unavailable. A feature that is redacted is left
        out; None if all are.
    """

    source: str
    features: tuple[str, ...]
    outcome: str
    cost: float
    started: float
    elapsed: float
    attempts: int
    n_rows: int
    error: str
    values: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the model: the features that it asked for together.

    Attributes
    ----------
    features : tuple of str
        The features.
    cost : float
        What the model announced for the step.
    explanation : str
        Why the model asked for them, if it can tell; otherwise empty.
    calls : tuple of Call
        The calls that were made for the step, or that could not be made.
    """

    features: tuple[str, ...]
    cost: float
    explanation: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """All steps of one row.

    Attributes
    ----------
    key : object
        The key of the row.
    steps : tuple of Step
        The steps, in order.
    """

    key: Any
    steps: tuple[Step, ...]

    @property
    def calls(self) -> Iterator[Call]:
        """The calls of all steps, in order."""
        return (call for step in self.steps for call in step.calls)


@dataclass(frozen=True, slots=True)
class Result:
    """The prediction of an engine for one key.

    Attributes
    ----------
    key : object
        The key of the row.
    prediction : object
        The prediction.
    probability : dict or None
        The probability of each class; None if the model predicts a number, or no probabilities.
    score : float or list
        What the prediction is made from.
    spend : float
        What the row is charged.
    elapsed : float
        Seconds from the question to the answer.
    degraded : bool
        Whether a source failed, or the deadline passed, so that the model did not get all that it asked for.
    exit : int
        Where the row ended in the model.
    reason : {"done", "cap", "deadline"}
        Why it ended.
    model : str
        The name of the class of the model.
    trace : Trace
        What was asked for, from where, for how much, and how long it took.
    """

    key: Any
    prediction: Any
    probability: dict[Any, float] | None
    score: Any
    spend: float
    elapsed: float
    degraded: bool
    exit: int
    reason: str
    model: str
    trace: Trace

    def as_dict(self) -> dict[str, Any]:
        """Return the result and its trace as plain values, ready for JSON.

        Returns
        -------
        dict
        """
        record = {name: plain(getattr(self, name)) for name in self.__slots__ if name != "trace"}
        return record | {"steps": [plain(asdict(step)) for step in self.trace.steps]}

    def to_json(self) -> str:
        """Return the result and its trace as one line of JSON.

        Returns
        -------
        str
        """
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Result:
        """Return the result that `as_dict` described.

        Parameters
        ----------
        record : dict

        Returns
        -------
        Result
        """
        try:
            steps = tuple(_step(each) for each in record["steps"])
            fields = {name: record[name] for name in cls.__slots__ if name != "trace"}
        except (KeyError, TypeError, AttributeError) as error:
            raise SourceError(f"a trace is not complete ({type(error).__name__}: {error}).") from error
        return cls(**fields, trace=Trace(record["key"], steps))


class TraceFile:
    """Writes results as JSON lines: pass it to an engine as `on_result`.

    Parameters
    ----------
    path : path-like
        The file; lines are added at its end.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from thrifty.runtime import Result, Trace, TraceFile, read_traces
    >>> result = Result("a17", "no", None, -1.5, 2.0, 0.01, False, 0, "done", "ASTCClassifier", Trace("a17", ()))
    >>> with TemporaryDirectory() as folder:
    ...     with TraceFile(f"{folder}/traces.jsonl") as traces:
    ...         traces(result)
    ...     list(read_traces(f"{folder}/traces.jsonl")) == [result]
    True
    """

    def __init__(self, path: str | PathLike[str]):
        self._lock = Lock()
        self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115  it stays open until close

    def __call__(self, result: Result) -> None:
        """Write a result as one line."""
        line = f"{result.to_json()}\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def read_traces(path: str | PathLike[str]) -> Iterator[Result]:
    """Read the results that a `TraceFile` wrote, one at a time.

    Parameters
    ----------
    path : path-like
        A file of JSON lines.

    Yields
    ------
    Result
    """
    with Path(path).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield Result.from_dict(json.loads(line))
            except (ValueError, SourceError) as error:
                raise SourceError(f"{path}: line {number} is not a trace: {error}") from error


def plain(value: Any) -> Any:
    """Return a value in the types of JSON: NaN and infinity become None, other types their text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def _step(record: Mapping[str, Any]) -> Step:
    calls = tuple(Call(**(each | {"features": tuple(each["features"])})) for each in record["calls"])
    return Step(tuple(record["features"]), record["cost"], record["explanation"], calls)
