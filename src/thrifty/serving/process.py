"""The process of the service: its socket, and one or more workers that answer at it."""

import math
import multiprocessing
import os
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from thrifty.persistence.key_files import read_key
from thrifty.runtime.sources.catalog import Catalog
from thrifty.serving.app import create_app
from thrifty.serving.connections import MAX_HEAD, Connection
from thrifty.serving.gate import is_loopback
from thrifty.serving.served_model import ServedModel
from thrifty.serving.sessions.store import SessionStore
from thrifty.serving.settings import Settings
from thrifty.serving.tokens import Tokens

VARIABLE = "THRIFTY_SERVE"  # how workers get the settings
BACKLOG = 2048
SECONDS_TO_START = 60  # a worker that does not answer its supervisor for so long is replaced
MAX_SESSION_SECONDS = 366 * 24 * 3600
SECONDS_TO_FINISH = 30  # that requests in flight have when the service ends


def serve(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    started: Callable[[str], Any] = print,
) -> None:
    """Serve a model until the process is told to end; requests in flight are finished.

    Parameters
    ----------
    settings : Settings
        The files of the service, and its limits.
    host : str, default="127.0.0.1"
        The address to listen at. Without tokens only this machine may be served.
    port : int, default=8000
        The port to listen at; 0 for any that is free.
    workers : int, default=1
        How many processes answer. Several share a file with the sessions.
    started : callable, default=print
        Called with the address of the service when it listens.
    """
    refuse_open_to_others(settings, host)
    refuse_unusable(settings)
    with listening(host, port) as sock, shared_files(settings, workers) as shared:
        started(address_of(sock))
        if workers == 1:
            uvicorn.Server(_config(create_app(shared))).run(sockets=[sock])
        else:
            os.environ[VARIABLE] = replace(shared, warm_first=True).to_json()
            config = _config("thrifty.serving.process:app_of_worker", factory=True, workers=workers)
            Multiprocess(config, sockets=[sock]).run()


def app_of_worker() -> Any:
    """Return the application of a worker process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return create_app(Settings.from_json(os.environ[VARIABLE]))


def _end_with_parent() -> None:
    """End this worker if the process that started it is killed: nobody would end it, and it would keep the port."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def refuse_open_to_others(settings: Settings, host: str) -> None:
    """Raise ValueError if other machines could use a service without tokens."""
    if settings.token_file is None and not is_loopback(host):
        raise ValueError(
            f"--host is {host!r}, which other machines can reach, but there are no tokens. Pass --token-file with a "
            "file of tokens, or leave out --host to serve this machine only."
        )


def refuse_unusable(settings: Settings) -> None:
    """Raise an error if a number or a file cannot be used, before workers are started."""
    _refuse_numbers(settings)
    Tokens.read(settings.token_file)
    SessionStore.open(settings).close()
    served = ServedModel.open(settings.model, read_key(settings.key_file), settings.cap, settings.examples)
    if settings.sources is not None:
        catalog = Catalog.of(settings.sources)
        catalog.refuse_incomplete(served.model)
        for source in catalog:
            source.close()


def _refuse_numbers(settings: Settings) -> None:
    if settings.cap == math.inf:
        raise ValueError("--cap is inf; expected a finite limit on each row's spend. Leave it out for no limit.")
    if settings.deadline is not None and not 0 < settings.deadline < math.inf:
        raise ValueError(f"--deadline is {settings.deadline}; expected a finite number of seconds above 0.")
    if not settings.session_seconds <= MAX_SESSION_SECONDS:
        raise ValueError(
            f"--session-seconds is {settings.session_seconds}; expected at most {MAX_SESSION_SECONDS:,} (a year)."
        )


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen at an address."""
    try:
        sock = _bound(host, port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"--host {host} --port {port} cannot be listened at ({reason}). Pass another one.") from error
    with sock:
        sock.set_inheritable(True)
        yield sock


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol given, asyncio turns off Nagle's algorithm, which would delay every reply by 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


@contextmanager
def shared_files(settings: Settings, workers: int) -> Iterator[Settings]:
    """Give several workers a file for their sessions and a copy of the model, which are removed at the end.

    A worker that replaces another one has to serve the same model, even if the file of the model has changed since.
    """
    if workers == 1:
        yield settings
        return
    with TemporaryDirectory(prefix="thrifty-serving-", ignore_cleanup_errors=True) as folder:
        store = settings.store or str(Path(folder, "sessions.sqlite"))
        yield replace(settings, model=shutil.copy(settings.model, folder), store=store)


def address_of(sock: socket.socket) -> str:
    """Return the address of a socket as a URL."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _config(app: Any, **options: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        h11_max_incomplete_event_size=MAX_HEAD,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
        timeout_worker_healthcheck=SECONDS_TO_START,
        proxy_headers=False,
        **options,
    )
