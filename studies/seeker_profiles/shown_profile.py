"""A profile of a simulated seeker for pages, with its findings in plain words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from dialogue.seekers.profile_checks import SENTENCES
from dialogue.seekers.profiles import BIG_FIVE
from dialogue.templatetags.languages import comma
from studies.instruments.loading import load
from studies.models import Participation, SeekerProfile
from studies.participation.language import instrument_language
from studies.participation.responses import answers_of
from studies.role_play.card_form import labels
from studies.role_play.shown_card import reaction_labels
from studies.seeker_profiles.approval import PERSON
from studies.seeker_profiles.source import big_five_of

PARTS = ("D", "P", "C", "S", "worst_case_default")
WHO = ("alias", "age", "gender", "occupation")
TALKED_OF = ("issue_category", "issue_text")  # of the screening; the rest of it is not needed here


@dataclass(frozen=True)
class Line:
    """One entry of a profile; `place` as in the file. `marked`: a check has found something in it."""

    place: str
    label: str
    values: tuple[str, ...]
    marked: bool


@dataclass(frozen=True)
class FindingSentence:
    """A finding in words."""

    sentence: str
    refuses: bool


def who(row: SeekerProfile) -> str:
    person = row.content["D"]
    return comma().join(str(person[key]) for key in WHO if key in person)


def groups(row: SeekerProfile) -> list[tuple[str, list[Line]]]:
    marked = {finding["where"].partition("[")[0] for finding in row.checks}
    all_labels = {place: label for group in labels().values() for place, label in group.items()} | own_labels()
    titles = dict(zip(PARTS, titles_of_parts(), strict=True))
    parts = ((titles[part], list(lines(part, row.content.get(part, {}), all_labels, marked))) for part in PARTS)
    return [(title, each) for title, each in parts if each]


def own_labels() -> dict[str, str]:
    """Return labels that differ from the role card's form, which addresses the person who plays it."""
    return {
        "D.alias": _("Alias"),
        "S.opening": _("Starts with"),
        "S.layers": _("Opens up, layer by layer"),
        **{f"S.reactions.{key}": label for key, label in reaction_labels().items()},
    }


def titles_of_parts() -> list[str]:
    return [
        _("Who they are"),
        _("Personality and preferences"),
        _("What they want to talk about"),
        _("How a conversation with them goes"),
        _("How hard they are to help"),
    ]


def lines(place: str, value: Any, labels: Mapping[str, str], marked: set[str]) -> Iterator[Line]:
    """Yield a line for each entry, or for each member of a table; the Big Five are one line."""
    if isinstance(value, Mapping) and BIG_FIVE[0] not in value:
        for key, member in value.items():
            yield from lines(f"{place}.{key}", member, labels, marked)
        return
    own = place.rpartition(".")[2].replace("_", " ")
    within = any(other == place or other.startswith(f"{place}.") for other in marked)
    yield Line(place, labels.get(place, _("Big Five") if place == "P.big5" else own), values_of(value), within)


def values_of(value: Any) -> tuple[str, ...]:
    if isinstance(value, Mapping):
        return (comma().join(f"{factor} {value[factor]}" for factor in BIG_FIVE if factor in value),)
    return tuple(str(member) for member in value) if isinstance(value, list) else (str(value),)


def finding_sentences(row: SeekerProfile) -> list[FindingSentence]:
    """Return the findings in words, the gravest first."""
    return [
        FindingSentence(_(SENTENCES[finding["rule"]]) % finding, finding["refuses"])
        for finding in row.checks
        if finding["rule"] in SENTENCES
    ]


def reason_of(row: SeekerProfile) -> str:
    """Return why a person refused it; empty if no one has."""
    return next((finding["found"] for finding in row.checks if finding["rule"] == PERSON), "")


def source_answers(person: Participation) -> list[tuple[str, str]]:
    """Return question and answer of everything from which the profile was made."""
    language = instrument_language()
    questions = [("screening", key) for key in TALKED_OF] + [("profile", item.key) for item in load("profile").items]
    answers = {instrument: answers_of(person, instrument) for instrument in ("screening", "profile")}
    items = ((load(instrument).item(key), answers[instrument].get(key)) for instrument, key in questions)
    rows = [(item.text[language], item.words_of(answer, language)) for item, answer in items if answer is not None]
    return [*rows, (_("Big Five"), *values_of(big_five_of(person)))]
