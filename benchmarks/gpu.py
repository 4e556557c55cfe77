"""CSTC on a GPU and on the cores of the same machine: one evaluation, whole fits, memory, and what moves.

``python -m benchmarks.gpu`` needs PyTorch with CUDA. ``--small`` runs a few thousand rows on any device, to check that
everything works. ``--objective`` only compares the final objectives of both, in less than a minute. Each figure is
printed as soon as it is measured. The slowest one, the fit on the cores, comes last and is given up when the time limit
is over.
"""

import argparse
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.problems import YAHOO_SIZE, correlated_regression
from benchmarks.report import Line, at_least, at_most, print_line, seconds
from thrifty import CSTCRegressor
from thrifty.arrays import Moves, counted_moves, to_host
from thrifty.datasets.yahoo import draw_yahoo_prices
from thrifty.models.expected_cost.fitting import choose_structure, solve, store
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.problem import Problem, bytes_of_fit, pose
from thrifty.models.expected_cost.row_blocks import TrainingRows
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.homes import Here

DEPTH = 5
COST_WEIGHT = 0.01  # per mean price of a column
MANY_ROWS = 2_000_000
OBJECTIVE_SIZE, OBJECTIVE_DEPTH = (40_000, 200), 4
SMALL_SIZE, SMALL_MANY_ROWS = (2000, 20), 4000
TIME_LIMIT = 460  # seconds, for everything
LONG = 10.0  # seconds; shorter fits are repeated, because the first one also loads libraries
GB = 1e9


@dataclass
class Device:
    """Where arrays of PyTorch are, and how to wait for it."""

    name: str

    @property
    def is_gpu(self) -> bool:
        return self.name != "cpu"

    def wait(self) -> None:
        if self.is_gpu:
            _torch().cuda.synchronize()

    def array(self, values: np.ndarray) -> Any:
        return _torch().asarray(values, device=self.name)

    def seconds(self, work: Callable[[], Any], repeats: int = 10) -> float:
        """Return the shortest time of some work, after one run that is not counted."""

        def done() -> None:
            work()
            self.wait()

        done()
        return seconds(done, repeats)

    def forget_peak(self) -> None:
        if self.is_gpu:
            _torch().cuda.empty_cache()
            _torch().cuda.reset_peak_memory_stats()

    @property
    def peak(self) -> float:
        return float(_torch().cuda.max_memory_allocated()) if self.is_gpu else np.nan


@dataclass
class Fit:
    """A fitted model, its problem, the seconds of each phase, and what moved while the solver ran."""

    model: CSTCRegressor
    problem: Problem
    phases: dict[str, float]
    moves: Moves

    @property
    def seconds(self) -> float:
        return sum(self.phases.values())

    @property
    def objective(self) -> float:
        return self.model.objective_[-1]


def main(small: bool = False, device: str = "cuda", cpu: str = "kernels", objective: bool = False) -> None:
    start = perf_counter()
    torch = _torch()
    if torch is None:
        print("benchmarks.gpu: PyTorch is missing. See https://pytorch.org.")
        return
    if device != "cpu" and not torch.cuda.is_available():
        print("benchmarks.gpu: PyTorch does not find a GPU. Use a machine with CUDA, or pass --small --device cpu.")
        return
    place, size = Device(device), SMALL_SIZE if small else YAHOO_SIZE
    name = torch.cuda.get_device_name() if place.is_gpu else "PyTorch on the CPU"
    print(f"{name}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}, NumPy {np.__version__}", flush=True)
    if objective:
        same_objective(place, SMALL_SIZE if small else OBJECTIVE_SIZE)
        return
    X, y = correlated_regression(*size)
    prices = draw_yahoo_prices(size[1], np.random.default_rng(0)).astype(float)
    fit_by_phases(place.array(X[:2000]), y[:2000], prices, place)  # load libraries

    first = perf_counter()
    on_device = place.array(X)
    place.wait()
    _say(f"X ({X.shape[0]} x {X.shape[1]}) moves to the device", perf_counter() - first, "s")
    priced = whole_fit("published prices", on_device, y, prices, place)
    equal = whole_fit("equal prices", on_device, y, np.ones(size[1]), place)
    single_precision(on_device, y, prices, place, priced)
    evaluation(priced.problem.objective, place, cpu)
    products(on_device, X, place)
    del on_device
    priced.problem = equal.problem = None  # type: ignore[assignment]
    many_rows(SMALL_MANY_ROWS if small else MANY_ROWS, size[1], prices, place)
    if cpu == "none":
        return
    for what, fitted, costs in (("published prices", priced, prices), ("equal prices", equal, np.ones(size[1]))):
        on_cores(what, torch.asarray(X) if cpu == "torch" else X, y, costs, fitted, start + TIME_LIMIT)


# Fits


def same_objective(place: Device, size: tuple[int, int]) -> None:
    """Compare the final objectives of fits on the device and on the cores."""
    X, y = correlated_regression(*size)
    published = draw_yahoo_prices(size[1], np.random.default_rng(0)).astype(float)
    for what, prices in (("published prices", published), ("equal prices", np.ones(size[1]))):
        there = fit_by_phases(place.array(X), y, prices, place, OBJECTIVE_DEPTH)
        here = fit_by_phases(X, y, prices, Device("cpu"), OBJECTIVE_DEPTH)
        print(f"{what}: {there.seconds:.2f} s on the device, {here.seconds:.2f} s on the cores", flush=True)
        for name, fitted in (("device", there), ("cores", here)):
            ends = ", ".join(f"{value:.10g}" for value in fitted.model.objective_[-4:])
            print(f"  objective on the {name} after the last rounds: {ends}", flush=True)
        excess = there.objective / here.objective - 1
        print_line(at_most("objective on the device / on the cores - 1", excess, 1e-6, ""))


def whole_fit(what: str, X: Any, y: np.ndarray, prices: np.ndarray, place: Device) -> Fit:
    place.forget_peak()
    fitted = fit_by_phases(X, y, prices, place)
    if fitted.seconds < LONG:
        fitted = fit_by_phases(X, y, prices, place)
    label = f"fit, {X.shape[0]} x {X.shape[1]}, {what}"
    print_line(at_most(label, fitted.seconds, 10, "s"))
    _describe(fitted, place)
    return fitted


def single_precision(X: Any, y: np.ndarray, prices: np.ndarray, place: Device, double: Fit) -> None:
    single = fit_by_phases(X.to(_torch().float32), y, prices, place)
    _say("the same in single precision", single.seconds, "s")
    _say("objective in single precision / in double precision - 1", single.objective / double.objective - 1, "")
    host = to_host(X[:20_000, :])
    r2 = [each.model.score(host, y[: len(host)]) for each in (single, double)]
    _say("R² on the first 20,000 rows, single precision - double precision", r2[0] - r2[1], "")


def many_rows(n_rows: int, n_columns: int, prices: np.ndarray, place: Device) -> None:
    X, y = _rows_on(n_rows, n_columns, place)
    place.forget_peak()
    fitted = fit_by_phases(X, y, prices, place)
    print_line(at_most(f"fit, {n_rows} x {n_columns}, published prices", fitted.seconds, 120, "s"))
    _describe(fitted, place)


def on_cores(what: str, X: Any, y: np.ndarray, prices: np.ndarray, on_device: Fit, end: float) -> None:
    left = int(end - perf_counter())
    if left < 1:
        print(f"fit on the cores, {what}: left out, no time is left", flush=True)
        return
    try:
        with _time_limit(left):
            fitted = fit_by_phases(X, y, prices, Device("cpu"))
    except TimeoutError:
        print(f"fit on the cores, {what}: given up after {left} s", flush=True)
        return
    _say(f"fit on the cores, {what}", fitted.seconds, "s")
    print_line(at_least("time on the cores / on the device", fitted.seconds / on_device.seconds, 1))
    excess = on_device.objective / fitted.objective - 1
    print_line(at_most("objective on the device / on the cores - 1", excess, 1e-6, ""))
    host = to_host(X)
    differ = np.abs(on_device.model.predict(host) - fitted.model.predict(host)) > 1e-3 * y.std()
    print(f"rounds on the device {on_device.model.n_iter_}, on the cores {fitted.model.n_iter_}", flush=True)
    _say("share of predictions that differ by more than 0.001 standard deviations of y", differ.mean(), "")


def fit_by_phases(X: Any, y: np.ndarray, prices: np.ndarray, place: Device, depth: int = DEPTH) -> Fit:
    """Do what ``fit`` does, and measure each phase."""
    model = CSTCRegressor(max_depth=depth, costs=prices, cost_weight=COST_WEIGHT / prices.mean())
    phases: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        first = perf_counter()
        result = work()
        place.wait()
        phases[name] = perf_counter() - first
        return result

    rows = timed("check", lambda: model._located(X, y))
    problem = timed("standardise", lambda: pose(model, rows, None))
    topology, parameters = timed("initial parameters", lambda: choose_structure(model, problem))
    problem = problem.with_topology(topology)
    with warnings.catch_warnings(), counted_moves() as moves:
        warnings.simplefilter("ignore", ConvergenceWarning)
        solution = timed("solve", lambda: solve(model, problem, parameters))
    timed("final tree", lambda: store(model, problem, solution))
    return Fit(model, problem, phases, moves)


def _describe(fitted: Fit, place: Device) -> None:
    model, moves, rounds = fitted.model, fitted.moves, max(fitted.model.n_iter_, 1)
    times = ", ".join(f"{name} {time:.2f}" for name, time in fitted.phases.items())
    print(f"  seconds: {times}", flush=True)
    print(
        f"  {model.n_iter_} rounds, objective {fitted.objective:.9g}, residual {model.residual_:.3g}; in each round of "
        f"the solver {moves.numbers / rounds:.0f} numbers are read, {moves.to_host / rounds:.0f} elements of arrays "
        f"move to the host and {moves.to_device / rounds:.0f} to the device",
        flush=True,
    )
    needed = bytes_of_fit(model, fitted.problem.objective)
    print(f"  peak memory of the device {place.peak / GB:.2f} GB; a message would say {needed / GB:.2f} GB", flush=True)


# Parts


def evaluation(objective: Objective, place: Device, cpu: str) -> None:
    random = np.random.default_rng(0)
    n_nodes, n_columns = objective.topology.n_nodes, objective.X.shape[1]
    parameters = Parameters(
        weights=0.05 * random.standard_normal((n_nodes, 1, n_columns)),
        intercepts=0.1 * random.standard_normal((n_nodes, 1)),
        thresholds=0.1 * random.standard_normal(n_nodes),
        directions=np.ones((n_nodes, 1)),
    )
    there = parameters.placed(objective.X)
    on_device = place.seconds(lambda: objective.evaluate(there))
    _say("one evaluation of value and gradient on the device", 1e3 * on_device, "ms")
    if cpu != "kernels":
        return
    rows = TrainingRows(*map(to_host, (objective.X, objective.targets, objective.weight, objective.loss_weight)))
    here = replace(objective, penalty=objective.penalty.on_host(), rows=Here(rows))
    on_cores = Device("cpu").seconds(lambda: here.evaluate(parameters), 3)
    _say("the same on the cores", 1e3 * on_cores, "ms")
    print_line(at_least("evaluation on the cores / on the device", on_cores / on_device, 10))
    of_host, of_device = here.evaluate(parameters), objective.evaluate(there)
    scale = np.abs(of_host.weights).max()
    print_line(at_most("value: relative difference", abs(float(of_device.value) / of_host.value - 1), 1e-10, ""))
    difference = np.abs(to_host(of_device.weights) - of_host.weights).max() / scale
    print_line(at_most("gradient: largest difference / largest entry", difference, 1e-10, ""))


def products(X: Any, host: np.ndarray, place: Device) -> None:
    on_device = place.seconds(lambda: X.T @ X)
    on_cores = seconds(lambda: host.T @ host)
    _say("X'X on the device", 1e3 * on_device, "ms")
    _say("X'X on the cores", 1e3 * on_cores, "ms")
    print_line(at_least("X'X on the cores / on the device", on_cores / on_device, 10))


# Helpers


def _rows_on(n_rows: int, n_columns: int, place: Device) -> tuple[Any, np.ndarray]:
    """Return rows like those of `correlated_regression`, drawn on the device, and their targets."""
    torch = _torch()
    torch.manual_seed(0)
    options = {"dtype": torch.float64, "device": place.name}
    X = torch.randn(n_rows, n_columns, **options)
    X.addmm_(torch.randn(n_rows, 40, **options), torch.randn(40, n_columns, **options), alpha=0.5)
    sparse = torch.randn(n_columns, **options) * (torch.rand(n_columns, **options) < 0.3)
    local = X @ torch.randn(n_columns, **options)
    y = X @ sparse + 0.3 * torch.sign(X[:, 0]) * local + 3.0 * torch.randn(n_rows, **options)
    return X, y.cpu().numpy()


@contextmanager
def _time_limit(limit: int) -> Iterator[None]:
    """Raise TimeoutError in the main thread after some seconds."""

    def give_up(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(limit)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _say(what: str, figure: float, unit: str) -> None:
    """Print a figure that has no limit."""
    print_line(Line(what, figure, np.nan, True, unit))


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    options.add_argument("--small", action="store_true", help="a few thousand rows, to check that everything works")
    options.add_argument("--device", default="cuda", help="a device of PyTorch (default: cuda)")
    options.add_argument(
        "--cpu",
        choices=("kernels", "torch", "none"),
        default="kernels",
        help="what computes on the cores: the compiled kernels (default), PyTorch, or nothing",
    )
    options.add_argument("--objective", action="store_true", help="only compare the final objectives")
    chosen = options.parse_args()
    if chosen.device == "cpu" and not chosen.small:
        sys.exit("benchmarks.gpu: --device cpu needs --small.")
    main(chosen.small, chosen.device, chosen.cpu, chosen.objective)
