"""A real service in a process of its own, as users start it."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.request import urlopen

import httpx

ADDRESS = re.compile(r"at (http://\S+) ")
SECONDS_TO_START, SECONDS_TO_END = 600, 300  # at most: kernels are compiled, perhaps on a busy machine


@dataclass
class Server:
    """A running service."""

    address: str
    process: subprocess.Popen

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def http(self) -> httpx.Client:
        """Return a client that waits as long as a busy machine may need; that of httpx would wait for 5 seconds."""
        return httpx.Client(base_url=self.address, timeout=SECONDS_TO_START)


@contextmanager
def started(model, *options, port: int = 0, ready: bool = True) -> Iterator[Server]:
    """Run ``thrifty serve`` until the end of the block; yield when it is ready."""
    arguments = [
        sys.executable,
        "-c",
        "import sys; from thrifty.cli import main; sys.exit(main())",
        "serve",
        str(model),
    ]
    process = subprocess.Popen(
        [*arguments, "--port", str(port), *map(str, options)], stderr=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        line = process.stderr.readline()
        found = ADDRESS.search(line)
        if found is None:
            raise RuntimeError(f"the service did not start: {line}{process.stderr.read()}")
        server = Server(found[1], process)
        if ready:
            wait_until_ready(server)
        yield server
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
        process.kill()
        process.wait()
        process.stderr.close()


def wait_until_ready(server: Server) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        with suppress(OSError), urlopen(f"{server.address}/readyz", timeout=5):
            return
        time.sleep(0.05)
    raise RuntimeError("the service did not become ready")
