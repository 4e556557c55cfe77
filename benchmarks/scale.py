"""``thrifty fit`` on half a million rows: how long it takes with all methods, and how much memory.

Forest cover types have 581,012 rows and 54 columns; the search looks at five thousand of them, and the model that is
chosen is fitted to all.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from benchmarks.commands import run_thrifty
from benchmarks.problems import missing
from benchmarks.report import at_most, report, table
from thrifty.datasets import load_covtype

BUDGET = 10  # of 54 units


def main() -> None:
    if missing("covtype"):
        return
    with TemporaryDirectory() as folder:
        rows, model = write_csv(Path(folder, "covtype.csv")), Path(folder, "covtype.thrifty")
        seconds, megabytes = run_thrifty("fit", rows, "--target", "cover", "--budget", BUDGET, "-o", model)
    table("thrifty fit, covtype, all methods", ("time", "memory"), [(f"{seconds:.0f} s", f"{megabytes:.0f} MB")])
    report("Scale", [at_most("megabytes of memory", megabytes, 4000)])


def write_csv(path: Path) -> Path:
    data = load_covtype()
    names = data.names or [f"x{j}" for j in range(data.X.shape[1])]
    pd.DataFrame(data.X, columns=names).assign(cover=data.y).to_csv(path, index=False)
    return path
