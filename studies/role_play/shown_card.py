"""A role card as a page shows it: to the counsellor who plays it, and to the researcher who writes it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from dialogue.languages import get_language
from studies.design.behaviours import Behaviour, behaviours, levels, rules
from studies.design.card_files import BELONGINGS, REACTIONS
from studies.instruments.loading import load

Facts = list[tuple[str, str]]  # label, value


@dataclass(frozen=True)
class ShownBehaviour:
    key: str
    label: str
    definition: str
    intensity: int
    words: str  # the intensity in words
    own: Facts  # what the card gives for it: the fixed belief, the trigger word
    do: tuple[str, ...]
    avoid: tuple[str, ...]
    samples: tuple[str, ...]
    played: bool


@dataclass(frozen=True)
class ShownCard:
    """Texts of the card in its own language, labels in that of the page."""

    key: str
    language: str
    alias: str
    line: str  # age, gender, occupation
    person: Facts
    problem: str
    trouble: Facts
    goals: tuple[str, ...]
    opening: str
    layers: tuple[str, ...]
    reactions: Facts
    ends_when: str
    behaviours: tuple[ShownBehaviour, ...]  # those that the person is to show
    absent: tuple[str, ...]  # labels of those that they do not show
    rules: tuple[str, ...]


def show_card(card: Mapping[str, Any], played: Collection[str] = ()) -> ShownCard:
    """Return a card as pages show it. `card`: as in Card.as_given()."""
    language, profile = card["language"], card["profile"]
    person, manner, trouble, script = (profile[part] for part in "DPCS")
    intensities = [(each, card["intensities"].get(each.key, 0)) for each in behaviours()]
    return ShownCard(
        key=card["key"],
        language=language,
        alias=person["alias"],
        line=" · ".join(str(person[key]) for key in ("age", "gender", "occupation") if key in person),
        person=facts(person_labels(), {**person, **manner}, language),
        problem=trouble["problem"],
        trouble=facts(trouble_labels(), in_words(trouble, language), language),
        goals=tuple(trouble["goals"]),
        opening=script["opening"],
        layers=tuple(script["layers"]),
        reactions=facts(reaction_labels(), script.get("reactions", {}), language),
        ends_when=script["ends_when"],
        behaviours=tuple(shown_behaviour(each, at, card, played) for each, at in intensities if at),
        absent=tuple(each.label[language] for each, at in intensities if not at),
        rules=rules()[language],
    )


def facts(labels: Mapping[str, str], values: Mapping[str, Any], language: str) -> Facts:
    """Return those of these facts that the card has, each list in one line."""
    return [(label, join_values(values[key], language)) for key, label in labels.items() if values.get(key)]


def join_values(value: object, language: str) -> str:
    return get_language(language).semicolon.join(map(str, value)) if isinstance(value, list) else str(value)


def person_labels() -> dict[str, str]:
    return {
        "education": _("Education"),
        "relationship": _("Relationship"),
        "living": _("Living situation"),
        "speech_style": _("Writing style"),
        "support_preference": _("Wants"),
        "habits": _("Habits"),
        "hobbies": _("Likes"),
    }


def trouble_labels() -> dict[str, str]:
    return {
        "background": _("Background"),
        "emotion": _("Feels"),
        "partner": _("Would like to meet"),
        "others": _("Other people in the story"),
    }


def reaction_labels() -> dict[str, str]:
    labels = (
        _("To generic comfort"),
        _("To early advice"),
        _("To being understood"),
        _("To an open question"),
        _("To pressure"),
    )
    return dict(zip(REACTIONS, labels, strict=True))


def in_words(trouble: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return the trouble with the feeling by its name, where it is one of the feelings check, and how strong it is."""
    named = {option.value: option.text[language] for option in load("emotion_checkin").items[0].options}
    emotion = trouble.get("emotion", "")
    feeling = named.get(emotion, emotion)
    if feeling and "intensity" in trouble:
        feeling = _("%(feeling)s, %(strength)s of 5") % {"feeling": feeling, "strength": trouble["intensity"]}
    return {**trouble, **trouble.get("roles", {}), "emotion": feeling}


def shown_behaviour(
    behaviour: Behaviour, intensity: int, card: Mapping[str, Any], played: Collection[str]
) -> ShownBehaviour:
    language = card["language"]
    own = {key: label for key, label in own_labels().items() if BELONGINGS[key] == behaviour.key}
    return ShownBehaviour(
        key=behaviour.key,
        label=behaviour.label[language],
        definition=behaviour.definition[language],
        intensity=intensity,
        words=levels()[intensity][language],
        own=facts(own, card["profile"], language),
        do=behaviour.do[language],
        avoid=behaviour.avoid[language],
        samples=behaviour.samples[language],
        played=behaviour.key in played,
    )


def own_labels() -> dict[str, str]:
    return {"fixed_belief": _("Fixed belief"), "trigger_word": _("Trigger word")}
