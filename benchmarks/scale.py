"""``thrifty fit`` on half a million rows: how long it takes with all methods, and how much memory.

The command is run as a user runs it, in a process of its own. Forest cover types have 581,012 rows and 54 columns; the
search looks at ten thousand of them, and the model that is chosen is fitted to all.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import pandas as pd

from benchmarks.problems import missing
from benchmarks.report import at_most, report, table
from thrifty.datasets import load_covtype

THRIFTY = Path(sys.executable).with_name("thrifty")
BUDGET = 10  # of 54 units


def main() -> None:
    if missing("covtype"):
        return
    with TemporaryDirectory() as folder:
        seconds, gigabytes = measured(write_csv(Path(folder, "covtype.csv")), Path(folder, "covtype.thrifty"))
    table(
        "thrifty fit, covtype, all methods", ("time", "largest memory"), [(f"{seconds:.0f} s", f"{gigabytes:.2f} GB")]
    )
    report("Scale", [at_most("gigabytes of memory", gigabytes, 4.0)])


def write_csv(path: Path) -> Path:
    data = load_covtype()
    names = data.names or [f"x{j}" for j in range(data.X.shape[1])]
    pd.DataFrame(data.X, columns=names).assign(cover=data.y).to_csv(path, index=False)
    return path


def measured(rows: Path, model: Path) -> tuple[float, float]:
    """Return the seconds that the command takes, and the largest memory of its process in gigabytes."""
    command = [THRIFTY, "fit", rows, "--target", "cover", "--budget", str(BUDGET), "-o", model]
    start = perf_counter()
    running = subprocess.Popen(command)
    _, status, usage = os.wait4(running.pid, 0)
    if status:
        raise RuntimeError(f"thrifty fit ended with {status}")
    return perf_counter() - start, usage.ru_maxrss / 2**20


if __name__ == "__main__":
    main()
