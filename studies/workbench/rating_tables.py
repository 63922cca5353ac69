"""Tables of a conversation's scores: items down, raters across, with judge gaps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from dialogue.templatetags.languages import listed
from studies.instruments.forms import COMMENT
from studies.instruments.loading import instrument_ids, load
from studies.models import Answer, ArmRun, Rater
from studies.models.response import RaterKind
from studies.participation.judge_gap import NO_PEOPLE, ROUNDING
from studies.participation.language import instrument_language
from studies.participation.responses import answers_to_instructed_items
from studies.workbench import labels

ORDER = [RaterKind.SEEKER, RaterKind.EXPERT, RaterKind.REVIEWER, RaterKind.CROWD, RaterKind.SIMULATED_SEEKER]


class Place(NamedTuple):
    """A questionnaire at a moment; `turn` is 0 for the whole conversation."""

    instrument: str
    moment: str
    turn: int


class Column(NamedTuple):
    rater: Rater
    replicate: int

    def is_person(self) -> bool:
        return self.rater.kind not in NO_PEOPLE

    def order(self) -> tuple[int, str, str, int]:
        """Return the sort key: people first, judges last."""
        kinds = [*ORDER, self.rater.kind]
        return kinds.index(self.rater.kind), self.rater.code, self.rater.strategy, self.replicate

    def kind(self) -> str:
        return labels.word(labels.RATERS, self.rater.kind)


@dataclass(frozen=True)
class Gap:
    """The difference from people's mean in points; `far` by the page's limit."""

    points: float
    far: bool

    def words(self) -> str:
        return labels.with_sign(self.points)

    def direction(self) -> str:
        return {"+": "up", "−": "down"}.get(self.words()[0], "level")


@dataclass(frozen=True)
class Cell:
    """One rater's answer: a score, or `words`. It is empty if they were not asked this item; `missing` says why there
    is no score."""

    text: str = ""
    words: str = ""
    missing: str = ""
    reason: str = ""
    apart: Gap | None = None


@dataclass(frozen=True)
class Row:
    """The answers to one item. `mean` is people's, empty if they gave no number."""

    item: str
    label: str
    people: Sequence[Cell]
    mean: str
    others: Sequence[Cell]


@dataclass(frozen=True)
class Mean:
    """A judge's mean over the `items` that people scored too."""

    own: str
    people: str
    items: int
    apart: Gap


@dataclass(frozen=True)
class Group:
    """One moment. `turn` is 0 for the whole conversation; `means` are of the columns that are not people's."""

    turn: int
    rows: Sequence[Row]
    means: Sequence[Mean | None]


@dataclass(frozen=True)
class RatingTable:
    instrument: str
    title: str
    moment: str
    people: Sequence[Column]
    others: Sequence[Column]
    groups: Sequence[Group]

    def width(self) -> int:
        return 1 + len(self.people) + (len(self.people) > 1) + len(self.others)


@dataclass
class Scores:
    """All answers of one conversation's ratings. `far`: how many points from people's mean is far."""

    answers: Sequence[Answer]
    far: float

    @classmethod
    def of(cls, run: ArmRun, far: float) -> "Scores":
        answers = Answer.objects.filter(~answers_to_instructed_items(), response__run=run, response__is_rating=True)
        return cls(list(in_order(answers)), far)

    @cached_property
    def places(self) -> dict[Place, list[Answer]]:
        places: dict[Place, list[Answer]] = {}
        for answer in self.answers:
            places.setdefault(place_of(answer), []).append(answer)
        return places

    def tables(self) -> list[RatingTable]:
        """Return a table for each instrument and moment."""
        together: dict[tuple[str, str], list[Place]] = {}
        for place in self.places:
            together.setdefault((place.instrument, place.moment), []).append(place)
        return [self.table(places) for places in together.values()]

    def table(self, places: Sequence[Place]) -> RatingTable:
        columns = columns_of(answer for place in places for answer in self.places[place])
        people = [column for column in columns if column.is_person()]
        others = [column for column in columns if not column.is_person()]
        instrument, moment = places[0].instrument, places[0].moment
        return RatingTable(
            instrument,
            title_of(instrument),
            labels.word(labels.MOMENTS, moment),
            people,
            others,
            [self.group(place, people, others) for place in sorted(places)],
        )

    def group(self, place: Place, people: Sequence[Column], others: Sequence[Column]) -> Group:
        answers = self.places[place]
        means = means_of(answer for answer in answers if column_of(answer).is_person())
        names = item_labels(place.instrument)
        rows = [
            Row(
                item,
                names.get(item, item),
                [self.cell(place, column, item) for column in people],
                labels.points(means[item]) if item in means else "",
                [self.cell(place, column, item, means.get(item)) for column in others],
            )
            for item in sorted({answer.item: None for answer in answers}, key=position_in(names))
        ]
        return Group(place.turn, rows, [self.mean(column, answers, means) for column in others])

    def cell(self, place: Place, column: Column, item: str, people: float | None = None) -> Cell:
        answer = self.answers_by_cell.get((place, column, item))
        if answer is None:
            return Cell() if (place, column) in self.rater_columns else Cell(missing=_("not rated"))
        if answer.value is None:
            missing = "" if answer.text else labels.word(labels.MISSING, answer.missing_reason)
            return Cell(words=answer.text, missing=missing, reason=answer.reason)
        apart = None if people is None else self.apart(answer.value - people)
        return Cell(labels.points(answer.value), reason=answer.reason, apart=apart)

    @cached_property
    def answers_by_cell(self) -> dict[tuple[Place, Column, str], Answer]:
        return {(place_of(answer), column_of(answer), answer.item): answer for answer in self.answers}

    @cached_property
    def rater_columns(self) -> set[tuple[Place, Column]]:
        """Return the places at which each column has any answer."""
        return {(place, column) for place, column, _item in self.answers_by_cell}

    def mean(self, column: Column, answers: Iterable[Answer], people: Mapping[str, float]) -> Mean | None:
        own = means_of(answer for answer in answers if column_of(answer) == column)
        shared = own.keys() & people.keys()
        if not shared:
            return None
        mean, of_people = (fmean(values[item] for item in shared) for values in (own, people))
        return Mean(labels.points(mean), labels.points(of_people), len(shared), self.apart(mean - of_people))

    def apart(self, points: float) -> Gap:
        return Gap(points, abs(points) >= self.far - ROUNDING)

    def judges(self) -> list[Rater]:
        columns = columns_of(self.answers)
        return list(dict.fromkeys(column.rater for column in columns if column.rater.kind == RaterKind.JUDGE))


def in_order(answers: QuerySet) -> QuerySet:
    """Sort the answers: the whole conversation first, then turn after turn."""
    return answers.select_related("response__rater").order_by("response__turn", "response__submitted_at", "pk")


def place_of(answer: Answer) -> Place:
    return Place(answer.response.instrument, answer.response.moment, answer.response.turn)


def column_of(answer: Answer) -> Column:
    return Column(answer.response.rater, answer.response.replicate)


def columns_of(answers: Iterable[Answer]) -> list[Column]:
    return sorted({column_of(answer) for answer in answers}, key=Column.order)


def means_of(answers: Iterable[Answer]) -> dict[str, float]:
    """Return the mean of each item over answers with a score."""
    scores: dict[str, list[float]] = {}
    for answer in answers:
        if answer.value is not None:
            scores.setdefault(answer.item, []).append(answer.value)
    return {item: fmean(values) for item, values in scores.items()}


# Names of instruments; an import may name one that has no file here


def title_of(instrument: str) -> str:
    return load(instrument).title[instrument_language()] if instrument in instrument_ids() else instrument


def item_labels(instrument: str) -> dict[str, str]:
    """Return labels by key, in the instrument's order: the name of the item, or its question."""
    if instrument not in instrument_ids():
        return {}
    language = instrument_language()
    named = {item.key: (item.label or item.text)[language] for item in load(instrument).items}
    return {**named, COMMENT: _("Remark")}


def item_name(instrument: str, item: str) -> str:
    """Return the label of an item; its key if the instrument is not ours."""
    return item_labels(instrument).get(item, item)


def position_in(names: Mapping[str, str]) -> Callable[[str], int]:
    places = {item: place for place, item in enumerate(names)}
    return lambda item: places.get(item, len(places))


# Two judges, or two strategies of one


@dataclass(frozen=True)
class Pair:
    """The two answers to one item. `difference` is None if one of them has no score."""

    item: str
    label: str
    a: Cell
    b: Cell
    difference: Gap | None
    people: str


@dataclass(frozen=True)
class ComparisonTable:
    """The answers of two raters at one moment. `mean` is that of the differences, None if there is none."""

    title: str
    moment: str
    turn: int
    rows: Sequence[Pair]
    mean: Gap | None


def compare_raters(scores: Scores, a: Rater, b: Rater) -> list[ComparisonTable]:
    """Return a table for each moment that both answered, with `b` minus `a` for each item; replicates are averaged."""
    tables = []
    for place, answers in scores.places.items():
        of_a, of_b = ([answer for answer in answers if answer.response.rater == rater] for rater in (a, b))
        if of_a and of_b:
            people = means_of(answer for answer in answers if column_of(answer).is_person())
            tables.append(compare_at(scores, place, of_a, of_b, people))
    return tables


def compare_at(
    scores: Scores, place: Place, of_a: list[Answer], of_b: list[Answer], people: Mapping[str, float]
) -> ComparisonTable:
    names = item_labels(place.instrument)
    means_a, means_b = means_of(of_a), means_of(of_b)
    differences = {item: means_b[item] - means_a[item] for item in means_a.keys() & means_b.keys()}
    rows = [
        Pair(
            item,
            names.get(item, item),
            mean_cell(item, of_a, means_a),
            mean_cell(item, of_b, means_b),
            scores.apart(differences[item]) if item in differences else None,
            labels.points(people[item]) if item in people else "",
        )
        for item in sorted(dict.fromkeys(answer.item for answer in (*of_a, *of_b)), key=position_in(names))
    ]
    mean = scores.apart(fmean(differences.values())) if differences else None
    return ComparisonTable(
        title_of(place.instrument), labels.word(labels.MOMENTS, place.moment), place.turn, rows, mean
    )


def mean_cell(item: str, answers: Iterable[Answer], means: Mapping[str, float]) -> Cell:
    if item in means:
        return Cell(labels.points(means[item]))
    reasons = {answer.missing_reason for answer in answers if answer.item == item}
    words = sorted(labels.word(labels.MISSING, reason) for reason in reasons)
    return Cell(missing=listed(words) or _("not asked"))
