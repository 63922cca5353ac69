"""Allow websockets only from pages of this server, as for its forms."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http.request import is_same_domain

DEFAULT_PORTS = {"http": 80, "https": 443}
OVER_HTTP = {"ws": "http", "wss": "https"}

Scope = Mapping[str, Any]
Application = Callable[[Scope, Callable[..., Awaitable[Any]], Callable[..., Awaitable[Any]]], Awaitable[Any]]


class Origin(NamedTuple):
    scheme: str
    host: str
    port: int | None

    def allows(self, other: "Origin") -> bool:
        """Return whether this origin covers the other.

        `https://*.example.org` stands for all hosts below it, as in Django's CSRF_TRUSTED_ORIGINS.
        """
        same_server = (self.scheme, self.port) == (other.scheme, other.port)
        return same_server and is_same_domain(other.host, self.host.removeprefix("*"))


def parse(text: str) -> Origin | None:
    """Return the origin in `text`; `None` if it is none."""
    try:
        parts = urlsplit(text)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None
    return Origin(parts.scheme, parts.hostname, port) if parts.scheme in DEFAULT_PORTS and parts.hostname else None


class OriginGuard:
    """A guard that passes a socket on if its origin has this server's scheme, host and port, or is a trusted one."""

    def __init__(self, application: Application, trusted: Iterable[str]) -> None:
        self.application = application
        self.trusted = [origin for origin in map(parse, trusted) if origin]

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> Any:
        theirs = origin_in_headers(scope)
        allowed = [own for own in (origin_of_server(scope), *self.trusted) if own]
        let_in = theirs is not None and any(one.allows(theirs) for one in allowed)
        return await (self.application if let_in else WebsocketDenier())(scope, receive, send)


def origin_in_headers(scope: Scope) -> Origin | None:
    origins = [value for name, value in scope["headers"] if name == b"origin"]
    return parse(origins[0].decode("latin1")) if len(origins) == 1 else None


def origin_of_server(scope: Scope) -> Origin | None:
    """Read this server's origin from the Host header, and its scheme from a trusted proxy, as Django does for pages."""
    as_page = {**scope, "method": "GET", "scheme": OVER_HTTP.get(scope.get("scheme", "ws"), "http")}
    request = ASGIRequest(as_page, BytesIO())
    try:
        return parse(f"{request.scheme}://{request.get_host()}")
    except DisallowedHost:
        return None
