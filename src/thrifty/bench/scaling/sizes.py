"""Sizes of drawn problems. Along an axis one number grows, and the others are those of the base."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from thrifty.bench.problems.problem import Table
from thrifty.costs import CostModel
from thrifty.tuning.problem import Task

QUERY = 20  # documents
BYTES = 8  # of a value
COPIES = 4  # of the table that a fit may need, also the table itself


@dataclass(frozen=True)
class Size:
    """The size of a problem; columns share units if there are fewer units than columns."""

    rows: int
    columns: int
    units: int
    depth: int = 3

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}, {self.units} units, depth {self.depth}"

    @property
    def needed_bytes(self) -> int:
        """About how much memory a fit needs."""
        return COPIES * BYTES * self.rows * self.columns

    def grown(self, axis: str, value: int) -> "Size":
        """Return this size with another value; columns bring their own units."""
        return replace(self, **{axis: value}, **({"units": value} if axis == "columns" else {}))


QUICK, FULL = Size(1_000, 16, 16), Size(10_000, 20, 20)
QUICK_AXES = {
    "rows": (1_000, 4_000, 16_000, 32_000),
    "columns": (8, 16, 32, 64),
    "depth": (1, 2, 3, 4),
    "units": (2, 4, 8, 16),
}
FULL_AXES = {
    "rows": (10_000, 32_000, 100_000, 320_000, 1_000_000),
    "columns": (20, 100, 300, 1_000),
    "depth": (1, 2, 3, 4, 5),
    "units": (2, 5, 10, 20),
}
LARGEST = Size(1_000_000, 1_000, 1_000)


def base(full: bool) -> Size:
    """Return the size from which all axes start."""
    return FULL if full else QUICK


def along(axis: str, full: bool) -> dict[int, Size]:
    """Return the sizes along an axis by the value that grows."""
    return {value: base(full).grown(axis, value) for value in (FULL_AXES if full else QUICK_AXES)[axis]}


def sizes(axes: tuple[str, ...], full: bool) -> Iterator[Size]:
    """Yield the sizes of some axes, each once; a full run ends with the largest one."""
    found = [size for axis in axes for size in along(axis, full).values()]
    yield from dict.fromkeys(found)
    if full:
        yield LARGEST


def costs(size: Size) -> CostModel:
    """Return prices of 1, for each column or for each group of columns."""
    if size.units >= size.columns:
        return CostModel(np.ones(size.columns))
    groups = np.array_split(np.arange(size.columns), size.units)
    return CostModel(
        np.zeros(size.columns), bundles={f"unit {k}": (part.tolist(), 1.0) for k, part in enumerate(groups)}
    )


def drawn(size: Size, task: Task, seed: int) -> Table:
    """Return rows whose target depends on ten columns; the first one tells which of two others counts."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((size.rows, size.columns))
    score = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.3 * X[:, 3:10].sum(axis=1)
    score += 0.5 * random.standard_normal(size.rows)
    if task is Task.RANKING:
        grade = np.digitize(score, [0.5, 1.5]).astype(float)
        return Table(X, grade, np.arange(size.rows) // QUERY)
    return Table(X, (score > 0).astype(int))
