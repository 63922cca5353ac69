"""Letters: what members of the team wrote to a person, by themselves or in answer to a question.

A letter stands open on each of the person's pages until they say that they have read it.
"""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.utils import timezone

from dialogue.compiled_sql import CompiledQuery
from studies.care import desk
from studies.models import Participation, Question

MESSAGE, ANSWER = "message", "answer"


@dataclass(frozen=True)
class Letter:
    """A letter to a person. `key` names it when they mark it as read; `question` is what they had asked, or ""."""

    key: str
    text: str
    at: datetime
    zone: ZoneInfo  # of the study
    is_read: bool
    question: str = ""


ANSWERED = CompiledQuery(Question, lambda: Question.objects.filter(participation=0, answered_at__isnull=False))


def get_letters(person: Participation) -> list[Letter]:
    """Return the letters to a person, newest first."""
    zone = get_zone(person)
    letters = [Letter(f"{MESSAGE} {one.act}", one.text, one.at, zone, one.is_read) for one in desk.get_messages(person)]
    for one in ANSWERED.rows(person.pk):
        is_read = one.read_at is not None
        letters.append(Letter(f"{ANSWER} {one.pk}", one.answer, one.answered_at, zone, is_read, question=one.text))
    return sorted(letters, key=lambda letter: letter.at, reverse=True)


def get_zone(person: Participation) -> ZoneInfo:
    return ZoneInfo(person.design().safety.time_zone)


def mark_read(person: Participation, key: str) -> None:
    """Store that the person has read a letter; once. A key that names none of theirs changes nothing."""
    unread = {letter.key for letter in get_letters(person) if not letter.is_read}
    if key not in unread:
        return
    kind, _, number = key.partition(" ")
    if kind == MESSAGE:
        desk.mark_read(person, int(number))
    else:
        person.questions.filter(pk=number, read_at=None).update(read_at=timezone.now())
