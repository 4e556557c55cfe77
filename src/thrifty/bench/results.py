"""The file of results: one JSON line per run. Of several lines of the same run, the last one counts."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from thrifty.bench.runs import Key


@dataclass(frozen=True)
class Result:
    """What a run measured, and where.

    Attributes
    ----------
    key : Key
    values : dict
        What the run returned; empty after an error.
    cpu_seconds, seconds : float
        CPU time and time of the clock.
    error : str
        Why there are no values; empty if there are.
    settings, versions, machine : dict
        The settings of the run; versions of packages; processor and number of cores.
    """

    key: Key
    values: Mapping[str, Any]
    cpu_seconds: float = 0.0
    seconds: float = 0.0
    error: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)

    def to_line(self) -> str:
        """Return the result as one line of JSON.

        >>> line = Result(Key("pima", 0, "full"), {"accuracy": 0.75}).to_line()
        >>> Result.from_line(line).values
        {'accuracy': 0.75}
        """
        found = asdict(self)
        return json.dumps({**found.pop("key")._asdict(), **found})

    @classmethod
    def from_line(cls, line: str) -> "Result":
        """Return the result of a line; fields that other versions add are left out."""
        found = json.loads(line)
        key = Key(**{name: found.pop(name) for name in Key._fields})
        return cls(key, **{each.name: found[each.name] for each in fields(cls) if each.name in found})


class Results:
    """Results by run, read from a file and appended to it. Without a file they are kept in memory only.

    Attributes
    ----------
    path : Path or None
    left_out : dict
        Runs that could not be computed because data or a package are missing, and why. They are not in the file.
    """

    def __init__(self, path: str | Path | None = None):
        self.path = None if path is None else Path(path)
        self.left_out: dict[Key, str] = {}
        self._by_key: dict[Key, Result] = {}
        self._unfinished: int | None = None  # where a line begins that was not written to its end
        if self.path is not None and self.path.exists():
            content = self.path.read_bytes()
            end = content.rfind(b"\n") + 1
            for number, line in enumerate(content[:end].splitlines(), start=1):
                self._keep(_read(line, f"{self.path}, line {number}"))
            self._unfinished = end if content[end:] else None

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Result]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def __getitem__(self, key: Key) -> Result:
        return self._by_key[key]

    def append(self, result: Result) -> None:
        """Add a result, also to the file."""
        self._keep(result)
        if self.path is not None:
            self.open()
            with self.path.open("a", encoding="utf-8") as file:
                file.write(result.to_line() + "\n")

    def open(self) -> None:
        """Make the file if it does not exist, and remove a line that was not written to its end.

        The run of such a line counts as missing, and a later call computes it again.
        """
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            if self._unfinished is not None:
                file.truncate(self._unfinished)
        self._unfinished = None

    def of(self, name: str, setting: str | None = None, *, full: bool | None = None) -> list[Result]:
        """Return the results of a problem or reproduction that have values, in the order of seeds and settings.

        Where both a full and a quick run have results, the full ones count; `full` asks for one of them.
        """
        found = [result for key, result in sorted(self._by_key.items()) if key.name == name and result.values]
        if full is None:
            full = any(result.key.full for result in found)
        return [each for each in found if each.key.full == full and setting in (None, each.key.setting)]

    def reasons(self) -> dict[str, list[Key]]:
        """Return why runs are left out: each reason once, with its runs."""
        found: dict[str, list[Key]] = {}
        for key, why in self.left_out.items():
            found.setdefault(why, []).append(key)
        return found

    def _keep(self, result: Result) -> None:
        self._by_key[result.key] = result


def _read(line: bytes, place: str) -> Result:
    try:
        return Result.from_line(line.decode())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{place}: this is not a result of thrifty bench. Remove the line, or name another file with --results."
        ) from error
