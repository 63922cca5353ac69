"""The parts that tables of an export are made of: columns, a filter of rows, and ids that are the same in every file.

A column is one line: its name, its meaning and its source. Rows, the codebook and docs/columns.md come from it. A new
column is a new line at the end of its table.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any

from django.db.models import BooleanField, Case, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.expressions import BaseExpression, Combinable
from django.db.models.functions import Coalesce, NullIf

from dialogue.models import Turn
from dialogue.models.conversation import TurnState
from studies.models import Answer, ArmRun, Participation, Response, Study
from studies.models.participation import Status

Rows = Iterator[tuple[Any, ...]]


@dataclass(frozen=True)
class Filter:
    """The choice of a study's rows: real people's, imported and simulated ones; test data where asked for."""

    include_tests: bool = False

    def participations(self, study: Study) -> QuerySet[Participation]:
        """Return people, reviewers too: their ratings are in the files."""
        return study.participations.all() if self.include_tests else study.participations.real()

    def runs(self, study: Study) -> QuerySet[ArmRun]:
        runs = study.runs.filter(conversation__isnull=False)
        return runs if self.include_tests else runs.real()

    def responses(self, study: Study) -> QuerySet[Response]:
        responses = Response.objects.filter(rater__study=study)
        if self.include_tests:
            return responses
        of_people = Q(rater__participation__isnull=True) | Q(rater__participation__is_test=False)
        return responses.filter(of_people, Q(run__isnull=True) | Q(run__is_test=False))

    def answers(self, study: Study) -> QuerySet[Answer]:
        return Answer.objects.filter(response__in=self.responses(study))


def has_test_data_alone(study: Study) -> bool:
    """Return whether an export without test data would be empty, and one with it would not."""
    real = Filter()
    begun = real.participations(study).exclude(status=Status.INVITED)
    is_empty = not any(rows.exists() for rows in (begun, real.runs(study), real.responses(study)))
    return is_empty and Filter(include_tests=True).runs(study).exists()


def count_tests_left_out(study: Study, only: Filter) -> int:
    """Return how many conversations of test data the filter leaves out."""
    return 0 if only.include_tests else Filter(include_tests=True).runs(study).test_data().count()


@dataclass(frozen=True)
class Then:
    """A source whose values change on their way from the database into the file.

    `change` gets the value at `path`. With `beside` it also gets what that function returns, which is called once for
    each export.
    """

    path: "Path"
    change: Callable[..., Any]
    beside: Callable[[Study, Filter], Any] | None = None


@dataclass(frozen=True)
class Twofold:
    """A source in a table that makes two rows of one database row: `first` is None where the first row is empty."""

    first: "Path | Then | None"
    second: "Path | Then | None"


Path = str | BaseExpression | Combinable  # what `values_list` takes
Attribute = Callable[[Any], Any]  # of the thing that a row is about, in a table of `things`
Source = Path | Then | Twofold | Attribute


@dataclass(frozen=True)
class Column:
    """A column of a table. `source` says where its values come from: "" for the field, or attribute, of its name."""

    name: str
    meaning: str
    source: Source = ""
    type: str = "text"  # text, number, integer, truth, time
    unit: str = ""
    values: str = ""
    minimum: int | None = None
    maximum: int | None = None
    in_words: bool = False  # what someone wrote, which may tell who someone is


@dataclass(frozen=True)
class Table:
    """A table of an export.

    `rows` yields tuples in the order of `columns`; `count` asks the database how many there should be.
    """

    name: str
    a_row_is: str
    columns: tuple[Column, ...]
    rows: Callable[[Study, Filter], Rows]
    count: Callable[[Study, Filter], int]
    always: bool = False  # written with its header alone where there is no row

    @property
    def file(self) -> str:
        return f"{self.name}.csv"


def query_table(
    name: str,
    a_row_is: str,
    columns: tuple[Column, ...],
    query: Callable[[Study, Filter], QuerySet[Any]],
    *,
    always: bool = False,
) -> Table:
    """Return a table with a row for each row of a query."""

    def rows(study: Study, only: Filter) -> Rows:
        return rows_of(columns, query(study, only), study, only)

    def count(study: Study, only: Filter) -> int:
        return query(study, only).order_by().count()

    return Table(name, a_row_is, columns, rows, count, always)


def rows_of(columns: Sequence[Column], query: QuerySet[Any], study: Study, only: Filter) -> Rows:
    """Yield a tuple for each row of the query, with a value for each column."""
    for (row,) in yield_shapes([sources_of(columns)], query, study, only):
        yield row


def twofold_rows_of(
    columns: Sequence[Column], query: QuerySet[Any], study: Study, only: Filter
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Yield the two rows that each row of the query makes. A source that is not Twofold is that of both."""
    sources = [(one.first, one.second) if isinstance(one, Twofold) else (one, one) for one in sources_of(columns)]
    yield from ((first, second) for first, second in yield_shapes(list(zip(*sources, strict=True)), query, study, only))


def rows_of_things(columns: Sequence[Column], things: Iterable[Any]) -> Rows:
    """Yield a tuple for each thing; a source is the name of an attribute, also below another, or a function."""
    read = [attrgetter(source) if isinstance(source, str) else source for source in sources_of(columns)]
    for thing in things:
        yield tuple(one(thing) for one in read)


def rows_of_names(columns: Sequence[Column], rows: Iterable[dict[str, Any]]) -> Rows:
    """Yield a tuple for each row that is given by the names of columns; what it does not name is empty."""
    names = [column.name for column in columns]
    for row in rows:
        yield tuple(map(row.get, names))


def sources_of(columns: Iterable[Column]) -> list[Any]:
    return [column.name if column.source == "" else column.source for column in columns]


def yield_shapes(
    shapes: Sequence[Sequence[Any]], query: QuerySet[Any], study: Study, only: Filter
) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Yield, for each row of the query, a tuple for each shape: a list of paths, Thens, and Nones for empty values."""
    paths: dict[Any, int] = {}  # each is fetched once
    for source in (source for shape in shapes for source in shape if source is not None):
        paths.setdefault(source.path if isinstance(source, Then) else source, len(paths))
    fetched = select_values(query, list(paths)).iterator()
    if len(shapes) == 1 and list(shapes[0]) == list(paths):
        yield from zip(fetched)
        return
    looks = {one.beside for shape in shapes for one in shape if isinstance(one, Then) and one.beside}
    beside = {look: look(study, only) for look in looks}
    readers = [[reader_of(source, paths, beside) for source in shape] for shape in shapes]
    for row in fetched:
        yield [tuple(read(row) for read in shape) for shape in readers]


def select_values(query: QuerySet[Any], paths: Sequence[Path]) -> QuerySet[Any, tuple[Any, ...]]:
    """Return the query of these values alone. Expressions get names, because Django wants one for an aggregate."""
    names = [path if isinstance(path, str) else f"expression_{place}" for place, path in enumerate(paths)]
    expressions = {name: path for name, path in zip(names, paths, strict=True) if not isinstance(path, str)}
    return query.annotate(**expressions).values_list(*names)


def reader_of(source: Any, paths: dict[Any, int], beside: dict[Any, Any]) -> Callable[[Sequence[Any]], Any]:
    """Return the function that takes a source's value from a row of the database."""
    if source is None:
        return lambda row: None
    if not isinstance(source, Then):
        return itemgetter(paths[source])
    place, change = paths[source.path], source.change
    if source.beside is None:
        return lambda row: change(row[place])
    lookup = beside[source.beside]
    return lambda row: change(row[place], lookup)


def text(name: str, meaning: str, source: Source = "", values: Sequence[str] = ()) -> Column:
    return Column(name, meaning, source, "text", values=", ".join(values))


def words(name: str, meaning: str, source: Source = "") -> Column:
    """Return a column of what someone wrote. Its table also has the column REDACTED."""
    return Column(name, meaning, source, "text", in_words=True)


def integer(name: str, meaning: str, source: Source = "", unit: str = "", **bounds: int) -> Column:
    return Column(name, meaning, source, "integer", unit, **bounds)


def number(name: str, meaning: str, source: Source = "", unit: str = "", **bounds: int) -> Column:
    return Column(name, meaning, source, "number", unit, **bounds)


def truth(name: str, meaning: str, source: Source = "") -> Column:
    return Column(name, meaning, source, "truth", values="true, false")


def time(name: str, meaning: str, source: Source = "") -> Column:
    return Column(name, meaning, source, "time", "UTC, ISO 8601")


REDACTED = truth(
    "redacted",
    "something that tells who someone is was masked in what was written, as the study says (`redact_exports`)",
    Value(False, output_field=BooleanField()),
)


def conversation_of(path: str = "") -> Case:
    """Return the id of a run's conversation in every file: its code, or what the imported file called it."""
    code, external = f"{path}conversation__code", f"{path}external_id"
    return Case(When(**{external: ""}, then=F(code)), default=F(external))


def participant_of(path: str = "") -> Coalesce:
    return Coalesce(F(f"{path}participation__code"), F(f"{path}external_participant"))


def last_turn_of(path: str) -> Subquery:
    """Return the number of the last turn with a reply of the conversation to which the path leads."""
    turns = Turn.objects.filter(conversation=OuterRef(path), state=TurnState.ANSWERED)
    return Subquery(turns.order_by("-number").values("number")[:1])


def get_rated_turn(path: str = "") -> Case:
    """Return the turn that a response is about.

    For a final rating it is the last turn that was rated; if that was not recorded, as in imports, the last with a
    reply.
    """
    last = Coalesce(NullIf(f"{path}last_turn", 0), last_turn_of(f"{path}run__conversation"))
    return Case(
        When(**{f"{path}turn__gt": 0}, then=F(f"{path}turn")),
        When(**{f"{path}is_rating": True, f"{path}moment": "final"}, then=last),
    )


CONVERSATION_MEANING = "the conversation's id, as in conversations.csv; of an import the imported id"


def conversation(path: str = "") -> Column:
    """Return the column `conversation`. `path` leads to the run."""
    return text("conversation", CONVERSATION_MEANING, conversation_of(path))


def turn(source: Source = "") -> Column:
    return integer("turn", "the turn's number, from 1: a message and the reply to it", source, "turns")
