"""Fetches replies: read, call the model, write, and tell whoever looks on. A reply belongs to its conversation, not to
a socket: it runs on when the page is closed, is stored first and then told, and is safe to start twice."""

import asyncio
import logging
import os
import random
import time
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol

from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import InterfaceError, OperationalError

from dialogue.chat import assignments, chat_frames, inquiries, outcomes
from dialogue.chat.assignments import AnsweredInquiry, Assignment, Inquiry
from dialogue.chat.pacing import Pace, PacedReply, window_among
from dialogue.chat.shared_commits import run_rule
from dialogue.chat.state import Notice
from dialogue.models import Supporter
from dialogue.providers.base import ProviderError, Reply
from dialogue.providers.openai_client import close_clients, load_client
from dialogue.providers.registry import MODELS, model_for
from dialogue.safety import second_line
from dialogue.safety.screening import Verdict, screen_reply
from dialogue.safety.second_line import Answer, Finding

log = logging.getLogger(__name__)

OWNER = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"  # this process, as the lease of a turn names it
ATTEMPTS = 3
BACKOFF = 0.8  # seconds before the second attempt, doubled for each further one, with jitter
LONGEST_WAIT = 10.0  # seconds: no one is kept waiting for longer, whatever Retry-After says
HEARTBEAT = assignments.LEASE.total_seconds() / 3
WRITES = 6  # tries to store what cannot be fetched again
READ_FROM = 2  # the level of a message from which the second line reads the reply to it before it is shown


class Listener(Protocol):
    def push(self, frame: chat_frames.Outgoing) -> None: ...

    def supersede(self) -> None: ...


class ReplyWithheld(Exception):
    """The safety screen ended this reply."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__("withheld")
        self.verdict = verdict


class ReplyOverruled(Exception):
    """The second line ended this reply, by what it found in the message or because it said nothing. `outcome` is what
    had come of the arm's call by then."""

    def __init__(self, outcome: Reply | ProviderError) -> None:
        super().__init__("overruled")
        self.outcome = outcome


listeners: dict[int, set[Listener]] = defaultdict(set)
running: dict[int, "LiveReply"] = {}


def attach(conversation: int, listener: Listener) -> None:
    listeners[conversation].add(listener)


def detach(conversation: int, listener: Listener) -> None:
    listeners[conversation].discard(listener)
    if not listeners[conversation]:
        del listeners[conversation]


def broadcast(conversation: int, outgoing: Iterable[chat_frames.Outgoing]) -> None:
    for frame in outgoing:
        for listener in tuple(listeners.get(conversation, ())):
            listener.push(frame)


def start(assignment: Assignment) -> "LiveReply":
    """Fetch this reply in a task of its own; the table keeps the reference that asyncio does not."""
    live = LiveReply(assignment)
    running[assignment.conversation] = live
    live.task = asyncio.create_task(live.run())
    return live


async def start_due(conversation: int) -> None:
    """Fetch the reply that is still owed after a restart of the server, or of another process."""
    if conversation in running:
        return
    assignment = await run_rule(
        assignments.claim_due_reply, conversation, owner=OWNER, single_process=settings.SINGLE_PROCESS
    )
    if assignment and conversation not in running:
        start(assignment)


async def prepare_client() -> None:
    """Load the client before the first reply needs it, where models behind servers have been asked before. It takes a
    second and 25 MB, which a server with scripted models alone is spared."""
    try:
        is_needed = await database_sync_to_async(Supporter.objects.filter(kind=MODELS).exists)()
    except (OperationalError, InterfaceError) as error:
        log.warning("the database does not answer (%s); the first reply loads the client", error)
        return
    if is_needed:
        await asyncio.to_thread(load_client)


async def stop_all() -> None:
    """Stop the replies under way and close the connections to models, before the server ends. The turns are still owed,
    and are fetched after the next start."""
    tasks = [live.task for live in running.values() if live.task]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await close_clients()


class LiveReply:
    """One reply that is being fetched, attempt after attempt, until it is stored or given up."""

    def __init__(self, assignment: Assignment) -> None:
        self.pace = Pace(assignment.pacing, time.monotonic())
        self.level = assignment.level  # of the message, raised by what the second line finds
        self.answers: list[AnsweredInquiry] = []  # what the second line said and is not stored yet
        self.overrules = False  # the second line ends this reply
        # Closed until the second line has read the message; and from level 2 on until it has read the whole reply.
        self.may_show = assignment.inquiry is None and not self.is_read_first(assignment)
        self.prepare(assignment)
        self.help_seq = self.next_seq  # for help that the second line asks for: the first of all attempts' numbers
        if assignment.inquiry is not None:
            self.next_seq += 1
        self.task: asyncio.Task[None] | None = None
        self.second: asyncio.Task[None] | None = None
        if assignment.inquiry is not None:
            self.second = asyncio.create_task(self.hear_second_line(assignment.inquiry))

    def is_read_first(self, assignment: Assignment) -> bool:
        """Return whether the second line reads the whole reply before anything of it is shown."""
        return assignment.second_line is not None and self.level >= READ_FROM

    def prepare(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.showing = PacedReply(assignment.pacing, self.pace)
        self.is_number_given = False  # the number of what comes after the pieces is given away
        self.screened = 0  # code points that the safety screen has passed
        self.next_seq = assignment.seq
        self.started_at = time.monotonic()
        self.timer: asyncio.TimerHandle | None = None

    def take_seq(self) -> int | None:
        """Return the next frame number for a piece; None when only the one for the reply itself is left, or that is
        given."""
        if self.is_number_given or self.next_seq >= self.assignment.end - 1:
            return None
        self.next_seq += 1
        return self.next_seq - 1

    def number_to_store(self) -> int:
        """Return the number of the whole reply, or the first of the next attempt. From here on no piece has one: while
        it is being stored, someone who joins must not be given a piece under a number that something else will
        bear."""
        self.is_number_given = True
        return self.next_seq

    def whole_so_far(self) -> chat_frames.Chunk | None:
        """Return everything up to here as one piece, for one who joins in the middle."""
        if not self.showing.sent or (seq := self.take_seq()) is None:
            return None
        return chat_frames.Chunk(seq=seq, turn=self.assignment.turn, at=0, text=self.showing.out())

    def on_text(self, piece: str) -> None:
        self.showing.add(piece)
        if self.timer is None and self.may_show:
            self.show_when_due()

    def show_when_due(self) -> None:
        wait = self.pace.next_at - time.monotonic()
        if wait > 0:
            self.timer = asyncio.get_running_loop().call_later(wait, self.show_late)
        elif verdict := self.screen():
            raise ReplyWithheld(verdict)
        else:
            self.show_and_go_on()

    def show_late(self) -> None:
        """Show what was gathered meanwhile. A hit is left to the next piece, which can end the call."""
        self.timer = None
        if self.screen() is None:
            self.show_and_go_on()

    def show_and_go_on(self) -> None:
        self.show()
        if self.showing.waits():
            self.show_when_due()

    def screen(self) -> Verdict | None:
        text = self.showing.text
        if len(text) == self.screened:  # the model is ahead of the pace
            return None
        verdict = screen_reply(text, self.screened, growing=True, after=self.level)
        if verdict is None:
            self.screened = len(text)
        return verdict

    def show(self) -> None:
        at = self.showing.sent
        self.pace.window = window_among(len(running))
        text = self.showing.take(time.monotonic())
        if text and (seq := self.take_seq()) is not None:
            piece = chat_frames.Chunk(seq=seq, turn=self.assignment.turn, at=at, text=text)
            broadcast(self.assignment.conversation, [piece])

    async def show_to_the_end(self) -> None:
        """Show the rest at its pace: it is not thrown at the person because the model happens to be done."""
        self.showing.finish()
        while self.showing.waits():
            await asyncio.sleep(max(0.0, self.pace.next_at - time.monotonic()))
            self.show()

    def stop_timer(self) -> None:
        if self.timer:
            self.timer.cancel()
            self.timer = None

    async def run(self) -> None:
        heartbeat = asyncio.create_task(self.keep_lease())
        try:
            outcome = await self.fetch()
        except ReplyOverruled as stop:
            outcome = await self.store_overruled(stop.outcome)
        except Exception as error:
            log.exception("conversation %s, turn %s: the reply broke", self.assignment.code, self.assignment.turn)
            broken = ProviderError("client_error", repr(error))
            outcome = await self.store(outcomes.give_up, self.assignment, broken, answers=self.answers)
        finally:
            self.stop_timer()
            heartbeat.cancel()
            if self.second:
                self.second.cancel()
            if running.get(self.assignment.conversation) is self:
                del running[self.assignment.conversation]
        broadcast(self.assignment.conversation, outcome)
        await tell_other_processes(self.assignment.code, outcome)

    async def fetch(self) -> list[chat_frames.Outgoing]:
        while True:
            try:
                reply = await self.attempt()
            except ReplyWithheld as stop:
                reply = self.partial()
                await self.await_second_line(reply)
                return await self.withhold(reply, stop.verdict)
            except ProviderError as error:
                if error.permanent or self.assignment.attempt % ATTEMPTS == 0:
                    await self.await_second_line(error)
                    return await self.store(outcomes.give_up, self.assignment, error, answers=self.answers)
                await self.wait(wait_before_next(error, self.assignment.attempt), error)
                following = await self.store(
                    outcomes.record_failure, self.assignment, error, seq=self.number_to_store()
                )
                if following is None:
                    return []
                self.prepare(following)
            else:
                await self.await_second_line(reply)
                self.stop_timer()
                if sign := screen_reply(reply.text, after=self.level) or await self.read_by_second_line(reply):
                    return await self.withhold(reply, sign)
                if self.assignment.pacing.is_paced():
                    await self.show_to_the_end()
                return await self.store(
                    outcomes.record_reply, self.assignment, reply, seq=self.number_to_store(), answers=self.answers
                )

    async def attempt(self) -> Reply:
        pace = 0.0 if self.assignment.unpaced else None
        model = model_for(
            self.assignment.settings,
            language=self.assignment.language,
            pace=pace,
            attempt=self.assignment.attempt,
        )
        try:
            if self.second is None:
                return await model.reply(self.assignment.messages, self.on_text)
            return await self.unless_overruled(self.second, model.reply(self.assignment.messages, self.on_text))
        finally:
            self.stop_timer()

    # The second line.

    async def hear_second_line(self, inquiry: Inquiry) -> None:
        """Ask it about the message, and let the reply through, or end it."""
        answered = AnsweredInquiry(inquiry, await self.answer_of_second_line(inquiry))
        line, finding = inquiry.question.line, answered.answer.finding
        self.answers = [answered]
        if finding is None:
            self.overrules = line.when_unreachable == "hold"
        elif finding.level > self.level:
            self.level = finding.level
            self.overrules = finding.level >= self.assignment.holds_from
            if not self.overrules:
                await self.show_help(answered)
        if not self.overrules and not self.is_read_first(self.assignment):
            self.let_through()

    async def answer_of_second_line(self, inquiry: Inquiry) -> Answer:
        try:
            return await second_line.ask(inquiry.question)
        except Exception as error:  # a fault of ours must not cost the person their reply
            log.exception("conversation %s: the second line broke", self.assignment.code)
            return Answer(None, ProviderError("client_error", repr(error)))

    async def show_help(self, answered: AnsweredInquiry) -> None:
        outcome = await self.store(inquiries.raise_level, self.assignment, answered, help_seq=self.help_seq)
        self.answers = []
        broadcast(self.assignment.conversation, outcome)
        await tell_other_processes(self.assignment.code, outcome)

    def let_through(self) -> None:
        """Show what has come so far, and from here on each piece as it comes."""
        self.may_show = True
        if self.timer is None and self.showing.waits():
            self.show_late()

    async def unless_overruled(self, second: "asyncio.Task[None]", asking: Awaitable[Reply]) -> Reply:
        """Return the arm's reply, or end its call as soon as the second line overrules it."""
        call = asyncio.ensure_future(asking)
        try:
            await asyncio.wait({call, second}, return_when=asyncio.FIRST_COMPLETED)
            if second.done():
                second.result()
            if self.overrules and not call.done():
                raise ReplyOverruled(self.partial())
            return await call
        finally:
            if not call.done():
                call.cancel()
                await asyncio.wait({call})

    async def await_second_line(self, outcome: Reply | ProviderError) -> None:
        """Wait for the second line before anything that ends the turn is stored."""
        if self.second:
            await self.second
            if self.overrules:
                raise ReplyOverruled(outcome)

    async def wait(self, seconds: float, error: ProviderError) -> None:
        """Let some time pass before the next attempt, unless the second line ends the turn meanwhile."""
        until = time.monotonic() + seconds
        if self.second:
            await asyncio.wait({self.second}, timeout=seconds)
            if self.overrules:
                raise ReplyOverruled(error)
        await asyncio.sleep(max(0.0, until - time.monotonic()))

    async def read_by_second_line(self, reply: Reply) -> Finding | None:
        """Return why a whole reply to a message of level 2 or more must be withheld, as the second line reads it."""
        if not self.is_read_first(self.assignment):
            return None
        inquiry = await self.store(inquiries.inquire_about_reply, self.assignment, reply)
        answer = await self.answer_of_second_line(inquiry)
        self.answers.append(AnsweredInquiry(inquiry, answer))
        if answer.finding is None and inquiry.question.line.when_unreachable == "hold":
            raise ReplyOverruled(reply)
        self.may_show = True
        return answer.finding if answer.finding and answer.finding.level else None

    async def store_overruled(self, outcome: Reply | ProviderError) -> list[chat_frames.Outgoing]:
        self.stop_timer()
        if self.level >= self.assignment.holds_from > self.assignment.level:
            [answered] = self.answers
            return await self.store(inquiries.hold_message, self.assignment, outcome, answered, help_seq=self.help_seq)
        return await self.store(outcomes.give_up_without_second_line, self.assignment, outcome, self.answers)

    def partial(self) -> Reply:
        elapsed = int((time.monotonic() - self.started_at) * 1000)
        return Reply(
            text=self.showing.text, model=self.assignment.settings.model, finish_reason="stopped", total_ms=elapsed
        )

    async def withhold(self, reply: Reply, sign: Verdict | Finding) -> list[chat_frames.Outgoing]:
        return await self.store(
            outcomes.withhold_reply,
            self.assignment,
            reply,
            sign=sign,
            seq=self.number_to_store(),
            answers=self.answers,
        )

    async def store(self, rule: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Write, and when the database is away for some seconds, write again: a reply that came must not be lost."""
        for attempt in range(1, WRITES):
            try:
                return await run_rule(rule, *args, **kwargs)
            except (OperationalError, InterfaceError):
                log.warning("conversation %s: the database did not answer; again", self.assignment.code)
                await asyncio.sleep(0.25 * 2**attempt)
        return await run_rule(rule, *args, **kwargs)

    async def keep_lease(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT)
            try:
                await run_rule(assignments.renew_lease, self.assignment)
            except (OperationalError, InterfaceError) as error:
                log.warning("conversation %s: lease not renewed: %s", self.assignment.code, error)


def wait_before_next(error: ProviderError, attempt: int) -> float:
    """Return the seconds that the server asked for, else exponential ones with jitter; never more than a person will
    wait."""
    own = BACKOFF * 2 ** ((attempt - 1) % ATTEMPTS) * random.uniform(0.7, 1.3)
    return min(LONGEST_WAIT, max(own, error.retry_after or 0.0))


def channel_group(code: str) -> str:
    return f"conversation.{code}"


def tell_sockets(notices: Iterable[Notice]) -> None:
    """Show what a page's act has stored to the people whose conversations it was about. Call it after the commit."""
    async_to_sync(_tell_sockets)(tuple(notices))


async def _tell_sockets(notices: Iterable[Notice]) -> None:
    for notice in notices:
        broadcast(notice.conversation, notice.frames)
        await tell_other_processes(notice.code, notice.frames)


async def tell_other_processes(code: str, outcome: Sequence[chat_frames.Outgoing]) -> None:
    """Announce that something is stored, and no more: sockets of other processes read it from the database."""
    if settings.SINGLE_PROCESS or not outcome:
        return
    layer = get_channel_layer()
    await layer.group_send(channel_group(code), {"type": "conversation.changed", "owner": OWNER})
