"""Contact data are encrypted before they reach the database (Fernet: AES-128-CBC with HMAC-SHA-256).

The keys are in the environment alone (`CONTACT_KEY`). The first one encrypts, all of them decrypt, so a new key can be
put in front of the old one until `reseal_contacts` has encrypted everything anew.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet  # slow to load, and few commands need it


class ContactKeyError(Exception):
    """There is no key, or none that opens what was stored. The text says what to do."""


NO_KEY = "CONTACT_KEY is not set, so contact data cannot be stored. Set it in the environment of the server."
WRONG_KEY = "No key in CONTACT_KEY opens these contact data. Add the key with which they were stored."


def has_key() -> bool:
    return bool(settings.CONTACT_KEYS)


def seal(text: str) -> str:
    """Return the text encrypted by the first key. Raises ContactKeyError."""
    return get_box().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Return the text behind what `seal` returned. Raises ContactKeyError."""
    from cryptography.fernet import InvalidToken

    try:
        return get_box().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise ContactKeyError(WRONG_KEY) from None


def reseal(sealed: str) -> str:
    """Return the same text encrypted anew, by the first key. Raises ContactKeyError."""
    from cryptography.fernet import InvalidToken

    try:
        return get_box().rotate(sealed.encode()).decode()
    except InvalidToken:
        raise ContactKeyError(WRONG_KEY) from None


def get_box() -> "MultiFernet":
    if not has_key():
        raise ContactKeyError(NO_KEY)
    return make_box(tuple(settings.CONTACT_KEYS))


@cache
def make_box(keys: Sequence[str]) -> "MultiFernet":
    from cryptography.fernet import Fernet, MultiFernet

    return MultiFernet([Fernet(key) for key in keys])
