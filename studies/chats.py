"""The one place that opens and finds an arm run's conversation."""

from django.db import transaction

from dialogue.models import Conversation, Supporter
from dialogue.models.conversation import SeekerKind
from studies.design.spec import ArmSpec, StudySpec
from studies.models import ArmRun, Participation
from studies.profiles import profile_text
from studies.responses import answers_of


def run_at(participation: Participation, position: int) -> ArmRun:
    """This person's run at this position, made when its first step comes, before there is a conversation."""
    run = participation.runs.select_related("conversation", "protocol").filter(position=position).first()
    return run or make_run(participation, position)


def make_run(participation: Participation, position: int) -> ArmRun:
    run, _ = ArmRun.objects.get_or_create(
        participation=participation,
        position=position,
        defaults={
            "study": participation.study,
            "protocol": participation.protocol,
            "is_test": participation.is_test,
            "arm": participation.order[position - 1],
            "topic": topic_of(participation, position),
        },
    )
    return run


@transaction.atomic
def opened(participation: Participation, position: int) -> ArmRun:
    """The run with its conversation, opened where it has not been yet; two tabs at once open one."""
    fresh = Participation.objects.select_for_update(of=("self",)).select_related("study").get(pk=participation.pk)
    run = run_at(fresh, position)
    if run.conversation is None:
        open_conversation(run, fresh)
    return run


def topic_of(participation: Participation, position: int) -> str:
    """What the person said after the conversation before; for the first one, the area they named in the screening."""
    previous = participation.runs.filter(position=position - 1).first()
    if previous is None:
        return str(answers_of(participation, "screening").get("issue_category", ""))
    chosen = answers_of(participation, "between", run=previous)
    return str(chosen.get("topic") or previous.topic)


def open_conversation(run: ArmRun, participation: Participation) -> None:
    spec = run.protocol.spec()
    arm = next(arm for arm in spec.arms if arm.key == run.arm)
    run.conversation = Conversation.objects.create(
        supporter=frozen_supporter(arm, participation.language),
        seeker_kind=SeekerKind.COUNSELLOR if participation.track == "counsellor" else SeekerKind.PERSON,
        role_play=participation.track == "counsellor",
        unpaced=participation.is_test,
        language=participation.language,
        profile=profile_text(participation) if spec.chat.give_profile else "",
        **limits(spec),
    )
    run.model = arm.model
    run.save()


def limits(spec: StudySpec) -> dict:
    return {
        "min_turns": spec.chat.min_turns,
        "max_turns": spec.chat.max_turns,
        "pause_after": list(spec.chat.pauses()),
    }


def frozen_supporter(arm: ArmSpec, language: str) -> Supporter:
    return Supporter.frozen(
        kind=arm.kind,
        model=arm.model,
        base_url=arm.base_url,
        api_key_env=arm.api_key_env,
        provider=arm.provider,
        prompt=prompt_in(arm, language),
        temperature=arm.temperature,
        max_tokens=arm.max_tokens,
        extra=dict(arm.extra),
    )


def prompt_in(arm: ArmSpec, language: str) -> str:
    return arm.prompt_text.get(language) or arm.prompt_text.get("", "")
