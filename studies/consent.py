"""A consent form with its placeholders filled, as this person is shown it and as its hash is kept. Pure."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from studies.design.spec import CHECKPOINTS, TIMINGS, StudySpec
from studies.questionnaires.definitions import Item, Questionnaire
from studies.questionnaires.loading import FIXTURES
from studies.questionnaires.wording import fill

FLAG = re.compile(r"\{\{(if_\w+)\}\}(.*?)\{\{/\1\}\}", re.DOTALL)
FIRST = "key_information"  # shown first and in full (the form's own rule)


@cache
def template(instrument: str) -> Mapping[str, Any]:
    return json.loads((FIXTURES / f"{instrument}.json").read_text(encoding="utf-8"))


def template_ids() -> list[str]:
    """The consent forms among the instruments."""
    return sorted(path.stem for path in FIXTURES.glob("*.json") if "checkboxes" in template(path.stem))


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    text: str


@dataclass(frozen=True)
class Form:
    instrument: str
    version: str
    language: str
    sections: tuple[Section, ...]
    boxes: tuple[tuple[str, bool, str], ...]  # key, required, text

    def first(self) -> Section:
        return next(section for section in self.sections if section.key == FIRST)

    def rest(self) -> list[Section]:
        return [section for section in self.sections if section.key != FIRST]

    def hash(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), ensure_ascii=False, sort_keys=True).encode()).hexdigest()

    def questionnaire(self) -> Questionnaire:
        """The boxes as items, so that the one form of this project asks for them too."""
        items = tuple(
            Item(key=key, type="checkbox", text={self.language: text}, required=required)
            for key, required, text in self.boxes
        )
        return Questionnaire(self.instrument, "form", self.version, {}, items)


def form_of(spec: StudySpec, *, language: str, track: str) -> Form:
    """The form of this study. Raises KeyError for an unfilled placeholder; the demo shows what is to be filled in."""
    assert spec.consent is not None  # noqa: S101 - a study without a consent step is refused when it is loaded
    raw = template(spec.consent.instrument)
    audience = {"all", *flags_of(spec, track), "expert" if track == "counsellor" else "participant"}
    values = {name: text[language] for name, text in spec.consent_values(track).items()}

    def filled(text: Mapping[str, str]) -> str:
        kept = FLAG.sub(lambda match: match[2] if match[1] in audience else "", text[language])
        return fill(kept, values)

    return Form(
        instrument=spec.consent.instrument,
        version=spec.consent.version,
        language=language,
        sections=tuple(
            Section(section["key"], section["title"][language], filled(section["text"]))
            for section in raw["sections"]
            if section.get("audience", "all") in audience
        ),
        boxes=tuple(_boxes(raw, audience, filled)),
    )


def flags_of(spec: StudySpec, track: str) -> set[str]:
    """The parts that the form keeps: those that the study's file names, and what the design implies for this track."""
    named = set(spec.consent.flags) if spec.consent else set()
    implied = {TIMINGS: spec.records_timings(), CHECKPOINTS: bool(spec.chat.for_track(track).pauses())}
    return named | {flag for flag, holds in implied.items() if holds}


def _boxes(raw: Mapping[str, Any], audience: set[str], filled: Any) -> list[tuple[str, bool, str]]:
    return [(box["key"], box["required"], filled(box)) for box in raw["checkboxes"] if box["audience"] in audience]
