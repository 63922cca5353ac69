"""Convert the form of a questionnaire to the data of an instrument file, and back. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from studies.instruments.definitions import Item, Questionnaire, Text
from studies.instruments.instrument_file import SCHEMA
from studies.instruments.loading import RATING_SCALE

QUESTIONNAIRE = "questionnaire"
SCALE, OPEN, YES_NO = "scale", "open", "yes/no"  # how a question is answered
TOTAL = "total"  # the key of the score
ANSWERED = 0.75  # the share of its questions that a score needs
YES, NO = "yes", "no"


@dataclass(frozen=True)
class Question:
    """One question."""

    key: str
    text: Text
    answer: str = SCALE
    is_reversed: bool = False
    is_optional: bool = False  # also where every other question must be answered


@dataclass(frozen=True)
class Described:
    """A questionnaire as its form describes it. `labels`: of the scale, from the lowest answer, which is `lowest`."""

    id: str
    kind: str
    title: Text
    instruction: Text | None
    questions: Sequence[Question]
    labels: Sequence[Text]
    yes_no: Mapping[str, Text]  # the words for both, by key
    lowest: int = 1
    required: bool = True
    has_score: bool = False
    source: str = ""
    licence: str = ""

    def on_scale(self) -> list[Question]:
        """Return the questions that are answered on the scale."""
        return [question for question in self.questions if question.answer == SCALE]


def compose(described: Described, version: str) -> dict[str, Any]:
    """Return the data of the file."""
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "id": described.id,
        "kind": described.kind,
        "version": version,
        "title": dict(described.title),
    }
    if described.instruction:
        data["instruction"] = dict(described.instruction)
    data["response_scale"] = compose_scale(described)
    data["dimensions" if described.kind == RATING_SCALE else "items"] = [
        compose_question(question, described) for question in described.questions
    ]
    if described.has_score:
        count = len(described.on_scale())
        needed = ceil(ANSWERED * count)
        data["factors"] = [{"key": TOTAL, "label": dict(described.title)}]
        data["scoring"] = {"missing": f"score when at least {needed} of its {count} items are answered, else null"}
    if described.source:
        data["sources"] = [{"cite": described.source}]
    if described.licence:
        data["licence"] = {"statement": described.licence}
    return data


def compose_scale(described: Described) -> dict[str, Any]:
    scale: dict[str, Any] = {"required": described.required}
    if described.labels:
        options = [{"value": value, **label} for value, label in enumerate(described.labels, described.lowest)]
        scale |= {"min": described.lowest, "max": described.lowest + len(options) - 1, "options": options}
    return scale


def compose_question(question: Question, described: Described) -> dict[str, Any]:
    """Return an item. One of a rating form has a name for tables, which is the question itself."""
    if described.kind == RATING_SCALE:
        item: dict[str, Any] = {"id": question.key, "label": dict(question.text), "question": dict(question.text)}
    else:
        item = {"id": question.key, **question.text}
    if question.answer == OPEN:
        item["type"] = "text"
    elif question.answer == YES_NO:
        item["type"] = "single"
        item["options"] = [{"key": key, **described.yes_no[key]} for key in (YES, NO)]
    elif described.has_score:
        item |= {"factor": TOTAL, "key": "-" if question.is_reversed else "+"}
    if question.is_optional and described.required:
        item["required"] = False
    return item


def describe(questionnaire: Questionnaire, data: Mapping[str, Any]) -> Described | None:
    """Return what the form would say to make this file; None for one that has more than the form can say."""
    scale = next((item for item in questionnaire.items if item.type == "scale"), None)
    choice = next((item for item in questionnaire.items if item.type == "single"), None)
    options = {str(option.value): option.text for option in choice.options} if choice else {}
    if choice and list(options) != [YES, NO]:
        return None
    sources, licence = data.get("sources"), data.get("licence")
    required = data.get("response_scale", {}).get("required") is not False
    described = Described(
        id=questionnaire.id,
        kind=questionnaire.kind,
        title=questionnaire.title,
        instruction=questionnaire.instruction,
        questions=[
            Question(item.key, item.text, answer_of(item), item.reverse, is_optional=required and not item.required)
            for item in questionnaire.items
        ],
        labels=[option.text for option in scale.options] if scale else [],
        yes_no=options,
        lowest=(scale.minimum or 0) if scale else 1,
        required=required,
        has_score=bool(data.get("factors")),
        source=str(sources[0].get("cite", "")) if sources else "",
        licence=str(licence.get("statement", "")) if isinstance(licence, Mapping) else "",
    )
    return described if compose(described, questionnaire.version) == data else None


def answer_of(item: Item) -> str:
    return {"text": OPEN, "single": YES_NO}.get(item.type, SCALE)
