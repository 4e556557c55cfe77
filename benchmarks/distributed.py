"""ASTC and the Greedy Miser on Dask workers: scaling, overhead, data larger than memory, and other boosters.

``python -m benchmarks.distributed`` takes ten minutes on two cores, with ``--rows 100000 --memory 0.7`` two.
The data are written as a folder of Parquet files, one partition at a time. Figures are printed as they are measured.
"""

import argparse
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

from benchmarks.report import at_least, at_most, print_line, table
from distributed import Client, LocalCluster, wait
from thrifty import ASTCRegressor, GreedyMiserRegressor

N_FEATURES = 100
N_PARTITIONS = 8
N_TREES = 30
SMALLEST_SHARE = 40  # partitions in one memory limit: reading one takes several times its size
TEST_ROWS = 50_000
GIB = 2**30
PATIENCE = 200  # seconds for a fit of another booster to data that are larger than memory
BYTES_PER_ROW = 8 * (N_FEATURES + 1)
Fit = Callable[[Any, Any], Any]


@dataclass
class Problem:
    """Partitions of a regression problem: correlated columns, and a target with products and thresholds."""

    seed: int = 0

    def partition(self, number: int, n_rows: int) -> pd.DataFrame:
        """Return one partition; the same number gives the same rows."""
        fixed, random = np.random.default_rng(self.seed), np.random.default_rng([self.seed, number])
        mixing, weights = fixed.standard_normal((20, N_FEATURES)), fixed.standard_normal(N_FEATURES)
        weights *= fixed.random(N_FEATURES) < 0.3
        X = random.standard_normal((n_rows, N_FEATURES))
        X += 0.5 * random.standard_normal((n_rows, 20)) @ mixing
        y = X @ weights + 2 * X[:, 0] * (X[:, 1] > 0) + random.standard_normal(n_rows)
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(N_FEATURES)]).assign(y=y)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the scaling and the comparison; 0: none")
    parser.add_argument("--memory", type=float, default=2.0, help="memory limit in GiB of each of two workers")
    parser.add_argument("--times", type=float, default=3.0, help="size of the large folder in limits; 0: none")
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    folder = Path(tempfile.mkdtemp(prefix="thrifty-benchmark-"))
    try:
        if options.rows > 0:
            write(folder / "rows", options.rows, N_PARTITIONS)
            compare_and_scale(folder / "rows")
        if options.times > 0:
            n_rows = int(options.times * options.memory * GIB / BYTES_PER_ROW)
            write(folder / "large", n_rows, int(SMALLEST_SHARE * options.times))
            larger_than_memory(folder / "large", options.memory)
    finally:
        shutil.rmtree(folder)
    return 0


def write(folder: Path, n_rows: int, n_partitions: int) -> None:
    """Write the rows as Parquet files."""
    folder.mkdir()
    for number in range(n_partitions):
        part = Problem().partition(number, n_rows // n_partitions)
        part.to_parquet(folder / f"part-{number:03}.parquet", compression=None)
    print(
        f"{n_rows:,} rows x {N_FEATURES} columns in {n_partitions} files, {n_rows * BYTES_PER_ROW / GIB:.2f} GiB",
        flush=True,
    )


@contextmanager
def workers(n_workers: int, memory: float | None = None) -> Iterator[Client]:
    """Start worker processes of one thread."""
    limit = "auto" if memory is None else int(memory * GIB)
    with (
        dask.config.set({"distributed.worker.memory.spill": 0.7, "distributed.worker.memory.pause": 0.85}),
        LocalCluster(n_workers=n_workers, threads_per_worker=1, memory_limit=limit, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def compare_and_scale(folder: Path) -> None:
    """Measure fits on one worker, on two, and in memory on the same two cores, and other boosters on two workers."""
    test = Problem().partition(10**6, TEST_ROWS)
    fits: dict[str, Fit] = {"ASTC": fit_astc, "Greedy Miser": fit_booster}
    seconds: dict[tuple[str, int], float] = {}
    losses: dict[str, float] = {}
    others: dict[str, float] = {}
    for n_workers in (1, 2):
        with workers(n_workers) as client:
            X, y = rows_of(folder, client)
            for name, fit in fits.items():
                fit(X.partitions[:n_workers], y.partitions[:n_workers])  # loads what is compiled
                seconds[name, n_workers], model = timed(fit, X, y)
                losses[name] = loss_of(model, test)
                print(f"{name} on {n_workers} workers: {seconds[name, n_workers]:.2f} s", flush=True)
            if n_workers == 2:
                for name, fit in {"LightGBM": lightgbm(client), "XGBoost": xgboost(client)}.items():
                    others[name], model = timed(fit, X, y)
                    losses[name] = loss_of(model, test)
                    print(f"{name} on 2 workers: {others[name]:.2f} s", flush=True)
    frame = pd.read_parquet(folder)
    X, y = frame.drop(columns="y").to_numpy(), frame.pop("y").to_numpy()
    for name, fit in fits.items():
        here, model = timed(fit, X, y)
        print(f"{name} in memory: {here:.2f} s; {1 if name == 'ASTC' else N_TREES} trees", flush=True)
        print_line(at_least(f"{name}: one worker / two workers", seconds[name, 1] / seconds[name, 2], 1.7))
        print_line(at_most(f"{name}: two workers / in memory on two cores", seconds[name, 2] / here, 1.5))
        print_line(
            at_most(f"{name}: test loss / that of the fit in memory", losses[name] / loss_of(model, test), 1.0001)
        )
    rows = [(name, f"{seconds[name, 2]:.1f} s", f"{losses[name]:.4f}") for name in fits]
    rows += [(name, f"{others[name]:.1f} s", f"{losses[name]:.4f}") for name in others]
    table("Two workers of one thread", ("", "time", "mean squared error of test rows"), rows)


def larger_than_memory(folder: Path, memory: float) -> None:
    """Fit and predict a folder that is larger than the memory of a worker, and try other boosters on it."""
    test = Problem().partition(10**6, TEST_ROWS)
    for name, fit in {"Greedy Miser": fit_booster, "ASTC of 3 nodes": fit_small_astc}.items():
        with workers(2, memory) as client:
            frame = dd.read_parquet(folder)
            seconds, model = timed(fit, frame.drop(columns="y"), frame["y"])
            start = perf_counter()
            mean = model.predict(frame.drop(columns="y")).mean().compute()
            predicted = perf_counter() - start
            peak = max(client.run(peak_memory).values()) / GIB
            print(
                f"{name}, larger than memory: fit {seconds:.1f} s, prediction {predicted:.1f} s, mean {mean:.3f}",
                flush=True,
            )
            print_line(at_most(f"{name}: peak memory of a worker", peak, memory, "GiB"))
            print(f"{name}: mean squared error of test rows {loss_of(model, test):.2f}", flush=True)
    for name, other in {"LightGBM": lightgbm, "XGBoost": xgboost}.items():
        with workers(2, memory) as client:
            frame = dd.read_parquet(folder)
            print(f"{name}, larger than memory: {outcome(other(client), frame, test)}", flush=True)


def outcome(fit: Fit, frame: Any, test: pd.DataFrame) -> str:
    """Return the time and the test loss of a fit, or how it failed.

    It runs in a thread, because trainers may wait for ever for a worker that was stopped for its use of memory.
    """
    found: list[str] = []

    def run() -> None:
        try:
            seconds, model = timed(fit, frame.drop(columns="y"), frame["y"])
            found.append(f"fit {seconds:.1f} s, mean squared error of test rows {loss_of(model, test):.2f}")
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}".splitlines()[0])

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return found[0] if found else f"no end after {PATIENCE} s"


def rows_of(folder: Path, client: Client) -> tuple[Any, Any]:
    """Return the rows in the memory of the workers."""
    frame = client.persist(dd.read_parquet(folder))
    wait(frame)
    return frame.drop(columns="y"), frame["y"]


def fit_astc(X: Any, y: Any) -> Any:
    return ASTCRegressor(max_depth=4, node_budget=5).fit(X, y)


def fit_small_astc(X: Any, y: Any) -> Any:
    """Fit fewer nodes, because each reads the blocks that are on disk about eight times."""
    return ASTCRegressor(max_depth=2, node_budget=5).fit(X, y)


def fit_booster(X: Any, y: Any) -> Any:
    return GreedyMiserRegressor(cost_weight=1e-6, n_estimators=N_TREES, random_state=0).fit(X, y)


def lightgbm(client: Client) -> Fit:
    from lightgbm import DaskLGBMRegressor

    model = DaskLGBMRegressor(
        client=client, n_estimators=N_TREES, max_depth=4, num_leaves=16, learning_rate=0.1, max_bin=254, verbosity=-1
    )
    return lambda X, y: model.fit(X, y).to_local()


def xgboost(client: Client) -> Fit:
    from xgboost.dask import DaskXGBRegressor

    model = DaskXGBRegressor(n_estimators=N_TREES, max_depth=4, learning_rate=0.1, max_bin=254, tree_method="hist")
    model.client = client
    return lambda X, y: model.fit(X, y).get_booster()


def timed(fit: Fit, X: Any, y: Any) -> tuple[float, Any]:
    start = perf_counter()
    model = fit(X, y)
    return perf_counter() - start, model


def loss_of(model: Any, test: pd.DataFrame) -> float:
    """Return the mean squared error of the test rows."""
    X = test.drop(columns="y")
    if type(model).__name__ == "Booster":
        predicted = model.inplace_predict(X)
    else:
        predicted = model.predict(X.to_numpy() if not hasattr(model, "feature_names_in_") else X)
    return float(((predicted - test["y"]) ** 2).mean())


def peak_memory() -> int:
    """Return the largest resident memory of this process so far, in bytes.

    `resource.getrusage` would not do: it begins with the peak of the process that started this one.
    """
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


if __name__ == "__main__":
    sys.exit(main())
