"""A source that is a web service that returns JSON, by httpx."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from weakref import WeakKeyDictionary

import numpy as np

from thrifty.exceptions import MissingExtraError, SourceError
from thrifty.runtime.sources.base import AsyncSource, Record

if TYPE_CHECKING:
    import httpx

MAX_BYTES = 2**20
LONGEST_WAIT = 60.0  # seconds for one network operation, if there is no timeout
CLOSING_TIME = 5.0  # seconds that `close` waits for the event loop of another thread
EXCERPT = 200  # characters of a reply that a message shows


class HTTPSource(AsyncSource):
    """A web service that returns JSON.

    With "GET" a call serves one key: the key takes the place of ``{key}`` in the URL, percent-encoded. Status 404 means
    that the key is unknown. With "POST" a call serves up to `max_batch` keys: the body is ``{"keys": [...]}``, and the
    reply is a list of records in the same order, or an object of records by key. A record that is null, or that an
    object does not have, means that the key is unknown.

    Any other status from 300, a reply that is too long, and a reply of another form are errors of the call. Redirects
    are not followed, unless you pass a client that follows them.

    Parameters
    ----------
    url : str
        The address, with ``{key}`` in its path or its query if the method is "GET".
    provides : sequence of str, or dict
        The fields of a record that are features; a dict also tells their types. Further fields are ignored.
    method : {"GET", "POST"}, default="GET"
        How the service is asked.
    name : str, optional
        How traces, metrics and messages call the source; by default its first feature.
    cost : float, optional
        The price of a call.
    max_batch : int or None, default=1
        How many keys a call may have; None for any number. It must be 1 for "GET".
    timeout : float, optional
        How many seconds a call may take. The engine ends the call then. Without a timeout here or in the engine, each
        network operation of the call may take 60 seconds.
    headers : dict, optional
        Headers of each request, such as ``{"Authorization": "..."}``. Messages never show them.
    path : str or sequence, optional
        Where the record is in the reply (for "POST": the list or the object of records). "data.patient" or
        ["data", "patient"] means ``reply["data"]["patient"]``; a number is a place in a list.
    key_parameter : str, default="keys"
        The field of the body that holds the keys, for "POST".
    client : httpx.AsyncClient, optional
        The client that makes the requests. You close it yourself, and you use the source on one event loop only. By
        default the source makes one client for each event loop.
    max_bytes : int, default=1048576
        The longest reply that is read.

    Attributes
    ----------
    features : tuple of str
        The features that a call returns.
    types : dict
        The type of each feature; None for any.

    Examples
    --------
    >>> from thrifty.runtime import HTTPSource
    >>> HTTPSource("https://lab.example/patients/{key}", provides=["tsh", "t3"], cost=22.5)
    HTTPSource('tsh', provides=['tsh', 't3'])

    A service that takes many keys at once:

    >>> source = HTTPSource("https://lab.example/rows", provides=["tsh"], method="POST", max_batch=500, path="data")
    >>> source.max_batch
    500
    """

    def __init__(
        self,
        url: str,
        *,
        provides: Sequence[str] | Mapping[str, type | None],
        method: str = "GET",
        name: str | None = None,
        cost: float | None = None,
        max_batch: int | None = 1,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        path: str | Sequence[str | int] | None = None,
        key_parameter: str = "keys",
        client: httpx.AsyncClient | None = None,
        max_bytes: int = MAX_BYTES,
    ):
        super().__init__(provides, name=name, cost=cost, max_batch=max_batch, timeout=timeout)
        self._httpx = _httpx()
        self._url, self._method, self._headers = url, method, dict(headers or {})
        self._path = tuple(path.split(".")) if isinstance(path, str) else tuple(path or ())
        self._key_parameter, self._max_bytes = key_parameter, max_bytes
        self._refuse_bad_settings()
        self._given_client = client
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()
        self._lock = Lock()

    async def fetch(self, keys: Sequence[Any]) -> list[Record | None]:
        """Return the record of each key, in order; None for a key that the service does not know.

        Parameters
        ----------
        keys : sequence
            At most `max_batch` keys.

        Returns
        -------
        list of dict or None
        """
        if self._method == "GET":
            return [await self._get(key) for key in keys]
        return await self._post([_plain(key) for key in keys]) if keys else []

    async def aclose(self) -> None:
        """Close the client of the running event loop."""
        with self._lock:
            client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def close(self) -> None:
        """Close the clients of other event loops, as far as these still run or can run."""
        here = _running_loop()
        with self._lock:
            others = [loop for loop in self._clients if loop is not here]
            clients = [(loop, self._clients.pop(loop)) for loop in others]
        for loop, client in clients:
            _close_on(loop, client)

    async def _get(self, key: Any) -> Record | None:
        status, body = await self._reply("GET", self._url.replace("{key}", self._encoded(key)))
        if status == 404:
            return None
        return self._record(self._found(status, body), key)

    async def _post(self, keys: list[Any]) -> list[Record | None]:
        content = json.dumps({self._key_parameter: keys}).encode()
        found = self._found(*await self._reply("POST", self._url, content))
        if isinstance(found, Mapping):
            return self._by_key(found, keys)
        if not isinstance(found, list):
            raise self._wrong(f"expected a list of records, or an object of records by key, not {_kind(found)}", found)
        if len(found) != len(keys):
            raise self._wrong(f"expected one record for each of {len(keys)} keys, not {len(found)} records", found)
        return [self._record(each, key) for each, key in zip(found, keys, strict=True)]

    def _by_key(self, found: Mapping[str, Any], keys: Sequence[Any]) -> list[Record | None]:
        names = [_name(key) for key in keys]
        unexpected = next(iter(found.keys() - set(names)), None)
        if unexpected is not None:
            raise self._wrong(f"it has key {unexpected!r}, which was not asked for", found)
        return [self._record(found.get(name), key) for name, key in zip(names, keys, strict=True)]

    def _record(self, found: Any, key: Any) -> Record | None:
        if found is not None and not isinstance(found, Mapping):
            raise self._wrong(f"expected an object for key {key!r}, not {_kind(found)}", found)
        return found

    def _found(self, status: int, body: bytes) -> Any:
        """Return the part of a reply that `path` names."""
        if status >= 300:
            raise SourceError(f"source {self.name!r}: the service replied with status {status}: {_excerpt(body)}")
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"source {self.name!r}: the reply is not valid JSON: {_excerpt(body)}") from error
        for place in self._path:
            if found is None:
                return None
            found = self._inside(found, place)
        return found

    def _inside(self, found: Any, place: str | int) -> Any:
        try:
            return found[int(place)] if isinstance(found, list) else found[place]
        except (LookupError, TypeError, ValueError) as error:
            path = ".".join(map(str, self._path))
            raise self._wrong(f"it has no {place!r} of the path {path!r}", found) from error

    async def _reply(self, method: str, url: str, content: bytes | None = None) -> tuple[int, bytes]:
        """Make a request; return the status and the body of the reply."""
        headers = self._headers if content is None else {"Content-Type": "application/json", **self._headers}
        try:
            async with self._client().stream(method, url, content=content, headers=headers) as response:
                body = await self._bounded(response)
                if response.has_redirect_location:
                    body = f"a redirect to {response.headers['location']}, which is not followed".encode()
                return response.status_code, body
        except (self._httpx.HTTPError, self._httpx.InvalidURL) as error:
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise SourceError(f"source {self.name!r}: the request failed ({reason}).") from error

    async def _bounded(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._max_bytes:
                raise SourceError(
                    f"source {self.name!r}: the reply is longer than {self._max_bytes} bytes. Ask for less, or raise "
                    "max_bytes."
                )
        return bytes(body)

    def _client(self) -> httpx.AsyncClient:
        """Return the client of the running event loop, because connections belong to their loop."""
        if self._given_client is not None:
            return self._given_client
        loop = asyncio.get_running_loop()
        with self._lock:
            client = self._clients.get(loop)
            if client is None:
                for closed in [each for each in self._clients if each.is_closed()]:
                    del self._clients[closed]  # connections refer to their loop, so it would stay forever
                client = self._clients[loop] = self._httpx.AsyncClient(timeout=self._limits())
        return client

    def _limits(self) -> httpx.Timeout:
        # The engine ends a call at the timeout and reports that. A second later is for callers without an engine.
        return self._httpx.Timeout(LONGEST_WAIT if self.timeout is None else self.timeout + 1.0, pool=None)

    def _encoded(self, key: Any) -> str:
        text = _name(_plain(key))
        if text in ("", ".", ".."):
            raise SourceError(
                f"source {self.name!r}: key {key!r} cannot be part of a URL, because it changes the path."
            )
        return quote(text, safe="")

    def _refuse_bad_settings(self) -> None:
        if self._method not in ("GET", "POST"):
            raise self._refused(f"method is {self._method!r}; expected 'GET' or 'POST'.")
        parts = urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self._refused(f"url is {self._url!r}; expected an address that begins with http:// or https://.")
        if "{key}" in parts.netloc:
            raise self._refused("url has {key} in its host; expected it in the path or the query.")
        if self._method == "GET" and "{key}" not in parts.path + parts.query:
            raise self._refused(f"url is {self._url!r}; expected {{key}} in its path or its query, or method='POST'.")
        if self._method == "GET" and self.max_batch != 1:
            raise self._refused(f"max_batch is {self.max_batch!r}, but 'GET' asks for one key. Use method='POST'.")

    def _refused(self, problem: str) -> SourceError:
        return SourceError(f"source {self.name!r}: {problem}")

    def _wrong(self, problem: str, found: Any) -> SourceError:
        shown = _excerpt(json.dumps(found).encode())
        return SourceError(f"source {self.name!r}: the reply has the wrong form: {problem}. Found {shown}")


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtraError("HTTPSource needs httpx. Run: pip install 'thrifty[http]'") from error
    return httpx


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _close_on(loop: asyncio.AbstractEventLoop, client: httpx.AsyncClient) -> None:
    """Close a client on its event loop; nothing can be done if the loop is closed."""
    if loop.is_running():
        asyncio.run_coroutine_threadsafe(client.aclose(), loop).result(CLOSING_TIME)
    elif not loop.is_closed():
        loop.run_until_complete(client.aclose())


def _plain(key: Any) -> Any:
    """Return a key in the types of JSON."""
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, tuple | list):
        return [_plain(each) for each in key]
    return key if isinstance(key, str | int | float | None) else str(key)


def _name(key: Any) -> str:
    """Return a key as text, as it is written in a URL and as a field of a JSON object."""
    return key if isinstance(key, str) else json.dumps(key)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _excerpt(body: bytes) -> str:
    text = " ".join(body[: 4 * EXCERPT].decode(errors="replace").split())
    return f"{text[:EXCERPT]}..." if len(text) > EXCERPT else text
