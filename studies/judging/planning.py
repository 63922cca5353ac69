"""Plans of judging: conversations × moments × rating instruments × replicates, as the items of a job."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import attrgetter
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from dialogue.jobs import store
from dialogue.jobs.store import PlannedJob, WantedItem
from dialogue.judges import fields, probes
from dialogue.judges.fields import ProfileLine
from dialogue.judges.roles import Role
from dialogue.judges.strategies import get_strategy
from dialogue.models import Turn
from dialogue.models.conversation import SeekerKind, Status, TurnState
from dialogue.seekers.profiles import from_content, lines_for_seeker
from studies.design.spec import COUNSELLOR, ArmSpec, ChatSpec
from studies.instruments.loading import load
from studies.judging.items import judged_items
from studies.judging.settings import Configuration
from studies.models import ArmRun, Participation, Rater, Response, RolePlay, SeekerProfile, Study
from studies.models.participation import Status as PersonStatus
from studies.models.response import RaterKind
from studies.participation.profile_text import profile_lines
from studies.participation.responses import is_rating

KIND = "judge"  # of job and item
THINKER = "thinker"
MOMENTS = ("final", "checkpoint")
EVERY_TURN, TURNS = "every-turn", "turns:"  # moments that a judge rates and people need not
AT_ONCE = 500  # runs that are read together

Profiles = Callable[[ArmRun], tuple[ProfileLine, ...]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """One questionnaire about one conversation, still to be answered. `turn` is 0 for the whole conversation. It names
    rows by their numbers: there may be hundreds of thousands at once."""

    run: int
    conversation: int
    instrument: str
    moment: str
    turn: int
    replicate: int
    variant: str = probes.PLAIN

    @property
    def place(self) -> tuple[int, str, str, int, int]:
        return self.run, self.instrument, self.moment, self.turn, self.replicate

    @property
    def order(self) -> tuple[Any, ...]:
        """Return the sort key: conversation after conversation within each questionnaire, so that early results are
        useful.
        """
        return self.replicate, self.moment != "final", self.instrument, self.turn, self.run

    @property
    def subject(self) -> str:
        return get_subject(self.run, load(self.instrument).id, self.moment, self.turn)


def get_subject(run: int, instrument: str, moment: str, turn: int) -> str:
    """Return the subject of a judge's item."""
    return f"run {run}: {instrument} {moment} {turn}"


@dataclass
class Work:
    """The judgements to be made, and how many others there were that are not."""

    judgements: list[Judgement] = field(default_factory=list)
    skipped_existing: int = 0
    not_sent: int = 0  # the person's consent does not name the judge's provider
    without_profile: int = 0
    not_varied: int = 0  # the variant would ask for nothing else than the plain judge does


def get_or_create_rater(study: Study, configuration: Configuration) -> Rater:
    return get_or_create_judge(study, configuration.rater, configuration.strategy)


def get_or_create_judge(study: Study, code: str, strategy: str) -> Rater:
    """Return a judge as a rater, with a new row if there is none yet."""
    rater, _ = Rater.objects.get_or_create(study=study, kind=RaterKind.JUDGE, code=code, strategy=strategy)
    return rater


def get_rater(study: Study, configuration: Configuration) -> Rater:
    """Return the rater without creating a row: it may have answered nothing yet."""
    place = {"study": study, "kind": RaterKind.JUDGE, "code": configuration.rater, "strategy": configuration.strategy}
    return Rater.objects.filter(**place).first() or Rater(**place)


def plan_judging(
    study: Study,
    configuration: Configuration,
    judgements: Sequence[Judgement],
    *,
    budget: Decimal | None = None,
    attended: bool = False,
    retry_quarantined: bool = False,
    batch: bool = False,
) -> PlannedJob:
    """Plan one job, also if judgements of the plain judge are among those of a variant, which is compared with it.
    `batch`: they are first asked in batches of the provider."""
    variants = {configuration.variant, *(judgement.variant for judgement in judgements)}
    raters = {variant: get_or_create_rater(study, configuration.with_variant(variant)) for variant in sorted(variants)}
    return store.plan(
        list(build_items(raters, configuration, judgements)),
        kind=KIND,
        scope=study.key,
        title=f"{configuration.rater} ({configuration.strategy})",
        plan=build_plan(study, configuration, raters),
        budget=budget,
        attended=attended,
        retry_quarantined=retry_quarantined,
        batched_role=KIND if batch else "",
    )


def build_plan(study: Study, configuration: Configuration, raters: Mapping[str, Rater]) -> dict[str, Any]:
    """Return the plan that the handler reads. `raters`: by variant, or for pairs by the side that stands first."""
    return {
        **configuration.as_plan(),
        "study": study.pk,
        "raters": {key: rater.pk for key, rater in raters.items()},
    }


def get_configuration(rater: Rater, hashed: str) -> str:
    """Return an item's configuration. `hashed`: the questions, and the model that they are put to."""
    return f"{rater.pk}-{hashed}"[:64]


def build_items(
    raters: Mapping[str, Rater], configuration: Configuration, judgements: Sequence[Judgement]
) -> Iterator[WantedItem]:
    """Yield the items.

    If the judge is shown inner states, a Thinker's item comes first for each conversation. `raters`: by variant.
    """
    thinkers: dict[int, WantedItem] = {}
    if get_strategy(configuration.strategy).needs_states:
        runs = {judgement.run: judgement.conversation for judgement in judgements}
        thinkers = {run: build_thinker_item(run, conversation, configuration) for run, conversation in runs.items()}
    yield from thinkers.values()
    configurations = {
        variant: get_configuration(rater, configuration.with_variant(variant).hash())
        for variant, rater in raters.items()
    }
    for judgement in judgements:
        needed = thinkers.get(judgement.run)
        yield WantedItem(
            subject=judgement.subject,
            role=KIND,
            configuration=configurations[judgement.variant],
            replicate=judgement.replicate,
            conversation=judgement.conversation,
            payload={
                "run": judgement.run,
                "instrument": judgement.instrument,
                "moment": judgement.moment,
                "turn": judgement.turn,
                "variant": judgement.variant,
            },
            needs=needed.place if needed else None,
        )


def build_thinker_item(run: int, conversation: int, configuration: Configuration) -> WantedItem:
    return WantedItem(
        subject=f"run {run}",
        role=THINKER,
        configuration=configuration.thinker_hash(),
        conversation=conversation,
        payload={"run": run},
    )


def get_work(rater: Rater, judge: ArmSpec, *, moments: Sequence[str], replicates: int) -> Work:
    """Return the judgements that this judge still owes and may be sent, with counts of the others."""
    runs = runs_to_judge(rater.study).iterator(chunk_size=AT_ONCE)
    answered, profile_of, variant = get_answered_places(rater), make_profile_lookup(), probes.variant_of(rater.code)
    needs_profile = get_strategy(rater.strategy).needs_profile
    work = Work()
    for run, judgement in judgements(rater.study, runs, moments, replicates, variant):
        if judgement.place in answered:
            work.skipped_existing += 1
        elif not is_varied(run, judgement, rater.strategy, judge.role, profile_of):
            work.not_varied += 1
        elif not may_be_sent(run, judge):
            work.not_sent += 1
        elif profile_of(run) or not needs_profile:
            work.judgements.append(judgement)
        else:
            work.without_profile += 1
    work.judgements.sort(key=attrgetter("order"))
    return work


def get_answered_places(rater: Rater) -> set[tuple[int, str, str, int, int]]:
    """Return the places that the rater has answered, as those of judgements."""
    if rater.pk is None:
        return set()
    return set(rater.responses.values_list("run", "instrument", "moment", "turn", "replicate"))


def is_varied(run: ArmRun, judgement: Judgement, strategy: str, role: Role, profile_of: Profiles) -> bool:
    """Return whether the variant changes the question; true for the plain judge."""
    if not judgement.variant:
        return True
    if judgement.variant == probes.PARAPHRASE and role.third_person:
        return False
    if field := fields.get_field_left_out(judgement.variant):
        return fields.is_field_shown(field, get_strategy(strategy).fields, profile_of(run))
    items = judged_items(load(judgement.instrument), "en")
    return probes.is_applicable(judgement.variant, judgement.instrument, items, run.model)


def get_plain_counterparts(rater: Rater, judgements: Iterable[Judgement], plain: Work) -> list[Judgement]:
    """Return the judgements of `plain` at the places of a variant's judgements or earlier answers: a difference needs
    both.
    """
    places = {judgement.place for judgement in judgements} | get_answered_places(rater)
    return [judgement for judgement in plain.judgements if judgement.place in places]


def runs_to_judge(study: Study) -> QuerySet[ArmRun]:
    """Return closed conversations with at least one reply, without people who have withdrawn."""
    answered = Turn.objects.filter(conversation=OuterRef("conversation"), state=TurnState.ANSWERED)
    return (
        ArmRun.objects.filter(Exists(answered), study=study, conversation__status=Status.CLOSED)
        .exclude(participation__status=PersonStatus.WITHDRAWN)
        .select_related("conversation", "participation")
        .prefetch_related("participation__consents")
        .order_by("pk")
    )


def judgements(
    study: Study, runs: Iterable[ArmRun], moments: Sequence[str], replicates: int, variant: str = probes.PLAIN
) -> Iterator[tuple[ArmRun, Judgement]]:
    """Yield all that could be asked about each run."""
    chats = {protocol.pk: protocol.spec().chat for protocol in study.protocols.all()}
    rated = get_rated_checkpoints(study)
    for run in runs:
        # Two moments may name one place: a checkpoint with the final questions, and its turn.
        for moment, instrument, turn in dict.fromkeys(get_places(run, chats[run.protocol_id], moments, rated[run.pk])):
            for replicate in range(1, replicates + 1):
                yield run, judgement_of(run, instrument, moment, turn, replicate, variant)


def judgement_of(run: ArmRun, instrument: str, moment: str, turn: int, replicate: int, variant: str) -> Judgement:
    assert run.conversation_id is not None  # noqa: S101 - only runs with a conversation are judged
    return Judgement(run.pk, run.conversation_id, instrument, moment, turn, replicate, variant)


def get_places(run: ArmRun, chat: ChatSpec, moments: Sequence[str], rated: set[int]) -> Iterator[tuple[str, str, int]]:
    """Yield (moment, instrument, turn) of the questionnaires about the run."""
    assert run.conversation is not None  # noqa: S101 - only runs with a conversation are judged
    if "final" in moments:
        yield from (("final", instrument, 0) for instrument in final_ratings(run, chat))
    if "checkpoint" in moments and chat.checkpoint_instrument:
        reached = run.conversation.answered_turns()
        pauses = {turn for turn in run.conversation.pause_after if turn <= reached}
        yield from (("checkpoint", chat.checkpoint_instrument, turn) for turn in sorted(pauses | rated))
    if along := [moment for moment in moments if moment not in MOMENTS]:
        turns = turns_along(along, run.conversation.answered_turns())
        yield from (("checkpoint", instrument, turn) for turn in turns for instrument in final_ratings(run, chat))


def turns_along(moments: Sequence[str], reached: int) -> list[int]:
    """Return the turns after which a judge rates what final ratings are about, as EmoHarbor's figures over turns."""
    if EVERY_TURN in moments:
        return list(range(1, reached + 1))
    named = {int(turn) for moment in moments for turn in moment.removeprefix(TURNS).split(",")}
    return sorted(turn for turn in named if turn <= reached)


def final_ratings(run: ArmRun, chat: ChatSpec) -> list[str]:
    """Return the rating instruments about the whole conversation."""
    return ratings_of_track(chat, get_track(run))


def ratings_of_track(chat: ChatSpec, track: str) -> list[str]:
    return [name for name in chat.for_track(track).final_instruments if is_rating(load(name))]


def get_track(run: ArmRun) -> str:
    """Return whose questions fit the conversation.

    A seeker made hard to help is rated like one whom a counsellor played.
    """
    return track_of_simulated(run.condition) if run.participation is None else run.participation.track


def track_of_simulated(condition: str) -> str:
    return COUNSELLOR if condition == "worst_case" else Participation.Track.PARTICIPANT


def get_rated_checkpoints(study: Study) -> dict[int, set[int]]:
    """Return, by run, the turns after which a person rated, also in imported conversations, which never paused."""
    rated: dict[int, set[int]] = defaultdict(set)
    people = Response.objects.filter(run__study=study, moment="checkpoint").exclude(rater__kind=RaterKind.JUDGE)
    for run, turn in people.values_list("run", "turn"):
        rated[run].add(turn)
    return rated


def may_be_sent(run: ArmRun, judge: ArmSpec) -> bool:
    """Return whether the person's latest consent names the judge's company."""
    if judge.kind == "scripted" or run.participation is None:
        return True
    consents = sorted(run.participation.consents.all(), key=lambda consent: consent.signed_at)
    return bool(consents) and judge.provider in consents[-1].providers


def make_profile_lookup() -> Profiles:
    """Return a function that says who the seeker of a run is; empty if no one knows. It asks once for each person."""
    profiles: dict[int | tuple[int, str], tuple[ProfileLine, ...]] = {}

    def profile_of(run: ArmRun) -> tuple[ProfileLine, ...]:
        if is_simulated(run):
            place = (run.study_id, run.profile)
            if place not in profiles:
                profiles[place] = get_played_profile(*place)
            return profiles[place]
        if run.card and (played := get_card_profile(run)):
            return played
        if run.participation is None:
            return get_imported_profile(run)
        if run.participation.pk not in profiles:
            profiles[run.participation.pk] = tuple(profile_lines(run.participation))
        return profiles[run.participation.pk]

    return profile_of


def is_simulated(run: ArmRun) -> bool:
    return run.conversation is not None and run.conversation.seeker_kind == SeekerKind.SIMULATED


def get_played_profile(study: int, key: str) -> tuple[ProfileLine, ...]:
    """Return the profile as the simulated seeker knew it."""
    row = SeekerProfile.objects.filter(study=study, key=key).first()
    return tuple(lines_for_seeker(from_content(row.content), detail="full")) if row else ()


def get_card_profile(run: ArmRun) -> tuple[ProfileLine, ...]:
    """Return the profile of the role card that a counsellor played, as it was when they got it; never their own."""
    role_play = RolePlay.objects.filter(run=run).first()
    if role_play is None:
        return ()
    card = role_play.card
    content = {**card["profile"], "id": card["key"], "lang": card["language"]}
    return tuple(lines_for_seeker(from_content(content), detail="full"))


def get_imported_profile(run: ArmRun) -> tuple[ProfileLine, ...]:
    """Return the profile from the imported file, which does not tell one field from another."""
    assert run.conversation is not None  # noqa: S101 - only runs with a conversation are judged
    text = run.conversation.profile or run.profile
    return (ProfileLine("", text),) if text else ()
