"""An interview for reading: questions, answers, notes and codes by section."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from studies.instruments.interview_guide import Question, Section
from studies.interviews.materials import dimension
from studies.interviews.schedule import answers_in, sections_of
from studies.models import (
    Answer,
    Attachment,
    CandidateDimension,
    Flag,
    Interview,
    InterviewNote,
    Participation,
    Passage,
)
from studies.role_play.flags import show_flag


@dataclass(frozen=True)
class NoteRecord:
    note: InterviewNote
    about: str  # the reply or the score that it is about, in words; empty where it is about none


@dataclass(frozen=True)
class QuestionRecord:
    question: Question
    answer: str
    notes: Sequence[NoteRecord]
    passages: Sequence[Passage]


@dataclass(frozen=True)
class SectionRecord:
    section: Section
    questions: Sequence[QuestionRecord]

    def holds_something(self) -> bool:
        return any(record.answer or record.notes for record in self.questions)


@dataclass(frozen=True)
class Record:
    """An interview for reading. `interview` is None before it has begun; `loose` are passages that belong to no
    question."""

    person: Participation
    interview: Interview | None
    sections: Sequence[SectionRecord]
    candidates: Sequence[CandidateDimension]
    files: Sequence[Attachment]
    loose: Sequence[Passage]


def record_of(person: Participation, interview: Interview | None, language: str) -> Record:
    answers = answers_in(person)
    notes = notes_in(interview, language)
    passages = list(interview.passages.all()) if interview else []
    sections = [
        SectionRecord(section, [question_record(question, answers, notes, passages) for question in section.questions])
        for section in sections_of(person)
    ]
    placed = {passage.pk for part in sections for one in part.questions for passage in one.passages}
    return Record(
        person=person,
        interview=interview,
        sections=sections,
        candidates=list(person.candidate_dimensions.order_by("pk")),
        files=list(interview.attachments.order_by("pk")) if interview else [],
        loose=[passage for passage in passages if passage.pk not in placed],
    )


def question_record(
    question: Question, answers: dict[str, str], notes: Sequence[NoteRecord], passages: Sequence[Passage]
) -> QuestionRecord:
    own = [noted for noted in notes if noted.note.question == question.key]
    places = {f"answer:{question.key}", *(f"note:{noted.note.pk}" for noted in own)}
    marked = [passage for passage in passages if passage.source in places]
    return QuestionRecord(question, answers.get(question.key, ""), own, marked)


def notes_in(interview: Interview | None, language: str) -> list[NoteRecord]:
    if interview is None:
        return []
    notes = interview.notes.select_related("flag__run", "rating__response__run", "author").order_by("pk")
    return [NoteRecord(note, note_subject(note, language)) for note in notes]


def note_subject(note: InterviewNote, language: str) -> str:
    if note.flag:
        return flag_in_words(note.flag, language)
    return score_in_words(note.rating, language) if note.rating else ""


def flag_in_words(flag: Flag, language: str) -> str:
    values = {"partner": flag.run.position, "turn": flag.turn, "reason": show_flag(flag, language)["words"]}
    return _("Partner %(partner)s, turn %(turn)s: %(reason)s") % values


def score_in_words(rating: Answer, language: str) -> str:
    response = rating.response
    values = {
        "partner": response.run.position,
        "dimension": dimension(response.instrument, rating.item, language),
        "score": f"{rating.value:g}",
    }
    return _("Partner %(partner)s, %(dimension)s: %(score)s") % values
