import asyncio
import hashlib
import random
import secrets
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction

from dialogue.models import Call
from dialogue.providers.prices import PriceFileError, load_prices
from studies.bots.answers import Person
from studies.bots.walker import Bot, BotStuck, NoReply
from studies.design.spec import StudySpec
from studies.interviews.stand_in import hold_interview
from studies.management.command import Command as Base
from studies.management.command import Progress, add_base_url
from studies.models import ArmRun, Participation, Study
from studies.models.participation import ALPHABET, digest
from studies.participation.enrolment import invite
from studies.selection.applicants import is_applicant
from studies.selection.decisions import decide
from studies.setup.rehearsal_estimate import estimate_rehearsal
from studies.simulation.workers import work_through

NO_REPLY = "no reply"  # what is said of an arm that failed


class Command(Base):
    help = (
        "Lets artificial people take the whole study through the pages and websockets of a running server. Their data "
        "are test data. The same --seed gives the same people: those who have not finished continue."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--count", type=int, required=True, metavar="N")
        parser.add_argument("--track", choices=Participation.Track.values, default="participant")
        parser.add_argument("--concurrency", type=int, default=4, metavar="C", help="at once (default 4)")
        add_base_url(parser, links=False)
        parser.add_argument("--seed", type=int, metavar="S", help="who they are and what they do (default: drawn)")
        parser.add_argument(
            "--estimate", action="store_true", help="only show what the models would be asked, and its cost"
        )
        parser.add_argument(
            "--pace",
            type=float,
            default=0.0,
            metavar="X",
            help="1: at a person's speed; 0 (default): as fast as possible",
        )

    def work(self, *, study: str, count: int, track: str, base_url: str, **options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        if count < 1 or options["concurrency"] < 1 or options["pace"] < 0:
            self.refuse("--count and --concurrency must be at least 1, --pace at least 0.")
        if options["estimate"]:
            return {"estimate": self.estimate(study_row, track, count)}
        base_url = base_url.rstrip("/")
        self.look_for_server(base_url)
        seed = secrets.randbelow(2**31) if options["seed"] is None else options["seed"]
        bots = list(self.bots(study_row, count, track, seed, base_url, options["pace"]))
        failed = self.walk(bots, options["concurrency"])
        if hint := get_hint(study, failed):
            self.say(hint)
        talks = [talk for bot in bots for talk in bot.talks.values()]
        return {
            "completed": len(bots) - len(failed),
            "finished_before": count - len(bots),
            "conversations": len(talks),
            "turns": sum(len(talk.turns()) for talk in talks),
            "failed": failed,
            "seed": seed,
        }

    def estimate(self, study: Study, track: str, count: int) -> dict[str, Any]:
        try:
            prices = load_prices(settings.PRICES)
        except PriceFileError as error:
            self.refuse(str(error))
        expected = estimate_rehearsal(study.current().spec(), track, count, prices)
        unpriced = ", ".join(expected["unpriced"])
        cost = f"no price for {unpriced}" if unpriced else f"{expected['cost']} {expected['currency']}"
        self.say(
            f"{expected['conversations']} conversations, {expected['calls']} calls of models, about "
            f"{expected['input_tokens']:,} input and {expected['output_tokens']:,} output tokens; {cost}."
        )
        return expected

    def look_for_server(self, base_url: str) -> None:
        """Check the server before anyone is created, so that a wrong address changes nothing."""
        if not base_url.startswith(("http://", "https://")):
            self.refuse(f"--base-url: {base_url} is no http address.")
        try:
            urllib.request.urlopen(f"{base_url}/healthz", timeout=10).close()  # noqa: S310 - http only, see above
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            self.refuse(f"No server answers at {base_url}: {error}. Start one with `make run`.")

    def bots(self, study: Study, count: int, track: str, seed: int, base_url: str, pace: float) -> Iterator[Bot]:
        spec = study.current().spec()
        for number in range(count):
            participation, token = person_of(study, track, seed, number)
            if not participation.is_over():
                person = Person(participation.code, language_of(spec, seed, number), f"{seed} {number}", track)
                yield Bot(person, base_url, f"/j/{token}/", spec.chat.min_turns, pace, stand_in)

    def walk(self, bots: list[Bot], concurrency: int) -> list[str]:
        failed: list[str] = []

        async def one(bot: Bot) -> None:
            try:
                await bot.walk()
            except BotStuck as stuck:
                failed.append(await database_sync_to_async(describe_stuck)(stuck))
            await database_sync_to_async(progress.step)()

        progress: Progress
        with self.progress(len(bots), "bots") as progress:
            asyncio.run(work_through(bots, one, at_once=concurrency))
        self.say("".join(f"{line}\n" for line in failed) + f"{len(bots) - len(failed)} of {len(bots)} bots finished.")
        return failed


@database_sync_to_async
def stand_in(code: str) -> bool:
    """Stand in for the researcher whom a bot waits for: admit an applicant, hold an interview."""
    bot = Participation.objects.get(code=code, is_test=True)
    return (is_applicant(bot) and decide(bot, admits=True, reason="a bot")) or hold_interview(bot)


def describe_stuck(stuck: BotStuck) -> str:
    """Return where a bot could not continue; if no reply came, also the arm and the ledger's error."""
    if not isinstance(stuck, NoReply):
        return str(stuck)
    run = ArmRun.objects.filter(conversation__code=stuck.conversation).first()
    failed = Call.objects.filter(conversation__code=stuck.conversation, purpose=Call.Purpose.REPLY).exclude(error="")
    call = failed.order_by("pk").last()
    return f"{stuck}; arm {run.arm}: {NO_REPLY}: {call.error}" if run and call else str(stuck)


def get_hint(study: str, failed: Sequence[str]) -> str:
    """Return a hint at the command that shows which models answer; empty if no bot was without a reply."""
    if not any(NO_REPLY in line for line in failed):
        return ""
    return f"Ask each model one question to see which ones answer: manage.py check_models {study}"


@transaction.atomic
def person_of(study: Study, track: str, seed: int, number: int) -> tuple[Participation, str]:
    """Return the person of this seed and number with a new link; the earlier link is stored as a hash only."""
    code = code_of(f"{study.key} {track} {seed} {number}")
    if existing := Participation.objects.filter(study=study, code=code, is_test=True).first():
        return existing, new_link(existing)
    participation, token = invite(study, track=track, is_test=True)
    participation.code = code
    participation.save(update_fields=["code"])
    return participation, token


def code_of(name: str) -> str:
    draw = random.Random(hashlib.sha256(name.encode()).digest())
    return "P" + "".join(draw.choice(ALPHABET) for _ in range(7))


def new_link(participation: Participation) -> str:
    token = secrets.token_urlsafe(32)
    if not participation.is_over():
        participation.token_hash, participation.browser_hash = digest(token), ""
        participation.save(update_fields=["token_hash", "browser_hash"])
    return token


def language_of(spec: StudySpec, seed: int, number: int) -> str:
    """Return the languages in turn, so that each has its share."""
    return spec.languages[(seed + number) % len(spec.languages)]
