"""What every request passes before the application sees it: host, token, type and size of its body; and what every
reply gets: security headers, and a place in the counts. An error that nobody expected becomes a reply without details.
"""

import ipaddress
import logging
import time
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thrifty.serving.problems import Problem, RefusedError
from thrifty.serving.request_counts import RequestCounts
from thrifty.serving.sessions.record import Client
from thrifty.serving.tokens import Tokens
from thrifty.stored.medium import shown

OPEN = ("/healthz", "/readyz")
PAGE, FILES_OF_PAGE = "/", "/static/"
WITH_BODY = ("POST", "PUT", "PATCH")
JSON = b"application/json"
MAX_HOSTS = 16  # names of this machine that are remembered
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
POLICY_OF_DATA = "default-src 'none'; frame-ancestors 'none'"
SECURITY = [
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
OF_DATA = [*SECURITY, (b"content-security-policy", POLICY_OF_DATA.encode()), (b"cache-control", b"no-store")]
OF_PAGE = [
    *SECURITY,
    (b"content-security-policy", POLICY.encode()),
    (b"cache-control", b"no-cache"),  # the files of two versions do not go together
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Gate:
    """Lets valid requests of known clients through.

    Parameters
    ----------
    app : ASGI application
    tokens : Tokens
    max_bytes : int
        The largest body of a request.
    counts : RequestCounts
    """

    def __init__(self, app: ASGIApp, tokens: Tokens, max_bytes: int, counts: RequestCounts):
        self._app, self._tokens, self._max_bytes, self._counts = app, tokens, max_bytes, counts
        self._own_hosts: set[bytes] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began, reply = time.perf_counter(), ReplyWithHeaders(scope, send)
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the server sends the headers of the reply only
        try:
            self._check(scope)
            await self._app(scope, BoundedBody(receive, self._max_bytes), reply)
        except RefusedError as refused:
            await Problem(refused.status, refused.detail, refused.headers)(scope, receive, reply)
        except ClientDisconnect:
            reply.status = 400  # nobody gets it: the connection broke before the request was complete
        except Exception:
            logging.getLogger("thrifty").exception("%s %s failed", scope["method"], shown(scope["path"]))
            if reply.status is None:
                await Problem(500, "the service failed on this request. Its log has the reason.")(scope, receive, reply)
        self._counts.add(scope, reply.status or 500, time.perf_counter() - began)

    def _check(self, scope: Scope) -> None:
        """Remember who makes the request; raise RefusedError if it must not go on."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        scope["client_of_service"] = self._client(scope, headers)
        if scope["method"] in WITH_BODY:
            if headers.get(b"content-type") != JSON:
                _refuse_other_type(headers.get(b"content-type", b""))
            if b"content-encoding" in headers:
                _refuse_compressed(headers[b"content-encoding"])
        _refuse_length(headers.get(b"content-length", b"0"), self._max_bytes)

    def _client(self, scope: Scope, headers: dict[bytes, bytes]) -> Client:
        if not self._tokens:
            host = headers.get(b"host", b"")
            if host not in self._own_hosts:
                _refuse_other_host(host.decode("latin-1"))
                self._own_hosts = {*self._own_hosts, host} if len(self._own_hosts) < MAX_HOSTS else {host}
            return Client("", (scope.get("client") or ("",))[0])
        owner = self._tokens.owner(headers.get(b"authorization", b""))
        if owner is None and not _is_open(scope["path"]):
            raise RefusedError(
                401,
                "the request has no valid token. Send the header 'Authorization: Bearer <token>'.",
                {"WWW-Authenticate": "Bearer"},
            )
        return Client(owner or "", owner or "")


class BoundedBody:
    """The body of a request, up to a number of bytes; a body that is sent in chunks does not tell its length."""

    def __init__(self, receive: Receive, max_bytes: int):
        self._receive, self._left, self._max_bytes = receive, max_bytes, max_bytes

    async def __call__(self) -> Message:
        """Return the next part of the body."""
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise _too_large(self._max_bytes)
        return message


class ReplyWithHeaders:
    """Sends a reply with security headers, and remembers its status."""

    def __init__(self, scope: Scope, send: Send):
        self._send = send
        self._headers = OF_PAGE if _is_page(scope["path"]) else OF_DATA
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        """Send a part of the reply."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self._headers]
        await self._send(message)


def _is_open(path: str) -> bool:
    return path in OPEN or _is_page(path)


def _is_page(path: str) -> bool:
    return path == PAGE or path.startswith(FILES_OF_PAGE)


def _refuse_other_host(host: str) -> None:
    """Refuse names that a foreign web page could give to this machine (DNS rebinding)."""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    if not is_loopback(name.strip("[]")):
        raise RefusedError(
            421, f"the host is {host[:100]!r}; without tokens the service answers only to localhost. Use --token-file."
        )


def _refuse_other_type(given: bytes) -> None:
    media_type, _, charset = given.lower().partition(b";")
    if media_type.strip() != JSON or charset.strip() not in (b"", b"charset=utf-8"):
        text = given[:100].decode("latin-1")
        raise RefusedError(415, f"the content type is {text!r}; expected 'application/json'. Send JSON in UTF-8.")


def _refuse_compressed(given: bytes) -> None:
    if given.strip().lower() not in (b"", b"identity"):
        text = given[:100].decode("latin-1")
        raise RefusedError(415, f"the content encoding is {text!r}; bodies must not be compressed. Send plain JSON.")


def _refuse_length(given: bytes, max_bytes: int) -> None:
    if not given.isdigit() or int(given[:20]) > max_bytes:
        raise _too_large(max_bytes)


def is_loopback(name: str) -> bool:
    """Tell whether a name or an address means this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _too_large(max_bytes: int) -> RefusedError:
    return RefusedError(413, f"the body has more than {max_bytes:,} bytes, which is the limit. Send less at a time.")


def client_of(request: Any) -> Client:
    """Return who makes a request."""
    return request.scope["client_of_service"]
