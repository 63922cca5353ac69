"""The conversations of a study that may become training data, one after the other, with every one left out counted."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import Prefetch, QuerySet

from dialogue.deidentification.redaction import mask_identity
from dialogue.judges.roles import SEEKER
from dialogue.models import Turn
from dialogue.models.conversation import EndReason, SeekerKind, Status, TurnState
from studies.data.exports.masking import is_masked
from studies.data.training.card import Counts
from studies.data.training.filters import RISK, Facts, LeftOut, StoredTurn, consents_to_training, usable, why_left_out
from studies.data.training.options import PREFERENCE, TURN, Measure, Options
from studies.data.training.scores import Answers, by_rater
from studies.data.training.talk import WHOLE, About, Exchange, Scores, Talk
from studies.models import Answer, ArmRun, Consent, Rater, Response, Study
from studies.models.participation import Status as PersonStatus
from studies.models.response import RaterKind

VARIANT = "~"  # in the code of a judge that was asked in another way, as in a probe of its bias
AT_ONCE = 100  # conversations in memory
OF_A_TURN = ("conversation", "number", "state", "text", "reply", "masked", "risk_level")
NEED_NO_CONSENT = (SeekerKind.SIMULATED, SeekerKind.IMPORTED)  # where no person of the study speaks in them


def conversations(study: Study) -> QuerySet[ArmRun]:
    return study.runs.filter(conversation__isnull=False)


def talks(study: Study, options: Options, counts: Counts, on_conversation: Callable[[], None]) -> Iterator[Talk]:
    """Yield the conversations that may be used, in the order of their making; `counts` counts the others."""
    masked = mask_identity if is_masked(study) else str
    runs = conversations(study).select_related("conversation", "participation").order_by("pk")
    for run in runs.prefetch_related(*with_all(study, options)).iterator(chunk_size=AT_ONCE):
        counts.conversations += 1
        talk = talk_of(run, options, counts, masked)
        if isinstance(talk, LeftOut):
            counts.left_out[talk] += 1
        else:
            yield talk
        on_conversation()


def with_all(study: Study, options: Options) -> list[Prefetch | str]:
    """Return the prefetches of a conversation: one query each for a chunk of conversations."""
    prefetches: list[Prefetch | str] = [
        Prefetch("conversation__turns", Turn.objects.order_by("number").only(*OF_A_TURN)),
        "conversation__risks",
        "conversation__seeker_faults",
        Prefetch("participation__consents", Consent.objects.order_by("signed_at", "pk")),
    ]
    if options.measure is not None:
        responses = get_ratings(study, options.measure, include_tests=options.include_tests)
        answers = Prefetch("answers", Answer.objects.filter(value__isnull=False, item__in=options.measure.items))
        prefetches.append(Prefetch("responses", responses.order_by("pk").prefetch_related(answers), to_attr="rated"))
    return prefetches


def get_ratings(study: Study, measure: Measure, *, include_tests: bool) -> QuerySet[Response]:
    """Return the ratings that count; those of people who withdrew or were left out do not."""
    ratings = Response.objects.filter(
        rater__study=study,
        run__isnull=False,
        is_rating=True,
        instrument=measure.instrument,
        moment=measure.moment,
        rater__kind=measure.rater_kind,
    )
    if measure.rater:
        ratings = ratings.filter(rater__code=measure.rater)
    elif measure.rater_kind == RaterKind.JUDGE:
        ratings = ratings.exclude(rater__code__contains=VARIANT)
    if measure.strategy:
        ratings = ratings.filter(rater__strategy=measure.strategy)
    if measure.role:
        ratings = ratings.filter(role__in=[measure.role, *([""] if measure.role == SEEKER.code else [])])
    if not include_tests:
        ratings = ratings.exclude(rater__participation__is_test=True)
    gone = {"rater__participation__status": PersonStatus.WITHDRAWN}
    return ratings.exclude(**gone).exclude(rater__participation__excluded=True)


def roles_in(study: Study, measure: Measure, *, include_tests: bool) -> set[str]:
    """Return as whom the judges rate whose ratings count. Those of whom no one says it count with the seekers."""
    rows = get_ratings(study, measure, include_tests=include_tests).order_by().values_list("role", flat=True)
    return {role or SEEKER.code for role in rows.distinct()}


def talk_of(run: ArmRun, options: Options, counts: Counts, masked: Callable[[str], str]) -> Talk | LeftOut:
    """Return a conversation with its texts `masked`, or why it is left out."""
    facts = facts_of(run)
    reason = why_left_out(facts, include_tests=options.include_tests, include_imported=options.include_imported)
    if reason is not None:
        return reason
    stored = stored_turns(run)
    turns, cut = usable(stored)  # screened as it was written
    turns = tuple(
        Exchange(each.number, masked(each.seeker), masked(each.supporter), masked(each.opening)) for each in turns
    )
    counts.turns += len(stored)
    counts.cut.update(cut)
    if not turns:
        return LeftOut.NO_TURN
    if options.format == PREFERENCE and not run.arm:
        return LeftOut.NO_ARM
    scores = scores_of(run, options.measure) if options.measure else {}
    return Talk(run.pk, about(run), turns, scores) if scores or options.measure is None else LeftOut.NO_SCORE


def facts_of(run: ArmRun) -> Facts:
    talk, person = run.conversation, run.participation
    withdrew = person is not None and person.status == PersonStatus.WITHDRAWN
    return Facts(
        is_test=run.is_test,
        is_closed=talk.status == Status.CLOSED,
        is_withdrawn=withdrew or talk.end_reason == EndReason.WITHDRAWN,
        is_excluded=person is not None and person.excluded,
        is_valid=run.valid,
        is_imported=talk.seeker_kind == SeekerKind.IMPORTED,
        may_train=may_train(run),
        ended_for_safety=talk.end_reason == EndReason.SAFETY,
    )


def may_train(run: ArmRun) -> bool:
    """Return whether a conversation may be used, by the consent that its person signed last.

    Without a person it may where no one of the study speaks.
    """
    if run.participation is None:
        return run.conversation.seeker_kind in NEED_NO_CONSENT
    signed = list(run.participation.consents.all())
    return consents_to_training(signed[-1].boxes if signed else None)


def stored_turns(run: ArmRun) -> list[StoredTurn]:
    risky = {event.turn for event in run.conversation.risks.all()}
    at_fault = {fault.turn for fault in run.conversation.seeker_faults.all()}
    return [
        StoredTurn(
            number=turn.number,
            seeker=turn.text,
            supporter=turn.reply,
            is_answered=turn.state == TurnState.ANSWERED,
            is_masked=turn.masked,
            has_risk=turn.risk_level >= RISK or turn.number in risky or None in risky,  # None: at some turn
            has_fault=turn.number in at_fault,
            opening="" if place else run.conversation.opening,
        )
        for place, turn in enumerate(run.conversation.turns.all())
    ]


def about(run: ArmRun) -> About:
    return About(
        conversation=run.external_id or run.conversation.code,
        seeker=seeker_of(run),
        seeker_kind=run.conversation.seeker_kind,
        arm=run.arm,
        model=run.model,
        condition=run.condition,
        profile=run.profile or run.card,
        setup=run.setup,
        language=run.conversation.language,
        is_test=run.is_test,
    )


def seeker_of(run: ArmRun) -> str:
    """Return whose words a conversation has, as `participant:`, `profile:` or `conversation:` and a key.

    They are the person's, also in a role; a simulated seeker's, who is their profile; or no one's.
    """
    if participant := run.participation.code if run.participation else run.external_participant:
        return f"participant:{participant}"
    return f"profile:{run.profile}" if run.profile else f"conversation:{run.external_id or run.conversation.code}"


def scores_of(run: Any, measure: Measure) -> dict[int, Scores]:
    """Return the scores by turn, WHOLE for the conversation; only what has a score."""
    by_turn: defaultdict[int, list[Response]] = defaultdict(list)
    for response in run.rated:
        by_turn[response.turn if measure.moment == TURN else WHOLE].append(response)
    scores = {turn: by_rater(map(read_answers, responses), measure.items) for turn, responses in by_turn.items()}
    return {turn: values for turn, values in scores.items() if values}


def read_answers(response: Response) -> tuple[str, Answers]:
    return str(response.rater_id), {answer.item: answer.value for answer in response.answers.all()}


def raters(study: Study, options: Options) -> dict[str, Any]:
    """Return the raters whose scores count, and the versions of the instrument. People are counted, judges named."""
    if options.measure is None:
        return {}
    responses = get_ratings(study, options.measure, include_tests=options.include_tests)
    rows = Rater.objects.filter(responses__in=responses).distinct().order_by("code", "strategy")
    summary: dict[str, Any] = {"kind": options.measure.rater_kind, "count": rows.count()}
    summary["versions"] = sorted(responses.order_by().values_list("version", flat=True).distinct())
    if options.measure.rater_kind == RaterKind.JUDGE:
        summary["judges"] = [f"{code} {strategy}".strip() for code, strategy in rows.values_list("code", "strategy")]
    return summary
