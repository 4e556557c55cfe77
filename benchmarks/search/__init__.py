"""The search of this version against another one: held-out score, share of the budget used, promises kept, seconds.

    python -m benchmarks search                                     run what is missing, and print a table
    THRIFTY_OTHER=/path/to/checkout python -m benchmarks search     the same, also with a checkout of another version

Every run is a process of its own (`run.py`) and appends one JSON line per budget to a file in the temporary folder.
Runs whose lines are there already are not repeated. A run that needs more CPU time than the limit is ended, and counts
as one that did not end; it has no score. In the environment, THRIFTY_CPU_LIMIT changes the limit (seconds),
THRIFTY_TABLES the tables and THRIFTY_SPLITS the number of splits.
"""

import json
import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from benchmarks.report import table

TABLES = os.environ.get("THRIFTY_TABLES", "heart bupa pima thyroid spambase covtype mq2008").split()
SEEDS, SHARES = range(int(os.environ.get("THRIFTY_SPLITS", 5))), (0.15, 0.4)  # shares of the cost of all columns
CPU_LIMIT = int(os.environ.get("THRIFTY_CPU_LIMIT", 900))  # seconds for all budgets of a split
HERE = Path(__file__).resolve().parents[2]


def main() -> None:
    """Run what is missing, and compare."""
    versions = {"this": HERE} | ({"other": Path(os.environ["THRIFTY_OTHER"])} if "THRIFTY_OTHER" in os.environ else {})
    for seed, name in product(SEEDS, TABLES):
        for version, checkout in versions.items():
            _run(version, checkout, name, seed)
    this, other = (_results(version) for version in ("this", "other"))
    rows = [_row(name, this, other) for name in TABLES if any(key[0] == name for key in this)]
    columns = ("", "ended", "other", "score", "other", "spend / budget", "other", "kept", "other", "CPU s", "other")
    table("Search: means over splits and budgets; a third of the rows is held out", columns, rows)


def _path(version: str) -> Path:
    return Path(gettempdir(), f"thrifty_search_{version}.jsonl")


def _results(version: str) -> dict[tuple[str, int, float], dict]:
    lines = _path(version).read_text().splitlines() if _path(version).exists() else []
    found = [json.loads(line) for line in lines]
    return {(each["table"], each["seed"], round(each["share"], 6)): each for each in found}


def _run(version: str, checkout: Path, name: str, seed: int) -> None:
    missing = [share for share in SHARES if (name, seed, share) not in _results(version)]
    if not missing:
        return
    script = Path(__file__).with_name("run.py")
    command = [sys.executable, str(script), name, str(seed), str(CPU_LIMIT), *map(str, missing)]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    with _path(version).open("a") as lines:
        done = subprocess.run(command, stdout=lines, env=environment, check=False)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        with _path(version).open("a") as lines:
            for share in missing:
                if (name, seed, share) not in _results(version):
                    print(json.dumps({"table": name, "seed": seed, "share": share, "limit": CPU_LIMIT}), file=lines)


def _row(name: str, this: dict, other: dict) -> tuple:
    keys = [key for key in this if key[0] == name and (not other or key in other)]
    both = [key for key in keys if all("score" in results[key] for results in (this, other) if results)]
    cells: list[str] = []
    for results in (this, other):
        ended = sum("score" in results[key] for key in keys if results)
        cells.append(f"{ended} of {len(keys)}" if results else "")
    for value, form in ((_score, "{:.3f}"), (_spend, "{:.2f}"), (_kept, "{:.0%}"), (_seconds, "{:.0f}")):
        for results in (this, other):
            cells.append(form.format(np.mean([value(results[key]) for key in both])) if results and both else "")
    return (name, *cells)


def _score(line: dict) -> float:
    return line["score"]


def _spend(line: dict) -> float:
    return line["spend"]


def _kept(line: dict) -> float:
    return float(line["spend"] <= 1.0)


def _seconds(line: dict) -> float:
    return line["seconds"]
