"""The service against an empty FastAPI handler, many sessions at once, malformed requests, and a worker that is killed.

``python -m benchmarks.serving 60`` sets how many seconds the sessions run.
"""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any
from urllib.request import urlopen

import numpy as np
import psutil

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from benchmarks.report import Line, at_least, at_most, report, table
from serving.http_load import Connection, request_bytes, times_of
from serving.malformed import malformed
from serving.started import Server, started
from thrifty import ASTCClassifier, ThriftyClassifier, save
from thrifty.datasets import load_heart

HEART = load_heart(as_frame=True)
ROWS = HEART.X.to_dict("records")
N_CONNECTIONS, N_SESSIONS, N_MALFORMED = 16, 500, 10_000
ROUND, N_ROUNDS = 1.0, 10  # seconds of one kind of requests
EMPTY = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()

@app.post("/")
async def empty():
    return {}

uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
"""


def main(seconds: float = 10.0) -> None:
    models = {
        "tree": ASTCClassifier(costs=HEART.costs, max_depth=3, node_budget=[4, 10, 100]),
        "adaptive": ThriftyClassifier(costs=HEART.costs, budget=60, random_state=0),
    }
    with TemporaryDirectory() as folder:
        for name, model in models.items():
            save(model.fit(HEART.X, HEART.y), Path(folder, f"{name}.thrifty"))
        lines = [
            *speed(folder),
            *many_sessions(folder, models["adaptive"], seconds),
            *wrong_requests(folder),
            *killed_worker(folder, models["adaptive"], min(seconds, 10.0)),
        ]
    report("Service", lines)


# 1. Requests per second


@dataclass(frozen=True)
class Round:
    """How long each reply took, and the processor time that the server has spent on them."""

    times: list[float]
    cpu: float

    @property
    def rate(self) -> float:
        return len(self.times) / ROUND

    @property
    def cpu_per_request(self) -> float:
        return self.cpu / len(self.times)


def speed(folder: str) -> list[Line]:
    """Compare requests per second with those of an empty handler; rounds alternate, so that other load slows both.

    If other programs take the processors, the processor time of a request says more than the requests per second.
    """
    lines, shown = [], []
    with empty_handler() as empty:
        for name in ("tree", "adaptive"):
            with started(f"{folder}/{name}.thrifty") as server:
                found = [one_round(empty, server) for _ in range(N_ROUNDS)]
            for what in ("rows", "session"):
                rate = median(each[what].rate / each["empty"].rate for each in found)
                lines.append(at_least(f"{name}: requests/s of {what} / of an empty handler", rate, 0.5))
                cpu = median(each[what].cpu_per_request / each["empty"].cpu_per_request for each in found)
                lines.append(at_most(f"{name}: processor time of {what} / of an empty handler", cpu, 2.0))
            shown += [(f"{name}: {what}", *figures([each[what] for each in found])) for what in found[0]]
    table(f"{N_CONNECTIONS} connections", ("", "requests/s", "processor us", "median ms", "p99 ms"), shown)
    return lines


def one_round(empty: Server, server: Server) -> dict[str, Round]:
    """Measure an empty handler, one row, and sessions."""
    body = {"rows": [ROWS[3]]}
    return {
        "empty": measured(empty, times_of(empty.port, request_bytes("POST", "/", body), N_CONNECTIONS, ROUND)),
        "rows": measured(
            server, times_of(server.port, request_bytes("POST", "/predict/rows", body), N_CONNECTIONS, ROUND)
        ),
        "session": measured(server, session_times(server.port, N_CONNECTIONS, ROUND)),
    }


def measured(server: Server, load: Coroutine[Any, Any, list[float]]) -> Round:
    before = processor_time(server)
    times = asyncio.run(load)
    return Round(times, processor_time(server) - before)


def processor_time(server: Server) -> float:
    spent = psutil.Process(server.process.pid).cpu_times()
    return spent.user + spent.system


def figures(rounds: list[Round]) -> tuple[str, ...]:
    times = np.concatenate([each.times for each in rounds])
    rate, cpu = median(each.rate for each in rounds), median(each.cpu_per_request for each in rounds)
    milliseconds = (1000 * np.median(times), 1000 * np.quantile(times, 0.99))
    return (f"{rate:,.0f}", f"{1e6 * cpu:.0f}", *(f"{each:.2f}" for each in milliseconds))


@contextmanager
def empty_handler() -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", EMPTY, str(port)])
    try:
        until = perf_counter() + 30
        while perf_counter() < until:
            try:
                urlopen(f"http://127.0.0.1:{port}/openapi.json").close()
                break
            except OSError:
                sleep(0.1)
        yield Server(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        process.wait()


# 2. Sessions


async def drive(connection: Connection, row: dict, times: list[float], retries: Counter, pause: float = 0.0) -> dict:
    """Run a session to its end, send again what gets no reply, and return its last state."""

    async def post(path: str, body: dict) -> dict:
        began = perf_counter()
        while True:
            try:
                reply = await connection.request("POST", path, body)
                break
            except OSError:
                retries["sent again"] += 1
                await asyncio.sleep(0.05)
        times.append(perf_counter() - began)
        if reply.status >= 300:
            raise RuntimeError(f"{path}: {reply.status} {reply.body!r}")
        return reply.json()

    state = await post("/sessions", {})
    while state["status"] == "asking":
        values = {ask["feature"]: row[ask["feature"]] for ask in state["asks"]}
        state = await post(f"/sessions/{state['id']}", {"step": state["step"], "values": values})
        await asyncio.sleep(pause)
    return state


async def session_times(port: int, n_connections: int, seconds: float) -> list[float]:
    """Run sessions one after the other on some connections; return how long each reply took."""
    times: list[float] = []
    until = perf_counter() + seconds

    async def repeat() -> None:
        connection = Connection(port)
        while perf_counter() < until:
            await drive(connection, ROWS[3], times, Counter())
        await connection.close()

    await asyncio.gather(*(repeat() for _ in range(n_connections)))
    return times


async def sessions_at_once(port: int, model, seconds: float, pause: float) -> tuple[Counter, list[float]]:
    """Run many sessions at the same time; count those that end otherwise than a session of the model would."""
    bought = model.acquire(HEART.X)
    names = np.array(HEART.X.columns)
    found, times, until = Counter(), [], perf_counter() + seconds

    async def repeat(number: int) -> None:
        connection = Connection(port)
        while perf_counter() < until:
            k = number % len(ROWS)
            try:
                state = await drive(connection, ROWS[k], times, found, pause)
            except (RuntimeError, KeyError):
                found["lost"] += 1
                continue
            acquired = {name for each in state["history"] for name in each["features"]}
            same = acquired == set(names[bought.acquired[k]]) and state["spend"] == bought.spend[k]
            found["finished"] += 1
            found["mixed up"] += not (same and state["result"]["prediction"] == bought.prediction[k])
            number += 7
        await connection.close()

    await asyncio.gather(*(repeat(number) for number in range(N_SESSIONS)))
    return found, times


def many_sessions(folder: str, model, seconds: float) -> list[Line]:
    with started(f"{folder}/adaptive.thrifty") as server:
        found, times = asyncio.run(sessions_at_once(server.port, model, seconds, pause=0.05))
    p99 = 1000 * float(np.quantile(times, 0.99))
    shown = (f"{seconds:g}", f"{found['finished']:,}", f"{len(times) / seconds:,.0f}", f"{p99:.0f}")
    table(f"{N_SESSIONS} sessions at once", ("seconds", "finished", "requests/s", "p99 ms"), [shown])
    return [
        at_least(f"{N_SESSIONS} sessions at once: finished", found["finished"], N_SESSIONS, ""),
        at_most("sessions lost", found["lost"], 0, ""),
        at_most("sessions mixed up", found["mixed up"], 0, ""),
    ]


# 3. Malformed requests


def wrong_requests(folder: str) -> list[Line]:
    with started(f"{folder}/tree.thrifty") as server:
        process = psutil.Process(server.process.pid)
        asyncio.run(statuses(server, malformed(N_MALFORMED // 10, seed=1)))
        before = process.memory_info().rss
        found = asyncio.run(statuses(server, malformed(N_MALFORMED, seed=2)))
        memory = process.memory_info().rss / before
    return [
        at_least("malformed requests that get 4xx with a sentence", found["refused"], N_MALFORMED, ""),
        at_most("malformed requests: memory at the end / at the start", memory, 1.05),
    ]


async def statuses(server: Server, requests: Iterator[bytes]) -> Counter:
    connection, found = Connection(server.port), Counter()
    for request in requests:
        reply = await connection.send(request)
        sentence = len(reply.body) > 20 and b"Traceback" not in reply.body
        found["refused"] += 400 <= reply.status < 500 and sentence
    await connection.close()
    return found


# 4. A worker that is killed


def killed_worker(folder: str, model, seconds: float) -> list[Line]:
    """Kill one of two workers while sessions run: all go on, and what is sent again is charged once."""
    with started(f"{folder}/adaptive.thrifty", "--workers", "2") as server:
        load = sessions_at_once(server.port, model, seconds, pause=0.05)
        found, _ = asyncio.run(with_kill(load, worker_of(server), seconds / 2))
    return [
        at_least("worker killed: answers sent again", found["sent again"], 1, ""),
        at_most("worker killed: sessions lost", found["lost"], 0, ""),
        at_most("worker killed: sessions charged or answered otherwise", found["mixed up"], 0, ""),
    ]


async def with_kill(load, worker: int, after: float):
    running = asyncio.ensure_future(load)
    await asyncio.sleep(after)
    os.kill(worker, signal.SIGKILL)
    return await running


def worker_of(server: Server) -> int:
    with urlopen(f"{server.address}/metrics") as reply:
        return int(re.search(r'worker="(\d+)"', reply.read().decode())[1])


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
