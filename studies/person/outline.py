"""The progress and the remaining time in the head of every page.

Both are measured by the minutes of the person's steps. Estimates can grow, as when others leave more to rate; the share
already shown is stored with the person, so that it never falls.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studies.design.plan import Step, expand, plan_for, steps_for
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


def estimate_minutes(spec: StudySpec, track: str) -> int:
    """Return about how long someone of this track takes, before anyone has started."""
    runs = spec.arms_per_person(track)
    steps = expand(plan_for(spec, track), spec, [""] * runs, track=track)
    way = Way(Participation(track=track), spec, runs, "")
    return round(sum(KINDS[step.kind].work(step, way).left for step in steps))


TIME = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*(hours?\b|h\b|小时|minutes?\b|min\b|分钟)")
OFF = 1 / 3  # of the estimate: a consent form that is further from it gets a remark


def read_minutes(text: str) -> float:
    """Return the minutes that a text such as "1 hour 30 minutes" names; 0 if it names none."""
    found = TIME.findall(text)
    return sum(float(number.replace(",", ".")) * (60 if unit[0] in "h小" else 1) for number, unit in found)


def remark_on_times(spec: StudySpec) -> Iterator[str]:
    """Yield where the minutes of the consent form are far from what the steps take."""
    for track in (Participation.Track.PARTICIPANT, Participation.Track.COUNSELLOR):
        if not any(step.kind == "chats" for step in steps_for(spec, track)):
            continue
        estimate = estimate_minutes(spec, track)
        for text in spec.consent_values(track).get("duration_total", {}).values():
            told = read_minutes(text)
            if told and abs(told - estimate) > OFF * estimate:
                yield _(
                    "The consent form tells %(told)s (consent.duration_total), but the steps of the %(track)s track "
                    "take about %(minutes)s minutes."
                ) % {"told": text, "track": track, "minutes": estimate}
                break


def place_of(step: Step, runs: int) -> str:
    return _("Conversation %(run)s of %(runs)s") % {"run": step.run, "runs": runs} if step.run else ""
