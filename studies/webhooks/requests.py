"""A signed request to a webhook, and the way there. Knows no rows.

aiohttp takes a tenth of a start to load, so it waits for the first request.
"""

import asyncio
import hashlib
import hmac
from collections.abc import Mapping

TIMESTAMP = "X-Emostudy-Timestamp"
SIGNATURE = "X-Emostudy-Signature"
SECONDS, TO_CONNECT = 20, 5


class NotTaken(Exception):
    """The receiver did not take a message: a code with values, and a line for the log.

    Neither names an address: those of some services hold a secret.
    """

    def __init__(self, code: str, line: str, /, **values: str | int) -> None:
        super().__init__(line)
        self.code, self.values = code, values

    def as_json(self) -> dict[str, object]:
        """Return what a row keeps of it."""
        return {"code": self.code, "values": self.values}


def sign(body: bytes, *, key: str, timestamp: int) -> dict[str, str]:
    """Return the headers that sign a body: `v1=` and the HMAC-SHA256 of `TIMESTAMP.BODY`, in hexadecimal digits."""
    signed = hmac.new(key.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return {TIMESTAMP: str(timestamp), SIGNATURE: f"v1={signed}"}


def post(address: str, body: bytes, headers: Mapping[str, str]) -> str:
    """Send a request and return the status that came back. Raises NotTaken.

    No redirect is followed: a signed body goes to the address that the study names and to no other.
    """
    return asyncio.run(_post(address, body, headers))


async def _post(address: str, body: bytes, headers: Mapping[str, str]) -> str:
    import aiohttp

    limits = aiohttp.ClientTimeout(total=SECONDS, sock_connect=TO_CONNECT)
    try:
        async with (
            aiohttp.ClientSession(timeout=limits, trust_env=True, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.post(address, data=body, headers=headers, allow_redirects=False) as response,
        ):
            if 200 <= response.status < 300:
                return str(response.status)
            raise NotTaken("hook_status", f"the webhook answered {response.status}", status=response.status)
    except TimeoutError as error:
        raise NotTaken("hook_slow", "the webhook did not answer in time") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise NotTaken("hook_certificate", "the certificate of the webhook is not valid") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NotTaken("hook_not_reached", f"the webhook cannot be reached ({type(error).__name__})") from error
