"""Read the environment. Every `X` may be given as `X_FILE`; an odd value stops the start with one line naming it."""

import hmac
import os
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import parse_qs, unquote, urlsplit

from dialogue.input_checks import int_from

FERNET_BYTES = 32  # of a key


def refuse(name: str, why: str) -> NoReturn:
    sys.exit(f"emostudy: {name}: {why}")


def envtext(name: str, default: str = "") -> str:
    """Return a variable; an empty one counts as not given, since Compose files pass on all that they name."""
    if value := os.environ.get(name):
        return value
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8-sig").strip()  # Windows writes a byte-order mark
        except OSError as error:
            refuse(f"{name}_FILE", f"cannot read {path!r}: {error.strerror}")
        except UnicodeDecodeError:
            refuse(f"{name}_FILE", f"cannot read {path!r}: it is not UTF-8 text")
    return default


def envbool(name: str, default: bool = False) -> bool:
    value = envtext(name).strip().lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("0", "false", "no", "off"):
        return False
    return default if not value else refuse(name, f"{value!r} is neither true nor false")


def envint(name: str, default: int, *, minimum: int, maximum: int) -> int:
    value = envtext(name)
    number = int_from(value, minimum, maximum) if value else default
    return refuse(name, f"{value!r} is not a whole number from {minimum} to {maximum}") if number is None else number


def envdecimal(name: str) -> Decimal | None:
    """Return an amount from 0 on; `None` if none is given."""
    value = envtext(name)
    if not value:
        return None
    try:
        amount = Decimal(value)
    except InvalidOperation:
        amount = Decimal("NaN")
    return amount if amount.is_finite() and amount >= 0 else refuse(name, f"{value!r} is not an amount from 0 on")


def envlist(name: str) -> list[str]:
    return [part.strip() for part in envtext(name).split(",") if part.strip()]


def envkeys(name: str) -> list[str]:
    """Return keys of Fernet, separated by commas. No error repeats one."""
    keys = envlist(name)
    for number, key in enumerate(keys, 1):
        if not is_fernet_key(key):
            which = f"key {number} of {len(keys)}" if len(keys) > 1 else "it"
            refuse(name, f"{which} is not 32 bytes in URL-safe base64, as Fernet.generate_key() makes them")
    return keys


def is_fernet_key(key: str) -> bool:
    try:
        return len(urlsafe_b64decode(key)) == FERNET_BYTES
    except ValueError:
        return False


def derive_key(purpose: str, secret: str) -> str:
    """Return a key of Fernet that is always the same for this purpose and this secret."""
    return urlsafe_b64encode(hmac.digest(secret.encode(), purpose.encode(), "sha256")).decode()


def envurl(name: str, schemes: tuple[str, ...]) -> str:
    """Return an address, "" if none is given. No error repeats it, because it may hold a password."""
    value = envtext(name)
    if not value:
        return ""
    if value.partition("://")[0] not in schemes:
        refuse(name, f"the address must begin with one of {', '.join(s + '://' for s in schemes)}")
    if not is_whole_address(value):
        refuse(
            name,
            "the address cannot be read. Its port must be a number up to 65535, and in user and password the signs "
            "@ / : ? # [ ] % must be written as %40 %2F %3A %3F %23 %5B %5D %25",
        )
    return value


def is_whole_address(value: str) -> bool:
    """Return whether an address has the parts that were meant: a sign of a password can end one part too early."""
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return False
    if not parts.netloc:  # a file or a socket
        return True
    return port != 0 and parts.netloc.count("@") <= 1 and "@" not in parts.path and not parts.fragment


def envdatabase(name: str) -> str:
    """Return the address of a database, "" if none is given."""
    value = envurl(name, ("sqlite", "postgres", "postgresql"))
    if value and not urlsplit(value).path.strip("/"):
        refuse(name, "it names no database: write its name behind the host, as in postgresql://user:password@host/name")
    return value


def envhosts(name: str) -> list[str]:
    hosts = envlist(name)
    for host in hosts:
        if not host.startswith("[") and set(host) & set("/:; "):
            refuse(name, f"{host!r} is no name of a host. Write names alone, as study.example.org, separated by commas")
    return hosts


def envorigins(name: str) -> list[str]:
    """Return origins as browsers send them, which Django compares sign by sign."""
    origins = envlist(name)
    for origin in origins:
        scheme, _, host = origin.partition("://")
        if scheme not in ("http", "https") or not host or set(host) & set("/; ") or not is_whole_address(origin):
            refuse(name, f"{origin!r} is no origin. Write https://study.example.org, with nothing behind the name")
    return origins


def envfolder(name: str, default: Path) -> Path:
    """Return a folder in which this account can write, made if it is missing."""
    folder = Path(envtext(name) or default)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(name, f"the folder {folder} cannot be made ({error.strerror}). Make it, or name another one")
    if not os.access(folder, os.W_OK | os.X_OK):
        refuse(name, f"this account may not write into {folder}. Give it the folder with chown, or name another one")
    return folder


def email_settings(url: str) -> dict[str, Any]:
    """Return settings for `smtp://user:password@host:port/?from=…`, `smtps://…` (TLS) or `smtp+tls://…` (STARTTLS)."""
    if not url:
        return {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}
    parts = urlsplit(url)
    if not parts.hostname:
        refuse("EMAIL_URL", "it names no host")
    sender = parse_qs(parts.query).get("from", [unquote(parts.username or "")])[0]
    if "@" not in sender:
        refuse("EMAIL_URL", "it names no sender. Add ?from= with the address of your study, as in README.md")
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or {"smtps": 465, "smtp+tls": 587}.get(parts.scheme, 25),
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_TIMEOUT": 15,
        "DEFAULT_FROM_EMAIL": sender,
    }
