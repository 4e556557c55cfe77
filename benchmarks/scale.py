"""Time and memory of ``thrifty fit`` with all methods on half a million rows.

The forest cover type data has 581,012 rows and 54 columns. The search uses five thousand rows. The chosen model is
fitted on all rows.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from benchmarks.commands import run_thrifty
from benchmarks.problems import missing
from benchmarks.report import at_most, report, table
from thrifty.datasets import load_covtype

BUDGET = 10  # the cost of all 54 features is 54


def main() -> None:
    if missing("covtype"):
        return
    with TemporaryDirectory() as folder:
        rows, model = write_csv(Path(folder, "covtype.csv")), Path(folder, "covtype.thrifty")
        seconds, megabytes = run_thrifty("fit", rows, "--target", "cover", "--budget", BUDGET, "-o", model)
    table("thrifty fit, covtype, all methods", ("time", "peak memory"), [(f"{seconds:.0f} s", f"{megabytes:.0f} MB")])
    report("thrifty fit, covtype", [at_most("peak memory", megabytes, 4000, "MB")])


def write_csv(path: Path) -> Path:
    data = load_covtype()
    names = data.names or [f"x{j}" for j in range(data.X.shape[1])]
    pd.DataFrame(data.X, columns=names).assign(cover=data.y).to_csv(path, index=False)
    return path
