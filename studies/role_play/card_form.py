"""A role card as a form. Fields are named by their place in a file of cards, and such a file's reader looks at them."""

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from dialogue.documents import Fault
from dialogue.languages import LANGUAGES
from studies.design.behaviours import behaviours, levels
from studies.design.card_files import CardSpec, read_card
from studies.participation.language import instrument_language
from studies.role_play.shown_card import own_labels, person_labels, reaction_labels, trouble_labels

BEHAVIOUR = "worst_case_default"
LISTS = ("P.habits", "P.hobbies", "C.goals", "C.roles.others", "S.layers")
NUMBERS = ("D.age", "C.intensity")
LONG = ("C.problem", "C.background", "S.opening", *LISTS)
NEEDED = ("id", "lang", "D.alias", "C.problem", "C.goals", "S.opening", "S.layers", "S.ends_when")


def labels() -> dict[str, dict[str, str]]:
    """Return the labels by group and place."""
    return {
        _("The person"): {
            "id": _("Key"),
            "lang": _("Language"),
            "D.alias": _("Name in the role"),
            "D.age": _("Age"),
            "D.gender": _("Gender"),
            "D.occupation": _("Occupation"),
            **{f"{part_of(key)}.{key}": label for key, label in person_labels().items()},
            "P.mbti": "MBTI",
        },
        _("The concern"): {
            "C.problem_category": _("Area"),
            "C.problem": _("Problem"),
            "C.background": trouble_labels()["background"],
            "C.emotion": trouble_labels()["emotion"],
            "C.intensity": _("How strongly, 1 to 5"),
            "C.goals": _("Wants from the talk"),
            "C.roles.partner": trouble_labels()["partner"],
            "C.roles.others": trouble_labels()["others"],
        },
        _("Course of the conversation"): {
            "S.opening": _("Start with words like these"),
            "S.layers": _("Open up one layer at a time"),
            **{f"S.reactions.{key}": reaction(label) for key, label in reaction_labels().items()},
            "S.ends_when": _("Ends the conversation when"),
        },
        _("How hard they are to help"): {
            **{f"{BEHAVIOUR}.{each.key}": each.label[instrument_language()] for each in behaviours()},
            **{f"{BEHAVIOUR}.{key}": label for key, label in own_labels().items()},
        },
    }


def reaction(to: str) -> str:
    return _("How to react: %(to)s") % {"to": to}


def part_of(key: str) -> str:
    return "D" if key in ("education", "relationship", "living") else "P"


def is_behaviour(place: str) -> bool:
    return place in [f"{BEHAVIOUR}.{each.key}" for each in behaviours()]


class CardForm(forms.Form):
    """The form of a role card. No role may end before `min_turns`."""

    def __init__(self, *args: Any, card: CardSpec | None = None, min_turns: int = 0, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.card, self.min_turns, self.groups = card, min_turns, labels()
        for places in self.groups.values():
            for place, label in places.items():
                self.fields[place] = field_for(place, label)
        if card:
            self.fields["id"].disabled = True
            self.initial = {**initial_of(card), **self.initial}

    def shown_groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(group, [self[place] for place in places]) for group, places in self.groups.items()]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        self.read, faults = read_card(self.document(data), min_turns=self.min_turns)
        for fault in faults:
            self.add_fault(fault)
        return data

    def document(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the card as it would stand in a file."""
        big5 = self.card.profile["P"].get("big5") if self.card else None
        document: dict[str, Any] = {"D": {}, "P": {"big5": big5} if big5 else {}, "C": {}, "S": {}}
        for place, value in values.items():
            if value not in (None, ""):
                *parents, last = place.split(".")
                reduce(lambda node, part: node.setdefault(part, {}), parents, document)[last] = value_of(place, value)
        return document

    def add_fault(self, fault: Fault) -> None:
        """Add a fault at its field, where that has none already."""
        place = next((place for place in self.fields if re.match(rf"{re.escape(place)}\b", fault.place)), None)
        if place is None or place not in self.errors:
            self.add_error(place, fault.message if place else str(fault))


def field_for(place: str, label: str) -> forms.Field:
    required = place in NEEDED
    if place == "lang":
        return forms.ChoiceField(label=label, choices=[(one.code, one.short_name) for one in LANGUAGES])
    if is_behaviour(place):
        words = [(str(number), level[instrument_language()]) for number, level in enumerate(levels())]
        return forms.ChoiceField(label=label, choices=words, initial="0", widget=forms.RadioSelect)
    if place in NUMBERS:
        return forms.IntegerField(label=label, required=required, widget=forms.NumberInput(attrs={"class": "narrow"}))
    widget = forms.Textarea(attrs={"rows": 3, "class": "short"}) if place in LONG else forms.TextInput()
    help_text = _("One per line.") if place in LISTS else ""
    return forms.CharField(label=label, required=required, widget=widget, help_text=help_text)


def value_of(place: str, value: Any) -> Any:
    if place in LISTS:
        return [line.strip() for line in value.splitlines() if line.strip()]
    return int(value) if is_behaviour(place) else value


def initial_of(card: CardSpec) -> dict[str, Any]:
    profile = {part: card.profile.get(part, {}) for part in "DPCS"}
    own = {key: card.profile[key] for key in own_labels() if key in card.profile}
    document = {"id": card.key, "lang": card.language, **profile, BEHAVIOUR: {**card.intensities, **own}}
    return dict(_flat(document, ""))


def _flat(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        place = f"{path}.{key}" if path else key
        if isinstance(value, Mapping):
            yield from _flat(value, place)
        else:
            yield place, "\n".join(value) if isinstance(value, list) else value
