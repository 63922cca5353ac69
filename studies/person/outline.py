"""How far a person is and how long it may still take: what the head of every page tells.

There is one measure for both, the minutes that the steps of the person's whole way take. Estimates can grow on the way,
as when others leave more to rate; the share that was shown is kept with the person, so that it never falls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studies.design.plan import Step, expand
from studies.design.spec import StudySpec
from studies.instruments import guide
from studies.instruments.loading import load
from studies.interviews import schedule
from studies.models import Participation
from studies.second_raters import comparisons, reviews
from studies.second_raters.reviews import Load

# Minutes that people need for a step, by its kind; measured on no one yet, so spoken of as "about".
MINUTES = {
    **{"language": 0.5, "screening": 4, "selection": 0, "consent": 5},
    **{"training": 6, "rating": 2, "between": 1, "debrief": 1},
}
MINUTES_PER_TURN = 0.75
MINUTES_QUESTIONNAIRE = 2
MINUTES_PER_GUESS = 0.4
MINUTES_PER_PIECE = {"reviews": 5, "pairs": 6}  # of what is given out one at a time, as long as there is some
LOADS = {"reviews": reviews.load_of, "pairs": comparisons.load_of}


@dataclass(frozen=True)
class Outline:
    place: str  # "Conversation 2 of 5", or empty
    percent: int  # of the minutes of the whole way; at least what was shown before
    minutes_left: int

    def text(self) -> str:
        """What the head of the page says; no minutes where nothing is left to do."""
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
    kinds = {each.kind for each in steps}
    loads = {kind: load_of(participation) for kind, load_of in LOADS.items() if kind in kinds}
    whole = [minutes_of(each, spec, runs, participation.track, loads) for each in steps]
    done = sum(whole[:position]) + sum(MINUTES_PER_PIECE[kind] * one.done for kind, one in loads.items())
    left = sum(whole[position:])
    if step.kind == schedule.INTERVIEW:
        written = schedule.minutes_written(participation)
        done, left = done + written, left - written
    place = place_among(loads[step.kind]) if step.kind in loads else place_of(step, runs)
    return Outline(place, max(int(100 * done / (done + left)), participation.percent_shown), max(1, round(left)))


def way_of(participation: Participation, spec: StudySpec, runs: int) -> Sequence[Step]:
    """The person's plan, with the conversations in it also before their order is drawn."""
    return expand(participation.steps(), spec, [""] * runs, track=participation.track)


def place_among(load: Load) -> str:
    """How many others will come to help is not known, so "about"."""
    words = {"number": load.done + 1, "total": load.done + load.left}
    return _("%(number)s of about %(total)s") % words if load.left else ""


def place_of(step: Step, runs: int) -> str:
    return _("Conversation %(run)s of %(runs)s") % {"run": step.run, "runs": runs} if step.run else ""


def minutes_of(step: Step, spec: StudySpec, runs: int, track: str, loads: Mapping[str, Load]) -> float:
    if step.kind in loads:
        return MINUTES_PER_PIECE[step.kind] * loads[step.kind].left
    if step.kind == "chat":
        return MINUTES_PER_TURN * spec.chat.min_turns
    if step.kind == "blinding":
        return MINUTES_PER_GUESS * runs
    if step.kind == schedule.INTERVIEW:
        return guide.minutes(load(step.instrument), track)
    return MINUTES.get(step.kind, MINUTES_QUESTIONNAIRE)
