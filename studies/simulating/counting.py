"""Which simulated conversations count: those whose seeker was well played, and of several configurations of the same
conversation the one that was asked for last."""

from collections.abc import Iterable

from dialogue.jobs.store import Wanted
from dialogue.models import JobItem, SeekerFault
from studies.decisions import Verdict, verdict
from studies.models import ArmRun, Study
from studies.simulating.planning import KIND
from studies.simulating.setup import Setup

GRAVE = ("role_flip", "profile_leak", "stop_misuse")  # the conversation says little of its supporter

Place = tuple[str, str, int]  # arm, profile, replicate


def is_grave(fault: SeekerFault) -> bool:
    """Whoever leaves early may have been driven away, and then the supporter is to be charged for it: that the seeker
    itself was at fault, only a reviewer can say."""
    by_reviewer = fault.source == SeekerFault.Source.REVIEWER
    return fault.kind in GRAVE or (fault.kind == "early_stop" and by_reviewer)


def let_count(study: Study, setup: Setup, wanted: Iterable[Wanted]) -> int:
    """What is wanted counts again, unless it is spoilt or left out by decision; what was held in the same places with
    other prompts, models or turns at most does not. Returns how many now no longer do."""
    configurations = {place_of(one): one.configuration for one in wanted}
    runs = {
        run: held_with == configurations[place]
        for run, place, held_with in held(study, setup)
        if place in configurations
    }
    set_aside = [run for run, counts in runs.items() if run.valid and not counts]
    again = [run for run, counts in runs.items() if counts and not run.valid and may_count(run)]
    for changed, valid in ((set_aside, False), (again, True)):
        ArmRun.objects.filter(pk__in=[run.pk for run in changed]).update(valid=valid)
    return len(set_aside)


def place_of(one: Wanted) -> Place:
    return one.payload["arm"], one.payload["profile"], one.replicate


def held(study: Study, setup: Setup) -> Iterable[tuple[ArmRun, Place, str]]:
    """Conversations of this condition and ablation, also those under way, each with its configuration."""
    items = JobItem.objects.filter(
        role=KIND, conversation__run__study=study, conversation__run__condition=setup.condition,
        conversation__run__setup=setup.name(),
    )  # fmt: skip
    for item in items.select_related("conversation__run").iterator():
        run = item.conversation.run
        yield run, (run.arm, run.profile, run.replicate), item.configuration


def may_count(run: ArmRun) -> bool:
    faults = SeekerFault.objects.filter(conversation=run.conversation_id)
    return verdict(run.decisions.all()) != Verdict.LEAVE_OUT and not any(map(is_grave, faults))
