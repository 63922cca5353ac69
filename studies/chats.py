"""The one place that opens and finds an arm run's conversation."""

from django.db import transaction

from dialogue.models import Conversation, Supporter
from dialogue.models.conversation import SeekerKind
from studies.design.plan import Step
from studies.design.spec import ArmSpec, StudySpec
from studies.models import ArmRun, Participation
from studies.profiles import profile_text
from studies.responses import answers_of


@transaction.atomic
def run_for(participation: Participation, step: Step) -> ArmRun:
    """This person's conversation at this position, opened where it has not been yet."""
    fresh = Participation.objects.select_for_update().select_related("study", "protocol").get(pk=participation.pk)
    run, _ = ArmRun.objects.get_or_create(
        participation=fresh,
        position=step.run,
        defaults={
            "study": fresh.study,
            "protocol": fresh.protocol,
            "is_test": fresh.is_test,
            "topic": topic_of(fresh, step.run),
        },
    )
    if run.conversation is None:
        open_conversation(run, fresh, step)
    return run


def topic_of(participation: Participation, position: int) -> str:
    """What the person said after the conversation before; for the first one, the area they named in the screening."""
    previous = participation.runs.filter(position=position - 1).first()
    if previous is None:
        return str(answers_of(participation, "screening").get("issue_category", ""))
    chosen = answers_of(participation, "between", run=previous)
    return str(chosen.get("topic") or previous.topic)


def open_conversation(run: ArmRun, participation: Participation, step: Step) -> None:
    spec = run.protocol.spec()
    arm = next(arm for arm in spec.arms if arm.key == participation.order[step.run - 1])
    run.conversation = Conversation.objects.create(
        supporter=frozen_supporter(arm, participation.language),
        seeker_kind=SeekerKind.COUNSELLOR if participation.track == "counsellor" else SeekerKind.PERSON,
        role_play=participation.track == "counsellor",
        unpaced=participation.is_test,
        language=participation.language,
        profile=profile_text(participation) if spec.chat.give_profile else "",
        **limits(spec),
    )
    run.arm, run.model = arm.key, arm.model
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
