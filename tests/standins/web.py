"""A stand-in for the web on loopback: search providers and sites, by path.

with serve({"/search": reply(results=[]), "/page": html("<p>Text.</p>")}) as web:
    ...  # call web.url + "/page"
    assert web.asked("/search")[0].headers["x-api-key"] == "..."
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from standins.openai import Fault, Request, Server, running

Route = Fault | Callable[[Request], Fault]


def html(body: str | bytes, **headers: str) -> Fault:
    """A page."""
    return Fault(body=body, headers={"Content-Type": "text/html; charset=utf-8", **headers})


def plain(body: str, kind: str = "text/plain") -> Fault:
    """A page of another type."""
    return Fault(body=body, headers={"Content-Type": kind})


def redirect(location: str, status: int = 302) -> Fault:
    """A page that is elsewhere."""
    return Fault(status, headers={"Location": location})


def parameters(request: Request) -> dict[str, str]:
    """The parameters in the address of a request."""
    return {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}


class Web(Server):
    """Serves `routes`, by path without parameters, and 404 for all else."""

    def __init__(self, routes: Mapping[str, Route], tls: ssl.SSLContext | None) -> None:
        super().__init__(lambda request, n: "", 0.0, record=True, tls=tls)
        self.routes = dict(routes)

    def asked(self, path: str) -> list[Request]:
        """The requests for that path."""
        return [request for request in self.requests if request.path.partition("?")[0] == path]

    def _reply(self, request: Request, number: int) -> Fault:
        route = self.routes.get(request.path.partition("?")[0], Fault(404, "There is no such page."))
        return route if isinstance(route, Fault) else route(request)


@contextmanager
def serve(routes: Mapping[str, Route] | None = None, *, tls: ssl.SSLContext | None = None) -> Iterator[Web]:
    """A running stand-in; its `url` has no path, and its `routes` may change while it runs."""
    web = Web(routes or {}, tls)
    with running(web):
        web.url = web.url.removesuffix("/v1")
        yield web


def reply(**fields: Any) -> Fault:
    """A provider's reply, as JSON."""
    return Fault(body=fields)
