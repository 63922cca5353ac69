"""The strata of a draw: what is known of applicants before the selection.

A draw may use age and gender, which no one is shown who has yet to score the applicant.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from dialogue.languages import get_language
from studies.design.plan import SCREENING
from studies.instruments.loading import load
from studies.models import Participation
from studies.participation.language import instrument_language
from studies.selection.applicants import PROBLEM, PROFILE, Applicant
from studies.selection.draw import Candidate, Stratum


def option_words(instrument: str, item: str) -> Callable[[str], str]:
    return lambda value: load(instrument).item(item).words_of(value, instrument_language())


@dataclass(frozen=True)
class Kind:
    """A quality by which strata are formed: the stored value of an applicant, and its words."""

    label: str | Promise
    value: Callable[[Applicant], str]
    words: Callable[[str], str]
    is_blind: bool = False


KINDS: Mapping[str, Kind] = {
    "problem": Kind(gettext_lazy("Problem area"), lambda one: one.answer(PROBLEM), option_words(SCREENING, PROBLEM)),
    "language": Kind(gettext_lazy("Language"), lambda one: one.person.language, lambda value: get_language(value).name),
    "track": Kind(
        gettext_lazy("Track"), lambda one: one.person.track, lambda value: str(Participation.Track(value).label)
    ),
    "age_band": Kind(
        gettext_lazy("Age band"), lambda one: one.age_band(), option_words(PROFILE, "age_band"), is_blind=True
    ),
    "gender": Kind(
        gettext_lazy("Gender"),
        lambda one: one.answer("gender", PROFILE),
        option_words(PROFILE, "gender"),
        is_blind=True,
    ),
}


def candidate_of(applicant: Applicant, kinds: Sequence[str]) -> Candidate:
    return Candidate(applicant.code, tuple(KINDS[kind].value(applicant) for kind in kinds), applicant.score)


def describe_stratum(stratum: Stratum, kinds: Sequence[str], *, blind: bool = True) -> str:
    """Return the words of a stratum; without `blind`, those alone that every scorer may see of a person."""
    parts = zip(kinds, stratum, strict=True)
    words = [KINDS[kind].words(value) if value else "–" for kind, value in parts if blind or not KINDS[kind].is_blind]
    return " · ".join(words)
