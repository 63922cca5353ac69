"""An interview guide: its sections with their questions, and the pages on which a person answers them alone. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dialogue.languages import CODES
from studies.instruments.definitions import COUNSELLOR, Item, Questionnaire, Text

WHOLE = "interview"  # the key of the one section of the participants' guide
CANDIDATE = "candidate"  # before the number of a row and the name of its field
CANDIDATE_FIELDS = ("name", "definition", "example")
CANDIDATE_LABELS: Mapping[str, Text] = {
    "name": {"en": "Name of dimension {row}", "zh": "维度 {row} 的名称"},
    "definition": {"en": "What it means", "zh": "含义"},
    "example": {"en": "An example from the conversations", "zh": "对话中的一个例子"},
}
CANDIDATE_LIMITS = {"name": 60, "definition": 1000, "example": 1000}  # characters
THINK_OF: Text = {"en": "For example: ", "zh": "例如："}


@dataclass(frozen=True)
class Question:
    key: str
    text: Text  # as an interviewer asks it
    written: Text  # as one reads it who answers alone
    probes: tuple[Text, ...]
    note: Text | None  # for researchers
    reveals: bool  # it names what the questions before it in its section must not name


@dataclass(frozen=True)
class Section:
    key: str
    title: Text
    minutes: int
    intro: Text | None  # for the interviewer
    written: Text | None  # for one who answers alone
    shows: tuple[str, ...]
    candidates: bool  # the person may list dimensions that they miss
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class GuidePage:
    """The questions that are asked together of one who answers alone. `number` counts from 1."""

    number: int
    section: Section
    questions: tuple[Question, ...]
    reveals: bool
    settles: bool  # the page after it reveals: once sent, it stays as it is

    @property
    def candidates(self) -> bool:
        return self.section.candidates and not self.reveals

    @property
    def items(self) -> list[str]:
        return [question.key for question in self.questions]


def sections_for(guide: Questionnaire, track: str) -> tuple[Section, ...]:
    """Return the sections for counsellors, and the short guide for all others."""
    if track == COUNSELLOR:
        return tuple(_section(node) for node in guide.raw["sections"])
    short = guide.raw["participant_version"]
    return (_section({"key": WHOLE, **short}),)


def _section(node: Mapping[str, Any]) -> Section:
    return Section(
        key=node["key"],
        title=node["title"],
        minutes=node["minutes"],
        intro=node.get("intro"),
        written=node.get("written"),
        shows=tuple(node.get("shows", ())),
        candidates=node.get("candidates", False),
        questions=tuple(_question(question) for question in node["questions"]),
    )


def _question(node: Mapping[str, Any]) -> Question:
    text = {language: node[language] for language in CODES}
    return Question(
        key=node["id"],
        text=text,
        written=node.get("written", text),
        probes=tuple(node.get("probes", ())),
        note=node.get("note"),
        reveals=node.get("reveals", False),
    )


def rated_instruments(guide: Questionnaire) -> tuple[str, ...]:
    """Return the instruments whose ratings and dimensions the questions are about."""
    return tuple(guide.raw.get("rated", ()))


def held_back_instruments(guide: Questionnaire) -> tuple[str, ...]:
    """Return the instruments that are not named before the question that reveals them."""
    return tuple(guide.raw.get("held_back", ()))


def minutes(guide: Questionnaire, track: str) -> int:
    return sum(section.minutes for section in sections_for(guide, track))


def pages_of(sections: Sequence[Section]) -> tuple[GuidePage, ...]:
    """Return a page for each section, and another one for what must not be read before its other questions are
    answered."""
    parts = [part for section in sections for part in _parts(section)]
    after = [reveals for _section, _questions, reveals in parts[1:]] + [False]
    return tuple(
        GuidePage(number, *part, settles=next_reveals)
        for number, (part, next_reveals) in enumerate(zip(parts, after, strict=True), 1)
    )


def _parts(section: Section) -> Iterator[tuple[Section, tuple[Question, ...], bool]]:
    for reveals in (False, True):
        questions = tuple(question for question in section.questions if question.reveals == reveals)
        if questions:
            yield section, questions, reveals


def questions_on(guide: Questionnaire, page: GuidePage, *, candidates: int) -> Questionnaire:
    """Return the guide with the items of this page alone, and so many rows for candidate dimensions."""
    items = [_item(guide.item(question.key), question) for question in page.questions]
    if page.candidates:
        items += [_candidate(row, name) for row in range(1, candidates + 1) for name in CANDIDATE_FIELDS]
    return replace(guide, items=tuple(items), comment=None)


def _item(item: Item, question: Question) -> Item:
    """Return an item as people read it who answer alone. What is revealed is told in full elsewhere on its page."""
    return replace(item, text=question.written, definition=None if question.reveals else _in_one(question.probes))


def _in_one(probes: Sequence[Text]) -> Text | None:
    if not probes:
        return None
    return {language: start + "; ".join(probe[language] for probe in probes) for language, start in THINK_OF.items()}


def _candidate(row: int, name: str) -> Item:
    label = {language: text.format(row=row) for language, text in CANDIDATE_LABELS[name].items()}
    return Item(candidate_field(row, name), "text", label, required=False, maximum_length=CANDIDATE_LIMITS[name])


def candidate_field(row: int, name: str) -> str:
    return f"{CANDIDATE}-{row}-{name}"


def is_candidate(field: str) -> bool:
    return field.startswith(f"{CANDIDATE}-")


def row_of(field: str) -> int:
    return int(field.split("-")[1])
