"""Plain builders of rows, as the code itself would leave them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from django.conf import settings
from django.utils import timezone

from dialogue.models import Conversation, Turn
from dialogue.models.conversation import EndReason, SeekerKind, Status, TurnState
from studies.consent import template_ids
from studies.design.files import read_study
from studies.design.spec import StudySpec
from studies.enrolment import invite
from studies.models import ArmRun, Participation, Rater, Response, Study
from studies.questionnaires.forms import AnswerValue
from studies.questionnaires.loading import instrument_ids, load
from studies.responses import rater_for, store
from studies.studyfiles import load_spec

TURNS = (("I feel low.", "What happened?"), ("I lost my job.", "That is hard."))


@cache
def demo_spec() -> StudySpec:
    path = settings.FIXTURES / "studies" / "demo.toml"
    return read_study(
        path, instruments=[*instrument_ids(), *template_ids()], prompt_folder=settings.FIXTURES / "prompts"
    )


def study(key: str = "demo", **changes: Any) -> Study:
    """The demo study, or another one made of it."""
    return load_spec(replace(demo_spec(), key=key, **changes)).protocol.study


def person(of: Study, **fields: Any) -> Participation:
    """One who has their arms and has begun."""
    participation, _token = invite(of)
    fields = {"protocol": of.current(), "language": "en", "status": "active", "order": ["amber", "birch"], **fields}
    Participation.objects.filter(pk=participation.pk).update(**fields)
    participation.refresh_from_db()
    return participation


def run_with_turns(
    of: Study,
    participation: Participation | None = None,
    *,
    turns: Sequence[tuple[str, str]] = TURNS,
    status: Status = Status.CLOSED,
    end_reason: str = EndReason.FINISHED,
    **fields: Any,
) -> ArmRun:
    """A conversation with every message answered; its person's next, where it has one."""
    conversation = Conversation.objects.create(
        seeker_kind=SeekerKind.PERSON if participation else SeekerKind.SIMULATED,
        status=status,
        end_reason=end_reason if status == Status.CLOSED else "",
        started_at=timezone.now(),
        ended_at=timezone.now() if status == Status.CLOSED else None,
    )
    for number, (text, reply) in enumerate(turns, 1):
        add_turn(conversation, number, text=text, reply=reply)
    position = participation.runs.count() + 1 if participation else 0
    fields = {"protocol": of.current(), "arm": "amber", "position": position, **fields}
    return ArmRun.objects.create(study=of, participation=participation, conversation=conversation, **fields)


def add_turn(conversation: Conversation, number: int, **fields: Any) -> Turn:
    fields = {"state": TurnState.ANSWERED, "created_at": timezone.now(), "attempts": 1, **fields}
    return Turn.objects.create(conversation=conversation, number=number, client_id=f"client-{number}", **fields)


def answer(
    who: Participation | Rater,
    instrument: str,
    answers: dict[str, float | str],
    *,
    run: ArmRun | None = None,
    moment: str = "",
    turn: int = 0,
    replicate: int = 1,
) -> Response:
    """What a person or a judge answered to one of our instruments."""
    values = [
        AnswerValue(item, text=given) if isinstance(given, str) else AnswerValue(item, value=given)
        for item, given in answers.items()
    ]
    rater = who if isinstance(who, Rater) else rater_for(who)
    return store(rater, load(instrument), values, run=run, moment=moment, turn=turn, replicate=replicate)


def rating(who: Participation | Rater, run: ArmRun, score: float = 4.0, **scores: float | str) -> Response:
    """A final rating: the same score for all ten dimensions, but for those that are named."""
    items = {item.key: score for item in load("emoharbor_10").items}
    return answer(who, "emoharbor_10", {**items, **scores}, run=run, moment="final")


def judge(of: Study, key: str = "demo", strategy: str = "standard") -> Rater:
    return Rater.objects.create(study=of, kind="judge", code=key, strategy=strategy)
