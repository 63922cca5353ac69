"""A thin translator between a socket and the rules of chat.py. No handler waits for a model."""

import asyncio
import logging
import time
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from dialogue.chat import assignments, chat_frames, history, lifecycle, messages, replies, sockets, state
from dialogue.chat.access import conversation_for
from dialogue.chat.shared_commits import run_rule
from dialogue.models import Conversation
from dialogue.safety import second_line

log = logging.getLogger(__name__)

FRAMES_PER_WINDOW = 120  # a person sends a few; a broken page or a script sends hundreds
WINDOW = 10.0  # seconds
# Frames that a slow reader may be behind. Beyond it pieces are left out, the whole reply is not; and who goes on
# sending without reading is let go, to come back by `resume`.
BACKLOG = 500
TRY_AGAIN_LATER = 1013


class ChatConsumer(AsyncWebsocketConsumer):
    conversation: Conversation | None = None
    line: sockets.OpenSocket | None = None

    async def __call__(self, *asgi: Any) -> None:
        """Serve the socket, and clean up after it, whether it was closed, a handler failed or Daphne ran out of
        patience."""
        try:
            await super().__call__(*asgi)
        finally:
            if self.conversation is not None:
                await self.leave_for_good(self.conversation)

    async def connect(self) -> None:
        code = self.scope["url_route"]["kwargs"]["code"]
        self.conversation = await database_sync_to_async(conversation_for)(self.scope, code)
        if self.conversation is None:
            # A browser is not told why a handshake was refused, and its page would try again for ever.
            await self.accept()
            await self.close(sockets.SHUT_OUT)
            return
        self.outgoing: asyncio.Queue[chat_frames.Outgoing] = asyncio.Queue()
        self.writer = asyncio.create_task(self.write())
        self.attached = self.superseded = False
        self.waiting: list[chat_frames.Outgoing] | None = None  # what comes in while missed frames are being read
        self.window_started, self.in_window, self.last_seq = 0.0, 0, 0
        if not settings.SINGLE_PROCESS:
            await self.channel_layer.group_add(replies.channel_group(code), self.channel_name)
        second_line.prepare(self.conversation.second_line)
        await sockets.replace_oldest(self.conversation.pk, sockets.OF_CONVERSATION)
        await self.accept()
        self.line = sockets.open_line(self.conversation.pk, self)

    async def leave_for_good(self, conversation: Conversation) -> None:
        self.leave()
        self.writer.cancel()
        if self.line:
            sockets.forget(self.line)
        if not settings.SINGLE_PROCESS:
            await self.channel_layer.group_discard(replies.channel_group(conversation.code), self.channel_name)

    def leave(self) -> None:
        if self.attached:
            replies.detach(self.conversation.pk, self)
            self.attached = False

    async def write(self) -> None:
        """Send the frames in the order in which they were pushed. A socket has one writer only."""
        while True:
            frame = await self.outgoing.get()
            await self.send(text_data=frame.encode())

    def push(self, frame: chat_frames.Outgoing) -> None:
        if self.waiting is not None:
            self.waiting.append(frame)
            return
        seq = getattr(frame, "seq", None)
        if seq is not None:
            if seq <= self.last_seq:
                return
            if isinstance(frame, chat_frames.Chunk) and self.outgoing.qsize() > BACKLOG:
                return
            self.last_seq = seq
        self.outgoing.put_nowait(frame)

    def refuse(self, code: chat_frames.ErrorCode, detail: str) -> None:
        self.outgoing.put_nowait(chat_frames.Error(code=code, detail=detail))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.line is None:
            return  # sent before the browser knew that it is shut out
        self.line.hear()
        if self.outgoing.qsize() > BACKLOG:
            await self.close(TRY_AGAIN_LATER)
            return
        if self.superseded:
            self.outgoing.put_nowait(chat_frames.Superseded())
            return
        if self.too_fast():
            self.refuse("rate", "Too many frames at once. Please wait a moment.")
            return
        try:
            await self.handle(chat_frames.parse(text_data))
        except chat_frames.BadFrame as error:
            self.refuse("bad_frame", str(error))
        except state.ChatRefused as refusal:
            self.refuse(refusal.code, refusal.detail)

    def too_fast(self) -> bool:
        now = time.monotonic()
        if now - self.window_started > WINDOW:
            self.window_started, self.in_window = now, 0
        self.in_window += 1
        return self.in_window > FRAMES_PER_WINDOW

    async def handle(self, incoming: chat_frames.Incoming) -> None:
        # Shielded: Daphne gives up a socket ten seconds after its line broke, while a slow database may still store
        # what was claimed; the reply is then fetched all the same, not only when its lease has run out.
        if isinstance(incoming, chat_frames.Resume):
            await self.resume(incoming.after)
        elif not self.attached:
            self.refuse("bad_frame", "Send a resume frame first.")
        elif isinstance(incoming, chat_frames.SeekerMessage):
            await asyncio.shield(self.take(incoming))
        elif isinstance(incoming, chat_frames.Retry):
            await asyncio.shield(self.retry())
        elif isinstance(incoming, chat_frames.Seen):
            await run_rule(history.mark_seen, self.conversation.pk, incoming.seq)
        else:
            self.push(await run_rule(lifecycle.end, self.conversation.pk, early=incoming.early))

    async def resume(self, after: int) -> None:
        """Push everything missed, then the reply that is under way. What happens meanwhile is put aside, not lost."""
        await self.supersede_others()
        if not self.attached:
            replies.attach(self.conversation.pk, self)
            self.attached = True
        self.waiting = []
        self.drop_unsent()
        try:
            missed = await database_sync_to_async(history.get_missed_frames)(self.conversation.pk, after)
        finally:
            aside, self.waiting = self.waiting, None
        self.last_seq = after
        for frame in [*missed.frames, *(frame for frame in aside if not isinstance(frame, chat_frames.Chunk))]:
            self.push(frame)
        live = replies.running.get(self.conversation.pk)
        if live and (whole := live.whole_so_far()):
            self.push(whole)
        if missed.is_reply_due:
            await asyncio.shield(replies.start_due(self.conversation.pk))

    def drop_unsent(self) -> None:
        """Drop numbered frames that wait for a slow reader. They are among the missed ones: asking for those again and
        again must not pile up one copy for each time."""
        unsent = [self.outgoing.get_nowait() for _ in range(self.outgoing.qsize())]
        for frame in unsent:
            if getattr(frame, "seq", None) is None:
                self.outgoing.put_nowait(frame)

    async def supersede_others(self) -> None:
        """Make all other tabs with this conversation read-only, in this process and in all others: the newest wins."""
        for listener in tuple(replies.listeners.get(self.conversation.pk, ())):
            if listener is not self:
                listener.supersede()
        if not settings.SINGLE_PROCESS:
            await self.channel_layer.group_send(
                replies.channel_group(self.conversation.code),
                {"type": "conversation.newer", "channel": self.channel_name},
            )

    def supersede(self) -> None:
        self.leave()
        self.superseded = True
        self.outgoing.put_nowait(chat_frames.Superseded())

    async def take(self, message: chat_frames.SeekerMessage) -> None:
        result = await run_rule(
            messages.take_seeker_turn,
            self.conversation.pk,
            client_id=message.id,
            text=message.text,
            timing=message.timing,
            owner=replies.OWNER,
        )
        self.outgoing.put_nowait(chat_frames.Ack(id=message.id, turn=result.turn))
        replies.broadcast(self.conversation.pk, result.frames)
        if result.assignment:
            replies.start(result.assignment)

    async def retry(self) -> None:
        assignment = await run_rule(assignments.retry, self.conversation.pk, owner=replies.OWNER)
        if assignment:
            replies.start(assignment)

    async def conversation_newer(self, event: dict[str, Any]) -> None:
        if event["channel"] != self.channel_name and self.attached:
            self.supersede()

    async def conversation_revoked(self, event: dict[str, Any]) -> None:
        await self.close(sockets.SHUT_OUT)

    async def conversation_changed(self, event: dict[str, Any]) -> None:
        if self.attached and event["owner"] != replies.OWNER:
            missed = await database_sync_to_async(history.get_missed_frames)(self.conversation.pk, self.last_seq)
            for frame in missed.frames:
                self.push(frame)
