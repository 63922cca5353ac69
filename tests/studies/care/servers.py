"""Real servers that receive alarms: a mail server and a webhook."""

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_string, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Box(Sink):
    """Mails as (recipients, whole source)."""

    def __init__(self) -> None:
        super().__init__()
        self.mails: list[tuple[list[str], str]] = []

    async def handle_DATA(self, server, session, envelope):
        self.mails.append((envelope.rcpt_tos, envelope.content.decode()))
        return "250 taken"

    def texts(self) -> list[str]:
        """Return the decoded texts."""
        return [message_from_string(source, policy=policy.default).get_content() for _to, source in self.mails]

    def recipients(self) -> list[str]:
        return [one for to, _source in self.mails for one in to]


@contextmanager
def mail_server(box: Box, port: int | None = None) -> Iterator[int]:
    controller = Controller(box, hostname="127.0.0.1", port=port or free_port())
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


class Hook:
    """A webhook that keeps what it gets and answers with `status`."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        self.location = ""
        self.address = ""

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _headers, body in self.requests]

    def is_signed(self, key: str) -> bool:
        """Verify the newest request as docs/interfaces.md says."""
        headers, body = self.requests[-1]
        signed = headers["X-Emostudy-Timestamp"].encode() + b"." + body
        expected = "v1=" + hmac.new(key.encode(), signed, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, headers["X-Emostudy-Signature"])


@contextmanager
def webhook_server(hook: Hook) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            hook.requests.append((dict(self.headers.items()), self.rfile.read(length)))
            self.send_response(hook.status)
            if hook.location:
                self.send_header("Location", hook.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    hook.address = f"http://127.0.0.1:{server.server_address[1]}/hook"
    try:
        yield hook.address
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
