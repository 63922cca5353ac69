"""How far a person is and how long it may still take: what the head of every page tells."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studies.design.plan import Step
from studies.design.spec import StudySpec
from studies.interviewing import interviews
from studies.models import Participation
from studies.questionnaires import guide
from studies.questionnaires.loading import load
from studies.second_raters import pairs
from studies.second_raters.reviews import Load, load_of

# Minutes that people need for a step, by its kind; measured on no one yet, so spoken of as "about".
MINUTES = {"language": 0.5, "screening": 4, "consent": 5, "training": 6, "rating": 2, "between": 1, "debrief": 1}
MINUTES_PER_TURN = 0.75
MINUTES_QUESTIONNAIRE = 2
MINUTES_PER_GUESS = 0.4
MINUTES_PER_REVIEW = 5
MINUTES_PER_PAIR = 6


@dataclass(frozen=True)
class Outline:
    place: str  # "Conversation 2 of 5", or empty
    done: int
    total: int
    minutes_left: int

    def text(self) -> str:
        """What the head of the page says; no minutes where nothing is left to do."""
        if not self.minutes_left:
            return self.place
        left = ngettext("about %(minutes)s minute left", "about %(minutes)s minutes left", self.minutes_left)
        left %= {"minutes": self.minutes_left}
        return f"{self.place} · {left}" if self.place else left


def outline(participation: Participation, step: Step, spec: StudySpec) -> Outline:
    if step.kind == "reviews":
        return of_pieces(load_of(participation), MINUTES_PER_REVIEW)
    if step.kind == "pairs":
        return of_pieces(pairs.load_of(participation), MINUTES_PER_PAIR)
    steps = participation.steps()
    keys = [each.key for each in steps]
    position = keys.index(step.key) if step.key in keys else len(steps)
    runs = len(participation.order) or spec.arms_per_person(participation.track)
    minutes = sum(minutes_of(each, spec, runs, participation.track) for each in steps[position:])
    if step.kind == interviews.INTERVIEW:
        minutes -= interviews.minutes_written(participation)
    if any(each.kind == "reviews" for each in steps[position:]):
        minutes += MINUTES_PER_REVIEW * load_of(participation).left
    if any(each.kind == "pairs" for each in steps[position:]):
        minutes += MINUTES_PER_PAIR * pairs.load_of(participation).left
    return Outline(place_of(step, runs), position, len(steps), max(1, round(minutes)) if position < len(steps) else 0)


def of_pieces(load: Load, minutes: int) -> Outline:
    """How many others will come to help is not known, so "about"."""
    words = {"number": load.done + 1, "total": load.done + load.left}
    place = _("%(number)s of about %(total)s") % words if load.left else ""
    return Outline(place, load.done, load.done + load.left, minutes * load.left)


def place_of(step: Step, runs: int) -> str:
    return _("Conversation %(run)s of %(runs)s") % {"run": step.run, "runs": runs} if step.run else ""


def minutes_of(step: Step, spec: StudySpec, runs: int, track: str) -> float:
    if step.kind == "chat":
        return MINUTES_PER_TURN * spec.chat.min_turns
    if step.kind == "chats":
        return runs * (MINUTES_PER_TURN * spec.chat.min_turns + 6)
    if step.kind == "blinding":
        return MINUTES_PER_GUESS * runs
    if step.kind == interviews.INTERVIEW:
        return guide.minutes(load(step.instrument), track)
    return MINUTES.get(step.kind, MINUTES_QUESTIONNAIRE)
