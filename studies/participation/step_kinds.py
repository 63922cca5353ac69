"""The kinds of step. Each shows a page, accepts its form, and knows its name, duration and what it stores.

A feature registers its kind when the app loads, so that nothing else names it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest
from django.utils.functional import (
    Promise,
    cached_property,  # functools' takes one lock for all instances in Python 3.11
)
from django.utils.translation import gettext as _

from dialogue.templatetags.languages import in_brackets
from studies.design.plan import Step
from studies.design.spec import STEPS, StudySpec
from studies.instruments.definitions import Questionnaire
from studies.models import ArmRun, Draft, Participation
from studies.participation.chats import get_or_create_run
from studies.participation.responses import is_rating
from studies.participation.submissions import draft_of, place_of

SECONDS = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")


@dataclass(frozen=True)
class Page:
    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Visit:
    """One person at one step, on one request."""

    request: HttpRequest
    participation: Participation
    step: Step
    drafts: dict[str, Draft] = field(default_factory=dict)  # those that were looked up, by their part of the step
    shows_danger: bool = False  # what was written into the form did: the page with help comes next

    @cached_property
    def spec(self) -> StudySpec:
        return self.participation.design()

    @cached_property
    def run(self) -> ArmRun | None:
        return get_or_create_run(self.participation, self.step.run) if self.step.run else None

    def draft(self, part: str = "") -> dict[str, str]:
        """Return the answers on this page that are not submitted yet."""
        return self.draft_of_part(part).answers

    def answers_to_correct(self, part: str = "") -> dict[str, str] | None:
        """Return the refused answers of a form, as data for a form that says what is wrong; None without any."""
        draft = self.draft_of_part(part)
        return None if draft.faults is None else draft.answers

    def faults(self, part: str = "") -> Sequence[str]:
        """Return the step's own messages about a refused form, besides those of its fields."""
        return self.draft_of_part(part).faults or ()

    def draft_of_part(self, part: str) -> Draft:
        if part not in self.drafts:
            self.drafts[part] = draft_of(self.participation, place_of(self.step.key, part))
        return self.drafts[part]

    @property
    def seconds(self) -> dict[str, float]:
        """Return the seconds that each item took, by its key, if the study records them."""
        return seconds_in(self.request.POST) if self.spec.records_timings() else {}

    def reword(self, questionnaire: Questionnaire) -> Questionnaire:
        """Return it in the words for this person: only participants are the seeker themselves."""
        is_seeker = self.participation.track == Participation.Track.PARTICIPANT
        return questionnaire if is_seeker else questionnaire.in_third_person

    def item_seed(self, questionnaire: Questionnaire) -> str:
        """Return the seed of the order in which this person sees the items; empty where it is the instrument's own."""
        shuffled = self.spec.display.get("shuffle_items") and is_rating(questionnaire)
        return f"{self.participation.pk} {questionnaire.id}" if shuffled else ""

    @property
    def language(self) -> str:
        return self.participation.language or self.spec.languages[0]

    @property
    def track(self) -> str:
        """Return the track as the instruments name it."""
        return "expert" if self.participation.track == "counsellor" else "participant"


def seconds_in(posted: Mapping[str, str]) -> dict[str, float]:
    """Return the seconds that the page measured, without values outside a sensible range."""
    measured = {name.removeprefix("seconds."): value for name, value in posted.items() if name.startswith("seconds.")}
    return {item: float(value) for item, value in measured.items() if SECONDS.fullmatch(value)}


@dataclass(frozen=True)
class Way:
    """The context of a step's duration. `runs`: how many conversations the person has."""

    person: Participation
    spec: StudySpec
    runs: int
    here: str  # the key of the step that they are at


@dataclass(frozen=True)
class Work:
    """The minutes that a person has spent on a step and those that are left; `place`: how far they are, in words."""

    done: float
    left: float
    place: str = ""


def work_in_pieces(*, done: int, left: int, minutes: float) -> Work:
    """Return the work of a step that gives out pieces one at a time, each of so many minutes.

    How many others will come to help is not known, so the place is "about".
    """
    place = _("%(number)s of about %(total)s") % {"number": done + 1, "total": done + left} if left else ""
    return Work(minutes * done, minutes * left, place)


@dataclass(frozen=True)
class StoredData:
    """The answers and conversations that a person has stored so far.

    `responses`: instrument, moment or phase, and the conversation's position.
    """

    person: Participation
    runs: Mapping[int, ArmRun]
    responses: frozenset[tuple[str, str, int | None]]


class StepKind:
    """One kind of step, which alone knows its name, its duration and what it stores.

    A subclass has at least `label` and `show`. Minutes are not measured yet, so pages say "about".
    """

    label: str | Promise = ""  # of the kind, as researchers read it in a study's design
    minutes = 2.0

    def show(self, visit: Visit) -> Page | None:
        """Return the page of this step; None where the person has moved on and should be shown the next one."""
        raise NotImplementedError

    def accept(self, visit: Visit) -> bool:
        """Accept the form, and return whether something was saved.

        It is False if there was nothing to save, as for the form of another page. Raises NeedsCorrection if the form
        has faults.
        """
        return False

    def prepare(self, person: Participation) -> None:
        """Do what is needed before the step is first shown."""

    def name_of(self, step: Step) -> str:
        """Return the name for researchers of one step of this kind in someone's plan."""
        return str(self.label)

    def work(self, step: Step, way: Way) -> Work:
        return Work(0, self.minutes)

    def is_stored(self, step: Step, stored: StoredData) -> bool:
        """Return whether the person has stored here what they were asked for."""
        place = (step.instrument, step.moment or step.phase, step.run or None)
        return not step.instrument or place in stored.responses

    def waits_for_researchers(self, person: Participation) -> bool:
        """Return whether someone at this step waits for the researchers, and so is never timed out."""
        return False


KINDS: dict[str, StepKind] = {}


def register(name: str, kind: StepKind, *, in_files: bool = False) -> None:
    """Make a kind of step known by the name that plans give it; `in_files`: study files may name it too."""
    KINDS[name] = kind
    if in_files and name not in STEPS:
        STEPS.append(name)


def describe(step: Step) -> str:
    """Return the name of one step for researchers, with the conversation that it belongs to."""
    kind = KINDS.get(step.kind)
    what = kind.name_of(step) if kind else step.kind
    when = {"pre": _("before"), "post": _("after")}.get(step.phase, "")
    text = f"{what}{in_brackets(when)}" if when else what
    return _("Conversation %(run)s: %(what)s") % {"run": step.run, "what": text} if step.run else text
