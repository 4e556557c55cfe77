"""Finds the endpoint of a request, and calls it with the request. FastAPI only documents the endpoints: its own routing
takes longer, and tells the methods of one route when several share a path.
"""

from collections.abc import Sequence
from re import Pattern
from typing import Any

from fastapi import Request
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from thrifty.serving.problems import not_allowed, nothing_at

ByMethod = dict[str, Route]


class Routing:
    """The endpoints of an application, by path and method.

    Parameters
    ----------
    routes : sequence of Route
        Their endpoints take the request and the parameters of the path, and return a reply.
    """

    def __init__(self, routes: Sequence[BaseRoute]):
        self._fixed: dict[str, ByMethod] = {}
        self._with_parameters: dict[Pattern[str], ByMethod] = {}
        for route in routes:
            assert isinstance(route, Route)
            if route.param_convertors:
                by_method = self._with_parameters.setdefault(route.path_regex, {})
            else:
                by_method = self._fixed.setdefault(route.path, {})
            by_method |= dict.fromkeys(route.methods or (), route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; raise RefusedError if it has no endpoint."""
        by_method, parameters = self._find(scope["path"])
        route = by_method.get(scope["method"])
        if route is None:
            scope["route"] = next(iter(by_method.values()))  # its path is counted
            raise not_allowed(scope["method"], scope["path"], sorted(by_method))
        scope["route"] = route
        response = await route.endpoint(Request(scope, receive), **parameters)
        await response(scope, receive, send)

    def _find(self, path: str) -> tuple[ByMethod, dict[str, Any]]:
        """Return the routes of a path, and its parameters."""
        if (by_method := self._fixed.get(path)) is not None:
            return by_method, {}
        for pattern, by_method in self._with_parameters.items():
            if found := pattern.match(path):
                return by_method, found.groupdict()
        raise nothing_at(path)
