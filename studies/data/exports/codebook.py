"""codebook.csv: what the columns, the items and the scales mean, from the definitions that everything else uses too."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dialogue.languages import CODES, FIRST, LANGUAGES
from studies.data.exports.columns import Column, Filter, Table, number, text
from studies.data.exports.comparisons import instruments_of_pairs
from studies.instruments.definitions import Item, Questionnaire
from studies.instruments.forms import COMMENT
from studies.instruments.instrument_file import ARMS
from studies.instruments.loading import instrument_ids, load
from studies.instruments.scoring import score
from studies.models import Study

FILE = "codebook.csv"
COLUMNS = (
    text("file", "a file of this folder; of items and scales the instrument's own file, NAME.json"),
    text("column", "its column; of an instrument the key of an item or a scale"),
    text(
        "type",
        "of a column: text, number, integer, truth or time; of an item: scale (numbers in order), single (one of "
        "several choices), checkbox, country, integer or text; or scale score",
    ),
    text("unit", "in which numbers are"),
    text("values", "the values there are, separated by commas; of an item its choices or the words along its scale"),
    number("minimum", "the lowest value there can be; empty where none is set"),
    number("maximum", "the highest"),
    text("instructed", "the value that the item tells people to choose, to see who reads; empty of all others"),
    text(f"label_{FIRST.code}", f"of an item or a scale: its short name in {FIRST.english_name}, else its wording"),
    *(
        text(f"label_{one.code}", f"the same in {one.english_name}; empty where there is none")
        for one in LANGUAGES
        if one != FIRST
    ),
    text("meaning", "in English; of an item its wording, of a scale the items that it is the mean of"),
    text(
        "third_person",
        "of an item: its wording in English for raters who are not the seeker (second raters, counsellors, and judges "
        "with another role than seeker); empty where there is one wording for everyone",
    ),
    text("third_person_values", "the words along its scale in that wording; empty where they are those of values"),
)
HEADER = tuple(column.name for column in COLUMNS)


@dataclass(frozen=True)
class Entry:
    """One row of the codebook, with the values of `COLUMNS`. `labels`: by the code of the language."""

    file: str
    column: str
    type: str
    unit: str
    values: str
    minimum: int | None
    maximum: int | None
    instructed: str
    labels: Mapping[str, str]
    meaning: str
    third_person: str = ""
    third_person_values: str = ""

    def row(self) -> tuple[Any, ...]:
        labels = {f"label_{code}": self.labels.get(code, "") for code in CODES}
        return tuple(labels[name] if name in labels else getattr(self, name) for name in HEADER)


def build_codebook(tables: Iterable[Table], questionnaires: Iterable[Questionnaire]) -> Iterator[Entry]:
    """Yield a row for each column, those of the codebook too, then for each item and scale under the name of its
    instrument's file.
    """
    for table in tables:
        yield from (_of_column(table.file, column) for column in table.columns)
    yield from (_of_column(FILE, column) for column in COLUMNS)
    for questionnaire in questionnaires:
        yield from _items(questionnaire)
        yield from _scales(questionnaire)


def questionnaires_in(study: Study, only: Filter) -> list[Questionnaire]:
    """Return those of our instruments that someone in the chosen rows answered. An import may name others."""
    used = set(only.responses(study).order_by().values_list("instrument", flat=True).distinct())
    used |= instruments_of_pairs(study, only)
    return [load(id) for id in instrument_ids() if id in used]


def _of_column(file: str, column: Column) -> Entry:
    about = (column.name, column.type, column.unit, column.values, column.minimum, column.maximum)
    return Entry(file, *about, instructed="", labels={}, meaning=column.meaning)


def _items(questionnaire: Questionnaire) -> Iterator[Entry]:
    for item in questionnaire.items:
        label, other = item.label or item.text, item.in_third_person
        yield Entry(
            file=f"{questionnaire.id}.json",
            column=item.key,
            type=item.type,
            unit="points" if item.type == "scale" else "",
            values=_values(item),
            minimum=item.minimum,
            maximum=item.maximum,
            instructed="" if item.instructed is None else str(item.instructed),
            labels=label,
            meaning=f"{item.text[FIRST.code]} (reversed in its scale)" if item.reverse else item.text[FIRST.code],
            third_person=other.text[FIRST.code] if other else "",
            third_person_values=_values(other) if other and other.options != item.options else "",
        )
    if comment := questionnaire.comment:
        meaning = comment[FIRST.code]
        yield Entry(f"{questionnaire.id}.json", COMMENT, "text", "", "", None, None, "", comment, meaning)


def _values(item: Item) -> str:
    """Return the choices by key, or the words along the range."""
    choices = [f"{option.value} = {option.text[FIRST.code]}" for option in item.options]
    if item.options_from == ARMS:
        choices.insert(0, "the key of an arm, as in conversations.csv")
    return "; ".join(choices)


def _scales(questionnaire: Questionnaire) -> Iterator[Entry]:
    described = {scale.key: scale for scale in questionnaire.scales}
    for result in score(questionnaire, {}):
        label: Mapping[str, str] = {}
        meaning = "mirrors another scale"
        if scale := described.get(result.scale):
            label, meaning = scale.label, f"{scale.label[FIRST.code]}: mean of {', '.join(scale.items)}"
        about = f"{questionnaire.id}.json", result.scale, "scale score", "points", "", None, None, ""
        yield Entry(*about, labels=label, meaning=meaning)
