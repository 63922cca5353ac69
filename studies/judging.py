"""Conversations × a judge × rating instruments → Responses of a Rater of kind judge, as a person would have given."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from channels.db import database_sync_to_async
from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, connections, transaction
from django.db.models import Exists, OuterRef, QuerySet

from dialogue.judges import judge as asking
from dialogue.judges.parsing import Score
from dialogue.judges.prompts import InnerState, JudgedItem, JudgedTurn, judge_messages, template_version
from dialogue.models import Call, Conversation, Turn
from dialogue.models import InnerState as StateRow
from dialogue.models.conversation import SeekerKind, Status, TurnState
from dialogue.providers.base import Message, ModelSettings, ProviderError, Reply
from dialogue.providers.openai_compatible import close_clients
from dialogue.providers.registry import model_for
from studies.design.spec import COUNSELLOR, ArmSpec, ChatSpec
from studies.models import ArmRun, Participation, Rater, Response, Study
from studies.models.participation import Status as PersonStatus
from studies.models.response import RaterKind
from studies.profiles import profile_text
from studies.questionnaires.definitions import Questionnaire
from studies.questionnaires.forms import AnswerValue
from studies.questionnaires.loading import load
from studies.responses import is_rating, store
from studies.workers import work_through

MOMENTS = ("final", "checkpoint")
JUDGE_TEMPERATURE = 0.0  # EmoHarbor §4.1: its evaluator
THINKER_TEMPERATURE = 0.1  # EmoHarbor §4.1: its Thinker

Result = TypeVar("Result")


@dataclass(frozen=True)
class Judgement:
    """One questionnaire about one conversation, still to be answered. `turn` is 0 for the whole conversation."""

    run: ArmRun
    instrument: str
    moment: str
    turn: int
    replicate: int
    profile: str = ""

    @property
    def place(self) -> tuple[int, str, str, int, int]:
        return self.run.pk, self.instrument, self.moment, self.turn, self.replicate

    @property
    def language(self) -> str:
        """The language of the prompt: that of the conversation, and English where we have no prompt in it."""
        assert self.run.conversation is not None  # noqa: S101 - only runs with a conversation are judged
        return "zh" if self.run.conversation.language.startswith("zh") else "en"


@dataclass
class Tally:
    """How many judgements went which way."""

    done: int = 0
    skipped_existing: int = 0
    not_sent: int = 0  # the person's consent does not name the judge's provider
    without_profile: int = 0
    erased: int = 0  # the person withdrew while the judge was at work
    unreadable_items: int = 0
    failed_reasons: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "failed": self.failed_reasons.total(), "failed_reasons": dict(self.failed_reasons)}


def judge_rater(study: Study, judge: ArmSpec, strategy: str) -> Rater:
    rater, _ = Rater.objects.get_or_create(study=study, kind=RaterKind.JUDGE, code=judge.key, strategy=strategy)
    return rater


# What is to be judged


def work_for(rater: Rater, judge: ArmSpec, *, moments: Sequence[str], replicates: int, tally: Tally) -> list[Judgement]:
    """All that this judge has not answered yet and may be sent; `tally` counts the rest."""
    runs = list(runs_to_judge(rater.study))
    answered = set(rater.responses.values_list("run", "instrument", "moment", "turn", "replicate"))
    profile_of = profiles() if rater.strategy != "standard" else None
    work = []
    for judgement in judgements(runs, places(rater.study, runs, moments), replicates):
        if judgement.place in answered:
            tally.skipped_existing += 1
        elif not may_be_sent(judgement.run, judge):
            tally.not_sent += 1
        elif profile_of is None:
            work.append(judgement)
        elif profile := profile_of(judgement.run):
            work.append(replace(judgement, profile=profile))
        else:
            tally.without_profile += 1
    return work


def runs_to_judge(study: Study) -> QuerySet[ArmRun]:
    """Closed conversations with at least one reply; whoever withdrew is left alone."""
    answered = Turn.objects.filter(conversation=OuterRef("conversation"), state=TurnState.ANSWERED)
    return (
        ArmRun.objects.filter(Exists(answered), study=study, conversation__status=Status.CLOSED)
        .exclude(participation__status=PersonStatus.WITHDRAWN)
        .select_related("conversation", "participation")
        .prefetch_related("participation__consents")
        .order_by("pk")
    )


def places(study: Study, runs: Iterable[ArmRun], moments: Sequence[str]) -> dict[int, list[tuple[str, str, int]]]:
    """For each run: (moment, instrument, turn) of the questionnaires about it."""
    chats = {protocol.pk: protocol.spec().chat for protocol in study.protocols.all()}
    rated = rated_checkpoints(study)
    return {run.pk: list(places_of(run, chats[run.protocol_id], moments, rated[run.pk])) for run in runs}


def places_of(run: ArmRun, chat: ChatSpec, moments: Sequence[str], rated: set[int]) -> Iterator[tuple[str, str, int]]:
    assert run.conversation is not None  # noqa: S101 - only runs with a conversation are judged
    if "final" in moments:
        asked = chat.for_track(track_of(run)).final_instruments
        yield from (("final", instrument, 0) for instrument in asked if is_rating(load(instrument)))
    if "checkpoint" in moments and chat.checkpoint_instrument:
        reached = run.conversation.answered_turns()
        pauses = {turn for turn in run.conversation.pause_after if turn <= reached}
        yield from (("checkpoint", chat.checkpoint_instrument, turn) for turn in sorted(pauses | rated))


def track_of(run: ArmRun) -> str:
    """Whose questions fit the conversation. A seeker made hard to help is rated as one whom a counsellor played."""
    if run.participation is not None:
        return run.participation.track
    return COUNSELLOR if run.condition == "worst_case" else Participation.Track.PARTICIPANT


def rated_checkpoints(study: Study) -> dict[int, set[int]]:
    """By run, the turns after which a person rated: also those of imported conversations, which never paused."""
    rated: dict[int, set[int]] = defaultdict(set)
    people = Response.objects.filter(run__study=study, moment="checkpoint").exclude(rater__kind=RaterKind.JUDGE)
    for run, turn in people.values_list("run", "turn"):
        rated[run].add(turn)
    return rated


def judgements(
    runs: Sequence[ArmRun], places: Mapping[int, Sequence[tuple[str, str, int]]], replicates: int
) -> list[Judgement]:
    """Conversation after conversation within each questionnaire, so that workers seldom need the same one at once."""
    everything = [
        Judgement(run, instrument, moment, turn, replicate)
        for run in runs
        for moment, instrument, turn in places[run.pk]
        for replicate in range(1, replicates + 1)
    ]
    return sorted(everything, key=lambda one: (one.replicate, one.moment != "final", one.instrument, one.turn))


def may_be_sent(run: ArmRun, judge: ArmSpec) -> bool:
    """Nothing of a person goes to a company that their latest consent does not name."""
    if judge.kind == "scripted" or run.participation is None:
        return True
    consents = sorted(run.participation.consents.all(), key=lambda consent: consent.signed_at)
    return bool(consents) and judge.provider in consents[-1].providers


def profiles() -> Callable[[ArmRun], str]:
    """Who the seeker of a run is, in words; empty where nobody knows. One look-up for each person."""
    known: dict[int, str] = {}

    def profile_of(run: ArmRun) -> str:
        if run.participation is None:
            return given_profile(run)
        if run.participation.pk not in known:
            known[run.participation.pk] = profile_text(run.participation)
        return known[run.participation.pk]

    return profile_of


def given_profile(run: ArmRun) -> str:
    """As the imported file or the simulation gave it. The run of a simulation only names its profile by a key."""
    assert run.conversation is not None  # noqa: S101 - only runs with a conversation are judged
    imported = run.conversation.seeker_kind == SeekerKind.IMPORTED
    return run.conversation.profile or (run.profile if imported else "")


# Judging


@dataclass
class Judging:
    """One judge at work with one strategy."""

    judge: ArmSpec
    rater: Rater
    tally: Tally
    on_step: Callable[[], None]
    thinking: defaultdict[int, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def work_through(self, work: Sequence[Judgement], *, at_once: int) -> None:
        try:
            await work_through(work, self.settle, at_once=at_once)
        finally:
            await close_clients()
            await in_database(connections.close_all)

    async def settle(self, judgement: Judgement) -> None:
        """Judge it, or count why not."""
        try:
            unreadable = await self.answer(judgement)
        except ProviderError as error:
            self.tally.failed_reasons[error.status] += 1
        except (ObjectDoesNotExist, IntegrityError):
            if await in_database(runs_to_judge(self.rater.study).filter(pk=judgement.run.pk).exists):
                raise
            self.tally.erased += 1
        else:
            self.tally.done += 1
            self.tally.unreadable_items += unreadable
        await in_database(self.on_step)

    async def answer(self, judgement: Judgement) -> int:
        """How many items could not be read. Raises ProviderError where no answer could be had."""
        turns = await in_database(turns_of, self.rater.study, judgement)
        questionnaire, language = load(judgement.instrument), judgement.language
        items = judged_items(questionnaire, language)
        messages = judge_messages(
            turns,
            items,
            language=language,
            profile=judgement.profile,
            states=await self.states(judgement, turns) if self.rater.strategy == "state_aware" else (),
            scope=scope_of(questionnaire, judgement),
        )
        ledger = self.ledger(judgement, Call.Purpose.JUDGE, judgement.turn or None)
        model = model_for(judge_settings(self.judge), language=language)
        scores = await asking.ask_scores(model, messages, items, language=language, ledger=ledger)
        await in_database(keep, self.rater, judgement, turns, scores)
        return sum(not isinstance(score, Score) for score in scores.values())

    async def states(self, judgement: Judgement, turns: Sequence[JudgedTurn]) -> list[InnerState]:
        """After each turn. Whoever comes second for the same conversation waits, and finds them stored."""
        async with self.thinking[judgement.run.pk]:
            known = await in_database(stored_states, judgement, self.judge.key)
            return [
                known.get(turn.number) or await self.think(judgement, turns[: n + 1]) for n, turn in enumerate(turns)
            ]

    async def think(self, judgement: Judgement, turns: Sequence[JudgedTurn]) -> InnerState:
        model = model_for(thinker_settings(self.judge), language=judgement.language)
        state = await asking.ask_state(
            model,
            turns,
            language=judgement.language,
            profile=judgement.profile,
            ledger=self.ledger(judgement, Call.Purpose.THINKER, turns[-1].number),
        )
        await in_database(keep_state, judgement, self.judge.key, state)
        return state

    def ledger(self, judgement: Judgement, purpose: Call.Purpose, turn: int | None) -> "CallLedger":
        assert judgement.run.conversation is not None  # noqa: S101 - only runs with a conversation are judged
        thinks = purpose == Call.Purpose.THINKER
        return CallLedger(
            purpose=purpose,
            conversation=judgement.run.conversation,
            turn=turn,
            provider=self.judge.provider,
            settings=thinker_settings(self.judge) if thinks else judge_settings(self.judge),
            prompt_version=template_version("thinker" if thinks else "judge", judgement.language),
        )


def judge_settings(judge: ArmSpec) -> ModelSettings:
    return ModelSettings(
        kind=judge.kind,
        model=judge.model,
        base_url=judge.base_url,
        api_key_env=judge.api_key_env,
        temperature=JUDGE_TEMPERATURE if judge.temperature is None else judge.temperature,
        max_tokens=judge.max_tokens,
        extra=judge.extra,
    )


def thinker_settings(judge: ArmSpec) -> ModelSettings:
    """The judge's own model; where it is a script, the script of a Thinker."""
    settings = judge_settings(judge)
    model = "thinker" if judge.kind == "scripted" else judge.model
    return replace(
        settings, model=model, temperature=THINKER_TEMPERATURE if judge.temperature is None else judge.temperature
    )


def judged_items(questionnaire: Questionnaire, language: str) -> list[JudgedItem]:
    """The same file that draws the people's form; remarks in words are theirs alone."""
    return [
        JudgedItem(
            key=item.key,
            text=" ".join(text[language] for text in (item.text, item.definition) if text),
            minimum=item.minimum or 0,
            maximum=item.maximum or 0,
            anchors=[(int(option.value), option.text[language]) for option in item.options],
            labels=tuple(item.label.values()) if item.label else (),
        )
        for item in questionnaire.items
        if item.type == "scale"
    ]


def scope_of(questionnaire: Questionnaire, judgement: Judgement) -> str:
    """Which part of the conversation a checkpoint is about, in the words that people read above it."""
    if judgement.moment != "checkpoint" or questionnaire.instruction is None:
        return ""
    return questionnaire.instruction[judgement.language]


# The database's part, each a short piece of synchronous work


async def in_database(rule: Callable[..., Result], *args: Any) -> Result:
    result: Result = await database_sync_to_async(rule)(*args)
    return result


def turns_of(study: Study, judgement: Judgement) -> list[JudgedTurn]:
    """The turns up to the judged one. Raises ArmRun.DoesNotExist when the person has withdrawn meanwhile."""
    run = runs_to_judge(study).get(pk=judgement.run.pk)
    turns = Turn.objects.filter(conversation=run.conversation, state=TurnState.ANSWERED).order_by("number")
    if judgement.turn:
        turns = turns.filter(number__lte=judgement.turn)
    return [JudgedTurn(*row) for row in turns.values_list("number", "text", "reply")]


def stored_states(judgement: Judgement, source: str) -> dict[int, InnerState]:
    rows = StateRow.objects.filter(
        conversation=judgement.run.conversation, source=source, emotion_score__isnull=False
    ).values_list("turn", "cognition", "emotion", "goal", "emotion_score")
    return {
        turn: InnerState(turn, cognition, emotion, goal, round(score)) for turn, cognition, emotion, goal, score in rows
    }


@transaction.atomic
def keep_state(judgement: Judgement, source: str, state: InnerState) -> None:
    fields = asdict(state)
    turn = fields.pop("turn")
    StateRow.objects.update_or_create(
        conversation=judgement.run.conversation, turn=turn, source=source, defaults=fields
    )


def keep(rater: Rater, judgement: Judgement, turns: Sequence[JudgedTurn], scores: asking.Scores) -> None:
    answers = [
        AnswerValue(item, value=float(score.value))
        if isinstance(score, Score)
        else AnswerValue(item, missing_reason=score.reason)
        for item, score in scores.items()
    ]
    store(
        rater,
        load(judgement.instrument),
        answers,
        run=judgement.run,
        moment=judgement.moment,
        turn=judgement.turn,
        replicate=judgement.replicate,
        language=judgement.language,
        turns=(turns[0].number, turns[-1].number) if turns else None,
    )


@dataclass
class CallLedger:
    """The attempts at one answer, a Call row each."""

    purpose: Call.Purpose
    conversation: Conversation
    turn: int | None
    provider: str
    settings: ModelSettings
    prompt_version: str
    attempts: int = 0

    async def begin(self, messages: Sequence[Message]) -> int:
        self.attempts += 1
        return await in_database(self.open, messages)

    def open(self, messages: Sequence[Message]) -> int:
        call = Call.objects.create(
            purpose=self.purpose,
            conversation=self.conversation,
            turn=self.turn,
            attempt=self.attempts,
            kind=self.settings.kind,
            provider=self.provider,
            model=self.settings.model,
            parameters={
                "temperature": self.settings.temperature,
                "max_tokens": self.settings.max_tokens,
                **self.settings.extra,
            },
            prompt_version=self.prompt_version,
            request=[asdict(message) for message in messages],
        )
        return call.pk

    async def finish(self, call: int, outcome: Reply | ProviderError, status: str) -> None:
        await in_database(partial(Call.close, call, outcome, status=status))
