"""About how long a study takes, and whether its consent form says so."""

import re
from collections.abc import Iterator

from django.utils.translation import gettext as _

from studies.design.plan import expand, plan_for, steps_for
from studies.design.spec import StudySpec
from studies.instruments import interview_guide
from studies.instruments.loading import load
from studies.models import Participation
from studies.participation.step_kinds import KINDS, Way

TIME = re.compile(r"([0-9]+(?:[.,][0-9]+)?)\s*(hours?\b|h\b|小时|minutes?\b|min\b|分钟)")
NUMBER = re.compile(r"[0-9]{1,4}")
OFF = 1 / 3  # of the estimate: a consent form that is further from it gets a remark


def estimate_minutes(spec: StudySpec, track: str) -> int:
    """Return about how long someone of this track takes, before anyone has started."""
    runs = spec.arms_per_person(track)
    steps = expand(plan_for(spec, track), spec, [""] * runs, track=track)
    way = Way(Participation(track=track), spec, runs, "")
    return round(sum(KINDS[step.kind].work(step, way).left for step in steps))


def read_minutes(text: str) -> float:
    """Return the minutes that a text such as "1 hour 30 minutes" names; 0 if it names none."""
    parts = TIME.findall(text)
    return sum(float(number.replace(",", ".")) * (60 if unit[0] in "h小" else 1) for number, unit in parts)


def remark_on_times(spec: StudySpec) -> Iterator[str]:
    """Yield a remark where the minutes in the consent form differ much from those of the steps."""
    for track in spec.tracks():
        yield from remark_on_interview(spec, track)
        if not any(step.kind == "chats" for step in steps_for(spec, track)):
            continue
        estimate = estimate_minutes(spec, track)
        for text in spec.consent_values(track).get("duration_total", {}).values():
            minutes = read_minutes(text)
            if minutes and abs(minutes - estimate) > OFF * estimate:
                yield _(
                    "The consent form says %(told)s (consent.duration_total), but the steps of the %(track)s track "
                    "take about %(minutes)s minutes."
                ) % {"told": text, "track": track, "minutes": estimate}
                break


def remark_on_interview(spec: StudySpec, track: str) -> Iterator[str]:
    """Yield a remark where the consent form's minutes for the interview differ much from those of its guide."""
    for step in steps_for(spec, track):
        texts = spec.consent_values(track).get("interview_minutes", {}).values()
        told = next(filter(None, map(NUMBER.search, texts)), None)
        if step.kind != "interview" or told is None:
            continue
        minutes = interview_guide.minutes(load(step.instrument), track)
        if abs(int(told[0]) - minutes) > OFF * minutes:
            yield _(
                "The consent form says %(told)s minutes for the interview (consent.interview_minutes), but its guide "
                "(%(guide)s) is made for %(minutes)s on the %(track)s track."
            ) % {"told": told[0], "guide": step.instrument, "minutes": minutes, "track": track}
