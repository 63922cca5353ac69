"""Open and find the conversation of an arm run."""

import logging
from dataclasses import asdict
from typing import Any

from django.db import transaction

from dialogue.chat import lifecycle
from dialogue.compiled_sql import CompiledQuery
from dialogue.models import Conversation, Supporter
from dialogue.models.conversation import SeekerKind, Status, TurnState
from dialogue.providers.base import copy_settings
from studies.design.plan import TOPIC_QUESTIONS
from studies.design.spec import COUNSELLOR, ArmSpec, StudySpec
from studies.models import Arm, ArmRun, Participation
from studies.models.participation import OVER
from studies.participation.locking import lock_person
from studies.participation.profile_text import profile_text
from studies.participation.responses import answers_of
from studies.setup.cards import give_card

log = logging.getLogger(__name__)


RUN = CompiledQuery(
    ArmRun, lambda: ArmRun.objects.select_related("conversation").filter(participation=0, position=0).order_by()
)

ARM = CompiledQuery(Arm, lambda: Arm.objects.filter(key="", protocol=0).order_by())
LOCKED = CompiledQuery(
    Participation, lambda: Participation.objects.select_for_update().filter(pk=0).only("status").order_by()
)


class ArmGone(Exception):
    """The arm of a run no longer exists."""


class PersonGone(Exception):
    """The person's part has ended, or their data were erased, since their row was read."""


def get_or_create_run(participation: Participation, position: int) -> ArmRun:
    """Return the person's run at this position; it exists from its first step on, before the conversation. Raises
    PersonGone."""
    return find_run(participation, position) or create_run(participation, position)


@transaction.atomic
def create_run(participation: Participation, position: int) -> ArmRun:
    lock_present(participation)
    values = new_run_values(participation, position)
    run, _ = ArmRun.objects.get_or_create(participation=participation, position=position, defaults=values)
    return run


def lock_present(participation: Participation) -> None:
    """Lock a person whose part is not over until the transaction ends. Raises PersonGone."""
    locked = LOCKED.first(participation.pk)
    if locked is None or locked.status in OVER:
        raise PersonGone(participation.code)


def find_run(participation: Participation, position: int) -> ArmRun | None:
    run = RUN.first(participation.pk, position)
    if run:
        run.participation = participation
    return run


def new_run_values(participation: Participation, position: int) -> dict[str, Any]:
    return {
        "study": participation.study,
        "protocol": participation.protocol,
        "is_test": participation.is_test,
        "arm": participation.order[position - 1],
        "topic": topic_of(participation, position),
    }


def runs_with_a_reply(participation: Participation) -> list[ArmRun]:
    """Return the runs in which the person met their partner, in order; a run may end before the first reply."""
    met = participation.runs.filter(conversation__turns__state=TurnState.ANSWERED)
    return list(met.distinct().order_by("position"))


def get_or_open_run(participation: Participation, position: int) -> ArmRun:
    """Return the run and open its conversation if needed; two tabs at once open one. Raises ArmGone and PersonGone."""
    run = find_run(participation, position)
    return run if run and run.conversation else open_run(participation, position)


@transaction.atomic
def open_run(participation: Participation, position: int) -> ArmRun:
    lock_present(participation)
    run = find_run(participation, position) or ArmRun(
        participation=participation, position=position, **new_run_values(participation, position)
    )
    if run.protocol_id == participation.protocol_id:
        run.protocol = participation.protocol
    if run.conversation is None:
        open_conversation(run, participation)
        if participation.track == COUNSELLOR:
            give_card(run=run, participation=participation)
    return run


def topic_of(participation: Participation, position: int) -> str:
    """Return the topic: the answer after the previous conversation, or for the first one the area named in the
    screening."""
    previous = participation.runs.filter(position=position - 1).first() if position > 1 else None
    if previous is None:
        return str(answers_of(participation, "screening").get("issue_category", ""))
    for instrument in TOPIC_QUESTIONS.values():
        if topic := answers_of(participation, instrument, run=previous).get("topic"):
            return str(topic)
    return previous.topic


def open_conversation(run: ArmRun, participation: Participation) -> None:
    """Open the run's conversation, with the arm as the run's own version of the study has it."""
    spec = participation.design()
    arm = arm_of(run)
    run.conversation = Conversation.objects.create(
        supporter=freeze_supporter(arm, participation.language),
        seeker_kind=SeekerKind.COUNSELLOR if participation.track == "counsellor" else SeekerKind.PERSON,
        role_play=participation.track == "counsellor",
        unpaced=participation.is_test,
        language=participation.language,
        profile=profile_text(participation) if spec.chat.give_profile else "",
        **opening_fields(spec, participation.language),
        timings=spec.records_timings(),
        second_line=second_line_settings(spec, participation),
        **limit_fields(spec, participation.track),
        **pacing_fields(spec, participation.language),
    )
    run.model = arm.model
    run.save()


@transaction.atomic
def switch_language(participation: Participation, language: str) -> None:
    """Set the person's language, and with it that of the partner in a conversation that is not over."""
    lock_person(participation)
    participation.language = language
    participation.save(update_fields=["language"])
    spec = participation.design()
    for run in participation.runs.select_related("conversation", "protocol").exclude(
        conversation__status=Status.CLOSED
    ):
        if run.conversation_id is not None:
            lifecycle.change_language(
                run.conversation_id,
                language=language,
                supporter=freeze_supporter(arm_of(run), language),
                profile=profile_text(participation) if spec.chat.give_profile else "",
                characters_per_second=spec.characters_per_second(language),
                **opening_fields(spec, language),
            )


def arm_of(run: ArmRun) -> ArmSpec:
    """Return the run's arm, also if it has been paused since. Raises ArmGone."""
    arm = ARM.first(run.arm, run.protocol_id)
    if arm is None:
        raise ArmGone(f"{run.protocol} has no arm {run.arm!r}")
    return ArmSpec(**arm.as_json())


def second_line_settings(spec: StudySpec, participation: Participation) -> dict[str, Any]:
    """Return the settings of the second line for a new conversation, empty for none. A provider that the person's
    latest consent does not name gets nothing of theirs."""
    line = spec.safety.second_line
    if line is None:
        return {}
    if line.kind != "scripted":
        consent = participation.consents.order_by("signed_at", "pk").last()
        if consent is None or line.provider not in consent.providers:
            log.error("%s: no second line, since the consent does not name %r", participation.code, line.provider)
            return {}
    return asdict(line)


def opening_fields(spec: StudySpec, language: str) -> dict[str, str]:
    """Return the fields of a conversation that the supporter opens with the study's text; none where the seeker speaks
    first. The text is the same for all arms."""
    if not (text := spec.chat.opening.get(language)):
        return {}
    return {"opening": text, "opening_request": opening_request(spec, language)}


def opening_request(spec: StudySpec, language: str) -> str:
    return spec.own_prompts().get("supporter_opens", language).text


def limit_fields(spec: StudySpec, track: str) -> dict:
    own = spec.chat.for_track(track)
    return {"min_turns": own.min_turns, "max_turns": own.max_turns, "pause_after": list(own.pauses())}


def pacing_fields(spec: StudySpec, language: str) -> dict:
    """Return the fields that hide an arm's speed and name; they are the same for all of a study."""
    floor = spec.display.get("first_piece_seconds")
    return {
        "first_piece_ms": None if floor is None else round(1000 * floor),
        "characters_per_second": spec.characters_per_second(language),
        "mask_names": spec.display.get("self_naming") == "mask",
        "redacts": spec.chat.redact_calls,
        "names": list(spec.names()),
    }


def freeze_supporter(arm: ArmSpec, language: str) -> Supporter:
    return Supporter.get_or_freeze(
        **vars(copy_settings(arm, extra=dict(arm.extra))), provider=arm.provider, prompt=prompt_in(arm, language)
    )


def prompt_in(arm: ArmSpec, language: str) -> str:
    return arm.prompt_text.get(language) or arm.prompt_text.get("", "")
