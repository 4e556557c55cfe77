"""CPU time and memory of a fit, against rows, columns, depth and units.

Each method grows along each axis from the same base size. The time is the mean CPU time of some fits on one thread,
until they took `LONG_ENOUGH` together, after a small fit that compiles kernels. The memory is the growth of the peak
during the first fit. The exponent of an axis is the slope of log(time) against log(size) by least squares. Full sizes
end at a million rows, at a thousand columns, and at both together where four copies of that table fit into memory.
"""

from functools import partial
from time import process_time
from typing import Any

from thrifty.bench.claims import Verdict
from thrifty.bench.problems.problem import Table
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, LeftOutError, Run
from thrifty.bench.scaling import memory
from thrifty.bench.scaling.growth import Growth, describe_growth, growth_figure, growth_table
from thrifty.bench.scaling.methods import SCALED
from thrifty.bench.scaling.sizes import Size, along, drawn, sizes
from thrifty.bench.tables import ShownTable

NAME = "scaling_training"
QUICK_SEEDS, FULL_SEEDS = 1, 3
LONG_ENOUGH = 0.3  # seconds; clocks of CPU time may advance in steps of some milliseconds
OTHER_SEED = 1_000
WARM = Size(200, 10, 10, 2)
MEGABYTE = 1e6


def runs(full: bool) -> list[Run]:
    """Return one run per method and size."""
    return [
        Run(Key(NAME, seed, f"{name}: {size}", full), partial(measure, name, size, seed), {"size": vars(size)})
        for seed in range(FULL_SEEDS if full else QUICK_SEEDS)
        for name, scaled in SCALED.items()
        for size in sizes(scaled.axes, full)
    ]


def measure(name: str, size: Size, seed: int) -> dict[str, Any]:
    """Return CPU time and memory of a fit."""
    if size.needed_bytes > memory.available():
        raise LeftOutError(f"{size} needs about {size.needed_bytes / 1e9:.0f} GB of memory")
    scaled = SCALED[name]
    scaled.fit(drawn(WARM, scaled.task, seed), WARM, seed)
    seconds: list[float] = []

    def fit(rows: Table) -> None:
        start = process_time()
        scaled.fit(rows, size, seed)
        seconds.append(process_time() - start)

    grown = memory.growth(partial(fit, drawn(size, scaled.task, seed)))
    while sum(seconds) < LONG_ENOUGH:
        fit(
            drawn(size, scaled.task, seed + OTHER_SEED * len(seconds))
        )  # other rows, or contenders reuse what they know
    megabytes = None if grown != grown else round(grown / MEGABYTE, 2)
    return {"fit_seconds": round(sum(seconds) / len(seconds), 5), "megabytes": megabytes}


def growth(results: Results) -> Growth:
    """Return the means over the seeds by method, axis and value."""
    found: Growth = {}
    is_full = any(each.key.full for each in results.of(NAME))
    for name, scaled in SCALED.items():
        for axis in scaled.axes:
            for value, size in along(axis, is_full).items():
                points = [each.values for each in results.of(NAME, f"{name}: {size}")]
                if points:
                    found.setdefault(name, {}).setdefault(axis, {})[str(value)] = _mean(points)
    return found


def _mean(points: list[Any]) -> dict[str, float | None]:
    seconds = sum(each["fit_seconds"] for each in points) / len(points)
    known = [each["megabytes"] for each in points if each["megabytes"] is not None]
    return {"seconds": round(seconds, 5), "megabytes": round(sum(known) / len(known), 2) if known else None}


def verdicts(results: Results) -> list[Verdict]:
    """Return no verdict: nothing is claimed."""
    return []


def tables(results: Results) -> list[ShownTable]:
    """Return times, exponents and memory by method."""
    found = growth(results)
    return [growth_table(found)] if found else []


def figure(results: Results) -> Any:
    """Return the picture of the times; None without results."""
    found = growth(results)
    return growth_figure(found) if found else None


def describe(results: Results) -> str:
    """Return what the picture shows, in words."""
    return describe_growth(growth(results))
