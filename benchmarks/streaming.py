"""Time and memory of ``thrifty predict`` on short and on long files.

The command runs in a separate process. To choose other file lengths, pass numbers of rows:
``python -m benchmarks.streaming 1_000_000 10_000_000``.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.commands import run_thrifty
from benchmarks.report import at_most, report, table
from thrifty import ASTCClassifier, TableModel, save
from thrifty.datasets import load_heart

SIZES = (200_000, 1_000_000)  # rows
BLOCK = 10_000  # rows written at a time


def main(sizes=SIZES) -> None:
    with TemporaryDirectory() as folder:
        model = save(fitted(), Path(folder, "heart.thrifty"))
        runs = {n: measure(model, Path(folder), n) for n in sizes}
    shown = [
        (f"{n:,}", f"{seconds:.1f} s", f"{n / seconds:,.0f}", f"{peak:.0f} MB") for n, (seconds, peak) in runs.items()
    ]
    table("thrifty predict, from CSV with 13 columns to CSV", ("rows", "time", "rows/s", "peak memory"), shown)
    (_, first), *_, (_, last) = runs.values()
    report("Streaming", [at_most(f"peak memory, {sizes[-1]:,} rows / {sizes[0]:,} rows", last / first, 1.1)])


def fitted() -> TableModel:
    heart = load_heart(as_frame=True)
    tree = ASTCClassifier(max_depth=3, node_budget=[4, 10, 100], overflow="skip")
    return TableModel(tree, costs=heart.costs).fit(heart.X, heart.y)


def measure(model: Path, folder: Path, n_rows: int) -> tuple[float, float]:
    """Return the time to predict n_rows rows in seconds, and the peak memory of the process in megabytes."""
    rows, answers = write_rows(folder / "rows.csv", n_rows), folder / "answers.csv"
    figures = run_thrifty("predict", model, rows, "-o", answers)
    if (written := count_lines(answers)) != n_rows + 1:
        raise RuntimeError(f"The output has {written} lines; expected {n_rows + 1}: a header and one line per row.")
    return figures


def write_rows(path: Path, n_rows: int) -> Path:
    """Write a CSV file with repeated bootstrap rows of the heart data."""
    heart = load_heart(as_frame=True).X
    block = heart.sample(BLOCK, replace=True, random_state=0)
    text = block.to_csv(index=False, header=False).encode()
    with path.open("wb") as file:
        file.write((",".join(heart.columns) + "\n").encode())
        for _ in range(n_rows // BLOCK):
            file.write(text)
    return path


def count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(part.count(b"\n") for part in iter(lambda: file.read(2**20), b""))


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
