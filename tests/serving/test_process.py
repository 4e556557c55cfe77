"""The process of the service: what it refuses to start with, how it ends, and workers that are killed."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.request import urlopen

import httpx
import psutil
import pytest

from serving.driven import answer, finish
from serving.http_load import Connection
from serving.started import SECONDS_TO_END, SECONDS_TO_START, started, wait_until_ready

WAITING = """
import time
from pathlib import Path
from thrifty.datasets import load_heart
from thrifty import source

heart = load_heart(as_frame=True).X

@source(provides=list(heart))
def record(key):
    Path(__file__).with_name("called").touch()
    while not Path(__file__).with_name("go on").exists():
        time.sleep(0.01)
    return heart.loc[key].to_dict()
"""


def refused(*arguments):
    """Run ``thrifty serve`` with something wrong; return the line that it prints."""
    command = [sys.executable, "-c", "import sys; from thrifty.cli import main; sys.exit(main())", "serve"]
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS_TO_START)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_other_machines_are_served_with_tokens_only(files):
    line = refused(files / "tree.thrifty", "--host", "0.0.0.0")
    assert "--host is '0.0.0.0', which other machines can reach, but there are no tokens. Pass --token-file" in line
    assert "--host is '::'" in refused(files / "tree.thrifty", "--host", "::")
    with started(files / "tree.thrifty", "--host", "0.0.0.0", "--token-file", files / "tokens.txt") as server:
        assert httpx.get(f"http://127.0.0.1:{server.port}/model").status_code == 401


def test_what_cannot_be_served_is_refused_in_one_line(files, tmp_path):
    model = files / "tree.thrifty"
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert "no such file" in refused(tmp_path / "none.thrifty")
    assert "the file defines no source" in refused(model, "--sources", tmp_path / "empty.py")
    assert "the table has no column 'age'" in refused(model, "--examples", tmp_path / "other.csv")
    assert "the file has no token" in refused(model, "--token-file", tmp_path / "empty.py")
    assert "cap is -1.0; expected a limit of at least 0" in refused(model, "--cap", "-1")
    assert "the file cannot be used" in refused(model, "--store", tmp_path)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--cap", "inf"), ("--deadline", "-1"), ("--deadline", "nan"), ("--session-seconds", "inf")],
)
def test_numbers_that_would_fail_later_are_refused_at_the_start(files, option, value):
    assert f"{option} is {float(value)}; expected" in refused(files / "tree.thrifty", option, value)


def test_a_port_that_is_taken_is_refused(files, on_tree):
    line = refused(files / "tree.thrifty", "--port", on_tree.server.port)
    assert f"--port {on_tree.server.port} cannot be listened at" in line


def test_a_missing_extra_is_answered_with_the_command_that_installs_it(files):
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv = ['thrifty', 'serve', 'm.thrifty']; "
        "from thrifty.cli import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "thrifty: serve needs uvicorn. Run: pip install 'thrifty[serve]'\n"


def wait_for(condition):
    until = time.monotonic() + SECONDS_TO_START
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def is_closed(port):
    """Tell whether nobody listens at a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_request_in_flight_is_finished_before_the_service_ends(files, tmp_path):
    (tmp_path / "waiting.py").write_text(WAITING)
    replies = []

    def predict():
        replies.append(httpx.post(f"{server.address}/predict", json={"key": 3}, timeout=SECONDS_TO_START))

    with started(files / "tree.thrifty", "--sources", tmp_path / "waiting.py") as server:
        ask = threading.Thread(target=predict)
        ask.start()
        wait_for((tmp_path / "called").exists)
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: is_closed(server.port))
        (tmp_path / "go on").touch()
        ask.join()
        server.process.wait(SECONDS_TO_END)
        assert server.process.stderr.read() == ""
    assert replies[0].status_code == 200
    assert replies[0].json()["degraded"] is False
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.address}/healthz", timeout=SECONDS_TO_START)


@pytest.fixture(scope="module")
def two_workers(files):
    with started(files / "adaptive.thrifty", "--workers", "2") as server:
        yield server


def worker_number(text):
    """Return the number of the process that replied with these metrics."""
    return int(re.search(r'worker="(\d+)"', text)[1])


def workers_of(server):
    """Return the processes that answer, by their numbers in the metrics; wait until there are two."""
    found, until = set(), time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:  # a worker takes requests when its kernels are compiled
        with urlopen(f"{server.address}/metrics") as reply:
            text = reply.read().decode()
        found.add(worker_number(text))
        if len(found) == 2:
            break
        time.sleep(0.05)
    return found


def test_any_worker_serves_any_session(two_workers, heart):
    both = workers_of(two_workers)
    assert len(both) == 2
    seen = set()
    for row in heart.rows[:20]:
        with two_workers.http() as first, two_workers.http() as second:
            state = first.post("/sessions", json={}).json()
            while state["status"] == "asking":
                answered = answer(first, state, row).json()
                assert second.get(f"/sessions/{state['id']}").json() == answered
                state = answered
                first, second = second, first
            seen.add(state["result"]["prediction"])
    assert seen == {"absent", "present"}


def stop(worker):
    """Stop a process wherever it is; what is sent to it from now on gets no reply."""
    os.kill(worker, signal.SIGSTOP)
    while psutil.Process(worker).status() != psutil.STATUS_STOPPED:
        time.sleep(0.001)


def test_sessions_survive_a_worker_that_is_killed_under_load(two_workers, adaptive, heart):
    """Every session goes on, and an answer that is sent again is charged once."""
    rows, spends = heart.rows[:60], adaptive.spend(heart.X[:60])
    before = workers_of(two_workers)
    n_answers, n_retries = 0, 0

    async def patient(connection, *request):
        nonlocal n_retries
        while True:
            try:
                return await connection.request(*request)
            except OSError:
                n_retries += 1
                await asyncio.sleep(0.05)

    async def drive(row, expected):
        nonlocal n_answers
        connection = Connection(two_workers.port)
        state = (await patient(connection, "POST", "/sessions", {})).json()
        while state["status"] == "asking":
            n_answers += 1
            if n_answers == len(rows):  # the other end of this connection stops, and is killed a moment later
                metrics = await connection.request("GET", "/metrics")
                worker = worker_number(metrics.body.decode())
                stop(worker)
                asyncio.get_running_loop().call_later(0.3, os.kill, worker, signal.SIGKILL)
            values = {ask["feature"]: row[ask["feature"]] for ask in state["asks"]}
            body = {"step": state["step"], "values": values}
            reply = await patient(connection, "POST", f"/sessions/{state['id']}", body)
            assert reply.status == 200, reply.body
            state = reply.json()
            await asyncio.sleep(0.01)
        await connection.close()
        assert state["spend"] == expected
        assert len({name for each in state["history"] for name in each["features"]}) == sum(
            len(each["features"]) for each in state["history"]
        )

    async def load():
        await asyncio.gather(*(drive(row, spend) for row, spend in zip(rows, spends, strict=True)))

    asyncio.run(load())
    wait_until_ready(two_workers)
    assert n_retries > 0
    after = workers_of(two_workers)
    assert len(after) == 2
    assert after != before
    assert len(after & before) == 1
    with two_workers.http() as http:
        assert finish(http, heart.rows[3])[-1]["status"] == "done"


def test_a_worker_that_replaces_another_serves_the_same_model(files, tmp_path):
    model = Path(shutil.copy(files / "tree.thrifty", tmp_path))
    with started(model, "--workers", "2") as server:
        before = workers_of(server)
        model.unlink()
        os.kill(min(before), signal.SIGKILL)
        wait_for(lambda: workers_of(server) - before)
        assert httpx.get(f"{server.address}/model", timeout=SECONDS_TO_START).json()["name"] == "tree"


def test_workers_end_if_the_process_that_started_them_is_killed(files):
    with started(files / "tree.thrifty", "--workers", "2") as server:
        workers = [psutil.Process(pid) for pid in workers_of(server)]
        server.process.kill()
        _, left = psutil.wait_procs(workers, timeout=SECONDS_TO_END)
        assert left == []


def test_workers_and_their_file_are_gone_after_the_end(files):
    with started(files / "tree.thrifty", "--workers", "2") as server:
        workers = [psutil.Process(pid) for pid in workers_of(server)]
        stores = {each.path for each in workers[0].open_files() if "thrifty-serving-" in each.path}
        assert stores
    assert not any(each.is_running() for each in workers)
    assert not any(os.path.exists(path) for path in stores)
