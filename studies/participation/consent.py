"""The consent form with its placeholders filled, as a person sees it and as its hash is stored. Pure."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from studies.design.spec import COUNSELLOR, StudySpec
from studies.instruments.definitions import Item, Questionnaire
from studies.instruments.loading import FIXTURES
from studies.instruments.wording import fill_sentences, keep_parts

FIRST = "key_information"  # shown first and in full (the form's own rule)


@cache
def template(instrument: str) -> Mapping[str, Any]:
    return json.loads((FIXTURES / f"{instrument}.json").read_text(encoding="utf-8"))


def template_ids() -> list[str]:
    """Return the consent forms among the instruments."""
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

    def box_texts(self) -> dict[str, str]:
        """Return the sentence beside each box, by the key of the box."""
        return {key: text for key, _required, text in self.boxes}

    def hash(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), ensure_ascii=False, sort_keys=True).encode()).hexdigest()

    def questionnaire(self) -> Questionnaire:
        """Return the boxes as items of a questionnaire."""
        items = tuple(
            Item(key=key, type="checkbox", text={self.language: text}, required=required)
            for key, required, text in self.boxes
        )
        return Questionnaire(self.instrument, "form", self.version, {}, items)


def form_of(spec: StudySpec, *, language: str, track: str) -> Form:
    """Return the form of this study.

    Sentences and boxes about something that the study does not have are left out, and so are sections that become
    empty.
    """
    assert spec.consent is not None  # noqa: S101 - a study without a consent step is refused when it is loaded
    raw = template(spec.consent.instrument)
    flags = spec.consent_flags(track)
    audience = {"all", *flags, "expert" if track == COUNSELLOR else "participant"}
    values = {name: text[language] for name, text in spec.consent_values(track).items()}

    def fill(text: Mapping[str, str]) -> str:
        return fill_sentences(keep_parts(text[language], lambda part: is_kept(part, flags, values, raw)), values)

    sections = [
        Section(section["key"], section["title"][language], fill(section["text"]))
        for section in raw["sections"]
        if section.get("audience", "all") in audience
    ]
    return Form(
        instrument=spec.consent.instrument,
        version=spec.consent.version,
        language=language,
        sections=tuple(section for section in sections if section.text),
        boxes=tuple(box for box in _boxes(raw, audience, fill) if box[2]),
    )


def is_kept(part: str, flags: Collection[str], values: Mapping[str, str], raw: Mapping[str, Any]) -> bool:
    """Return whether a part stays.

    `if_x`: the flag is on or, if x is a placeholder, it has a value; `if_no_x`: the opposite.
    """
    name = part.removeprefix("if_")
    if name not in raw["placeholders"] and part not in raw["flags"] and name.startswith("no_"):
        return not is_kept(f"if_{name.removeprefix('no_')}", flags, values, raw)
    return bool(values.get(name)) if name in raw["placeholders"] else part in flags


def _boxes(
    raw: Mapping[str, Any], audience: Collection[str], filled: Callable[[Mapping[str, str]], str]
) -> list[tuple[str, bool, str]]:
    return [(box["key"], box["required"], filled(box)) for box in raw["checkboxes"] if box["audience"] in audience]
