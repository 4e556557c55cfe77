"""How the cost of a fit grows with rows, columns, units of cost, depth and workers.

``python -m benchmarks.scaling`` takes about ten minutes on two cores. ``--small`` checks quickly that it runs.

Every trainer passes its work over the rows through `thrifty.models.homes`. A round is one such pass. For each trainer
and each size the benchmark reports CPU seconds (the fewest of some fits), how much the peak memory grew, and the number
of rounds. The exponent is the slope of log(seconds) against log(size) by least squares. On a Dask cluster it measures
the bytes that leave the workers. An extrapolation follows from these figures.
"""

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.report import table
from thrifty import ASTCRegressor, CostModel, CostWeightedL1Regressor, CSTCClassifier, GreedyMiserRegressor
from thrifty.models.homes import Here

N_FITS = 2  # of which the fastest counts
N_TREES = 20
FAR_ROWS, FAR_COLUMNS, FAR_WORKERS = 1e9, 500, 100
N_BLOCKS = 2  # of the rows whose traffic is measured
FAN_IN = 8  # as in `thrifty.distributed.partitions`, which needs Dask
NETWORK = 1.25e9  # bytes a second: 10 Gbit/s


@dataclass(frozen=True)
class Size:
    """The size of a problem."""

    rows: int = 50_000
    columns: int = 48
    units: int = 48
    depth: int = 3


AXES = {
    "rows": (25_000, 50_000, 100_000, 200_000),
    "columns": (24, 48, 96, 192),
    "units": (6, 12, 24, 48),
    "depth": (1, 2, 3, 4),
}
SMALL_AXES = {"rows": (500, 1_000), "columns": (12, 24), "units": (6, 12), "depth": (1, 2)}


def astc(size: Size) -> Any:
    return ASTCRegressor(costs=prices(size), max_depth=size.depth, node_budget=8.0)


def greedy_miser(size: Size) -> Any:
    return GreedyMiserRegressor(costs=prices(size), max_depth=size.depth, n_estimators=N_TREES, cost_weight=1e-4)


def cstc(size: Size) -> Any:
    return CSTCClassifier(costs=prices(size), max_depth=size.depth, max_iter=3, cost_weight=1e-3)


def lasso(size: Size) -> Any:
    return CostWeightedL1Regressor(costs=prices(size), cost_weight=1e-2)


TRAINERS: dict[str, Callable[[Size], Any]] = {
    "ASTC": astc,
    "Greedy Miser": greedy_miser,
    "CSTC": cstc,
    "l1": lasso,
}


def prices(size: Size) -> CostModel:
    """Return a price of 1 per unit; columns share units if there are fewer of them."""
    if size.units >= size.columns:
        return CostModel(np.ones(size.columns))
    groups = np.array_split(np.arange(size.columns), size.units)
    return CostModel(np.zeros(size.columns), bundles={f"unit {k}": (list(each), 1.0) for k, each in enumerate(groups)})


def problem(size: Size) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(size.rows, size.columns))
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.3 * X[:, 3:10].sum(axis=1) + random.normal(size=size.rows) / 2
    return X, y


@dataclass(frozen=True)
class Cost:
    """What a fit took."""

    seconds: float
    megabytes: float
    rounds: int


def cost_of(trainer: str, size: Size, n_fits: int = N_FITS) -> Cost:
    """Fit some times; return the fewest CPU seconds, and the most that the peak memory grew."""
    X, y = problem(size)
    found = []
    for _ in range(n_fits):
        model = TRAINERS[trainer](size)
        before, rounds = _forget_peak(), _Rounds()
        start = process_time()
        with rounds.counted(Here):
            model.fit(X, y > 0 if trainer == "CSTC" else y)
        found.append(Cost(process_time() - start, (_peak() - before) / 1e6, rounds.count))
    return Cost(min(each.seconds for each in found), max(each.megabytes for each in found), found[0].rounds)


class _Rounds:
    """Counts passes over the rows."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def counted(self, home: type) -> Iterator[None]:
        name = "sum" if home is Here else "_calls"  # all other methods of these homes call it
        original = getattr(home, name)

        def counting(home: Any, *arguments: Any) -> Any:
            self.count += 1
            return original(home, *arguments)

        setattr(home, name, counting)
        try:
            yield
        finally:
            setattr(home, name, original)


def _forget_peak() -> float:
    """Return the bytes in use; on Linux the peak is measured from here, and memory that is free is given back."""
    try:
        CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        pass
    return _peak()


def _peak() -> float:
    try:
        status = Path("/proc/self/status").read_text()
        return 1024.0 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _time(seconds: float) -> str:
    """Write a time with two digits and a fitting unit."""
    for unit, length in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= length:
            return f"{float(f'{seconds / length:.2g}'):g} {unit}"
    return f"{float(f'{1e3 * seconds:.2g}'):g} ms"


def exponent(sizes: Any, seconds: Any) -> float:
    """Return the slope of the least squares line through log(seconds) over log(sizes)."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth(axes: dict[str, tuple[int, ...]], default: Size) -> dict[tuple[str, str], tuple[float, float, list[Cost]]]:
    """Measure every trainer along every axis; return exponents of the seconds and of the seconds per round."""
    found = {}
    for trainer in TRAINERS:
        cost_of(trainer, replace(default, rows=1_000), 1)  # compile the kernels
        for axis, values in axes.items():
            if trainer == "l1" and axis == "depth":
                continue
            costs = [cost_of(trainer, sized(default, axis, value)) for value in values]
            total = exponent(values, [each.seconds for each in costs])
            per_round = exponent(values, [each.seconds / each.rounds for each in costs])
            found[trainer, axis] = total, per_round, costs
            print(f"{trainer}, {axis}: exponent {total:.2f}, per round {per_round:.2f}", flush=True)
    return found


def sized(default: Size, axis: str, value: int) -> Size:
    """Return the default size with another value; every column is a unit of its own unless units are varied."""
    size = replace(default, **{axis: value})
    return replace(size, units=value) if axis == "columns" else size


def show_growth(axes: dict[str, tuple[int, ...]], found: dict[tuple[str, str], Any]) -> None:
    lines = []
    for (trainer, axis), (total, per_round, costs) in found.items():
        seconds = ", ".join(_time(each.seconds) for each in costs)
        memory = ", ".join(f"{each.megabytes:.0f}" for each in costs)
        rounds = ", ".join(str(each.rounds) for each in costs)
        lines.append((trainer, f"{axis} {', '.join(map(str, axes[axis]))}", seconds, f"{total:.2f}", rounds,
                      f"{per_round:.2f}", memory))  # fmt: skip
    header = ("trainer", "size", "CPU time", "exponent", "rounds", "exponent per round", "MB")
    table("How the cost of a fit grows", header, lines)


# On a Dask cluster


@dataclass(frozen=True)
class Traffic:
    """What a fit on workers moved."""

    rounds: int
    sent: float
    cpu: float


def traffic(client: Any, trainer: str, size: Size, n_blocks: int) -> Traffic:
    """Fit on the workers; return rounds, the bytes that left workers, and CPU seconds of the workers."""
    import dask.array as da
    from dask import delayed

    from distributed import wait
    from thrifty.distributed import Partitions

    def there(values: np.ndarray) -> Any:
        blocks = np.array_split(values, n_blocks)
        parts = zip(client.scatter(blocks), blocks, strict=True)
        return da.concatenate([da.from_delayed(delayed(far), block.shape, meta=block[:0]) for far, block in parts])

    X, y = problem(size)
    rows, target = there(X).persist(), there(y > 0 if trainer == "CSTC" else y).persist()
    wait([rows, target])
    sent, cpu, rounds = _bytes_sent(client), _worker_seconds(client), _Rounds()
    with rounds.counted(Partitions):
        TRAINERS[trainer](size).fit(rows, target)
    return Traffic(rounds.count, _bytes_sent(client) - sent, _worker_seconds(client) - cpu)


def _bytes_sent(client: Any) -> float:
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def _worker_seconds(client: Any) -> float:
    return sum(client.run(process_time).values())


def empty_round(client: Any, n_blocks: int = FAR_WORKERS) -> float:
    """Return the CPU seconds of the client and the scheduler, which share this process, in a round without any work."""
    from distributed import wait
    from thrifty.distributed import Partitions

    futures = client.map(float, range(n_blocks), pure=False)
    wait(futures)
    home = Partitions.of(client, futures)
    home.sum(_itself)
    start = process_time()
    for _ in range(5):
        home.sum(_itself)
    return (process_time() - start) / 5


def _itself(block: float) -> float:
    return block


def on_workers(default: Size, columns: tuple[int, ...]) -> tuple[dict[str, list[Traffic]], float]:
    """Measure traffic against workers, blocks and columns; return that against columns, and the time of a round."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    lines, by_columns = [], {}
    default = replace(default, rows=min(default.rows, 20_000))  # what travels does not grow with the rows
    cases = ((1, 2), (2, 2), (2, 8))
    for n_workers in (1, 2):
        with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster) as client:
            for trainer in TRAINERS:
                traffic(client, trainer, replace(default, rows=1_000), 2)  # compile the kernels
                for blocks in (blocks for workers, blocks in cases if workers == n_workers):
                    found = traffic(client, trainer, default, blocks)
                    lines.append(_line(trainer, f"{n_workers} workers, {blocks} blocks", found, blocks))
                if n_workers == 2:
                    sizes = [replace(default, columns=d, units=d) for d in columns]
                    by_columns[trainer] = [traffic(client, trainer, size, N_BLOCKS) for size in sizes]
                    lines += [
                        _line(trainer, f"2 workers, 2 blocks, {size.columns} columns", found, 2)
                        for size, found in zip(sizes, by_columns[trainer], strict=True)
                    ]
            latency = empty_round(client)
    header = ("trainer", "size", "rounds", "kB per round and block", "CPU time of the workers")
    table("Fits on a Dask cluster", header, sorted(lines, key=lambda line: list(TRAINERS).index(line[0])))
    print(f"A round without work on {FAR_WORKERS} blocks takes {1e3 * latency:.0f} ms of client and scheduler.")
    return by_columns, latency


def _line(trainer: str, size: str, found: Traffic, blocks: int) -> tuple[str, ...]:
    per_round = found.sent / found.rounds / blocks / 1e3
    return trainer, size, str(found.rounds), f"{per_round:.1f}", _time(found.cpu)


def extrapolate(growth: dict[tuple[str, str], Any], by_columns: dict[str, Any], latency: float, axes: Any) -> None:
    """Print what a fit of 1e9 rows x 500 columns on 100 workers of one core would take; this is not measured."""
    lines = []
    for trainer in TRAINERS:
        (by_rows, _, costs), (by_width, _, wide) = growth[trainer, "rows"], growth[trainer, "columns"]
        more_rows = FAR_ROWS / FAR_WORKERS / axes["rows"][-1]
        more_columns = FAR_COLUMNS / Size.columns
        seconds = costs[-1].seconds * more_rows ** max(by_rows, 1.0) * more_columns**by_width
        width = exponent(axes["columns"], [max(each.megabytes, 0.1) for each in wide])
        memory = 1e-3 * costs[-1].megabytes * more_rows * more_columns ** min(max(width, 0.0), 1.0)
        widths, far = axes["columns"][: len(by_columns[trainer])], by_columns[trainer]
        sent = [each.sent / each.rounds / N_BLOCKS for each in far]
        of_block = sent[-1] * (FAR_COLUMNS / widths[-1]) ** max(exponent(widths, sent), 0.0)
        rounds, in_all = far[-1].rounds, far[-1].rounds * FAR_WORKERS * of_block
        waiting = rounds * (latency + 3 * FAN_IN * of_block / NETWORK)  # 100 blocks are added in three steps
        lines.append((trainer, str(rounds), f"{of_block / 1e3:.0f} kB", f"{in_all / 1e9:.2g} GB", f"{memory:.2g} GB",
                      _time(seconds), _time(waiting)))  # fmt: skip
    header = ("trainer", "rounds", "block and round", "network in all", "memory, beside X", "work of a core", "rounds")
    rows = 8e-9 * FAR_ROWS / FAR_WORKERS * FAR_COLUMNS
    title = f"Extrapolation: {FAR_ROWS:.0e} rows x {FAR_COLUMNS} columns, {FAR_WORKERS} workers of one core"
    table(f"{title}, each with {rows:.0f} GB of X as float64", header, lines)


def main(small: bool = False) -> None:
    axes, default = (SMALL_AXES, Size(1_000, 12, 12, 2)) if small else (AXES, Size())
    found = growth(axes, default)
    show_growth(axes, found)
    by_columns, latency = on_workers(default, axes["columns"][:3])
    extrapolate(found, by_columns, latency, axes)


if __name__ == "__main__":
    main(small="--small" in sys.argv[1:])
