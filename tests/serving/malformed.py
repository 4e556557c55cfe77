"""Requests that are wrong in many ways, made from random numbers."""

import json
import random
from collections.abc import Iterator

from serving.http_load import request_bytes

PATHS = ("/sessions", "/predict", "/predict/rows", "/sessions/unknown")
TRICKS = (
    "/..",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/static/..%2f..%2fgate.py",
    "//",
    "/sessions//",
    "/%00",
    "/\\",
    "/model/..",
)
WRONG_VALUES = (
    *("null", "[]", "[[]]", "{}", '""', '"text"', "true", "-1", "1e999", "-1e999", "NaN", "Infinity", "-Infinity"),
    *("9" * 300, "9" * 5000, "0.1e-400", '"' + "x" * 3000 + '"', '"\\ud800"', '"\\u0000"'),
    *("[" * 40 + "]" * 40, "[" * 5000, '{"a":' * 3000),
    *('{"rows": [null]}', '{"rows": [{"age": []}]}', '{"rows": [{"age": NaN}]}', '{"rows": [{"agee": 1}]}'),
    *('{"rows": [{}]}', '{"rows": {"age": 1}}', '{"key": null}', '{"key": [1]}', '{"key": 1, "cap": "x"}'),
    *('{"cap": -0.1}', '{"cap": NaN}', '{"cap": []}', '{"budget": 5}', '{"extra": 1}'),
    *('{"step": -1, "values": {}}', '{"step": 0}', '{"step": 1.5, "values": {}}', '{"step": "0", "values": {}}'),
    *('{"step": 0, "values": []}', '{"step": 0, "values": {"age": {}}}', '{"step": 1e400, "values": {}}'),
)
WRONG_TYPES = (
    "text/plain",
    "application/xml",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "",
)


def malformed(n: int, seed: int = 0) -> Iterator[bytes]:
    """Yield requests of which none is valid."""
    choose = random.Random(seed)
    kinds = (wrong_value, wrong_type, truncated, trick, wrong_method, garbage)
    for _ in range(n):
        yield choose.choice(kinds)(choose)


def post(path: str, content: bytes, *headers: str, media_type: str = "application/json") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join([*lines, f"Content-Type: {media_type}", "", ""]).encode() + content


def wrong_value(choose: random.Random) -> bytes:
    path = choose.choice(PATHS)
    valid = {"/sessions": ("{}",), "/predict/rows": (), "/predict": (), "/sessions/unknown": ()}[path]
    return post(path, choose.choice([each for each in WRONG_VALUES if each not in valid]).encode())


def wrong_type(choose: random.Random) -> bytes:
    return post(choose.choice(PATHS), b"{}", media_type=choose.choice(WRONG_TYPES))


def truncated(choose: random.Random) -> bytes:
    whole = json.dumps({"rows": [{"age": 63.0, "sex": 1.0}], "cap": 3.0}).encode()
    return post("/predict/rows", whole[: choose.randrange(len(whole))])


def trick(choose: random.Random) -> bytes:
    return request_bytes("GET", choose.choice(TRICKS))


def wrong_method(choose: random.Random) -> bytes:
    return request_bytes(choose.choice(("PUT", "PATCH", "DELETE", "OPTIONS", "FOO")), "/model", {})


def garbage(choose: random.Random) -> bytes:
    return post(choose.choice(PATHS), choose.randbytes(choose.randrange(1, 200)))
