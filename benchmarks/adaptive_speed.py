"""Speed of the adaptive model: fits, batches and sessions.

``python -m benchmarks.adaptive_speed large`` also fits 100,000 rows of covtype, which takes minutes. CPU times are
shown beside the time of the clock, because they depend less on what else the machine does.
"""

import sys
from time import perf_counter, process_time

import numpy as np

from benchmarks.report import Line, at_least, at_most, report, seconds
from thrifty import Acquire, DatasetNotFoundError, ThriftyClassifier
from thrifty.bench.problems import Problem, load
from thrifty.costs import CostModel
from thrifty.datasets import load_covtype, load_heart

UNITS = 10  # that a row buys on average
BATCH, N_SESSIONS, N_HEART, N_LARGE = 20_000, 100, 240, 100_000
LIMITS = {"heart": 2.0, "spambase": 60.0, "covtype": 600.0}  # seconds of a fit


def main(arguments: tuple[str, ...] = ()) -> None:
    """Print the figures and their limits."""
    heart = load_heart()
    lines, _ = fitted("heart", heart.X[:N_HEART], heart.y[:N_HEART], heart.costs)
    try:
        lines += spambase() + (large() if "large" in arguments else [])
    except DatasetNotFoundError as error:
        print(f"spambase and covtype are left out: {error}")
    report("Speed of the adaptive model", lines)


def fitted(name: str, X: np.ndarray, y: np.ndarray, costs: CostModel) -> tuple[list[Line], ThriftyClassifier]:
    """Return the time of a fit, and the model; a first fit on few rows compiles kernels."""
    ThriftyClassifier(costs=costs, n_rounds=1).fit(X[:200], y[:200])
    cpu, clock = process_time(), perf_counter()
    model = ThriftyClassifier(costs=costs, random_state=0).fit(X, y)
    shape = f"{name}, {len(X):,} x {X.shape[1]}"
    lines = [at_most(f"{shape}: fit", perf_counter() - clock, LIMITS[name], "s")]
    return [*lines, at_most(f"{shape}: fit, CPU time", process_time() - cpu, 2 * LIMITS[name], "s")], model


def spambase() -> list[Line]:
    """Return the time of a fit, and the speed of batches and sessions at ten units."""
    problem = load("spambase", 0, full=True)
    lines, model = fitted("spambase", problem.train.X, problem.train.y, problem.costs)
    curve = model.curve_
    point = model.at_cost_weight(float(curve.cost_weight[np.abs(curve.spend - UNITS).argmin()]))
    spend = point.spend(problem.test.X).mean()
    batch = np.resize(problem.test.X, (BATCH, problem.test.X.shape[1]))
    rate = BATCH / seconds(lambda: point.acquire(batch))
    lines.append(at_least(f"spambase: rows per second, mean spend {spend:.1f}", rate, 50_000, "/s"))
    return [*lines, at_most("spambase: a step of a session", 1e6 * session_step(point, problem), 300, "us")]


def session_step(model: ThriftyClassifier, problem: Problem) -> float:
    """Return the mean time of a step in seconds: one question, and its answer."""
    names = problem.costs.names or range(problem.test.X.shape[1])
    rows = [dict(zip(names, row, strict=True)) for row in problem.test.X[:N_SESSIONS]]
    n_steps, start = 0, perf_counter()
    for row in rows:
        session = model.session()
        while isinstance(step := session.next(), Acquire):
            session.observe({feature: row[feature] for feature in step.features})
            n_steps += 1
    return (perf_counter() - start) / max(n_steps, 1)


def large() -> list[Line]:
    """Return the time of a fit on 100,000 rows of seven classes."""
    data = load_covtype()
    chosen = np.random.default_rng(0).permutation(len(data.X))[:N_LARGE]
    X = np.asarray(data.X, dtype=float)[chosen]
    return fitted("covtype", X, np.asarray(data.y)[chosen], CostModel.resolve(data.costs, X.shape[1]))[0]


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
