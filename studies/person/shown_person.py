"""The data about a person and a study that pages may use. It holds no arm, so no template can show one."""

from dataclasses import dataclass, replace

from studies.design.spec import StudySpec
from studies.models import Participation
from studies.participation.enrolment import is_erased_by_team, is_forgotten


@dataclass(frozen=True)
class ShownPerson:
    code: str
    track: str
    status: str
    outcome: str  # of the screening
    has_started: bool
    is_over: bool
    is_forgotten: bool  # left, and nothing of theirs was kept
    is_erased_by_team: bool


def show_person(person: Participation) -> ShownPerson:
    return ShownPerson(
        code=person.code,
        track=person.track,
        status=person.status,
        outcome=person.outcome.get("kind", ""),
        has_started=bool(person.plan),
        is_over=person.is_over(),
        is_forgotten=is_forgotten(person),
        is_erased_by_team=is_erased_by_team(person),
    )


def hide_models(spec: StudySpec) -> StudySpec:
    return replace(spec, arms=(), judges=())
