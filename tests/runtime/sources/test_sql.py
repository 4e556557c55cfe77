"""Queries as sources, on a real PostgreSQL and on SQLite."""

import contextlib
import datetime
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sqlalchemy

from runtime.servers import postgres
from thrifty.exceptions import MissingExtraError, SourceError
from thrifty.runtime.sources.sql import SQLSource

QUERY = "SELECT id, age, tsh FROM patients WHERE id IN :keys"
TABLES = [
    "CREATE TABLE patients (id TEXT PRIMARY KEY, age INTEGER, tsh NUMERIC(6, 2))",
    "INSERT INTO patients VALUES ('a', 63, 1.5), ('b', 41, NULL), ('o''brien', 7, 0.25)",
    "CREATE TABLE beds (ward INTEGER, bed INTEGER, free BOOLEAN)",
    "INSERT INTO beds VALUES (1, 1, TRUE), (1, 2, FALSE), (2, 1, TRUE)",
]
INJECTIONS = ["a' OR '1'='1", "'; DROP TABLE patients; --", ":keys", "a\\", '"', "%s", "%(keys)s", "{key}", ""]


@pytest.fixture(scope="module")
def server():
    with postgres() as server:
        _fill(server.url)
        yield server


@pytest.fixture(params=["postgresql", "sqlite"])
def url(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("server").url
    _fill(f"sqlite:///{tmp_path}/data.sqlite")
    return f"sqlite:///{tmp_path}/data.sqlite"


def _fill(url):
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        for statement in TABLES:
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture
def make(url):
    """Make sources of one database, and close them at the end."""
    sources = []

    def make(query=QUERY, *, provides=("age", "tsh"), key="id", **settings):
        sources.append(SQLSource(url, query, provides=provides, key=key, **settings))
        return sources[-1]

    yield make
    for source in sources:
        assert _pool(source).checkedout() == 0
        source.close()


def _pool(source):
    return source._engine.pool


def test_a_batch_is_one_query_and_comes_in_the_order_of_the_keys(make):
    source, queries = make(), []
    sqlalchemy.event.listen(source._engine, "before_cursor_execute", lambda *event: queries.append(event[2]))
    records = source.read(["b", "z", "a", "b"])
    assert records == [{"age": 41, "tsh": None}, None, {"age": 63, "tsh": 1.5}, {"age": 41, "tsh": None}]
    assert len(queries) == 1
    assert source.max_batch == 1000
    assert type(records[2]["tsh"]) is float  # PostgreSQL returns a Decimal
    assert source.read([]) == []


def test_large_batches(make):
    keys = [f"k{number}" for number in range(1000)]
    assert make().read([*keys, "a"])[-1] == {"age": 63, "tsh": 1.5}


def test_keys_are_never_read_as_sql(make):
    source = make()
    assert source.read(INJECTIONS) == [None] * len(INJECTIONS)
    assert source.read(["o'brien"]) == [{"age": 7, "tsh": 0.25}]
    one = make("SELECT age, tsh FROM patients WHERE id = :key")
    assert [one.read([key])[0] for key in INJECTIONS] == [None] * len(INJECTIONS)
    assert source.read(["a"]) == [{"age": 63, "tsh": 1.5}]


def test_a_query_for_one_key(make):
    source = make("SELECT age FROM patients WHERE id = :key", provides=["age"])
    assert source.max_batch == 1
    assert source.read(["a"]) == [{"age": 63}]
    assert source.read(["z"]) == [None]


def test_keys_of_several_columns(make):
    source = make("SELECT * FROM beds WHERE (ward, bed) IN :keys", provides=["free"], key=("ward", "bed"))
    assert source.read([(2, 1), (9, 9), (1, 2)]) == [{"free": True}, None, {"free": False}]


def test_keys_of_numpy(make):
    source = make("SELECT bed, free FROM beds WHERE ward = 1 AND bed IN :keys", provides=["free"], key="bed")
    assert source.read(list(np.array([2, 1, 5]))) == [{"free": False}, {"free": True}, None]


@pytest.mark.parametrize(
    ("query", "settings", "message"),
    [
        ("SELECT ward, free FROM beds WHERE ward IN :keys", {"key": "ward"}, "2 rows or more for key 1"),
        ("SELECT free FROM beds WHERE ward = :key", {}, "2 rows or more for key 1"),
        ("SELECT bed FROM beds WHERE bed IN :keys", {"key": "bed"}, "no column 'free'. Its columns are 'bed'"),
        ("SELECT free FROM beds WHERE bed IN :keys", {"key": "bed"}, "no column 'bed'. Its columns are 'free'"),
        ("SELECT 1 AS free, 2 AS free, 1 AS id WHERE 1 IN :keys", {}, "more than one column 'free'"),
        (
            "SELECT 7 AS id, 1 AS free WHERE 1 IN :keys",
            {},
            "key 7 (int), which was not asked for. Keys such as 1 (int)",
        ),
        ("SELECT '1' AS id, 1 AS free WHERE 1 IN :keys", {}, "key '1' (str), which was not asked for"),
        ("SELECT free FROM nowhere WHERE bed IN :keys", {}, "the query failed ("),
        ("SELEKT :keys", {}, "the query failed ("),
    ],
)
def test_a_wrong_result_is_an_error_and_gives_the_connection_back(make, query, settings, message):
    source = make(query, provides=["free"], name="beds", **settings)
    with pytest.raises(SourceError) as caught:
        source.read([1])
    assert message in str(caught.value)
    assert str(caught.value).startswith("source 'beds': ")
    assert "\n" not in str(caught.value)
    assert _pool(source).checkedout() == 0


@pytest.mark.parametrize("key", ["a\0b", 10**30, object(), [["x"]]])
def test_keys_that_the_database_cannot_take_are_no_crash(make, key):
    source = make("SELECT age FROM patients WHERE age = :key", provides=["age"])
    with contextlib.suppress(SourceError):
        assert source.read([key]) == [None]
    assert source.read([63]) == [{"age": 63}]


def test_types_of_postgresql(server):
    key = uuid.UUID(int=7)
    query = "SELECT true AS b, 2.5::float8 AS f, date '2020-01-02' AS d, 3::bigint AS n, CAST(:key AS uuid) AS u"
    source = SQLSource(server.url, query, provides={"b": bool, "f": float, "d": None, "n": int, "u": None})
    assert source.read([key]) == [{"b": True, "f": 2.5, "d": datetime.date(2020, 1, 2), "n": 3, "u": key}]
    source.close()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1", "the parameters of the query are none; expected :keys alone"),
        ("SELECT :other", "are :other;"),
        ("SELECT 1 WHERE 1 IN :keys AND 2 = :key", "are :key, :keys;"),
    ],
)
def test_a_query_has_one_parameter(query, message):
    with pytest.raises(SourceError, match="source 'x'") as caught:
        SQLSource("sqlite://", query, provides=["x"])
    assert message in str(caught.value)


def test_the_parameter_may_have_another_name(make):
    source = make("SELECT id, age FROM patients WHERE id IN :ids", provides=["age"], parameter="ids")
    assert source.read(["a"]) == [{"age": 63}]


@pytest.mark.parametrize("engine", ["no url with secret", 7, None])
def test_a_wrong_engine_is_refused(engine):
    with pytest.raises(SourceError, match="not a URL of a database") as caught:
        SQLSource(engine, QUERY, provides=["age"])
    assert "secret" not in str(caught.value)


def test_a_missing_driver_is_named():
    with pytest.raises(MissingExtraError, match="the database driver 'MySQLdb' is not installed"):
        SQLSource("mysql://host/database", QUERY, provides=["age"])


def test_missing_sqlalchemy_is_answered_with_the_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sqlalchemy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'thrifty\[sql\]'"):
        SQLSource("sqlite://", QUERY, provides=["age"])


@pytest.mark.parametrize("options", [{}, {"isolation_level": "AUTOCOMMIT"}], ids=["transactions", "autocommit"])
def test_postgresql_ends_a_statement_after_the_timeout_on_a_given_engine(server, options):
    engine = sqlalchemy.create_engine(server.url, pool_size=1, max_overflow=0, pool_timeout=10, **options)
    query = "SELECT 1 AS age, pg_sleep(CAST(:key AS float))"
    source = SQLSource(engine, query, provides=["age"], timeout=1)
    began = time.monotonic()
    with pytest.raises(SourceError, match="statement timeout"):
        source.read([20])
    assert time.monotonic() - began < 10
    assert source.read([0]) == [{"age": 1}]
    with engine.connect() as connection:  # the setting ended with the call
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "0"
    source.close()
    assert engine.pool.checkedin() == 1  # close leaves a given engine alone
    engine.dispose()


def test_postgresql_ends_a_statement_after_the_timeout_on_its_own_engine(server):
    source = SQLSource(server.url, "SELECT 1 AS age, pg_sleep(CAST(:key AS float))", provides=["age"], timeout=1)
    with pytest.raises(SourceError, match="statement timeout"):
        source.read([20])
    assert source.read([0]) == [{"age": 1}]
    source.close()


def test_threads_share_the_pool(server):
    source = SQLSource(server.url, QUERY, provides=["age", "tsh"], key="id")
    with ThreadPoolExecutor(32) as threads:
        replies = list(threads.map(source.read, [["a", "b"]] * 500))
    assert replies == [[{"age": 63, "tsh": 1.5}, {"age": 41, "tsh": None}]] * 500
    assert _pool(source).checkedout() == 0
    source.close()
    assert _pool(source).checkedin() == 0


def test_a_database_that_crashes_and_comes_back():
    with postgres() as server:
        _fill(server.url)
        source = SQLSource(server.url, QUERY, provides=["age"], key="id", timeout=2)
        assert source.read(["a"]) == [{"age": 63}]
        server.stop()
        for _ in range(2):
            with pytest.raises(SourceError, match="the query failed"):
                source.read(["a"])
        server.start()
        assert source.read(["a"]) == [{"age": 63}]
        source.close()
