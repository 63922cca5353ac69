"""What every kind of step has: a page to show, and a way to take what the person sends."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.http import HttpRequest
from django.utils.functional import cached_property  # functools' takes one lock for all instances in Python 3.11

from studies.design.plan import Step
from studies.design.spec import StudySpec
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


class StepKind(Protocol):
    def show(self, visit: Visit) -> Page | None:
        """The page of this step; None where the person has moved on and should be shown the next one."""
        ...

    def accept(self, visit: Visit) -> bool:
        """Take the form. Whether something was saved; False where there was nothing to take, as when the form is about
        another page than the one at hand. Raises ToMend where something is to be mended."""
        ...
