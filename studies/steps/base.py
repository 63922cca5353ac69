"""What every kind of step has: a page to show, and a way to take what the person sends."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.http import HttpRequest
from django.utils.functional import cached_property  # functools' takes one lock for all instances in Python 3.11

from studies.chats import run_at
from studies.design.plan import Step
from studies.design.spec import StudySpec
from studies.models import ArmRun, Participation
from studies.submissions import draft_of

SECONDS = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")


@dataclass(frozen=True)
class Page:
    template: str
    context: Mapping[str, Any] = field(default_factory=dict)
    taken: bool = False  # the form changed something although the person stays, as a try of the quiz does


@dataclass
class Visit:
    """One person at one step, on one request."""

    request: HttpRequest
    participation: Participation
    step: Step

    @cached_property
    def spec(self) -> StudySpec:
        return self.participation.design()

    @cached_property
    def run(self) -> ArmRun | None:
        return run_at(self.participation, self.step.run) if self.step.run else None

    def draft(self, part: str = "") -> dict[str, str]:
        """What the person has answered on this page and not sent yet."""
        return draft_of(self.participation, place_of(self.step.key, part))

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


def place_of(step: str, part: str) -> str:
    return f"{step}.{part}" if part else step


def seconds_in(posted: Mapping[str, str]) -> dict[str, float]:
    """As the page measured them; what is no number in a sensible range is left out."""
    measured = {name.removeprefix("seconds."): value for name, value in posted.items() if name.startswith("seconds.")}
    return {item: float(value) for item, value in measured.items() if SECONDS.fullmatch(value)}


class StepKind(Protocol):
    def show(self, visit: Visit) -> Page | None:
        """The page of this step; None where the person has moved on and should be shown the next one."""
        ...

    def accept(self, visit: Visit) -> Page | None:
        """Take the form. A page means that something is to be mended on it; None, that the person may go on."""
        ...
