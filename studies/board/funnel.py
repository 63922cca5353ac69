"""The funnel of a study: how many people reached each step, who is there now, and who left there."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Count
from django.utils.translation import gettext as _

from studies.design.plan import Step
from studies.models import Receipt, Study
from studies.models.participation import OVER, UNDER_WAY, Status
from studies.participation import counts
from studies.participation.step_kinds import describe

WIDTH = 1000  # of a bar, in units of its picture
INVITED, COMPLETED = "invited", "completed"
EXITS = ("exclude", "exclude_with_care", "review_by_person")  # outcomes of the screening that let no one on
LEFT = tuple(status for status in OVER if status != Status.COMPLETED)


@dataclass
class Stage:
    """One row of the funnel. `here`: people who are there now; `left`: by status, those whose part ended there."""

    key: str
    label: str
    reached: int = 0
    here: int = 0
    left: Counter[str] = field(default_factory=Counter)
    width: int = 0

    def left_total(self) -> int:
        return self.left.total()

    def reasons(self) -> list[tuple[str, int]]:
        return [(counts.status_label(status), people) for status, people in self.left.most_common()]


@dataclass(frozen=True)
class Funnel:
    """The stages in the order of the steps. `unknown`: people who left, and whose step is erased with their data;
    `erased`: the same, where the team deleted the data."""

    stages: Sequence[Stage]
    unknown: int
    erased: int


@dataclass(frozen=True)
class Place:
    """A number of people with the same plan at the same position in it."""

    steps: Sequence[Step]
    position: int
    status: str
    people: int

    def keys(self) -> list[str]:
        """Return the keys of the stages that they have reached, the last one where they are."""
        steps = self.steps if self.status == Status.COMPLETED else self.steps[: self.position + 1]
        return list(dict.fromkeys(stage_key(step) for step in steps))


def stage_key(step: Step) -> str:
    """Return the stage of a step: all steps of one conversation are one stage."""
    if step.kind == "chats":  # a place in the design is still to be drawn
        return "run1"
    return f"run{step.run}" if step.run else step.key


def get_funnel(study: Study, *, test: str) -> Funnel:
    """Count the people of the study as in `counts.filter_by_test`."""
    people = counts.filter_by_test(study.participations.all(), test)
    values = people.order_by().values_list("plan", "position", "status", "outcome__kind")
    rows = values.annotate(people=Count("pk"))
    plans: dict[str, list[Step]] = {}
    places, unknown = [], 0
    invited, completed = Stage(INVITED, _("Invited or came by the open link")), Stage(COMPLETED, _("Completed"))
    for plan, position, status, outcome, number in rows:
        invited.reached += number
        completed.reached += number if status == Status.COMPLETED else 0
        if plan:
            steps = plans.setdefault(str(plan), [Step.from_json(step) for step in plan])
            position = min(position, len(plan) - 1) - is_kept_at_screening(steps, position, status, outcome)
            places.append(Place(steps, position, status, number))
        elif status == Status.INVITED:
            invited.here += number
        elif status != Status.COMPLETED:
            unknown += number
    stages = [invited, *get_stages(places, plans.values()), completed]
    for stage in stages:
        stage.width = round(WIDTH * stage.reached / invited.reached) if invited.reached else 0
    erased = people.filter(plan=[], receipts__kind=Receipt.Kind.ERASED).distinct().count() if unknown else 0
    return Funnel(stages, unknown - erased, erased)


def is_kept_at_screening(steps: Sequence[Step], position: int, status: str, outcome: str | None) -> bool:
    """Return whether the screening let this person not go on: their plan is already at the step behind it, which they
    never saw."""
    is_behind = 0 < position < len(steps) and steps[position - 1].kind == "screening"
    return is_behind and status in (Status.SCREENED_OUT, Status.IN_REVIEW) and outcome in EXITS


def get_stages(places: Iterable[Place], plans: Iterable[Sequence[Step]]) -> list[Stage]:
    """Return the stages between the invitation and the end, in the order of the steps of the longest way."""
    order: dict[str, int] = {}
    labels: dict[str, str] = {}
    for steps in plans:
        for index, step in enumerate(steps):
            key = stage_key(step)
            order[key] = max(order.get(key, 0), index)
            labels.setdefault(key, label_of(step))
    stages = {key: Stage(key, labels[key]) for key in sorted(order, key=order.__getitem__)}
    for place in places:
        keys = place.keys()
        for key in keys:
            stages[key].reached += place.people
        if place.status in UNDER_WAY:
            stages[keys[-1]].here += place.people
        elif place.status in LEFT:
            stages[keys[-1]].left[place.status] += place.people
    return list(stages.values())


def label_of(step: Step) -> str:
    run = step.run or (step.kind == "chats")
    return _("Conversation %(run)s") % {"run": int(run)} if run else describe(step)
