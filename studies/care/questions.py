"""Questions of people to the team, by the link on each of their pages, and the team's answers.

A question is screened as a message would be: where it shows grave danger, the person on call is alarmed and the person
meets the page with help. What they take part in goes on.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dialogue.models import RiskEvent
from dialogue.safety.screening import screen_message
from studies.care.alarms import raise_alarm
from studies.care.form_words import GRAVE, raise_event
from studies.models import Participation, Question, Study
from studies.participation import counts
from studies.participation.locking import lock_person

LONGEST_TEXT = 2000  # characters of a question or an answer
MOST_OPEN = 5  # questions of one person without an answer
ASKED = "question"  # among the entries of an event: where the words stood


def may_ask(person: Participation) -> bool:
    return person.questions.filter(answered_at=None).count() < MOST_OPEN


class TooMany(Exception):
    """The person has as many questions without an answer as they may have."""


@transaction.atomic
def ask(person: Participation, text: str, *, step: str) -> RiskEvent | None:
    """Store a question; return the event if its words show grave danger. Raises TooMany."""
    lock_person(person)  # of several tabs at once each counts what the others have asked
    if not may_ask(person):
        raise TooMany
    Question.objects.create(participation=person, text=text, step=step)
    verdict = screen_message(text)
    if verdict.level < GRAVE:
        return None
    event = raise_event(person, verdict, ASKED)
    raise_alarm(event)
    return event


def find_questions(study: Study, *, test: str = "") -> QuerySet[Question]:
    """Return all questions of the study's people. `test`: as in `counts.filter_by_test`."""
    people = counts.filter_by_test(study.participations.all(), test)
    return Question.objects.filter(participation__in=people).select_related("participation")


def find_open(study: Study, *, test: str = "") -> QuerySet[Question]:
    return find_questions(study, test=test).filter(answered_at=None)


def answer(question: Question, text: str, *, by: AbstractBaseUser) -> bool:
    """Store the answer, which the person reads on their pages; False if someone has answered before."""
    values = {"answer": text, "answered_at": timezone.now(), "answered_by": by, "answered_by_name": by.get_username()}
    return bool(Question.objects.filter(pk=question.pk, answered_at=None).update(**values))
