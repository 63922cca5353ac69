"""Stores what a rater answered: once for each questionnaire and moment, whole or not at all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Max, Q
from django.utils import timezone

from dialogue.compiled import insert_numbered, insert_plain
from dialogue.incoming import MOST_TURNS, int_from
from studies.design.plan import Step
from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import AnswerValue, form_for
from studies.instruments.loading import instructed_items, load
from studies.models import Answer, ArmRun, Participation, Rater, Response
from studies.models.response import RaterKind

RESPONSE_COLUMNS = ("rater_id", "run_id", "instrument", "moment", "turn", "replicate", "version", "language",
                    "is_rating", "first_turn", "last_turn", "submitted_at")  # fmt: skip
ANSWER_COLUMNS = ("response_id", "item", "value", "text", "missing_reason", "seconds", "reason")
RATING_KINDS = ("rating_scale",)
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
    """Ratings of a conversation go to ratings.csv, all other answers to answers.csv."""
    return questionnaire.kind in RATING_KINDS


def instructed() -> Q:
    """Which answers are to items that tell people what to answer: no scores, on a rating's form neither."""
    of_items = (Q(response__instrument=instrument, item=item) for instrument, item in instructed_items())
    return reduce(or_, of_items, Q(pk__in=()))


def store(
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
    """The stored response. Where there is one already, it stays as it is: the first submission counts.

    `turns`: the first and the last turn that the rater had seen of what is rated. `seconds`: by item.
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
                )
                for answer in answers
            )
    except IntegrityError:
        return Response.objects.get(**place)
    return response


@dataclass(frozen=True)
class Given:
    """One questionnaire, answered about a conversation. `turns` as in `store`."""

    questionnaire: Questionnaire
    answers: Sequence[AnswerValue]
    run: ArmRun
    moment: str
    turn: int
    replicate: int
    language: str
    turns: tuple[int, int] | None

    @property
    def place(self) -> tuple[int, str, str, int, int]:
        return self.run.pk, self.questionnaire.id, self.moment, self.turn, self.replicate

    def row(self) -> tuple[Any, ...]:
        asked = self.questionnaire
        return *self.place, asked.version, self.language, is_rating(asked), *(self.turns or (None, None))


def store_many(rater: Rater, given: Sequence[Given]) -> None:
    """As `store` for each, in few statements. Called inside a transaction; what is there already stays as it is."""
    known = rater.responses.filter(run__in={one.run.pk for one in given})
    there = set(known.values_list("run", "instrument", "moment", "turn", "replicate"))
    new = [one for one in given if one.place not in there]
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    responses = insert_numbered(Response, RESPONSE_COLUMNS, [(rater.pk, *one.row(), now) for one in new])
    rows = [
        (response, answer.item, answer.value, answer.text, answer.missing_reason, None, "")
        for response, one in zip(responses, new, strict=True)
        for answer in one.answers
    ]
    insert_plain(Answer, ANSWER_COLUMNS, rows)


def turns_seen(run: ArmRun | None, since: int = 1) -> tuple[int, int] | None:
    """From turn `since` to the last one whose reply was on the person's screen; None where that is none."""
    if run is None or run.conversation is None:
        return None
    last = run.conversation.turns.filter(seen=True).aggregate(last=Max("number"))["last"]
    return (since, last) if last and last >= since else None


def answers_of(participation: Participation, instrument: str, *, run: ArmRun | None = None, moment: str = "") -> dict:
    """What this person answered, `{item: number or text}`; an answer that is missing is left out."""
    rows = Answer.objects.filter(
        response__rater__participation=participation,
        response__instrument=instrument,
        response__run=run,
        response__moment=moment,
    ).values_list("item", "value", "text")
    return {item: text if value is None else value for item, value, text in rows if value is not None or text}


def store_reply_rating(participation: Participation, step: Step, data: Mapping[str, str]) -> str:
    """The one-item rating of a single reply, moment `turn`; returns what is wrong with it, empty where nothing is."""
    run = participation.runs.filter(position=step.run).first() if step.kind == "chat" else None
    turn = int_from(data.get("turn"), 1, MOST_TURNS)
    if run is None or turn is None or not run.conversation.turns.filter(number=turn, reply_seq__gt=0).exists():
        return "The open conversation has no such reply."
    questionnaire = load("reply_rating")
    form = form_for(questionnaire, language=participation.language, data=data)
    if not form.is_valid() or not form.given_answers():
        return "Please choose one of the five answers."
    store(
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
