"""The things that wait for the team of a study, the gravest first."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min
from django.urls import reverse
from django.utils.translation import gettext as _

from studies.allocation.places import count_completed, places_of
from studies.board.arms import Arms
from studies.care.opening_requirements import needs_lines_tried
from studies.care.questions import find_open
from studies.design.spec import INTERVIEW, MANUAL
from studies.models import Participation, Study
from studies.models.participation import AWAITED, Status
from studies.participation import counts, exclusions, timeouts
from studies.participation.counts import WaitingCounts
from studies.second_raters.disagreements import disagreements
from studies.selection.applicants import is_applicant


@dataclass(frozen=True)
class Waiting:
    """One kind of thing that waits. `since`: when the oldest one began to wait, if that is known; `grave`: someone may
    be in danger, or cannot go on."""

    label: str
    number: int
    url: str
    since: datetime | None = None
    grave: bool = False


def get_waiting(study: Study, stuck: WaitingCounts, arms: Arms, *, test: str) -> list[Waiting]:
    """Return everything that waits for someone on the team. `test`: as in `counts.filter_by_test`."""
    waiting = [*safety(study, stuck, test), *decisions(study, test), *technical(study, stuck, arms, test)]
    return sorted((one for one in waiting if one.number), key=lambda one: not one.grave)


def safety(study: Study, stuck: WaitingCounts, test: str) -> Iterator[Waiting]:
    desk = f"{reverse('research-risks', args=[study.key])}?test={test}"
    oldest = counts.open_risks(study, test=test).aggregate(at=Min("created_at"))["at"]
    yield Waiting(_("Open safety events"), stuck.open_risks, desk, oldest, grave=True)
    yield Waiting(_("Alarms that could not be sent"), stuck.unsent_alarms, desk, grave=True)
    held = f"{reverse('research-people', args=[study.key])}?status={Status.HELD}&test={test}"
    yield Waiting(_("People held for safety"), stuck.held, held, grave=True)
    if study.is_open() and test == "no" and needs_lines_tried(study):
        yield Waiting(_("Help lines to try"), 1, reverse("research-resources", args=[study.key]))


def decisions(study: Study, test: str) -> Iterator[Waiting]:
    questions = list(find_open(study, test=test))
    yield Waiting(
        _("Questions from people"),
        len(questions),
        "#questions-title",
        min((one.asked_at for one in questions), default=None),
    )
    people = counts.filter_by_test(study.participations.all(), test)
    in_review = list(people.filter(status=Status.IN_REVIEW).select_related("protocol"))
    features = study.features()
    applicants = [person for person in in_review if MANUAL in features and is_applicant(person)]
    list_of_people = reverse("research-people", args=[study.key])
    if applicants:
        yield Waiting(_("Applicants"), len(applicants), reverse("research-applicants", args=[study.key]))
    others = len(in_review) - len(applicants)
    yield Waiting(_("People to review"), others, f"{list_of_people}?status={Status.IN_REVIEW}&test={test}")
    paused = people.filter(status__in=AWAITED).aggregate(number=Count("paused_at"), at=Min("paused_at"))
    yield Waiting(_("People whom the team has paused"), paused["number"], "#now-title", paused["at"])
    if INTERVIEW in features:
        awaited = people.filter(status__in=AWAITED).select_related("protocol")
        number = sum(timeouts.waits_for_researchers(person) for person in awaited)
        yield Waiting(_("Interviews to hold"), number, reverse("research-interviews", args=[study.key]))
    differing = sum(one.decided is None for plan in study.review_plans.all() for one in disagreements(plan))
    yield Waiting(_("Ratings on which reviewers differ"), differing, reverse("research-reviews", args=[study.key]))
    limit = places_of(study, Participation.Track.PARTICIPANT) if study.is_open() and test == "no" else None
    completed = count_completed(study) if limit else 0
    if limit and completed >= limit:
        life = reverse("research-life", args=[study.key])
        yield Waiting(_("All participants you want have completed: close the study"), completed, life)
    exclusion = len(exclusions.disagreements(study, test=test))
    yield Waiting(_("Exclusions on which coders differ"), exclusion, reverse("research-quality", args=[study.key]))


def technical(study: Study, stuck: WaitingCounts, arms: Arms, test: str) -> Iterator[Waiting]:
    failing = arms.failing()
    since = min((row.failure.since for row in failing if row.failure), default=None)
    yield Waiting(_("Arms that do not answer"), len(failing), "#arms-title", since, grave=True)
    late = f"{reverse('research-conversations', args=[study.key])}?sort=-failed&test={test}"
    yield Waiting(_("Messages without a reply"), stuck.failed_turns + stuck.overdue_turns, late, grave=True)
    waiting = f"{reverse('research-people', args=[study.key])}?status={Status.ACTIVE}&test={test}"
    yield Waiting(_("People for whom no arm is left"), stuck.without_arms, waiting, grave=True)
