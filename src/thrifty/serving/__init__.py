"""The HTTP service: a model that asks for what it needs, one step at a time.

    settings.py       what the service is given: files, limits
    app.py            the application: its parts, from start to end
    gate.py           what every request passes: token, sizes, headers, counts
    routes/           the endpoints, by subject
    sessions/         sessions of clients: stored as their answers, replayed where they are needed
    served_model.py   the model as JSON: columns, prices, outline, answers
    process.py        sockets and worker processes
    connections.py    how long a client may take to send a request and to read a reply
    page/             the page for people

Only this package imports the web framework. Names are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thrifty.serving.app import create_app as create_app
    from thrifty.serving.settings import Settings as Settings

_HOMES = {"Settings": "settings", "create_app": "app"}

__all__ = ["Settings", "create_app"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'thrifty.serving' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"thrifty.serving.{_HOMES[name]}"), name)
    return value
