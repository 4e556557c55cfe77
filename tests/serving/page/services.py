"""A real ``thrifty serve`` in a process of its own, for tests of its page."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

SECONDS = 600  # until a service must be ready: kernels are compiled, perhaps on a busy machine


class Service:
    """A running service.

    Parameters
    ----------
    model : path
        A model file.
    options : str
        Further options of the command.
    port : int
        The port; 0 takes one that is free.
    """

    def __init__(self, model, *options, port=0):
        command = [Path(sys.executable).with_name("thrifty"), "serve", model, "--port", port, *options]
        self._command = list(map(str, command))
        self._launch()

    def _launch(self):
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = self.process.stderr.readline()
        found = re.search(r"http://\S+", said)
        assert found, said + self.process.stderr.read()
        self.url = found[0]
        self._wait_until_ready()

    def _wait_until_ready(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                return self.call("GET", "/readyz")
            except (URLError, ConnectionError):
                time.sleep(0.05)
        raise TimeoutError(f"{self.url} is not ready.")

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def call(self, method, path, body=None):
        """Send a request; return what the service answers."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=SECONDS) as reply:
            return json.loads(reply.read() or "null")

    def kill(self):
        """End the process at once, as a crash would."""
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def restart(self):
        """Start a killed service again, at the same port."""
        position = self._command.index("--port") + 1
        self._command[position] = str(self.port)
        self._launch()
