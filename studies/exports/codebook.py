"""codebook.csv: what the columns, the items and the scales mean, from the definitions that everything else uses too."""

from collections.abc import Iterable, Iterator

from studies.exports.pairs import instruments_of_pairs
from studies.exports.table import Filter, Table
from studies.models import Study
from studies.questionnaires.definitions import Item, Questionnaire
from studies.questionnaires.forms import COMMENT
from studies.questionnaires.loading import ARMS, instrument_ids, load
from studies.questionnaires.scoring import score

FILE = "codebook.csv"
HEADER = ("file", "column", "type", "unit", "values", "meaning")

Entry = tuple[str, str, str, str, str, str]


def codebook(tables: Iterable[Table], questionnaires: Iterable[Questionnaire]) -> Iterator[Entry]:
    """One row per column; then, under the name of its instrument's file, one per item and one per scale."""
    for table in tables:
        for column in table.columns:
            yield table.file, column.name, column.type, column.unit, column.values, column.meaning
    for questionnaire in questionnaires:
        yield from _items(questionnaire)
        yield from _scales(questionnaire)


def questionnaires_in(study: Study, only: Filter) -> list[Questionnaire]:
    """Those of our instruments that somebody in these rows answered; an import may name others."""
    used = set(only.responses(study).order_by().values_list("instrument", flat=True).distinct())
    used |= instruments_of_pairs(study, only)
    return [load(id) for id in instrument_ids() if id in used]


def _items(questionnaire: Questionnaire) -> Iterator[Entry]:
    file = f"{questionnaire.id}.json"
    for item in questionnaire.items:
        unit = "points" if item.type == "scale" else ""
        yield file, item.key, item.type, unit, _values(item), _meaning(item)
    if questionnaire.comment:
        yield file, COMMENT, "text", "", "", questionnaire.comment["en"]


def _values(item: Item) -> str:
    """The choices by key, or the range and the words that stand along it."""
    choices = [f"{option.value} = {option.text['en']}" for option in item.options]
    if item.options_from == ARMS:
        choices.insert(0, "the key of an arm, as in conversations.csv")
    words = "; ".join(choices)
    if item.minimum is None:
        return words
    return f"{item.minimum} to {item.maximum}" + (f": {words}" if words else "")


def _meaning(item: Item) -> str:
    """The instruction is read again by the analysis (`tables.quality`)."""
    if item.instructed is not None:
        return f"{item.text['en']} (instructed: {item.instructed})"
    return f"{item.text['en']} (reversed in its scale)" if item.reverse else item.text["en"]


def _scales(questionnaire: Questionnaire) -> Iterator[Entry]:
    described = {scale.key: scale for scale in questionnaire.scales}
    for result in score(questionnaire, {}):
        scale = described.get(result.scale)
        meaning = f"{scale.label['en']}: mean of {', '.join(scale.items)}" if scale else "mirrors another scale"
        yield f"{questionnaire.id}.json", result.scale, "scale score", "points", "", meaning
