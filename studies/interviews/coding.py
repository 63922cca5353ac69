"""Coding of interviews: passages with codes, and candidate dimensions counted over people."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from studies.interviews import attachments
from studies.interviews.schedule import answers_in, sections_of
from studies.models import Attachment, CandidateDimension, Interview, Passage, Study


class PassageNotFound(Exception):
    """The text does not stand in the source."""


@dataclass(frozen=True)
class Source:
    """A text in which passages can be marked. `key` is what Passage.source holds."""

    key: str
    label: str
    text: str


def sources_of(interview: Interview, language: str) -> list[Source]:
    """Return what the person wrote, the notes and the transcripts, without empty ones."""
    sources = [*answers_of(interview, language), *notes_of(interview, language), *transcripts_of(interview)]
    return [source for source in sources if source.text]


def answers_of(interview: Interview, language: str) -> list[Source]:
    answers = answers_in(interview.participation)
    questions = questions_of(interview, language)
    return [Source(f"answer:{key}", questions.get(key, key), text) for key, text in answers.items()]


def questions_of(interview: Interview, language: str) -> dict[str, str]:
    sections = sections_of(interview.participation)
    return {question.key: question.text[language] for section in sections for question in section.questions}


def notes_of(interview: Interview, language: str) -> list[Source]:
    questions = questions_of(interview, language)
    return [
        Source(f"note:{note.pk}", _("Note: %(question)s") % {"question": questions.get(note.question, "")}, note.text)
        for note in interview.notes.order_by("pk")
    ]


def transcripts_of(interview: Interview) -> list[Source]:
    files = interview.attachments.filter(kind=Attachment.Kind.TRANSCRIPT).order_by("pk")
    return [Source(f"file:{file.pk}", file.name, attachments.transcript_text(file)) for file in files]


def passage_in(text: str, passage: str) -> str | None:
    """Return the passage as it stands in `text`, or None. Line breaks may differ, because browsers have their own."""
    words = [re.escape(word) for word in passage.split()]
    match = re.search(r"\s+".join(words), text) if words else None
    return match[0] if match else None


def mark_passage(
    interview: Interview, source: Source, *, text: str, code: str, memo: str, coder: Any = None
) -> Passage:
    """Store a coded passage. Raises PassageNotFound."""
    passage = passage_in(source.text, text)
    if passage is None:
        raise PassageNotFound
    return Passage.objects.create(
        interview=interview, source=source.key, text=passage, code=code, memo=memo, coder=coder
    )


# Codes


def passages_of(study: Study) -> QuerySet[Passage]:
    return Passage.objects.filter(interview__participation__study=study)


@dataclass(frozen=True)
class CodeCount:
    code: str
    passages: int
    people: int


def count_codes(passages: QuerySet[Passage]) -> list[CodeCount]:
    counted = passages.order_by().values_list("code").annotate(Count("pk"), Count("interview", distinct=True))
    return [CodeCount(*row) for row in counted.order_by("code")]


def rename_code(study: Study, *, was: str, becomes: str) -> int:
    """Rename a code in every interview of the study, test data too, and return in how many passages."""
    return passages_of(study).filter(code=was).update(code=becomes)


# Candidate dimensions


@dataclass(frozen=True)
class CandidateCount:
    """A candidate dimension with the people who named it.

    Names that differ only in capitals are one; `name` is the most frequent spelling.
    """

    name: str
    people: int
    candidates: Sequence[CandidateDimension]


def count_candidates(candidates: QuerySet[CandidateDimension]) -> list[CandidateCount]:
    """Return the candidates by their number of people, the most first."""
    by_name: dict[str, list[CandidateDimension]] = {}
    for candidate in candidates.select_related("participation").order_by("pk"):
        by_name.setdefault(candidate.name.casefold(), []).append(candidate)
    counted = [
        CandidateCount(usual_name(rows), len({one.participation_id for one in rows}), rows) for rows in by_name.values()
    ]
    return sorted(counted, key=lambda one: (-one.people, one.name.casefold()))


def usual_name(candidates: Sequence[CandidateDimension]) -> str:
    [(name, _times)] = Counter(one.name for one in candidates).most_common(1)
    return name


@transaction.atomic
def merge_candidates(study: Study, *, was: str, becomes: str) -> int:
    """Count the candidate `was` as `becomes` from now on, and return how many rows were changed.

    A person who named both keeps one of them, with their texts on each.
    """
    rows = list(study.candidate_dimensions.select_for_update().order_by("pk"))
    by_person = {row.participation_id: row for row in rows if row.name.casefold() == becomes.casefold()}
    meant = [row for row in rows if row.name.casefold() == was.casefold() and row not in by_person.values()]
    for row in meant:
        if row.participation_id in by_person:
            merge_into(by_person[row.participation_id], row)
        else:
            row.name = becomes
            row.save(update_fields=["name"])
            by_person[row.participation_id] = row
    return len(meant)


def merge_into(target: CandidateDimension, other: CandidateDimension) -> None:
    target.definition = "\n".join(filter(None, [target.definition, other.definition]))
    target.example = "\n".join(filter(None, [target.example, other.example]))
    other.delete()
    target.save(update_fields=["definition", "example"])
