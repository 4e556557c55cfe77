"""The engine against real sources: time saved, its own overhead, shared calls, and a source that dies under load.

The values lie in a PostgreSQL server, and every query sleeps in proportion to the price of what it returns.
``python -m benchmarks.runtime 60`` sets how many seconds the load with faults lasts.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from time import perf_counter

import numpy as np
import psutil

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from benchmarks.report import at_least, at_most, report, table
from runtime.servers import WebService, postgres, web_service
from thrifty import CostModel, Engine, ThriftyClassifier, source
from thrifty.datasets import load_heart
from thrifty.models.session import drive
from thrifty.runtime import HTTPSource, SQLSource

HEART = load_heart()
PANELS = {  # one call each
    "interview": ("age", "sex", "cp", "trestbps"),
    "blood": ("chol", "fbs"),
    "ecg": ("restecg",),
    "exercise": ("thalach", "exang", "oldpeak", "slope"),
    "fluoroscopy": ("ca",),
    "scan": ("thal",),
}
SERVED = "interview"  # the panel whose source dies; every row needs it
SECONDS_PER_DOLLAR = 0.0005
N_TRAINING, N_PREDICTED, N_MANY = 200, 60, 10_000


def main(seconds: float = 60.0) -> None:
    model, prices = fitted()
    lines = [*savings(model, prices), *overhead(model), *shared_calls(model), *load(model, seconds)]
    report("Engine", lines)


def fitted() -> tuple[ThriftyClassifier, dict[str, float]]:
    """Return a model of the heart data at the prices of calls, and these prices."""
    prices = {
        panel: float(HEART.costs.of([name in features for name in HEART.names])) for panel, features in PANELS.items()
    }
    costs = CostModel(
        dict.fromkeys(HEART.names, 0.0),
        bundles={panel: (list(features), prices[panel]) for panel, features in PANELS.items()},
        unit="CAD",
    )
    model = ThriftyClassifier(costs=costs, budget=120, random_state=0)
    return model.fit(HEART.X[:N_TRAINING], HEART.y[:N_TRAINING]), prices


def keys() -> list[int]:
    """Return the keys of the rows that the model has not seen."""
    return list(range(N_TRAINING, len(HEART.X)))[:N_PREDICTED]


# 1. Time saved


@contextmanager
def panels_in_postgres(prices: dict[str, float]) -> Iterator[list[SQLSource]]:
    """Return sources that read the heart data from PostgreSQL, each as slow as its price tells."""
    from sqlalchemy import create_engine, text

    with postgres() as server:
        database = create_engine(server.url, pool_size=20)
        columns = ", ".join(f"{name} double precision" for name in HEART.names)
        with database.begin() as connection:
            connection.execute(text(f"CREATE TABLE patients (id integer PRIMARY KEY, {columns})"))
            rows = [{"id": i} | dict(zip(HEART.names, row, strict=True)) for i, row in enumerate(HEART.X.tolist())]
            slots = ", ".join(f":{name}" for name in ("id", *HEART.names))
            connection.execute(text(f"INSERT INTO patients VALUES ({slots})"), rows)
        yield [
            SQLSource(
                database,
                f"SELECT id, {', '.join(features)} FROM patients, pg_sleep({prices[panel] * SECONDS_PER_DOLLAR}) "
                "WHERE id IN :keys",
                provides=features,
                key="id",
                name=panel,
            )
            for panel, features in PANELS.items()
        ]
        database.dispose()


def savings(model: ThriftyClassifier, prices: dict[str, float]) -> list:
    """Compare the time of predictions with the time to fetch everything, one call after the other."""
    with panels_in_postgres(prices) as sources, Engine(model, sources, concurrency=1) as engine:
        engine.predict(0)  # opens a connection
        lazy = [timed(lambda key=key: engine.predict(key)) for key in keys()]
        everything = [timed(lambda key=key: [each.read([key]) for each in sources]) for key in keys()]
    time_saved = 1 - mean(seconds for seconds, _ in lazy) / mean(seconds for seconds, _ in everything)
    spend_saved = 1 - mean(result.spend for _, result in lazy) / sum(prices.values())
    table(
        "PostgreSQL, heart data, latency in proportion to prices",
        ("", "saved"),
        [("spend", f"{spend_saved:.1%}"), ("time", f"{time_saved:.1%}")],
    )
    return [at_most("|time saved / spend saved - 1|", 100 * abs(time_saved / spend_saved - 1), 20, "%")]


def timed(function) -> tuple[float, object]:
    began = perf_counter()
    returned = function()
    return perf_counter() - began, returned


# 2. Overhead


def overhead(model: ThriftyClassifier) -> list:
    """Compare a prediction with the bare session and the bare source."""

    @source(provides=HEART.names)
    async def record(key):
        return HEART.X[key].tolist()

    with Engine(model, [record]) as engine:
        results = [engine.predict(key) for key in keys() * 5]
        steps = mean(len(result.trace.steps) for result in results)
        waiting = median(timed(lambda key=key: engine.predict(key))[0] for key in keys() * 5)
    bare = median(timed(lambda key=key: bare_session(model, key))[0] for key in keys() * 5)
    concurrent = asyncio.run(thousand_at_once(model))
    return [
        at_most("overhead of a decision", (waiting - bare) / steps * 1e6, 200, "us"),
        at_least("1,000 concurrent apredict agree with the batch (1: yes)", concurrent, 1, ""),
    ]


def bare_session(model: ThriftyClassifier, key: int) -> None:
    values = dict(zip(HEART.names, HEART.X[key].tolist(), strict=True))
    drive(model.session(), values.__getitem__)


async def thousand_at_once(model: ThriftyClassifier) -> float:
    """Return 1 if all of a thousand concurrent predictions equal batch prediction, else 0."""

    @source(provides=HEART.names)
    async def record(key):
        await asyncio.sleep(0.01)
        return HEART.X[key % len(HEART.X)].tolist()

    async with Engine(model, [record], concurrency=1000) as engine:
        results = await asyncio.gather(*(engine.apredict(key) for key in range(1000)))
    batch = model.acquire(HEART.X[np.arange(1000) % len(HEART.X)])
    agree = [(each.spend, each.prediction) for each in results] == list(zip(batch.spend, batch.prediction, strict=True))
    return float(agree)


# 3. Shared calls


def shared_calls(model: ThriftyClassifier) -> list:
    """Count the calls of many rows that are predicted together."""
    calls: Counter = Counter()

    def panel(name, features):
        columns = [HEART.names.index(feature) for feature in features]

        @source(provides=features, name=name, batch=True)
        def read(rows):
            calls[name] += 1
            return HEART.X[np.ix_([row % len(HEART.X) for row in rows], columns)].tolist()

        return read

    with Engine(model, [panel(*each) for each in PANELS.items()]) as engine:
        seconds, results = timed(lambda: engine.predict_many(range(N_MANY)))
    steps = max(len(result.trace.steps) for result in results)
    table("predict_many", ("rows", "time", "calls"), [(f"{N_MANY:,}", f"{seconds:.1f} s", str(calls.total()))])
    return [at_most(f"calls for {N_MANY:,} rows / (steps x sources)", calls.total() / (steps * len(PANELS)), 1)]


# 4. A source that dies


def load(model: ThriftyClassifier, seconds: float) -> list:
    """Predict without a pause while the server of one source is killed and started again, several times."""
    with web_service(records()) as server:
        figures = asyncio.run(under_load(model, server, seconds))
    table("Load with a dying source", ("", ""), [(name, str(figure)) for name, figure in figures.items()])
    answered, degraded = figures["answered"], figures["degraded"]
    return [
        at_most("requests without an answer, or with an exception", figures["errors"], 0, ""),
        at_most("rows that were charged for a call that was not made", figures["wrongly charged"], 0, ""),
        at_least("degraded requests, while the source was down", degraded, 1, ""),
        at_least("requests that were answered in full", answered - degraded, 1, ""),
        at_least("times the breaker was seen open", figures["open"], 1, ""),
        at_most("breaker open at the end", figures["open at the end"], 0, ""),
        at_most("tasks at the end", figures["tasks"], 0, ""),
        at_most("threads at the end / at the start", figures["threads"], 1),
        at_most("sockets at the end / at the start", figures["sockets"], 1),
        at_most("memory at the end / at the start", figures["memory"], 1.1),
    ]


def records() -> dict[str, dict[str, float]]:
    features = PANELS[SERVED]
    columns = [HEART.names.index(feature) for feature in features]
    return {str(i): dict(zip(features, row, strict=True)) for i, row in enumerate(HEART.X[:, columns].tolist())}


async def under_load(model: ThriftyClassifier, server: WebService, seconds: float, clients: int = 20) -> dict:
    """Return what happened to the requests of some clients, and what was left at the end."""
    served = HTTPSource(f"{server.url}/{{key}}", provides=PANELS[SERVED], name=SERVED, timeout=0.5)
    rest = [name for name in HEART.names if name not in PANELS[SERVED]]
    columns = [HEART.names.index(name) for name in rest]

    @source(provides=rest, name="rest")
    async def record(key):
        await asyncio.sleep(0.002)
        return HEART.X[key, columns].tolist()

    figures: Counter = Counter()
    process = psutil.Process()
    async with Engine(model, [served, record], breaker_failures=5, breaker_pause=0.5) as engine:
        await asyncio.gather(*(engine.apredict(key) for key in keys()))  # connections and threads of a busy engine
        await asyncio.to_thread(server.counts)  # starts the thread that kills the server
        before = resources(process)
        ends = perf_counter() + seconds
        requests = [asyncio.create_task(client(engine, ends, figures, i)) for i in range(clients)]
        await asyncio.gather(kill_and_restart(server, engine, ends, figures), *requests)
        await asyncio.sleep(0.6)  # the pause of the breaker
        await asyncio.gather(*(engine.apredict(key) for key in keys()))
        figures["open at the end"] = int(engine.health().sources[SERVED] != "closed")
        figures["tasks"] = len(asyncio.all_tasks()) - 1
        after = resources(process)
    return {
        **{name: figures[name] for name in ("answered", "degraded", "errors", "wrongly charged", "open", "kills")},
        **{name: figures[name] for name in ("open at the end", "tasks")},
        **{name: after[name] / before[name] for name in before},
    }


def resources(process: psutil.Process) -> dict[str, float]:
    return {
        "threads": process.num_threads(),
        "sockets": max(len(process.net_connections()), 1),
        "memory": process.memory_info().rss,
    }


async def client(engine: Engine, ends: float, figures: Counter, seed: int) -> None:
    """Send one request after the other, and count how they end."""
    generator = np.random.default_rng(seed)
    while perf_counter() < ends:
        await asyncio.sleep(0)  # a row that needs no call never waits, and the other tasks have to run too
        try:
            result = await engine.apredict(int(generator.choice(keys())))
        except Exception:
            figures["errors"] += 1
            continue
        figures["answered"] += 1
        figures["degraded"] += result.degraded
        figures["wrongly charged"] += any(
            call.cost > 0 and call.outcome in ("refused", "deadline") and not call.attempts
            for call in result.trace.calls
        )


async def kill_and_restart(server: WebService, engine: Engine, ends: float, figures: Counter) -> None:
    """Kill the server of a source for a third of the time, again and again; it runs at the end."""
    while (left := ends - perf_counter()) > 0:
        await asyncio.sleep(min(2.0, left / 2))
        await asyncio.to_thread(server.kill)
        figures["kills"] += 1
        figures["open"] += await opens(engine, ends)
        await asyncio.to_thread(server.start)


async def opens(engine: Engine, ends: float) -> bool:
    """Tell whether the breaker opens within a second or, on a machine that is busy, until the load ends."""
    start, is_open = perf_counter(), False
    while (now := perf_counter()) < start + 1.0 or (not is_open and now < ends):
        is_open |= engine.health().sources[SERVED] == "open"
        await asyncio.sleep(0.02)
    return is_open


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
