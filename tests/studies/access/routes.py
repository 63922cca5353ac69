"""Every route and every websocket of the server, found by looking at what Django and Channels would serve."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

from dialogue.chat import routing as dialogue_routing
from studies import routing as studies_routing

CONVERTER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Route:
    """A route. `name`: as `resolver_match.view_name` has it; `address`: with its places, `/research/<study_key>/`."""

    name: str
    address: str

    def places(self) -> list[str]:
        return CONVERTER.findall(self.address)

    def filled(self, values: dict[str, str]) -> str:
        return CONVERTER.sub(lambda found: str(values.get(found[1], "1")), self.address)


def every_route() -> list[Route]:
    return list(routes_in(get_resolver().url_patterns))


def routes_in(
    patterns: list[URLPattern | URLResolver], before: str = "/", spaces: tuple[str, ...] = ()
) -> Iterator[Route]:
    for pattern in patterns:
        address = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            inner = (*spaces, pattern.namespace) if pattern.namespace else spaces
            yield from routes_in(pattern.url_patterns, address, inner)
        elif "(?P<" not in address:  # what catches all that is left of /admin/
            yield Route(":".join((*spaces, pattern.name or pattern.lookup_str)), address)


def every_socket() -> list[tuple[str, str]]:
    """Each websocket as the name of its consumer and its address."""
    patterns = [*studies_routing.websocket_urlpatterns, *dialogue_routing.websocket_urlpatterns]
    return [(pattern.callback.consumer_class.__name__, f"/{pattern.pattern}") for pattern in patterns]
