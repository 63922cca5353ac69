"""The people of a study who agreed that their data are shared, with what may be published of their conversations."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import SystemRandom

from django.db.models import Prefetch

from dialogue.languages import get_code
from dialogue.models import RiskEvent
from dialogue.models import Turn as TurnRow
from dialogue.models.conversation import EndReason, SeekerKind, Status, TurnState
from studies.data.release.filters import GRAVE, Facts, LeftOut, agrees_to_sharing, is_asked, is_grave, why_left_out
from studies.data.release.records import Dialogue, Person, Rating, Turn
from studies.instruments.definitions import Questionnaire
from studies.instruments.loading import instructed_items, instrument_ids, load
from studies.instruments.scoring import score
from studies.models import Answer, ArmRun, Consent, Participation, Response, Study
from studies.models.participation import TRACKS_OF_PEOPLE
from studies.models.participation import Status as PersonStatus
from studies.participation.profile_text import LEFT_OUT
from studies.seeker_profiles.source import BIG_FIVE_INSTRUMENTS, DECLINED, kind_of_work

AT_ONCE = 50  # people in memory
DECIMALS = 2
BEFORE, AFTER = "pre", "post"
NOT_PUBLISHED = (*LEFT_OUT, "gender_self_described")  # in a small group few say the same
NOBODYS = {SeekerKind.IMPORTED: LeftOut.IMPORTED, SeekerKind.SIMULATED: LeftOut.SIMULATED}


@dataclass
class Counts:
    """The numbers of people and conversations that were found, left out and published."""

    signed: int = 0
    asked: int = 0
    agreed: int = 0
    people: int = 0  # published
    conversations: int = 0  # found
    left_out: Counter[LeftOut] = field(default_factory=Counter)


def read_people(study: Study, counts: Counts, on_person: Callable[[], None]) -> Iterator[Person]:
    """Yield those with something to publish, in an order that tells nothing; `counts` counts all others."""
    count_nobodys(study, counts)
    in_danger = people_in_danger(study)
    for participation in in_random_order(study):
        person = person_of(participation, counts, is_in_danger=participation.code in in_danger)
        if person.dialogues:
            counts.people += 1
            yield person
        on_person()


def people_of(study: Study) -> list[int]:
    people = study.participations.filter(track__in=TRACKS_OF_PEOPLE)
    return list(people.exclude(status=PersonStatus.INVITED).order_by("pk").values_list("pk", flat=True))


def count_nobodys(study: Study, counts: Counts) -> None:
    """Count the conversations that are no person's of this study."""
    runs = study.runs.filter(conversation__isnull=False).exclude(participation__track__in=TRACKS_OF_PEOPLE)
    for kind, is_test in runs.values_list("conversation__seeker_kind", "is_test"):
        counts.conversations += 1
        counts.left_out[LeftOut.TEST if is_test else NOBODYS.get(kind, LeftOut.NOT_AGREED)] += 1


def in_random_order(study: Study) -> Iterator[Participation]:
    keys = people_of(study)
    SystemRandom().shuffle(keys)
    rest = iter(keys)
    while some := list(islice(rest, AT_ONCE)):
        people = Participation.objects.prefetch_related(*with_all()).in_bulk(some)
        yield from (people[key] for key in some if key in people)


def with_all() -> list[Prefetch | str]:
    """Return the prefetches of a person: one query each for all people."""
    runs = ArmRun.objects.filter(conversation__isnull=False).select_related("conversation").order_by("position")
    return [
        Prefetch("consents", Consent.objects.order_by("signed_at", "pk")),
        Prefetch("runs", runs.prefetch_related("conversation__risks")),
        Prefetch("runs__conversation__turns", TurnRow.objects.order_by("number")),
        "raters",
        Prefetch("raters__responses", Response.objects.order_by("pk")),
        Prefetch("raters__responses__answers", Answer.objects.order_by("pk")),
    ]


def people_in_danger(study: Study) -> set[str]:
    """Return the codes of those in whose answers a grave sign was found: it is of no conversation, so of all theirs."""
    events = RiskEvent.objects.filter(conversation=None, level__gte=GRAVE)
    return set(events.filter(subject__in=study.participations.values("code")).values_list("subject", flat=True))


def person_of(person: Participation, counts: Counts, *, is_in_danger: bool) -> Person:
    signed = list(person.consents.all())
    boxes = signed[-1].boxes if signed else None
    if not person.is_test and person.status != PersonStatus.WITHDRAWN:
        counts.signed += bool(signed)
        counts.asked += is_asked(boxes)
        counts.agreed += agrees_to_sharing(boxes)
    responses = [response for rater in person.raters.all() for response in rater.responses.all()]
    runs = list(runs_to_publish(person, agrees_to_sharing(boxes), counts, is_in_danger=is_in_danger))
    choices, texts = profile_of(person, responses)
    return Person(
        language=get_code(person.language),
        track=person.track,
        called=(person.code, *nicknames(responses)),
        choices=choices,
        texts=texts,
        big_five=big_five_of(responses),
        dialogues=tuple(dialogue_of(run, responses) for run in runs),
    )


def runs_to_publish(person: Participation, agrees: bool, counts: Counts, *, is_in_danger: bool) -> Iterator[ArmRun]:
    for run in person.runs.all():
        counts.conversations += 1
        reason = why_left_out(facts_of(run, person, agrees=agrees, is_in_danger=is_in_danger))
        if reason is None:
            yield run
        else:
            counts.left_out[reason] += 1


def facts_of(run: ArmRun, person: Participation, *, agrees: bool, is_in_danger: bool) -> Facts:
    talk = run.conversation
    assert talk is not None  # noqa: S101 - only runs with a conversation are read
    return Facts(
        is_test=run.is_test or person.is_test,
        is_withdrawn=person.status == PersonStatus.WITHDRAWN or talk.end_reason == EndReason.WITHDRAWN,
        is_excluded=person.excluded,
        is_valid=run.valid,
        agrees=agrees,
        in_danger=is_in_danger or is_of_danger(run),
        is_closed=talk.status == Status.CLOSED,
        has_turns=any(turn.state == TurnState.ANSWERED for turn in talk.turns.all()),
    )


def is_of_danger(run: ArmRun) -> bool:
    """Return whether the conversation was held or ended for safety, or something grave is said in it."""
    talk = run.conversation
    assert talk is not None  # noqa: S101 - only runs with a conversation are read
    ended = talk.status == Status.HELD or talk.end_reason == EndReason.SAFETY
    event = any(event.level >= GRAVE for event in talk.risks.all())
    return ended or event or any(turn.risk_level >= GRAVE or is_grave(turn.text) for turn in talk.turns.all())


def nicknames(responses: Iterable[Response]) -> Iterator[str]:
    """Return what the person told us to call them."""
    for response in responses:
        if response.instrument == "profile":
            yield from (answer.text for answer in response.answers.all() if answer.item in LEFT_OUT and answer.text)


def profile_of(person: Participation, responses: Iterable[Response]) -> tuple[dict[str, str | float], dict[str, str]]:
    """Return the person's answers to the profile page: chosen ones by their keys, and free texts as they are."""
    answers = answers_to("profile", responses)
    language = get_code(person.language)
    choices, texts = {}, {}
    for item in load("profile").items:
        answer = answers.get(item.key)
        if item.key in NOT_PUBLISHED or answer is None or answer in ("", *DECLINED):
            continue
        if item.type == "text":
            text = kind_of_work(str(answer), language) if item.key == "occupation" else str(answer)
            texts.update({item.key: text} if text else {})
        else:
            choices[item.key] = answer
    return choices, texts


def answers_to(instrument: str, responses: Iterable[Response]) -> dict[str, float | str]:
    return {
        answer.item: answer.text if answer.value is None else answer.value
        for response in responses
        if response.instrument == instrument and response.run_id is None
        for answer in response.answers.all()
        if not answer.missing_reason
    }


def big_five_of(responses: Sequence[Response]) -> dict[str, float]:
    for instrument in BIG_FIVE_INSTRUMENTS:
        answers = answers_to(instrument, responses)
        values = {item: value for item, value in answers.items() if isinstance(value, float)}
        scored = score(load(instrument), values) if values else []
        if means := {one.scale: round(one.score, DECIMALS) for one in scored if one.score is not None}:
            return means
    return {}


def dialogue_of(run: ArmRun, responses: Sequence[Response]) -> Dialogue:
    talk = run.conversation
    assert talk is not None  # noqa: S101 - only runs with a conversation are read
    about = [response for response in responses if response.run_id == run.pk]
    return Dialogue(
        language=get_code(talk.language),
        arm=run.arm,
        model=run.model,
        condition=run.condition,
        card=run.card,
        turns=tuple(turn_of(turn) for turn in talk.turns.all()),
        opening=talk.opening,
        ratings=tuple(rating for response in about if response.is_rating and (rating := rating_of(response)).scores),
        before=feelings_at(BEFORE, about),
        after=feelings_at(AFTER, about),
    )


def turn_of(turn: TurnRow) -> Turn:
    return Turn(turn.number, turn.text, turn.reply if turn.state == TurnState.ANSWERED else "")


def rating_of(response: Response) -> Rating:
    checks = instructed_items()
    scores = {
        answer.item: answer.value
        for answer in response.answers.all()
        if answer.value is not None and (response.instrument, answer.item) not in checks
    }
    return Rating(response.moment, response.turn, response.instrument, response.version, scores)


def feelings_at(moment: str, responses: Iterable[Response]) -> dict[str, float | str]:
    """Return what was answered before or after the conversation: numbers and chosen options, no free text."""
    feelings: dict[str, float | str] = {}
    for response in responses:
        if response.moment == moment and not response.is_rating and response.instrument in instrument_ids():
            options = options_of(load(response.instrument))
            for answer in response.answers.all():
                if answer.value is not None:
                    feelings[answer.item] = answer.value
                elif (answer.item, answer.text) in options:
                    feelings[answer.item] = answer.text
    return feelings


def options_of(questionnaire: Questionnaire) -> set[tuple[str, str]]:
    return {(item.key, str(option.value)) for item in questionnaire.items for option in item.options}
