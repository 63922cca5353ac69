"""What every kind of step has: a page to show, and a way to take what the person sends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.http import HttpRequest
from django.utils.functional import cached_property  # functools' takes one lock for all instances in Python 3.11

from studies.chats import run_at
from studies.design.plan import Step
from studies.design.spec import StudySpec
from studies.models import ArmRun, Participation


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

    @cached_property
    def spec(self) -> StudySpec:
        return self.participation.design()

    @cached_property
    def run(self) -> ArmRun | None:
        return run_at(self.participation, self.step.run) if self.step.run else None

    @property
    def language(self) -> str:
        return self.participation.language or self.spec.languages[0]

    @property
    def track(self) -> str:
        """The track as the instruments name it."""
        return "expert" if self.participation.track == "counsellor" else "participant"


class StepKind(Protocol):
    def show(self, visit: Visit) -> Page | None:
        """The page of this step; None where the person has moved on and should be shown the next one."""
        ...

    def accept(self, visit: Visit) -> Page | None:
        """Take the form. A page means that something is to be mended on it; None, that the person may go on."""
        ...
