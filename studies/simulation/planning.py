"""Plans of simulations: arms × profiles × replicates, as the items of a job. A conversation's review is an item of its
own, so that it can be asked for later."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from dialogue.jobs import store
from dialogue.jobs.store import PlannedJob, WantedItem
from dialogue.seekers.profiles import Profile
from studies.design.spec import SUPPORTER, ArmSpec, StudySpec
from studies.judging.settings import digest
from studies.models import Protocol
from studies.participation.chats import freeze_supporter, opening_request
from studies.seeker_profiles.selection import as_content
from studies.simulation.setup import Setup

KIND = "simulation"  # of job and item
REVIEW = "review"  # of the item that looks for the seeker's faults


def plan_simulation(
    protocol: Protocol,
    setup: Setup,
    arms: Sequence[ArmSpec],
    profiles: Sequence[Profile],
    *,
    replicates: int = 1,
    limit: int | None = None,
    budget: Decimal | None = None,
    attended: bool = False,
    retry_quarantined: bool = False,
) -> PlannedJob:
    job_items = list(items(protocol, setup, arms, profiles, replicates))[:limit]
    if setup.review:
        job_items += reviews(job_items)
    changed = f" ({setup.name()})" if setup.name() else ""
    return store.plan(
        job_items,
        kind=KIND,
        scope=protocol.study.key,
        title=f"{setup.condition} seekers{changed}",
        plan={**setup.as_plan(), "protocol": protocol.pk},
        budget=budget,
        attended=attended,
        retry_quarantined=retry_quarantined,
    )


def items(
    protocol: Protocol, setup: Setup, arms: Sequence[ArmSpec], profiles: Sequence[Profile], replicates: int
) -> Iterator[WantedItem]:
    """Yield the conversations to be held, profile after profile, so that what is there early compares all arms."""
    hashes = configurations(protocol, setup, arms, profiles)
    for replicate in range(1, replicates + 1):
        for profile in profiles:
            for arm in arms:
                yield WantedItem(
                    subject=f"study {protocol.study_id}: {arm.key} {profile.id}",
                    role=KIND,
                    configuration=hashes[arm.key, profile.id],
                    replicate=replicate,
                    payload={"arm": arm.key, "profile": profile.id},
                )


def reviews(conversations: Iterable[WantedItem]) -> list[WantedItem]:
    """Return a review for each conversation, to be done once that is over. The configuration tells the reviewer's
    prompt and model too."""
    return [replace(one, role=REVIEW, needs=one.place) for one in conversations]


def configurations(
    protocol: Protocol, setup: Setup, arms: Sequence[ArmSpec], profiles: Sequence[Profile]
) -> dict[tuple[str, str], str]:
    """Return, by arm and profile, the hash of all that decides how the conversation goes, but for chance."""
    spec = protocol.spec()
    seeker, give_profile = setup.hash(), spec.chat.give_profile
    languages = {profile.language for profile in profiles}
    supporters = {(arm.key, language): freeze_supporter(arm, language).digest for arm in arms for language in languages}
    return {
        (arm.key, profile.id): digest(
            [
                *(seeker, supporters[arm.key, profile.language], as_content(profile), give_profile),
                *opening_of(spec, profile.language),
            ]
        )
        for arm in arms
        for profile in profiles
    }


def opening_of(spec: StudySpec, language: str) -> list[str]:
    """Return the texts that decide how the supporter opens; empty where the seeker does, so that conversations from
    before there was a choice keep their hash."""
    if spec.opens != SUPPORTER:
        return []
    return [spec.chat.opening.get(language, ""), opening_request(spec, language)]
