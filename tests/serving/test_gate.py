"""What every request passes: tokens, hosts, types and sizes of bodies. Every reply has security headers."""

import gzip
import json
import socket
import sqlite3
import time

import httpx
import pytest

from serving.conftest import TOKENS
from serving.started import SECONDS_TO_START, started
from thrifty.serving.tokens import Tokens

FIRST, SECOND = ({"Authorization": f"Bearer {token}"} for token in TOKENS)
OPEN = ("/", "/healthz", "/readyz", "/static/page.css")
GUARDED = ("/model", "/frontier", "/metrics", "/openapi.json", "/sessions/x", "/nothing")


def problem(reply, status):
    """Check that a reply is an error with a sentence; return the sentence."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert (body["status"], set(body)) == (status, {"type", "title", "status", "detail"})
    assert body["detail"].endswith((".", "'"))
    assert "Traceback" not in reply.text
    return body["detail"]


@pytest.mark.parametrize("path", OPEN)
def test_health_and_page_need_no_token(guarded, path):
    assert guarded.get(path).status_code == 200


@pytest.mark.parametrize("path", GUARDED)
@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", f"Basic {TOKENS[0]}", f"Bearer {TOKENS[0]}x", TOKENS[0]]
)
def test_everything_else_needs_a_token(guarded, path, given):
    reply = guarded.get(path, headers={"Authorization": given})
    assert "no valid token" in problem(reply, 401)
    assert reply.headers["www-authenticate"] == "Bearer"


def test_each_token_is_let_in(guarded):
    for headers in (FIRST, SECOND, {"authorization": f"bearer  {TOKENS[0]}"}):
        assert guarded.get("/model", headers=headers).status_code == 200


def test_sessions_of_another_token_do_not_exist(guarded, heart):
    place = guarded.post("/sessions", json={}, headers=FIRST).headers["location"]
    body = {"step": 0, "values": {}}
    for reply in (
        guarded.get(place, headers=SECOND),
        guarded.post(place, json=body, headers=SECOND),
        guarded.delete(place, headers=SECOND),
    ):
        assert problem(reply, 404) == problem(guarded.get("/sessions/none", headers=SECOND), 404)
    assert guarded.delete(place, headers=FIRST).status_code == 204


def test_sessions_are_bounded_for_each_token_and_in_all(guarded):
    def start(headers):
        return guarded.post("/sessions", json={}, headers=headers)

    places = [(headers, start(headers).headers["location"]) for headers in (FIRST, FIRST, FIRST, SECOND, SECOND)]
    for headers in (FIRST, SECOND):
        refused = start(headers)
        assert "there are too many sessions" in problem(refused, 429)
        assert 1 <= int(refused.headers["retry-after"]) <= 1800
    assert guarded.delete(places[0][1], headers=FIRST).status_code == 204
    places[0] = (FIRST, start(FIRST).headers["location"])
    for headers, place in places:
        assert guarded.delete(place, headers=headers).status_code == 204


def test_a_body_that_is_too_large_is_refused_with_and_without_a_length(guarded):
    content = b" " * 2001
    headers = FIRST | {"Content-Type": "application/json"}
    assert "more than 2,000 bytes" in problem(guarded.post("/sessions", content=content, headers=headers), 413)
    chunks = (content[k : k + 100] for k in range(0, len(content), 100))
    assert "more than 2,000 bytes" in problem(guarded.post("/sessions", content=chunks, headers=headers), 413)
    fitting = (b'{"cap": 1}' + b" " * 90 for _ in range(1))
    assert guarded.delete(
        guarded.post("/sessions", content=fitting, headers=headers).headers["location"], headers=FIRST
    ).is_success


def test_rows_are_bounded(guarded):
    assert "there are 7 rows; expected at most 6" in problem(
        guarded.post("/predict/rows", json={"rows": [{}] * 7}, headers=FIRST), 422
    )


@pytest.mark.parametrize("given", ["text/plain", "application/xml", "application/json; charset=latin-1", ""])
def test_only_json_is_taken(on_tree, given):
    assert "expected 'application/json'" in problem(
        on_tree.post("/sessions", content=b"{}", headers={"Content-Type": given}), 415
    )


@pytest.mark.parametrize("given", ["application/json", "Application/JSON; charset=UTF-8"])
def test_json_is_taken(on_tree, given):
    assert on_tree.post("/sessions", content=b"{}", headers={"Content-Type": given}).status_code == 201


@pytest.mark.parametrize("host", ["example.org", "example.org:80", "10.0.0.1", "", "localhost.example.org", "[::2]:1"])
def test_without_tokens_other_hosts_are_refused(on_tree, host):
    reply = on_tree.get("/model", headers={"Host": host})
    if not host:  # the server itself refuses it
        assert reply.status_code in (400, 421)
    else:
        assert "answers only to localhost" in problem(reply, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1", "127.0.0.5:1", "[::1]:8000", "[::1]"])
def test_without_tokens_this_machine_is_served(on_tree, host):
    assert on_tree.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/model", "/nothing", "/gate.py", "/static/nothing"])
def test_every_reply_has_security_headers(on_tree, path):
    headers = on_tree.get(path).headers
    policy = headers["content-security-policy"]
    of_page = path == "/" or path.startswith("/static/")
    assert policy.startswith("default-src 'self'" if of_page else "default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


def test_a_compressed_body_is_refused_with_the_reason(on_tree):
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    reply = on_tree.post("/sessions", content=gzip.compress(b"{}"), headers=headers)
    assert "the content encoding is 'gzip'; bodies must not be compressed." in problem(reply, 415)
    assert on_tree.post("/sessions", json={}, headers={"Content-Encoding": "identity"}).status_code == 201


@pytest.mark.parametrize("key", [None, True, 3.0, [1], "x" * 1001])
def test_a_key_is_an_integer_or_a_text(on_tree, key):
    detail = problem(on_tree.post("/predict", json={"key": key}), 422)
    assert detail.startswith("key is ")
    assert detail.endswith("; expected an integer, or a text of at most 1,000 characters.")


BODIES = [
    (b"", 400, "not valid JSON"),
    (b"{", 400, "not valid JSON"),
    (b"\xff\xfe", 400, "not valid JSON"),
    (b"[" * 50_000, 400, "not valid JSON"),
    (b'{"a":' * 50_000, 400, "not valid JSON"),
    (b'"\\ud800"', 400, "not valid JSON"),
    (b"[]", 422, "the body is []; expected an object."),
    (b"null", 422, "the body is None; expected an object."),
    (b'{"cap": NaN}', 422, "cap is nan; expected a finite number."),
    (b'{"cap": 1e999}', 422, "cap is inf; expected a finite number."),
    (b'{"cap": -1}', 422, "cap is -1; expected greater than or equal to 0."),
    (b'{"cap": "1"}', 422, "cap is '1'; expected a valid number."),
    (b'{"cap": true}', 422, "cap is True; expected a valid number."),
    (b'{"budgets": 1}', 422, "budgets is not known here."),
    (json.dumps({"\x00" * 5000: 1}).encode(), 422, "is not known here."),
]


@pytest.mark.parametrize(("content", "status", "sentence"), BODIES, ids=range(len(BODIES)))
def test_a_wrong_body_is_answered_with_a_sentence(on_tree, content, status, sentence):
    reply = on_tree.post("/sessions", content=content, headers={"Content-Type": "application/json"})
    detail = problem(reply, status)
    assert sentence in detail
    assert len(detail) < 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/sessions", 405),
        ("PUT", "/model", 405),
        ("GET", "/sessions/" + "x" * 5000, 404),
        ("GET", "/sessions/..%2f..%2fetc", 404),
        ("GET", "/static/%2e%2e/gate.py", 404),
        ("GET", "/static/..%2fgate.py", 404),
        ("GET", "/static/", 404),
        ("GET", "/docs", 404),
        ("GET", "/model/", 404),
        ("OPTIONS", "/sessions", 405),
    ],
)
def test_other_places_and_methods(on_tree, method, path, status):
    headers = {"Content-Type": "application/json"}
    assert problem(on_tree.request(method, path, headers=headers), status)


@pytest.mark.parametrize(
    ("path", "allowed"), [("/sessions/x", "DELETE, GET, POST"), ("/sessions", "POST"), ("/static/page.css", "GET")]
)
def test_a_method_that_is_not_allowed_is_answered_with_those_that_are(on_tree, path, allowed):
    reply = on_tree.patch(path, json={})
    assert (reply.status_code, reply.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/healthz", "/model"])
def test_head_is_get_without_a_body(on_tree, path):
    head, get = on_tree.head(path), on_tree.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(get.content))


def test_a_browser_asks_again_for_the_files_of_the_page(on_tree):
    page = on_tree.get("/static/app.js")
    assert page.headers["cache-control"] == "no-cache"
    again = on_tree.get("/static/app.js", headers={"If-None-Match": page.headers["etag"]})
    assert again.status_code == 304
    assert on_tree.get("/model").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("given", ["bytes=0-3", "bytes=9999999-", "bytes=x"])
def test_files_of_the_page_are_sent_whole(on_tree, given):
    whole = on_tree.get("/static/page.css")
    part = on_tree.get("/static/page.css", headers={"Range": given})
    assert (part.status_code, part.content) == (200, whole.content)
    assert whole.headers["content-type"] == "text/css; charset=utf-8"


def test_words_of_clients_are_not_labels_of_metrics(on_tree):
    assert on_tree.request("INVENTED", "/model").status_code == 405
    text = on_tree.get("/metrics").text
    assert "INVENTED" not in text
    assert 'method="other",route="/model",status="405"' in text


def test_a_request_that_breaks_off_is_not_an_error_of_the_service(files):
    head = b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    with started(files / "tree.thrifty") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head)
        wait_until_counted(server, 'route="/sessions",status="400"')
        server.process.terminate()
        assert server.process.stderr.read() == ""


def wait_until_counted(server, words):
    """Wait until the metrics have some words."""
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        if words in httpx.get(f"{server.address}/metrics", timeout=SECONDS_TO_START).text:
            return
        time.sleep(0.05)
    raise AssertionError(f"{words!r} is not in the metrics")


def test_an_unexpected_error_is_logged_and_not_shown(files, tmp_path):
    """A model file whose store disappears under the service."""
    store = tmp_path / "sessions.sqlite"
    with started(files / "tree.thrifty", "--store", store) as server, server.http() as http:
        with sqlite3.connect(store) as database:
            database.execute("DROP TABLE sessions")
        database.close()
        detail = problem(http.get("/sessions/x"), 500)
        assert detail == "the service failed on this request. Its log has the reason."
        assert http.get("/healthz").status_code == 200
        server.process.terminate()
        assert "no such table: sessions" in server.process.stderr.read()


def test_tokens_are_read_from_a_file_and_checked(tmp_path):
    path = tmp_path / "tokens.txt"
    for content, sentence in (
        ("", "the file has no token"),
        ("# only this\n\n", "the file has no token"),
        ("short\n", "token 1 is not valid; expected at least 16 ASCII characters"),
        ("long enough to be a token\n", "token 1 is not valid"),
        ("0123456789abcdef\nnot-äscii-but-long\n", "token 2 is not valid"),
    ):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=sentence):
            Tokens.read(str(path))


def test_a_token_file_that_is_not_text_or_not_there_is_named(tmp_path):
    path = tmp_path / "tokens.txt"
    with pytest.raises(ValueError, match=r"--token-file .*tokens.txt: the file cannot be read \(no such file"):
        Tokens.read(str(path))
    path.write_bytes(b"\x93\xff" * 20)
    with pytest.raises(ValueError, match=r"--token-file .*tokens.txt: the file is not text in UTF-8"):
        Tokens.read(str(path))


def test_tokens_of_files_that_were_written_on_windows(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_bytes(b"\xef\xbb\xbf0123456789abcdef\r\nfedcba9876543210\r\n")
    tokens = Tokens.read(str(path))
    assert tokens.owner(b"Bearer 0123456789abcdef")
    assert tokens.owner(b"Bearer fedcba9876543210")
