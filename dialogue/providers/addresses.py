"""The address of a model's server. Pure."""

from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit

from dialogue.providers.base import WRONG_ADDRESS, ProviderError

DEFAULT_BASE_URL = "https://api.openai.com/v1"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Address(NamedTuple):
    """A base URL, and the query that goes with every request (`?api-version=…`)."""

    base_url: str
    query: dict[str, str]


def host_of(base_url: str) -> str:
    """Return the host name. Raises a permanent ProviderError where it is no web address, or holds a password."""
    return _parts(base_url).hostname or ""


def address_of(base_url: str) -> Address:
    """Return the base URL without its query, and the query."""
    parts = _parts(base_url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Address(parts._replace(query="", fragment="").geturl(), query)


def lacks_version(base_url: str) -> bool:
    """Return True where it has no path such as `/v1`, below which chat completions mostly are."""
    return not _parts(base_url).path.strip("/")


def _parts(base_url: str) -> SplitResult:
    try:
        url = urlsplit(base_url)
        host = url.hostname if url.scheme in ("http", "https") and url.port != 0 else None  # `port` may raise too
    except ValueError:
        host = None
    if not host:
        raise ProviderError(WRONG_ADDRESS, f"{base_url} is no web address.", permanent=True)
    if url.username is not None:
        # Addresses are stored and exported, keys are not.
        raise ProviderError(WRONG_ADDRESS, f"The address of {host} holds a password: use api_key_env.", permanent=True)
    return url
