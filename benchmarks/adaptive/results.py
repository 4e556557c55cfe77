"""The file of results: one JSON line per run. Of several lines of the same run, the last one counts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Result = dict[str, Any]  # problem, seed, method, settings, points, seconds, version, error, total, majority
Key = tuple[str, int, str]  # problem, seed and method


class Results:
    """Results by run, read from a file and appended to it."""

    def __init__(self, path: Path):
        self.path = Path(path)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self._by_run: dict[Key, Result] = {_key(result): result for result in map(json.loads, lines)}

    def __contains__(self, run: Key) -> bool:
        return run in self._by_run

    def __iter__(self) -> Iterator[Result]:
        return iter(self._by_run.values())

    def append(self, result: Result) -> None:
        """Add a result, also to the file."""
        self._by_run[_key(result)] = result
        with self.path.open("a") as file:
            file.write(json.dumps(result) + "\n")

    def of(self, problem: str, method: str) -> dict[int, Result]:
        """Return the results of a method by seed, if they have at least one point."""
        return {
            seed: result
            for (its_problem, seed, its_method), result in sorted(self._by_run.items())
            if (its_problem, its_method) == (problem, method) and result["points"]
        }


def _key(result: Result) -> Key:
    return result["problem"], result["seed"], result["method"]
