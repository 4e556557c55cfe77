"""The store of sessions: a step is stored once, sessions expire and are bounded, and workers share a file."""

import json
import multiprocessing
import os
import sqlite3
import stat

import pytest

from serving.started import SECONDS_TO_START
from thrifty.serving.problems import RefusedError
from thrifty.serving.served_model import ServedModel
from thrifty.serving.sessions.record import Client, Record
from thrifty.serving.sessions.sessions import Sessions
from thrifty.serving.sessions.store import ALL, SessionStore, TooManySessionsError
from thrifty.serving.settings import Settings

ANNA, BEN = Client("a", "anna"), Client("b", "ben")


def record(name, client=ANNA, *, done=False, expires=100.0, answers=()):
    return Record(name, "m", client, None, 5.0, answers, done, expires)


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    path = None if request.param == "memory" else str(tmp_path / "sessions.sqlite")
    opened = SessionStore(path, max_total=4, max_per_client=3)
    yield opened
    opened.close()


def test_what_was_stored_is_found_by_its_owner_only(store):
    store.add(record("s", answers=({"age": 3.0, "town": "Ulm\ud800", "sex": None},)), now=0.0)
    assert store.get("s", "m", "a", 0.0) == record("s", answers=({"age": 3.0, "town": "Ulm\ud800", "sex": None},))
    assert store.get("s", "m", "b", 0.0) is None
    assert not store.remove("s", "b")
    assert store.remove("s", "a")
    assert store.get("s", "m", "a", 0.0) is None


def test_a_step_is_stored_once(store):
    store.add(record("s"), now=0.0)
    first = record("s").answered({"age": 1.0}, done=False, expires=200.0)
    assert store.advance(first, 0.0)
    assert not store.advance(record("s").answered({"age": 2.0}, done=False, expires=300.0), 0.0)
    assert store.get("s", "m", "a", 0.0) == first


def test_an_expired_session_is_not_found_and_makes_room(store):
    for k in range(3):
        store.add(record(f"s{k}", expires=10.0), now=0.0)
    assert store.get("s0", "m", "a", 9.0) is not None
    assert store.get("s0", "m", "a", 10.0) is None
    assert store.count(10.0) == 0
    store.add(record("new"), now=10.0)
    assert store.count(10.0) == 1


def test_clients_are_bounded_and_told_when_there_will_be_room(store):
    for k in range(3):
        store.add(record(f"s{k}", expires=50.0 + k), now=0.0)
    with pytest.raises(TooManySessionsError) as refused:
        store.add(record("one more"), now=0.0)
    assert refused.value.until == 50.0
    store.add(record("of another client", BEN, expires=20.0), now=0.0)
    with pytest.raises(TooManySessionsError) as refused:
        store.add(record("one more", BEN), now=0.0)
    assert refused.value.until == 20.0
    assert store.count(0.0) == 4


def test_an_ended_session_makes_room(store):
    for k in range(3):
        store.add(record(f"s{k}", done=k == 1), now=0.0)
    store.add(record("new"), now=0.0)
    assert [store.get(name, "m", "a", 0.0) is not None for name in ("s0", "s1", "s2", "new")] == [
        True,
        False,
        True,
        True,
    ]


def answer_all(path, n_steps, value, won):
    """Try to answer every step of a session; count how often this process was first."""
    store, count = SessionStore(path, max_total=9, max_per_client=9), 0
    while (found := store.get("s", "m", "a", 0.0)).step < n_steps:
        count += store.advance(found.answered({"by": value, "step": found.step}, done=False, expires=100.0), 0.0)
    won.put((value, count))
    store.close()


def test_two_processes_never_store_the_same_step_twice(tmp_path):
    path, n_steps = str(tmp_path / "sessions.sqlite"), 300
    store = SessionStore(path, max_total=9, max_per_client=9)
    store.add(record("s"), now=0.0)
    context = multiprocessing.get_context("spawn")
    won = context.Queue()
    workers = [context.Process(target=answer_all, args=(path, n_steps, k, won)) for k in range(2)]
    for worker in workers:
        worker.start()
    counts = dict(won.get(timeout=SECONDS_TO_START) for _ in workers)
    for worker in workers:
        worker.join()
    answers = store.get("s", "m", "a", 0.0).answers
    store.close()
    assert [each["step"] for each in answers] == list(range(n_steps))
    assert sum(counts.values()) == n_steps
    assert {k: sum(each["by"] == k for each in answers) for k in counts} == counts


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "sessions.sqlite").write_text("this is not a database, it is a text that is long enough" * 20)
    with pytest.raises(ValueError, match=r"sessions\.sqlite: the file cannot be used .*file is not a database"):
        SessionStore.open(Settings("m.thrifty", store=str(tmp_path / "sessions.sqlite")))


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "theirs.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE sessions (id TEXT, expires REAL)")
        database.execute("INSERT INTO sessions VALUES ('theirs', 0.0)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"theirs\.sqlite: the file cannot be used .*of another program or version"):
        SessionStore.open(Settings("m.thrifty", store=str(path)))
    assert path.read_bytes() == before


def first_values(heart, row):
    return {name: heart.rows[row][name] for name in ("age", "sex", "cp", "trestbps")}


def refused_for_now(work, *arguments):
    with pytest.raises(RefusedError, match="the service cannot store sessions now") as caught:
        work(*arguments)
    return (caught.value.status, caught.value.headers) == (503, {"Retry-After": "1"})


@pytest.fixture
def workers(files, tmp_path, monkeypatch):
    """Return the sessions of two workers that share a file, and do not wait for its lock."""
    monkeypatch.setattr("thrifty.serving.sessions.store.SECONDS_TO_WAIT", 0.0)
    served = ServedModel.open(str(files / "tree.thrifty"))
    path = str(tmp_path / "sessions.sqlite")
    both = [Sessions(served, SessionStore(path, max_total=9999, max_per_client=9999), 60.0) for _ in range(2)]
    yield both
    for each in both:
        each.close()


def test_a_file_that_is_locked_is_told_and_nothing_is_lost(workers, heart):
    sessions, other = workers
    name, before = sessions.start(ANNA, None, None)
    with other._store._transaction():
        assert refused_for_now(sessions.start, ANNA, None, None)
        assert refused_for_now(sessions.answer, ANNA, name, 0, first_values(heart, 3))
        assert refused_for_now(sessions.end, ANNA, name)
        assert sessions.state(ANNA, name) == before
        assert sessions.count() == 1
    assert json.loads(sessions.answer(ANNA, name, 0, first_values(heart, 3)))["step"] == 1


def start_many(sessions, n):
    for _ in range(n):
        sessions.start(ANNA, None, None)


def test_a_disk_that_is_full_is_told_and_nothing_is_lost(workers, heart):
    sessions, _ = workers
    name, before = sessions.start(ANNA, None, None)
    database = sessions._store._database
    (n_pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {n_pages}")
    assert refused_for_now(start_many, sessions, 1000)
    assert sessions.state(ANNA, name) == before
    assert 1 < sessions.count() == sessions._store._counted(ALL) < 1000
    database.execute(f"PRAGMA max_page_count = {n_pages + 100}")
    sessions.start(ANNA, None, None)
    assert json.loads(sessions.answer(ANNA, name, 0, first_values(heart, 3)))["step"] == 1


def test_the_file_is_for_its_user_alone(tmp_path):
    path = tmp_path / "sessions.sqlite"
    store = SessionStore.open(Settings("m.thrifty", store=str(path)))
    store.add(record("s"), now=0.0)
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}
    assert len(list(tmp_path.iterdir())) > 1  # SQLite makes more files, with the same permissions
    store.close()


@pytest.mark.parametrize("name", [":memory:", "file:sessions?mode=memory", " "])
def test_every_name_is_the_name_of_a_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    SessionStore.open(Settings("m.thrifty", store=name)).close()
    assert os.listdir(tmp_path) == [name]
    assert SessionStore.open(Settings("m.thrifty", store=name)).get("s", "m", "a", 0.0) is None


def test_a_session_of_another_model_is_not_found(store):
    store.add(record("s"), now=0.0)
    assert store.get("s", "another", "a", 0.0) is None


def test_a_worker_that_remembers_an_older_step_asks_the_store(workers, heart):
    first, second = workers
    name, _ = first.start(ANNA, None, None)
    after = json.loads(second.answer(ANNA, name, 0, first_values(heart, 3)))
    assert json.loads(first.answer(ANNA, name, 0, first_values(heart, 3))) == after
    with pytest.raises(RefusedError, match="step 0 was answered with other values"):
        second.answer(ANNA, name, 0, first_values(heart, 4))
    assert json.loads(first.state(ANNA, name)) == after


def test_a_worker_that_remembers_an_older_step_refuses_by_what_is_stored(workers, heart):
    first, second = workers
    name, _ = first.start(ANNA, None, None)
    second.answer(ANNA, name, 0, first_values(heart, 3))
    with pytest.raises(RefusedError, match="step 0 was answered with other values"):
        first.answer(ANNA, name, 0, first_values(heart, 4))
    with pytest.raises(RefusedError, match="step 0 was answered with other values"):
        first.answer(ANNA, name, 0, {"age": "old"})


def test_what_a_worker_remembers_is_for_its_owner_and_until_it_is_removed(workers, heart):
    first, second = workers
    name, _ = first.start(ANNA, None, None)
    with pytest.raises(RefusedError, match="there is no such session"):
        first.answer(BEN, name, 0, first_values(heart, 3))
    second.end(ANNA, name)
    with pytest.raises(RefusedError, match="there is no such session"):
        first.answer(ANNA, name, 0, first_values(heart, 3))


def test_a_remembered_session_expires(workers, heart, monkeypatch):
    first, _ = workers
    name, state = first.start(ANNA, None, None)
    monkeypatch.setattr("thrifty.serving.sessions.sessions.time.time", lambda: json.loads(state)["expires"])
    with pytest.raises(RefusedError, match="there is no such session, or it has expired"):
        first.answer(ANNA, name, 0, first_values(heart, 3))
