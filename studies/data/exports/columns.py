"""What the tables of an export are made of: columns, a filter of rows, and ids that are the same in every file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce, NullIf

from dialogue.models import Turn
from dialogue.models.conversation import TurnState
from studies.models import Answer, ArmRun, Participation, Response, Study
from studies.models.participation import Status

Rows = Iterator[tuple[Any, ...]]


@dataclass(frozen=True)
class Filter:
    """Which rows of a study are meant: real people's, imported and simulated ones; test data where asked for."""

    include_tests: bool = False

    def participations(self, study: Study) -> QuerySet[Participation]:
        """Reviewers too: their ratings are in the files."""
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
    """Whether an export without test data would be empty, and one with it would not."""
    real = Filter()
    begun = real.participations(study).exclude(status=Status.INVITED)
    is_empty = not any(rows.exists() for rows in (begun, real.runs(study), real.responses(study)))
    return is_empty and Filter(include_tests=True).runs(study).exists()


def tests_left_out(study: Study, only: Filter) -> int:
    """Return how many conversations of test data the filter leaves out."""
    return 0 if only.include_tests else Filter(include_tests=True).runs(study).test_data().count()


@dataclass(frozen=True)
class Column:
    name: str
    type: str  # text, number, integer, truth, time
    unit: str
    values: str
    meaning: str
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True)
class Table:
    """`rows` yields tuples in the order of `columns`; `count` asks the database how many there should be."""

    name: str
    a_row_is: str
    columns: tuple[Column, ...]
    rows: Callable[[Study, Filter], Rows]
    count: Callable[[Study, Filter], int]
    always: bool = False  # written with its header alone where there is no row

    @property
    def file(self) -> str:
        return f"{self.name}.csv"


def text(name: str, meaning: str, values: tuple[str, ...] | list[str] = ()) -> Column:
    return Column(name, "text", "", ", ".join(values), meaning)


def integer(name: str, meaning: str, unit: str = "", minimum: int | None = None, maximum: int | None = None) -> Column:
    return Column(name, "integer", unit, "", meaning, minimum, maximum)


def number(name: str, meaning: str, unit: str = "", minimum: int | None = None, maximum: int | None = None) -> Column:
    return Column(name, "number", unit, "", meaning, minimum, maximum)


def truth(name: str, meaning: str) -> Column:
    return Column(name, "truth", "", "true, false", meaning)


def time(name: str, meaning: str) -> Column:
    return Column(name, "time", "UTC, ISO 8601", "", meaning)


def conversation_of(path: str = "") -> Case:
    """The id of a run's conversation in every file: its code, or what the imported file called it."""
    code, external = f"{path}conversation__code", f"{path}external_id"
    return Case(When(**{external: ""}, then=F(code)), default=F(external))


def participant_of(path: str = "") -> Coalesce:
    return Coalesce(F(f"{path}participation__code"), F(f"{path}external_participant"))


def last_turn_of(path: str) -> Subquery:
    """The number of the last turn with a reply of the conversation to which the path leads."""
    turns = Turn.objects.filter(conversation=OuterRef(path), state=TurnState.ANSWERED)
    return Subquery(turns.order_by("-number").values("number")[:1])


def turn_rated(path: str = "") -> Case:
    """The turn that a response is about. Of a final rating the last turn that was rated: where it was not recorded, as
    of imports, the last with a reply."""
    last = Coalesce(NullIf(f"{path}last_turn", 0), last_turn_of(f"{path}run__conversation"))
    return Case(
        When(**{f"{path}turn__gt": 0}, then=F(f"{path}turn")),
        When(**{f"{path}is_rating": True, f"{path}moment": "final"}, then=last),
    )


CONVERSATION = text("conversation", "the conversation's id, as in conversations.csv; of an import the imported id")
TURN = integer("turn", "the turn's number, from 1: a message and the reply to it", "turns")
