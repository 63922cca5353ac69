"""A message to a webhook: its form, its signature, and the way there. Knows no rows."""

import asyncio
import hashlib
import hmac
import os
from collections.abc import Mapping

import aiohttp
import orjson

from dialogue.providers.base import ProviderError
from dialogue.providers.registry import api_key
from studies.care.messages import Message

TIMESTAMP = "X-Emostudy-Timestamp"
SIGNATURE = "X-Emostudy-Signature"
SECONDS = aiohttp.ClientTimeout(total=20, sock_connect=5)


class NotTaken(Exception):
    """The receiver did not take a message. Its text names no address: those of some services hold a secret."""


def get_body(form: str, message: Message) -> bytes:
    """Return the body of the request in one of the forms `json`, `slack` and `ntfy`."""
    text = f"{message.get_subject()}\n\n{message.get_text()}"
    match form:
        case "slack":
            return orjson.dumps({"text": text})
        case "ntfy":
            return text.encode()
        case _:
            return orjson.dumps(get_json(message))


def get_json(message: Message) -> dict[str, str | int | bool | None]:
    """Return the values of the form `json` (docs/interfaces.md)."""
    return {
        "type": "drill" if message.level is None else "alarm",
        "study": message.study,
        "person": message.person,
        "level": message.level,
        "time": message.at.isoformat(timespec="seconds"),
        "time_local": message.get_local_time(),
        "time_zone": message.zone,
        "link": message.link,
        "round": message.round,
        "step": message.step,
        "unanswered": message.step > 1,
    }


def get_headers(form: str, message: Message) -> dict[str, str]:
    """Return the headers of the request, without the signature."""
    if form == "ntfy":
        link = {} if message.link.startswith("/") else {"Click": message.link}
        return {
            "Content-Type": "text/plain; charset=utf-8",
            "Title": message.get_subject(),
            "Priority": "urgent",
            "Tags": "rotating_light",
            **link,
        }
    return {"Content-Type": "application/json"}


def sign(body: bytes, *, key: str, timestamp: int) -> dict[str, str]:
    """Return the headers that sign a body: `v1=` and the HMAC-SHA256 of `TIMESTAMP.BODY`, in hexadecimal digits."""
    signed = hmac.new(key.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return {TIMESTAMP: str(timestamp), SIGNATURE: f"v1={signed}"}


def get_key(variable: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the key in an environment variable, or in the file that `VARIABLE_FILE` names. Raises NotTaken."""
    try:
        return api_key(variable, environ)
    except ProviderError as error:
        raise NotTaken(error.detail) from error


def post(address: str, body: bytes, headers: Mapping[str, str]) -> str:
    """Send a request and return the status that came back. Raises NotTaken.

    No redirect is followed: a signed body goes to the address that the study names and to no other.
    """
    return asyncio.run(_post(address, body, headers))


async def _post(address: str, body: bytes, headers: Mapping[str, str]) -> str:
    try:
        async with (
            aiohttp.ClientSession(timeout=SECONDS, trust_env=True, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.post(address, data=body, headers=headers, allow_redirects=False) as response,
        ):
            if 200 <= response.status < 300:
                return str(response.status)
            raise NotTaken(f"the webhook answered {response.status}")
    except TimeoutError as error:
        raise NotTaken("the webhook did not answer in time") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise NotTaken("the certificate of the webhook is not valid") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NotTaken(f"the webhook cannot be reached ({type(error).__name__})") from error
