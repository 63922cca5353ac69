"""Plain builders of rows, as the code itself would leave them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from dialogue.models import Conversation, Turn
from dialogue.models.conversation import EndReason, SeekerKind, Status, TurnState
from studies.allocation.rule import VERSION
from studies.care.alarms import create_alarm
from studies.care.rota import get_contacts
from studies.design.plan import Step
from studies.design.reading import read_study
from studies.design.spec import ArmSpec, StudySpec
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import instrument_ids, load
from studies.life import stages
from studies.models import (
    Adjudication,
    Alarm,
    ArmRun,
    Comparison,
    Decision,
    Draw,
    Flag,
    Interview,
    Membership,
    Pair,
    Participation,
    Rater,
    Response,
    Review,
    ReviewItem,
    ReviewPlan,
    RolePlay,
    Stage,
    Study,
    Verdict,
)
from studies.participation.consent import template_ids
from studies.participation.enrolment import invite
from studies.participation.responses import rater_for, store_response
from studies.setup.storage import AmendmentReason, LoadedStudy, load_spec

TURNS = (("I feel low.", "What happened?"), ("I lost my job.", "That is hard."))


@cache
def demo_spec() -> StudySpec:
    path = settings.FIXTURES / "studies" / "demo.toml"
    return read_study(
        path, instruments=[*instrument_ids(), *template_ids()], prompt_folder=settings.FIXTURES / "prompts"
    )


def study(key: str = "demo", **changes: Any) -> Study:
    """The demo study, or another one made of it. It is open to people; once they have come, a change amends it."""
    made = load_study(replace(demo_spec(), key=key, **changes)).protocol.study
    Study.objects.filter(pk=made.pk).update(stage=Stage.OPEN)
    made.refresh_from_db()
    return made


def load_study(spec: StudySpec) -> LoadedStudy:
    """Load a design, as an amendment where it needs one."""
    return load_spec(spec, amendment=AmendmentReason("A test needs it.", by_name="ada"))


def close(of: Study, by: str = "ada") -> None:
    stages.move(of, Stage.CLOSED, stages.Actor(by, User.objects.filter(username=by).first()))


def reopen(of: Study, by: str = "ada", reason: str = "") -> None:
    stages.move(of, Stage.OPEN, stages.Actor(by, User.objects.filter(username=by).first()), reason=reason)


def remote_arm(key: str = "far") -> ArmSpec:
    """A model behind a server that no one answers at."""
    return replace(
        demo_spec().arms[0],
        key=key,
        kind="openai_compatible",
        base_url="http://127.0.0.1:9/v1",
        model="big",
        provider="Lab",
        api_key_env="FAR_KEY",
    )


def grant(of: Study, user: User, *roles: str) -> User:
    """The account with these roles in the study."""
    for role in roles:
        Membership.objects.create(study=of, user=user, role=role)
    return user


def person(of: Study, **fields: Any) -> Participation:
    """One who has their arms and has begun."""
    participation, _token = invite(of)
    fields = {"protocol": of.current(), "language": "en", "status": "active", "order": ["amber", "birch"], **fields}
    Participation.objects.filter(pk=participation.pk).update(**fields)
    participation.refresh_from_db()
    return participation


def acknowledged_drill(of: Study, **fields: Any) -> Alarm:
    """One that the first person on call has answered now, so that real people may come to real arms."""
    now = timezone.now()
    fields = {"sent_at": now, "acknowledged_at": now, **fields}
    return create_alarm(of, get_contacts(of.current().spec())[0], Alarm.Channel.EMAIL, now=now, **fields)


def draw(person: Participation, **fields: Any) -> Draw:
    """How the person got their arms and cards."""
    rule = {"design": "williams", "arms": ["amber", "birch"], "per_person": 2, "seed": 1}
    seen = {"orders": {"amber>birch": 2}, "completed": {}, "strata": {}}
    fields = {"version": VERSION, "number": 2, "rule": rule, "seen": seen, "candidates": ["amber>birch"], **fields}
    return Draw.objects.create(participation=person, order=person.order, cards=person.cards, **fields)


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
    return store_response(rater, load(instrument), values, run=run, moment=moment, turn=turn, replicate=replicate)


def rating(who: Participation | Rater, run: ArmRun, score: float = 4.0, **scores: float | str) -> Response:
    """A final rating: the same score for all ten dimensions, but for those that are named."""
    items = {item.key: score for item in load("emoharbor_10").items}
    return answer(who, "emoharbor_10", {**items, **scores}, run=run, moment="final")


def flag(run: ArmRun, turn: int = 1, reason: str = "not_heard", **fields: Any) -> Flag:
    return Flag.objects.create(run=run, turn=turn, reason=reason, **{"reply": "What happened?", **fields})


def interviewed(participation: Participation, mode: str = "interviewer") -> Participation:
    """One whose whole way is an interview, at which they stand."""
    steps = [Step("interview", "interview", "interview_guide", mode=mode), Step("debrief", "debrief")]
    participation.plan, participation.position = [step.to_json() for step in steps], 0
    participation.save(update_fields=["plan", "position"])
    return participation


def interview(participation: Participation, words: str = "Stock phrases.", **fields: Any) -> Interview:
    """Under way with this person, with a note, a passage of it, and a candidate dimension."""
    interviewed(participation)
    fields = {"instrument": "interview_guide", "version": "1.0.4", **fields}
    held = Interview.objects.create(participation=participation, **fields)
    note = held.notes.create(question="cs1", text=words)
    held.passages.create(source=f"note:{note.pk}", text=words, code="stock phrases")
    participation.candidate_dimensions.create(study=participation.study, name="Pacing", definition=words)
    return held


def judge(of: Study, key: str = "demo", strategy: str = "standard") -> Rater:
    return Rater.objects.create(study=of, kind="judge", code=key, strategy=strategy)


def role_play(run: ArmRun, card: str = "en01", **fields: Any) -> RolePlay:
    """What a counsellor was given to play in this run."""
    given = run.study.cards.get(key=card).as_given()
    return RolePlay.objects.create(run=run, **{"card": given, **fields})


def compared(run: ArmRun, verdict: str = "a") -> Verdict:
    """What an outside reviewer said of this conversation beside another one."""
    pair = Pair.objects.create(study=run.study, run_a=run, run_b=run)
    rater, _ = Rater.objects.get_or_create(study=run.study, kind="reviewer", code="R1")
    comparison = Comparison.objects.create(pair=pair, rater=rater, shown_first="a", done_at=timezone.now())
    return Verdict.objects.create(comparison=comparison, question="better_overall", verdict=verdict)


def decided(subject: Participation | ArmRun, reason: str = "careless", coder: str = "coder") -> Decision:
    """One coder's word that a person or a conversation is to be left out."""
    about = {"participation" if isinstance(subject, Participation) else "run": subject}
    account, _ = User.objects.get_or_create(username=coder, is_staff=True, is_superuser=True)
    return Decision.objects.create(**about, coder=account, keep=False, reason=reason)


def reviewed(run: ArmRun, reviewer: Participation, words: str = "It pressed.") -> Review:
    """What a second rater did with a vignette and with this conversation, and what was decided of one item of it."""
    source = {"is_test": run.is_test}
    plan = ReviewPlan.objects.create(study=run.study, name=f"of {run.pk}", instruments=["emoharbor_10"], source=source)
    item = ReviewItem.objects.create(plan=plan, run=run, position=1, wanted=1)
    Review.objects.create(plan=plan, reviewer=reviewer, vignette="v1", scores={"safety": 2.0}, done_at=timezone.now())
    Adjudication.objects.create(run=run, instrument="emoharbor_10", item="safety", score=2.0, reason=words)
    return Review.objects.create(plan=plan, reviewer=reviewer, item=item, declined_note=words)
