"""The five behaviours of seekers who are hard to help, as seeker_behaviours.json tells of them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from dialogue.languages import CODES
from dialogue.seekers.components import components, instrument
from studies.design.spec import Text

Lines = Mapping[str, tuple[str, ...]]  # by language


@dataclass(frozen=True)
class Behaviour:
    key: str
    label: Text
    definition: Text
    do: Lines
    avoid: Lines
    samples: Lines


@dataclass(frozen=True)
class Preset:
    key: str
    label: Text
    intensities: Mapping[str, int]


def behaviours() -> tuple[Behaviour, ...]:
    return tuple(
        Behaviour(
            key=node["key"],
            label=node["label"],
            definition=node["definition"],
            do=_lines(node["role_play_card"]["do"]),
            avoid=_lines(node["role_play_card"]["avoid"]),
            samples=_lines(node["sample_lines"]),
        )
        for node in instrument()["components"]
    )


def behaviour_keys() -> tuple[str, ...]:
    return tuple(components())


def levels() -> tuple[Text, ...]:
    """Return what each intensity from 0 on means, in words."""
    return tuple({language: node[language] for language in CODES} for node in instrument()["intensity"]["levels"])


def presets() -> tuple[Preset, ...]:
    return tuple(Preset(node["key"], node["label"], node["values"]) for node in instrument()["presets"])


def rules() -> Lines:
    """Return what holds for whoever plays any card."""
    return _lines(instrument()["common_rules"])


def _lines(node: Mapping[str, list[str]]) -> Lines:
    return {language: tuple(node[language]) for language in CODES}
