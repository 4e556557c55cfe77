"""The search of this version against another one: held-out score, share of the budget used, promises kept, seconds.

    python -m benchmarks search                                     run what is missing, and print a table
    THRIFTY_OTHER=/path/to/checkout python -m benchmarks search     the same, also with a checkout of another version

Every run is a process of its own (`run.py`) and appends one JSON line per budget to a file in the temporary folder.
Runs whose lines are there already are not repeated. A run that needs more CPU time than the limit is ended, and counts
as one that did not end; it has no score. In the environment, THRIFTY_CPU_LIMIT changes the limit (seconds),
THRIFTY_TABLES the tables, THRIFTY_SPLITS the number of splits, and THRIFTY_MIX=1 lets this version mix two models.
`summary.py` prints the table from such files.
"""

import json
import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import gettempdir

from benchmarks.search.summary import read_results, summary

TABLES = os.environ.get("THRIFTY_TABLES", "heart bupa pima thyroid spambase covtype mq2008").split()
SEEDS, SHARES = range(int(os.environ.get("THRIFTY_SPLITS", 5))), (0.15, 0.4)  # shares of the cost of all columns
CPU_LIMIT = int(os.environ.get("THRIFTY_CPU_LIMIT", 900))  # seconds for all budgets of a split
HERE = Path(__file__).resolve().parents[2]
THIS = "mixed" if os.environ.get("THRIFTY_MIX") else "this"


def main() -> None:
    """Run what is missing, and compare."""
    versions = {THIS: HERE} | ({"other": Path(os.environ["THRIFTY_OTHER"])} if "THRIFTY_OTHER" in os.environ else {})
    for seed, name in product(SEEDS, TABLES):
        for version, checkout in versions.items():
            _run(version, checkout, name, seed)
    this, other = (read_results(_path(version)) for version in (THIS, "other"))
    print(*summary({key: line for key, line in this.items() if key[0] in TABLES}, other), sep="\n")


def _path(version: str) -> Path:
    return Path(gettempdir(), f"thrifty_search_{version}.jsonl")


def _run(version: str, checkout: Path, name: str, seed: int) -> None:
    missing = [share for share in SHARES if (name, seed, share) not in read_results(_path(version))]
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
                if (name, seed, share) not in read_results(_path(version)):
                    print(json.dumps({"table": name, "seed": seed, "share": share, "limit": CPU_LIMIT}), file=lines)
