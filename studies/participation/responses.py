"""Store a rater's answers: once for each questionnaire and moment, whole or not at all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Max, Q
from django.utils import timezone

from dialogue.compiled_sql import CompiledQuery, insert_numbered, insert_plain
from dialogue.input_checks import MOST_TURNS, int_from
from studies.design.plan import Step
from studies.instruments.definitions import DECLINED, Questionnaire
from studies.instruments.forms import COMMENT, AnswerValue, form_for
from studies.instruments.loading import RATING_SCALE, instructed_items, load, unscored_items
from studies.models import Answer, ArmRun, Participation, Rater, Response
from studies.models.response import RaterKind

RESPONSE_COLUMNS = ("rater_id", "run_id", "instrument", "moment", "turn", "replicate", "version", "language",
                    "is_rating", "first_turn", "last_turn", "role", "prompt", "submitted_at")  # fmt: skip
ANSWER_COLUMNS = ("response_id", "item", "value", "text", "missing_reason", "seconds", "reason")
RATER_KINDS = {"participant": RaterKind.SEEKER, "counsellor": RaterKind.EXPERT, "reviewer": RaterKind.REVIEWER}


def rater_for(participation: Participation) -> Rater:
    rater, _ = Rater.objects.get_or_create(
        study=participation.study,
        kind=RATER_KINDS[participation.track],
        code=participation.code,
        strategy="",
        defaults={"participation": participation},
    )
    return rater


def is_rating(questionnaire: Questionnaire) -> bool:
    """Return whether answers go to ratings.csv; all others go to answers.csv."""
    return questionnaire.kind == RATING_SCALE


def answers_to_instructed_items() -> Q:
    """Return the filter for answers to attention checks, which are no scores on any form."""
    of_items = (Q(response__instrument=instrument, item=item) for instrument, item in instructed_items())
    return reduce(or_, of_items, Q(pk__in=()))


def answers_without_a_scale() -> Q:
    """Return the filter for what raters wrote, or left open, where a rating form asks for words: no scores either."""
    of_items = (Q(response__instrument=instrument, item__in=items) for instrument, items in unscored_items().items())
    return Q(value__isnull=True) & reduce(or_, of_items, Q(item=COMMENT))


def store_response(
    rater: Rater,
    questionnaire: Questionnaire,
    answers: Iterable[AnswerValue],
    *,
    run: ArmRun | None = None,
    moment: str = "",
    turn: int = 0,
    replicate: int = 1,
    language: str = "",
    turns: tuple[int, int] | None = None,
    seconds: Mapping[str, float] = MappingProxyType({}),
) -> Response:
    """Store a response, or return the one that is there: the first submission counts.

    `turns`: the first and the last turn that the rater had seen. `seconds`: by item.
    """
    first_turn, last_turn = turns or (None, None)
    place = {
        "rater": rater,
        "run": run,
        "instrument": questionnaire.id,
        "moment": moment,
        "turn": turn,
        "replicate": replicate,
    }
    try:
        with transaction.atomic():
            response = Response.objects.create(
                **place,
                version=questionnaire.version,
                language=language,
                is_rating=is_rating(questionnaire),
                first_turn=first_turn,
                last_turn=last_turn,
            )
            Answer.objects.bulk_create(
                Answer(
                    response=response,
                    item=answer.item,
                    value=answer.value,
                    text=answer.text,
                    missing_reason=answer.missing_reason,
                    reason=answer.reason,
                    seconds=seconds.get(answer.item),
                    position=answer.position,
                )
                for answer in answers
            )
    except IntegrityError:
        return Response.objects.get(**place)
    return response


@dataclass(frozen=True)
class GivenResponse:
    """One questionnaire, answered about a conversation. `turns` as in `store_response`; `role` of a judge, and `prompt`
    of any model, as exported."""

    questionnaire: Questionnaire
    answers: Sequence[AnswerValue]
    run: ArmRun
    moment: str
    turn: int
    replicate: int
    language: str
    turns: tuple[int, int] | None
    role: str = ""
    prompt: str = ""

    @property
    def place(self) -> tuple[int, str, str, int, int]:
        return self.run.pk, self.questionnaire.id, self.moment, self.turn, self.replicate

    def row(self) -> tuple[Any, ...]:
        form = self.questionnaire
        turns = self.turns or (None, None)
        return *self.place, form.version, self.language, is_rating(form), *turns, self.role, self.prompt


def store_responses(rater: Rater, batch: Sequence[GivenResponse]) -> None:
    """Store many responses in few statements, inside a transaction. Existing ones stay as they are."""
    existing = rater.responses.filter(run__in={one.run.pk for one in batch})
    there = set(existing.values_list("run", "instrument", "moment", "turn", "replicate"))
    new = [one for one in batch if one.place not in there]
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    responses = insert_numbered(Response, RESPONSE_COLUMNS, [(rater.pk, *one.row(), now) for one in new])
    rows = [
        (response, answer.item, answer.value, answer.text, answer.missing_reason, None, "")
        for response, one in zip(responses, new, strict=True)
        for answer in one.answers
    ]
    insert_plain(Answer, ANSWER_COLUMNS, rows)


def turns_seen(run: ArmRun | None, since: int = 1) -> tuple[int, int] | None:
    """Return turn `since` and the last one whose reply was on the person's screen; None if that is none."""
    if run is None or run.conversation is None:
        return None
    last = run.conversation.turns.filter(seen=True).aggregate(last=Max("number"))["last"]
    return (since, last) if last and last >= since else None


# What belongs to no conversation; opening the first one asks for its topic.
OF_NO_RUN = CompiledQuery(
    Answer,
    lambda: (
        Answer.objects.filter(
            response__instrument="", response__moment="", response__rater__participation=0, response__run=None
        )
        .only("item", "value", "text", "missing_reason")
        .order_by()
    ),
)


def answers_of(participation: Participation, instrument: str, *, run: ArmRun | None = None, moment: str = "") -> dict:
    """Return the person's answers, `{item: number or text}`, without missing ones."""
    rows = rows_of(participation, instrument, run=run, moment=moment)
    return {item: text if value is None else value for item, value, text, _why in rows if value is not None or text}


def answers_with_declined(participation: Participation, instrument: str) -> dict:
    """Return the same, with DECLINED where a person chose not to answer."""
    rows = rows_of(participation, instrument)
    return {
        item: (text or why) if value is None else value
        for item, value, text, why in rows
        if value is not None or text or why == DECLINED
    }


def rows_of(
    participation: Participation, instrument: str, *, run: ArmRun | None = None, moment: str = ""
) -> list[tuple[str, float | None, str, str]]:
    """Return item, number, text and reason of each answer."""
    found: Iterable[Answer]
    if run is None:
        found = OF_NO_RUN.rows(instrument, moment, participation.pk)
    else:
        place = {"response__instrument": instrument, "response__run": run, "response__moment": moment}
        found = Answer.objects.filter(response__rater__participation=participation, **place)
    return [(one.item, one.value, one.text, one.missing_reason) for one in found]


def store_reply_rating(participation: Participation, step: Step, data: Mapping[str, str]) -> str:
    """Store the one-item rating of a single reply, moment `turn`; return what is wrong with it, or an empty text."""
    run = participation.runs.filter(position=step.run).first() if step.kind == "chat" else None
    turn = int_from(data.get("turn"), 1, MOST_TURNS)
    if run is None or turn is None or not run.conversation.turns.filter(number=turn, reply_seq__gt=0).exists():
        return "The open conversation has no such reply."
    questionnaire = load("reply_rating")
    form = form_for(questionnaire, language=participation.language, data=data)
    if not form.is_valid() or not form.given_answers():
        return "Please choose one of the five answers."
    store_response(
        rater_for(participation),
        questionnaire,
        form.cleaned_answers(),
        run=run,
        moment="turn",
        turn=turn,
        language=participation.language,
        turns=(turn, turn),
    )
    return ""
