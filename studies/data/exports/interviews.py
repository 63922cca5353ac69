"""Interviews and what was made of them. What people wrote themselves is in answers.csv; no file is in the export."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Case, Count, F, QuerySet, Value, When
from django.db.models.functions import Coalesce

from studies.data.exports.columns import (
    REDACTED,
    Column,
    Filter,
    Then,
    conversation_of,
    integer,
    query_table,
    text,
    time,
    words,
)
from studies.design.plan import Step
from studies.interviews.schedule import INTERVIEW
from studies.models import CandidateDimension, Interview, InterviewNote, Passage, Study


def person(path: str) -> Column:
    """Return the column `participant`. `path` leads to the participation."""
    return text("participant", "the code of the person who was interviewed", f"{path}participation__code")


# interviews.csv


def mode_in(plan: Iterable[dict[str, Any]]) -> str:
    return next((step.mode for step in map(Step.from_json, plan) if step.kind == INTERVIEW), "")


INTERVIEWS = (
    person(""),
    text(
        "mode",
        "who led it: the person alone, in writing, or an interviewer",
        Then("participation__plan", mode_in),
        ("self", "interviewer"),
    ),
    text("instrument", "the guide; its questions are listed in codebook.csv under its own name"),
    text("version", "of the guide"),
    time("started_at", "first page sent, or begun by the interviewer"),
    time("ended_at", "last page sent, or closed by the interviewer; empty while it is under way"),
    integer("notes", "the interviewer's notes", Count("notes", distinct=True), "notes"),
    integer("files", "recordings and transcripts that lie on the server", Count("attachments", distinct=True), "files"),
)


def interviews(study: Study, only: Filter) -> QuerySet[Interview]:
    return Interview.objects.filter(participation__in=only.participations(study)).order_by("participation")


# interview_notes.csv

NOTES = (
    person("interview__"),
    text("question", "the question of the guide at which it was noted"),
    words("text", "what was noted"),
    text(
        "conversation",
        "of the reply or the score that it is about, as in conversations.csv; empty where of none",
        Case(
            When(flag__isnull=False, then=conversation_of("flag__run__")),
            When(rating__isnull=False, then=conversation_of("rating__response__run__")),
        ),
    ),
    integer("turn", "the reply that it is about, where it is about one", "flag__turn", "turns"),
    text(
        "item",
        "the dimension whose score it is about, where it is about one",
        Coalesce(F("rating__item"), Value("")),
    ),
    time("noted_at", "when it was saved first"),
    REDACTED,
)


def notes(study: Study, only: Filter) -> QuerySet[InterviewNote]:
    rows = InterviewNote.objects.filter(interview__participation__in=only.participations(study))
    return rows.order_by("interview__participation", "pk")


# passages.csv

PASSAGES = (
    person("interview__"),
    text("source", "what it is of: answer:<question>, note:<number> or file:<number>"),
    words("text", "the passage, as it stood in its source"),
    text("code", "the code that it was given"),
    words("memo", "the coder's remark"),
    text("coder", "the account of who coded it; empty where the account is gone", "coder__username"),
    time("coded_at", "when"),
    REDACTED,
)


def passages(study: Study, only: Filter) -> QuerySet[Passage]:
    rows = Passage.objects.filter(interview__participation__in=only.participations(study))
    return rows.order_by("interview__participation", "pk")


# candidate_dimensions.csv

CANDIDATES = (
    person(""),
    text("name", "of a dimension that the person misses among those they rated"),
    words("definition", "what it means, in their words"),
    words("example", "from the conversations, in their words"),
    REDACTED,
)


def candidates(study: Study, only: Filter) -> QuerySet[CandidateDimension]:
    rows = CandidateDimension.objects.filter(participation__in=only.participations(study))
    return rows.order_by("participation", "pk")


TABLES = (
    query_table("interviews", "an interview", INTERVIEWS, interviews),
    query_table("interview_notes", "an interviewer's note", NOTES, notes),
    query_table("passages", "a coded passage", PASSAGES, passages),
    query_table("candidate_dimensions", "a dimension that a person misses", CANDIDATES, candidates),
)
