"""The client: its sessions behave as local ones, lost replies are harmless, errors are the sentences of the service."""

import asyncio
import math
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

from serving.conftest import TOKENS
from thrifty import Acquire, ServiceError, SessionError, Stop
from thrifty.client import Client, Prediction
from thrifty.models.session import drive


@pytest.fixture
def client(on_tree):
    with Client(on_tree.server.address) as opened:
        yield opened


@pytest.mark.parametrize("cap", [None, 12.0])
def test_a_remote_session_is_a_local_session(client, tree, heart, cap):
    for row in heart.rows[:10]:
        local, remote = tree.session(cap), client.session(cap)
        while isinstance(step := local.next(), Acquire):
            assert remote.next() == step
            for session in (local, remote):
                session.observe({feature: row[feature] for feature in step.features})
            assert remote.spend == local.spend
        assert remote.next() == step


def test_sessions_can_be_driven_and_observed_in_parts(client, tree, heart):
    row = heart.rows[3]
    assert drive(client.session(), row.get) == drive(tree.session(), row.get)
    session = client.session()
    first, *rest = session.next().features
    session.observe({first: row[first]})
    assert session.next() == Acquire(tuple(rest), 0.0)
    assert session.spend == 0.0
    session.observe({feature: np.float32(row[feature]) for feature in rest})
    assert session.spend > 0


@pytest.mark.parametrize("value", [None, math.nan, np.nan, np.float32("nan")])
def test_missing_values_are_unavailable(client, tree, heart, value):
    row = {**heart.rows[3], "age": value}
    assert drive(client.session(), row.get) == drive(tree.session(), row.get)


def test_a_wrong_value_can_be_corrected(client, heart):
    session = client.session()
    asked = session.next().features
    with pytest.raises(SessionError, match="feature 'age' was observed as 'old'; expected a finite number"):
        session.observe({**dict.fromkeys(asked, 1.0), "age": "old"})
    with pytest.raises(SessionError, match="feature 'age' was observed as inf"):
        session.observe({**dict.fromkeys(asked, 1.0), "age": math.inf})
    with pytest.raises(SessionError, match="Observe what is asked for"):
        session.observe({"agee": 1.0})
    assert session.spend == 0.0
    session.observe(dict.fromkeys(asked, 1.0))
    assert session.spend == 4.0


def test_a_session_can_be_resumed_and_ended(client, heart):
    session = client.session()
    session.observe({feature: heart.rows[0][feature] for feature in session.next().features})
    again = client.resume(session.id)
    assert (again.next(), again.spend, again.state) == (session.next(), session.spend, session.state)
    session.end()
    with pytest.raises(SessionError, match="there is no such session"):
        client.resume(session.id)
    with pytest.raises(SessionError, match="there is nothing at"):
        client.resume("../model")


def test_rows_and_keys_are_predicted(client, tree, heart):
    rows = [{**heart.rows[0], "age": np.float64(70.0)}, *heart.rows[1:12]]
    found = client.predict_rows(rows)
    assert all(isinstance(each, Prediction) for each in found)
    assert [each.prediction for each in found] == tree.predict(heart.X[:12]).tolist()
    assert [each.spend for each in client.predict_rows(rows, cap=5)] == tree.spend(heart.X[:12], cap=5).tolist()
    result = client.predict(np.int64(5))
    assert (result.prediction, result.spend) == (tree.predict(heart.X[5:6])[0], tree.spend(heart.X[5:6])[0])
    assert client.model()["name"] == "tree"


def test_errors_are_the_sentences_of_the_service(client):
    with pytest.raises(ServiceError, match="row 0 has 'agee', which is not a column of the model") as caught:
        client.predict_rows([{"agee": 1}])
    assert caught.value.status == 422
    with pytest.raises(SessionError, match="cap is -1; expected greater than or equal to 0"):
        client.session(cap=-1)


def test_tokens_are_sent(guarded):
    with Client(guarded.server.address, TOKENS[0]) as client:
        client.session().end()
    with (
        Client(guarded.server.address) as client,
        pytest.raises(ServiceError, match="the request has no valid token") as caught,
    ):
        client.session()
    assert caught.value.status == 401


def test_a_token_may_end_with_a_line_end(guarded):
    with Client(guarded.server.address, f"{TOKENS[0]}\n") as client:
        client.session().end()
    with pytest.raises(ValueError, match="Client: token is not valid; expected ASCII characters"):
        Client(guarded.server.address, "tökén-of-the-tests")


def test_limits_that_are_not_finite_are_refused():
    with Client("http://127.0.0.1:9") as nobody:
        with pytest.raises(ValueError, match="Client: cap is nan; expected a finite number of at least 0"):
            nobody.session(cap=math.nan)
        with pytest.raises(ValueError, match="Client: budget is inf"):
            nobody.predict_rows([], budget=math.inf)


def test_a_service_that_is_not_there(client):
    with Client("http://127.0.0.1:9", retries=1) as nobody, pytest.raises(ServiceError, match="cannot be reached"):
        nobody.session()


class LossyProxy:
    """Passes requests on to a service, and drops some replies after the service has sent them."""

    def __init__(self, port, drops):
        self.port_of_service, self.drops, self.n_requests = port, drops, 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.listen(), self.loop).result()
        return self

    def __exit__(self, *exception):
        asyncio.run_coroutine_threadsafe(self.stop(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def listen(self):
        self.server = await asyncio.start_server(self.serve, sock=self.socket)

    async def stop(self):
        self.server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def serve(self, reader, writer):
        """Read one request, pass it on, and answer it or not."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        body = await reader.readexactly(length)
        there, back = await asyncio.open_connection("127.0.0.1", self.port_of_service)
        back.write(head.replace(b"keep-alive", b"close") + body)
        reply = await there.read()
        back.close()
        self.n_requests += 1
        if self.n_requests not in self.drops:
            writer.write(reply)
            await writer.drain()
        writer.close()


def test_an_answer_whose_reply_is_lost_is_sent_again_and_charged_once(on_tree, tree, heart):
    row = heart.rows[3]
    with LossyProxy(on_tree.server.port, drops={2, 4, 5}) as proxy, Client(proxy.address) as client:
        session = client.session()
        assert drive(session, row.get) == drive(tree.session(), row.get)
        assert session.spend == tree.spend(heart.X[3:4])[0]
        n_steps = session.state["step"]
    assert proxy.n_requests == 1 + n_steps + 3


def test_a_prediction_by_key_is_not_sent_twice(on_tree):
    with LossyProxy(on_tree.server.port, drops={1}) as proxy, Client(proxy.address) as client:
        with pytest.raises(ServiceError, match="cannot be reached"):
            client.predict(3)
        assert proxy.n_requests == 1


def test_a_reply_of_another_server_is_not_taken_for_one_of_ours(tmp_path):
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    port = server.stdout.readline().split("port ")[1].split()[0]
    try:
        with (
            Client(f"http://127.0.0.1:{port}", retries=0) as client,
            pytest.raises(ServiceError, match="the reply has status 404, and is not from thrifty"),
        ):
            client.model()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def test_the_end_of_a_session_is_a_stop(client):
    assert isinstance(client.session(cap=0).next(), Stop)
