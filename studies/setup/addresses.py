"""The words of the server's own addresses, which no study may have as its key."""

from collections.abc import Iterator, Sequence

from django.urls import URLPattern, URLResolver, get_resolver


def words_of_addresses() -> frozenset[str]:
    """Return every fixed part of every address but the admin site's, as `sign-in` of `/research/sign-in/`."""
    words = {word for route in routes(get_resolver().url_patterns) for word in route.split("/")}
    return frozenset(word for word in words if word and "<" not in word)


def routes(patterns: Sequence[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLPattern) or pattern.app_name == "admin":
            yield route
        else:
            yield from routes(pattern.url_patterns, route)
