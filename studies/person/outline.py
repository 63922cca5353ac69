"""The progress and the remaining time in the head of every page.

Both are measured by the minutes of the person's steps. Estimates can grow, as when others leave more to rate; the share
already shown is stored with the person, so that it never falls.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studies.design.plan import Step, expand
from studies.design.spec import StudySpec
from studies.models import Participation
from studies.participation.step_kinds import KINDS, Way


@dataclass(frozen=True)
class Outline:
    place: str  # "Conversation 2 of 5", or empty
    percent: int  # of the minutes of the whole way; at least what was shown before
    minutes_left: int

    def text(self) -> str:
        """Return the text in the page's head; without minutes if nothing is left to do."""
        if not self.minutes_left:
            return self.place
        left = ngettext("about %(minutes)s minute left", "about %(minutes)s minutes left", self.minutes_left)
        left %= {"minutes": self.minutes_left}
        return f"{self.place} · {left}" if self.place else left


def outline(participation: Participation, step: Step, spec: StudySpec) -> Outline:
    runs = len(participation.order) or spec.arms_per_person(participation.track)
    steps = way_of(participation, spec, runs)
    position = next((at for at, each in enumerate(steps) if each.key == step.key), None)
    if position is None or participation.is_over():
        return Outline("", participation.percent_shown, 0)
    way = Way(participation, spec, runs, step.key)
    works = [KINDS[each.kind].work(each, way) for each in steps]
    done = sum(work.done for work in works) + sum(work.left for work in works[:position])
    left = sum(work.left for work in works[position:])
    place = works[position].place or place_of(step, runs)
    return Outline(place, max(int(100 * done / (done + left)), participation.percent_shown), max(1, round(left)))


def way_of(participation: Participation, spec: StudySpec, runs: int) -> Sequence[Step]:
    """Return the person's plan, with the conversations in it also before their order is drawn."""
    return expand(participation.steps(), spec, [""] * runs, track=participation.track)


def place_of(step: Step, runs: int) -> str:
    return _("Conversation %(run)s of %(runs)s") % {"run": step.run, "runs": runs} if step.run else ""
