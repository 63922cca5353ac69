"""Daphne with back-pressure: `python -m emostudy.server …` takes what `daphne` takes.

Daphne writes a frame into the connection's buffer and returns at once, so that a browser that reads slowly, or not at
all, grows the server's memory. Here the application waits as soon as the buffer is full, and can then leave out what
need not be sent (dialogue.consumers).
"""

import asyncio
from collections.abc import Callable
from typing import Any

from daphne.cli import CommandLineInterface
from daphne.server import Server
from daphne.ws_protocol import WebSocketProtocol


class Buffer:
    """Twisted's push producer: the connection says when its buffer (64 KiB) is full and when it is empty again."""

    def __init__(self) -> None:
        self.has_room = asyncio.Event()
        self.has_room.set()

    def pauseProducing(self) -> None:
        self.has_room.clear()

    def resumeProducing(self) -> None:
        self.has_room.set()

    stopProducing = resumeProducing


class PatientServer(Server):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.buffers: dict[WebSocketProtocol, Buffer] = {}

    def protocol_connected(self, protocol: Any) -> None:
        super().protocol_connected(protocol)
        if isinstance(protocol, WebSocketProtocol):
            self.buffers[protocol] = Buffer()
            protocol.unregisterProducer()  # that of the HTTP request which became this socket
            protocol.registerProducer(self.buffers[protocol], True)

    def protocol_disconnected(self, protocol: Any) -> None:
        super().protocol_disconnected(protocol)
        if buffer := self.buffers.pop(protocol, None):
            buffer.has_room.set()

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        await super().handle_reply(protocol, message)
        if buffer := self.buffers.get(protocol):
            await buffer.has_room.wait()


class PatientCommandLine(CommandLineInterface):
    server_class: Callable[..., Server] = PatientServer


if __name__ == "__main__":
    PatientCommandLine.entrypoint()
