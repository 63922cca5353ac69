"""The words of the server's own addresses, which no study may have as its key."""

from collections.abc import Iterator, Sequence

from django.urls import URLPattern, URLResolver, get_resolver

STUDY = "<slug:study_key>"  # where an address names a study


def words_of_addresses() -> frozenset[str]:
    """Return every word that stands where another address has a study's key, as `sign-in` in `/research/sign-in/`."""
    addresses = set(routes(get_resolver().url_patterns))
    rooms = {route.partition(STUDY)[0] for route in addresses if STUDY in route}
    words = {route.removeprefix(room).split("/")[0] for route in addresses for room in rooms if route.startswith(room)}
    return frozenset(word for word in words if word and "<" not in word)


def routes(patterns: Sequence[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLPattern) or pattern.app_name == "admin":
            yield route
        else:
            yield from routes(pattern.url_patterns, route)
