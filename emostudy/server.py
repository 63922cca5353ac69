"""Daphne with back-pressure: `python -m emostudy.server …` takes what `daphne` takes, and `--with-jobs`.

Daphne writes a frame into the connection's buffer and returns at once, so that a browser that reads slowly, or not at
all, grows the server's memory. Here the application waits as soon as the buffer is full, and can then leave out what
need not be sent (dialogue.chat.consumers).
"""

import asyncio
import gc
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from daphne.cli import CommandLineInterface
from daphne.server import Server
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from emostudy.discreet_log import Stream, install


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
    def __init__(self, *args: Any, with_jobs: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.action_logger is not None:
            self.action_logger.stream = Stream(self.action_logger.stream)
        self.with_jobs = with_jobs
        self.buffers: dict[WebSocketProtocol, Buffer] = {}

    def run(self) -> None:
        reactor.callWhenRunning(self.prepare_client)
        reactor.addSystemEventTrigger("before", "shutdown", self.stop_replies)  # type: ignore[arg-type]
        reactor.callWhenRunning(self.watch_alarms)
        if self.with_jobs:
            reactor.callWhenRunning(self.run_jobs_beside)
        super().run()

    def prepare_client(self) -> None:
        from dialogue.chat.replies import prepare_client  # Django is set up by now

        self.preparing = asyncio.get_event_loop().create_task(prepare_client())

    def stop_replies(self) -> Deferred[None]:
        from dialogue.chat.replies import stop_all

        return Deferred.fromFuture(asyncio.get_event_loop().create_task(stop_all()))

    def watch_alarms(self) -> None:
        from studies.care import clock  # Django is set up by now

        clock.start()

    def run_jobs_beside(self) -> None:
        from studies.management.runner_process import run_where_needed  # Django is set up by now

        self.beside = asyncio.get_event_loop().create_task(run_where_needed())

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

    def __init__(self) -> None:
        super().__init__()
        self.parser.add_argument("--with-jobs", action="store_true", help="Run jobs beside the server, while there are")

    def run(self, args: Sequence[str]) -> None:
        with_jobs = self.parser.parse_args(args).with_jobs
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "emostudy.settings")
        from studies.management.server_lock import lock_database  # reads the settings

        self.lock = lock_database()
        self.server_class = partial(PatientServer, with_jobs=with_jobs)
        super().run(args)


if __name__ == "__main__":
    gc.disable()  # studies.apps enables it, as in manage.py
    install()
    PatientCommandLine.entrypoint()
