"""The rule by which simulated conversations count: those whose seeker was well played, and of several configurations of
the same conversation the one that was held, or asked for again, last."""

from collections import Counter
from collections.abc import Collection, Iterable

from django.db import transaction
from django.db.models import F, QuerySet

from dialogue.jobs.store import WantedItem
from dialogue.models import JobItem, SeekerFault
from studies.models import ArmRun, Study
from studies.participation.exclusions import Verdict, verdict
from studies.simulation.planning import KIND
from studies.simulation.setup import Setup

GRAVE = ("role_flip", "profile_leak", "stop_misuse")  # the conversation says little of its supporter

Place = tuple[str, str, int]  # arm, profile, replicate


def is_grave(fault: SeekerFault) -> bool:
    """Return whether this fault spoils the conversation. Whoever leaves early may have been driven away, and then the
    supporter is to be charged for it: only a reviewer can say that the seeker itself was at fault."""
    by_reviewer = fault.source == SeekerFault.Source.REVIEWER
    return fault.kind in GRAVE or (fault.kind == "early_stop" and by_reviewer)


def may_count(run: ArmRun) -> bool:
    faults = SeekerFault.objects.filter(conversation=run.conversation_id)
    return verdict(run.decisions.all()) != Verdict.LEAVE_OUT and not any(map(is_grave, faults))


def let_count(study: Study, setup: Setup, items: Iterable[WantedItem]) -> int:
    """Let the held conversations of `items` count, and those of other configurations in their places no longer. Others
    are those with other prompts, models or turns at most. Where one is still to be held, nothing changes until it is.
    Return how many no longer count."""
    configurations = configurations_of(items)
    runs = [
        run
        for run in query_runs(study, setup)
        if is_held(run) and run.configuration == configurations.get(place_of(run))
    ]
    return sum(take_places(study, setup, runs).values())


def count_displaced(study: Study, setup: Setup, items: Iterable[WantedItem]) -> int:
    """Return how many conversations of other configurations stop counting once those of `items` are held."""
    configurations = configurations_of(items)
    in_places = [run for run in query_runs(study, setup) if is_held(run) and place_of(run) in configurations]
    there = {place_of(run) for run in in_places if run.configuration == configurations[place_of(run)]}
    return sum(run.valid and place_of(run) not in there for run in in_places)


@transaction.atomic
def take_places(study: Study, setup: Setup, runs: Collection[ArmRun]) -> Counter[int]:
    """Let these conversations count, unless they are spoilt or left out by decision, and nothing else in their places.
    Returns by run how many that were held no longer count for it. Two of one place take it one after the other."""
    takers = {place_of(run): run.pk for run in runs}
    in_places = [run for run in lock_runs(study, setup, takers) if place_of(run) in takers]
    again = [run for run in in_places if run.pk == takers[place_of(run)] and not run.valid and may_count(run)]
    set_aside = [run for run in in_places if run.pk != takers[place_of(run)] and run.valid]
    for changed, valid in ((set_aside, False), (again, True)):
        ArmRun.objects.filter(pk__in=[run.pk for run in changed]).update(valid=valid)
    return Counter(takers[place_of(run)] for run in set_aside if is_held(run))


def is_taken(run: ArmRun) -> bool:
    """Return whether another conversation counts in the place of this one, which is not stored yet."""
    names = ("study", "condition", "setup", "arm", "profile", "replicate")
    same = ArmRun.objects.filter(**{name: getattr(run, name) for name in names}, conversation__job_items__role=KIND)
    return same.filter(valid=True).exists()


def query_runs(study: Study, setup: Setup) -> QuerySet[ArmRun]:
    """Return the conversations of this condition and ablation, also those under way. They have `configuration` and
    `state` of their items."""
    runs = study.runs.filter(condition=setup.condition, setup=setup.name(), conversation__job_items__role=KIND)
    item = "conversation__job_items"
    return runs.annotate(configuration=F(f"{item}__configuration"), state=F(f"{item}__state")).order_by("pk")


def lock_runs(study: Study, setup: Setup, places: Collection[Place]) -> QuerySet[ArmRun]:
    """Lock and return all runs in these places, and maybe some in others. Ratings of them may be stored meanwhile
    (`no_key`)."""
    arms, profiles, replicates = ({place[part] for place in places} for part in range(3))
    rows = query_runs(study, setup).filter(arm__in=arms, profile__in=profiles, replicate__in=replicates)
    return rows.select_for_update(of=("self",), no_key=True)


def configurations_of(items: Iterable[WantedItem]) -> dict[Place, str]:
    return {(one.payload["arm"], one.payload["profile"], one.replicate): one.configuration for one in items}


def place_of(run: ArmRun) -> Place:
    return run.arm, run.profile, run.replicate


def is_held(run: ArmRun) -> bool:
    """Return whether a run of `simulated` is over. One that has failed is not over yet."""
    return run.state == JobItem.State.DONE
