"""One person's line to the server: a relay between two TCP connections that can break, fall silent, lose or dawdle."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

BY_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends RST and throws away what was not sent
PIECE = 65536
SLOW_PIECE = 1024

Direction = Literal["upwards", "downwards"]
Loss = Literal["upwards", "downwards", "half"]  # half: of the next piece upwards, and everything after it


class Line:
    """Everything that the person's browser sends goes through `port`."""

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self.port = 0
        self.seconds = 0.0  # that each piece takes
        self.losing: set[Loss] = set()
        self.wires: set[Wire] = set()
        self.relay: asyncio.Server

    @asynccontextmanager
    async def standing(self) -> AsyncIterator["Line"]:
        await self.open()
        try:
            yield self
        finally:
            self.close()
            await asyncio.gather(*(wire.over.wait() for wire in self.wires))

    async def open(self) -> None:
        """At the same port as before."""
        self.relay = await asyncio.start_server(self.connected, "127.0.0.1", self.port)
        self.port = self.relay.sockets[0].getsockname()[1]

    def close(self) -> None:
        """No one gets through, and new connections are refused."""
        self.relay.close()
        self.cut()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(self, writer)
        self.wires.add(wire)
        try:
            await wire.relay(reader)
        finally:
            wire.over.set()
            self.wires.discard(wire)

    def cut(self) -> None:
        self.losing.clear()
        for wire in self.wires:
            wire.cut()

    def lose(self, *what: Loss) -> None:
        """Until the line is cut, on new connections as well."""
        self.losing.update(what)
        self.lose_on_these(*what)

    def lose_on_these(self, *what: Loss) -> None:
        """On the connections that stand now, for good."""
        for wire in self.wires:
            wire.losing.update(what)


class Wire:
    """One connection and its other half."""

    def __init__(self, line: Line, client: asyncio.StreamWriter) -> None:
        self.line = line
        self.ends = [client]
        self.losing = set(line.losing)
        self.over = asyncio.Event()

    async def relay(self, from_client: asyncio.StreamReader) -> None:
        """Until either side has ended; then both have."""
        try:
            from_server, server = await asyncio.open_connection("127.0.0.1", self.line.server_port)
        except OSError:  # the server is not there
            self.cut()
            return
        self.ends.append(server)
        pumps = [
            asyncio.create_task(self.pump(from_client, server, "upwards")),
            asyncio.create_task(self.pump(from_server, self.ends[0], "downwards")),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for end in self.ends:
                end.close()

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction) -> None:
        try:
            while piece := await reader.read(SLOW_PIECE if self.line.seconds else PIECE):
                if self.line.seconds:
                    await asyncio.sleep(self.line.seconds)
                if direction in self.losing:
                    continue
                if "half" in self.losing and direction == "upwards":
                    piece, self.losing = piece[: len(piece) // 2], {"upwards", "downwards"}
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            return

    def cut(self) -> None:
        for end in self.ends:
            raw = end.get_extra_info("socket")
            if raw is not None and not end.is_closing():
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, BY_RESET)
            end.transport.abort()
