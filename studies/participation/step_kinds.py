"""The kinds of step: each shows a page, takes what the person sends, and says itself all that the rest wants to know.

A feature registers its own when the app loads, so that nothing else names it.
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

from studies.design.plan import Step
from studies.design.spec import STEPS, StudySpec
from studies.models import ArmRun, Draft, Participation
from studies.participation.chats import run_at
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

    @cached_property
    def spec(self) -> StudySpec:
        return self.participation.design()

    @cached_property
    def run(self) -> ArmRun | None:
        return run_at(self.participation, self.step.run) if self.step.run else None

    def draft(self, part: str = "") -> dict[str, str]:
        """Return the answers on this page that are not submitted yet."""
        return self._kept(part).answers

    def to_mend(self, part: str = "") -> dict[str, str] | None:
        """The same where the form was sent and refused: data for a form that is to say what is wrong."""
        kept = self._kept(part)
        return None if kept.faults is None else kept.answers

    def faults(self, part: str = "") -> Sequence[str]:
        """Return the step's own messages about a refused form, besides those of its fields."""
        return self._kept(part).faults or ()

    def _kept(self, part: str) -> Draft:
        if part not in self.drafts:
            self.drafts[part] = draft_of(self.participation, place_of(self.step.key, part))
        return self.drafts[part]

    @property
    def seconds(self) -> dict[str, float]:
        """How long each item took, by its key, where the study records it."""
        return seconds_in(self.request.POST) if self.spec.records_timings() else {}

    @property
    def language(self) -> str:
        return self.participation.language or self.spec.languages[0]

    @property
    def track(self) -> str:
        """The track as the instruments name it."""
        return "expert" if self.participation.track == "counsellor" else "participant"


def seconds_in(posted: Mapping[str, str]) -> dict[str, float]:
    """As the page measured them; what is no number in a sensible range is left out."""
    measured = {name.removeprefix("seconds."): value for name, value in posted.items() if name.startswith("seconds.")}
    return {item: float(value) for item, value in measured.items() if SECONDS.fullmatch(value)}


@dataclass(frozen=True)
class Way:
    """What the time that a step takes depends on; `runs`: how many conversations the person has."""

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
class Stored:
    """What a person has left so far. `responses`: instrument, moment or phase, and the conversation's position."""

    person: Participation
    runs: Mapping[int, ArmRun]
    responses: frozenset[tuple[str, str, int | None]]


class StepKind:
    """One kind of step, which alone knows what it is called, how long it takes and what it leaves in the database.

    A subclass has at least `label` and `show`. Minutes are measured on no one yet, so pages speak of "about".
    """

    label: str | Promise = ""  # of the kind, as researchers read it in a study's design
    minutes = 2.0

    def show(self, visit: Visit) -> Page | None:
        """Return the page of this step; None where the person has moved on and should be shown the next one."""
        raise NotImplementedError

    def accept(self, visit: Visit) -> bool:
        """Take the form, and return whether something was saved.

        False where there was nothing to take, as when the form is about another page than the one at hand. Raises
        ToMend where something is to be mended.
        """
        return False

    def prepare(self, person: Participation) -> None:
        """Do what is needed before the step is first shown."""

    def name_of(self, step: Step) -> str:
        """Return what researchers read of one step of this kind in somebody's plan."""
        return str(self.label)

    def work(self, step: Step, way: Way) -> Work:
        return Work(0, self.minutes)

    def is_stored(self, step: Step, stored: Stored) -> bool:
        """Return whether the person has left here what they were asked for."""
        place = (step.instrument, step.moment or step.phase, step.run or None)
        return not step.instrument or place in stored.responses

    def waits_for_us(self, person: Participation) -> bool:
        """Return whether somebody at this step waits for the researchers, and so is never timed out."""
        return False


KINDS: dict[str, StepKind] = {}


def register(name: str, kind: StepKind, *, in_files: bool = False) -> None:
    """Make a kind of step known by the name that plans give it; `in_files`: study files may name it too."""
    KINDS[name] = kind
    if in_files and name not in STEPS:
        STEPS.append(name)


def describe(step: Step) -> str:
    """Return what researchers read of one step, with the conversation that it belongs to."""
    kind = KINDS.get(step.kind)
    what = kind.name_of(step) if kind else step.kind
    when = {"pre": _("before"), "post": _("after")}.get(step.phase, "")
    text = f"{what} ({when})" if when else what
    return _("Conversation %(run)s: %(what)s") % {"run": step.run, "what": text} if step.run else text
