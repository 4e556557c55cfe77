"""A service for tests of its page: it can be killed and started again."""

from contextlib import ExitStack

from serving.started import started


class Service:
    """A running service.

    Parameters
    ----------
    model : path
        A model file.
    options : str
        Further options of the command.
    """

    def __init__(self, model, *options):
        self._arguments = (model, *options)
        self._start(port=0)

    def _start(self, port):
        self._running = ExitStack()
        self._server = self._running.enter_context(started(*self._arguments, port=port))
        self.url = self._server.address

    def call(self, method, path):
        """Send a request; return what the service answers."""
        with self._server.http() as http:
            reply = http.request(method, path).raise_for_status()
        return reply.json() if reply.content else None

    def kill(self):
        """End the process at once, as a crash would."""
        self._server.process.kill()
        self._running.close()

    def restart(self):
        """Start a killed service again, at the same port."""
        self._start(self._server.port)
