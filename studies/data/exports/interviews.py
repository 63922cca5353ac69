"""Interviews and what was made of them. What people wrote themselves is in answers.csv; no file is in the export."""

from django.db.models import Case, Count, F, QuerySet, Value, When
from django.db.models.functions import Coalesce

from studies.data.exports.columns import Filter, Rows, Table, conversation_of, integer, text, time
from studies.design.plan import Step
from studies.interviews.schedule import INTERVIEW
from studies.models import CandidateDimension, Interview, InterviewNote, Passage, Study

PERSON = text("participant", "the code of the person who was interviewed")

# interviews.csv

INTERVIEWS = (
    PERSON,
    text("mode", "who led it: the person alone, in writing, or an interviewer", ("self", "interviewer")),
    text("instrument", "the guide; its questions are listed in codebook.csv under its own name"),
    text("version", "of the guide"),
    time("started_at", "first page sent, or begun by the interviewer"),
    time("ended_at", "last page sent, or closed by the interviewer; empty while it is under way"),
    integer("notes", "the interviewer's notes", "notes"),
    integer("files", "recordings and transcripts that lie on the server", "files"),
)


def interviews_of(study: Study, only: Filter) -> QuerySet[Interview]:
    return Interview.objects.filter(participation__in=only.participations(study))


def interviews(study: Study, only: Filter) -> Rows:
    found = interviews_of(study, only).annotate(
        of_notes=Count("notes", distinct=True), of_files=Count("attachments", distinct=True)
    )
    rows = found.order_by("participation").values_list(
        "participation__code",
        "participation__plan",
        "instrument",
        "version",
        "started_at",
        "ended_at",
        "of_notes",
        "of_files",
    )
    for code, plan, *rest in rows.iterator():
        yield code, mode_in(plan), *rest


def mode_in(plan: list[dict]) -> str:
    return next((step.mode for step in map(Step.from_json, plan) if step.kind == INTERVIEW), "")


# interview_notes.csv

NOTES = (
    PERSON,
    text("question", "the question of the guide at which it was noted"),
    text("text", "what was noted"),
    text("conversation", "of the reply or the score that it is about, as in conversations.csv; empty where of none"),
    integer("turn", "the reply that it is about, where it is about one", "turns"),
    text("item", "the dimension whose score it is about, where it is about one"),
    time("noted_at", "when it was saved first"),
)


def notes_of(study: Study, only: Filter) -> QuerySet[InterviewNote]:
    return InterviewNote.objects.filter(interview__participation__in=only.participations(study))


def notes(study: Study, only: Filter) -> Rows:
    of_flag, of_rating = conversation_of("flag__run__"), conversation_of("rating__response__run__")
    rows = notes_of(study, only).values_list(
        "interview__participation__code",
        "question",
        "text",
        Case(When(flag__isnull=False, then=of_flag), When(rating__isnull=False, then=of_rating)),
        "flag__turn",
        Coalesce(F("rating__item"), Value("")),
        "noted_at",
    )
    yield from rows.order_by("interview__participation", "pk").iterator()


# passages.csv

PASSAGES = (
    PERSON,
    text("source", "what it is of: answer:<question>, note:<number> or file:<number>"),
    text("text", "the passage, as it stood in its source"),
    text("code", "the code that it was given"),
    text("memo", "the coder's remark"),
    text("coder", "the account of who coded it; empty where the account is gone"),
    time("coded_at", "when"),
)


def passages_of(study: Study, only: Filter) -> QuerySet[Passage]:
    return Passage.objects.filter(interview__participation__in=only.participations(study))


def passages(study: Study, only: Filter) -> Rows:
    rows = passages_of(study, only).values_list(
        "interview__participation__code", "source", "text", "code", "memo", "coder__username", "coded_at"
    )
    yield from rows.order_by("interview__participation", "pk").iterator()


# candidate_dimensions.csv

CANDIDATES = (
    PERSON,
    text("name", "of a dimension that the person misses among those they rated"),
    text("definition", "what it means, in their words"),
    text("example", "from the conversations, in their words"),
)


def candidates_of(study: Study, only: Filter) -> QuerySet[CandidateDimension]:
    return CandidateDimension.objects.filter(participation__in=only.participations(study))


def candidates(study: Study, only: Filter) -> Rows:
    rows = candidates_of(study, only).values_list("participation__code", "name", "definition", "example")
    yield from rows.order_by("participation", "pk").iterator()


TABLES = (
    Table("interviews", "an interview", INTERVIEWS, interviews, lambda study, only: interviews_of(study, only).count()),
    Table("interview_notes", "an interviewer's note", NOTES, notes, lambda study, only: notes_of(study, only).count()),
    Table("passages", "a coded passage", PASSAGES, passages, lambda study, only: passages_of(study, only).count()),
    Table(
        "candidate_dimensions",
        "a dimension that a person misses",
        CANDIDATES,
        candidates,
        lambda study, only: candidates_of(study, only).count(),
    ),
)
