"""The person's own conversations, ratings and flagged replies for an interview; by partner, never by arm."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from dialogue.models import Turn
from studies.instruments.loading import load
from studies.models import Answer, Flag, Participation
from studies.participation.responses import answers_to_instructed_items
from studies.role_play import flags


@dataclass(frozen=True)
class Talk:
    partner: int
    language: str
    opening: str
    opening_language: str
    turns: Sequence[Turn]


@dataclass(frozen=True)
class Score:
    """A score with its reason; `score` is empty if the dimension was not rated."""

    score: str
    reason: str


@dataclass(frozen=True)
class ScoreTable:
    """The final ratings by one instrument: `rows` are (dimension, its score for each of `partners`)."""

    instrument: str
    title: str
    partners: Sequence[int]
    rows: Sequence[tuple[str, Sequence[Score]]]

    @property
    def reasons(self) -> list[tuple[str, int, str]]:
        """Return dimension, partner and reason of each score for which the person gave a reason."""
        return [
            (name, partner, one.reason)
            for name, scores in self.rows
            for partner, one in zip(self.partners, scores, strict=True)
            if one.reason
        ]


@dataclass(frozen=True)
class FlaggedReply:
    partner: int
    turn: int
    reason: str
    note: str
    reply: str


def talks_of(person: Participation) -> list[Talk]:
    runs = person.runs.filter(conversation__isnull=False).select_related("conversation").order_by("position")
    return [
        Talk(run.position, talk.language, talk.opening, talk.language_of(0), list(talk.turns.order_by("number")))
        for run in runs.prefetch_related("conversation__turns")
        if (talk := run.conversation)
    ]


def ratings_of(person: Participation) -> QuerySet[Answer]:
    """Return this person's scores at the end of each of their own conversations."""
    rated = Answer.objects.filter(
        ~answers_to_instructed_items(),
        response__rater__participation=person,
        response__run__participation=person,
        response__moment="final",
        response__is_rating=True,
        value__isnull=False,
    )
    return rated.select_related("response__run").order_by("response__run__position", "response__pk", "pk")


def score_tables(person: Participation, language: str, *, only: Collection[str]) -> list[ScoreTable]:
    """Return a table for each instrument in `only`, in the order in which the person answered them."""
    rated = ratings_of(person).filter(response__instrument__in=only)
    instruments = dict.fromkeys(answer.response.instrument for answer in rated)
    partners = sorted({answer.response.run.position for answer in rated})
    return [table_of(name, rated, partners, language) for name in instruments]


def table_of(instrument: str, rated: Sequence[Answer], partners: Sequence[int], language: str) -> ScoreTable:
    scores = {
        (answer.item, answer.response.run.position): Score(f"{answer.value:g}", answer.reason)
        for answer in rated
        if answer.response.instrument == instrument
    }
    items = dict.fromkeys(item for item, _partner in scores)
    rows = [
        (dimension(instrument, item, language), [scores.get((item, partner), Score("", "")) for partner in partners])
        for item in items
    ]
    return ScoreTable(instrument, load(instrument).heading[language], partners, rows)


def dimension(instrument: str, item: str, language: str) -> str:
    """Return the short name of a dimension, or its question if it has none."""
    question = load(instrument).item(item)
    return (question.label or question.text)[language]


def flags_of(person: Participation) -> QuerySet[Flag]:
    """Return the flags that were not withdrawn, in the order of the conversations."""
    standing = Flag.objects.filter(run__participation=person, withdrawn_at=None)
    return standing.select_related("run").order_by("run__position", "turn")


def replies_with_flags(person: Participation, language: str) -> list[FlaggedReply]:
    return [reply_of_flag(flag, language) for flag in flags_of(person)]


def reply_of_flag(flag: Flag, language: str) -> FlaggedReply:
    reason = str(flags.show_flag(flag, language)["words"])
    return FlaggedReply(flag.run.position, flag.turn, reason, flag.note, flag.reply)
