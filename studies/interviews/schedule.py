"""The state of interviews: whose, in which mode, begun or closed, and the answers of people who answer alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from studies.design.plan import Step
from studies.design.spec import SELF
from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import AnswerValue
from studies.instruments.interview_guide import Section, sections_for
from studies.instruments.loading import load
from studies.models import Answer, CandidateDimension, Interview, Participation, Response
from studies.participation.responses import rater_for

INTERVIEW = "interview"  # the kind of the step


@dataclass(frozen=True)
class Candidate:
    name: str
    definition: str
    example: str


def step_of(person: Participation) -> Step | None:
    return next((step for step in person.steps() if step.kind == INTERVIEW), None)


def is_written(person: Participation) -> bool:
    """Return whether the person answers alone."""
    step = step_of(person)
    return step is not None and step.mode == SELF


def interview_of(person: Participation) -> Interview | None:
    return Interview.objects.filter(participation=person).first()


def is_over(person: Participation) -> bool:
    return Interview.objects.filter(participation=person, ended_at__isnull=False).exists()


def guide_of(person: Participation) -> Questionnaire:
    step = step_of(person)
    assert step is not None  # noqa: S101 - only people whose plan has an interview come here
    return load(step.instrument)


def sections_of(person: Participation) -> tuple[Section, ...]:
    return sections_for(guide_of(person), person.track)


def start(person: Participation, *, interviewer: Any = None) -> Interview:
    """Start the interview, or return the one that has started with its interviewer."""
    guide = guide_of(person)
    interview, _ = Interview.objects.get_or_create(
        participation=person,
        defaults={"instrument": guide.id, "version": guide.version, "interviewer": interviewer},
    )
    return interview


def close(interview: Interview) -> None:
    """Close the interview, so that the person can continue. An interview closed before keeps its time."""
    Interview.objects.filter(pk=interview.pk, ended_at=None).update(ended_at=timezone.now())


def reopen(interview: Interview) -> None:
    Interview.objects.filter(pk=interview.pk).update(ended_at=None)


def takes_notes(interview: Interview) -> bool:
    return interview.ended_at is None or is_written(interview.participation)


# Written answers


def answers_in(person: Participation) -> dict[str, str]:
    """Return answers by question; empty for a question left empty, absent if its page was not sent yet."""
    rows = Answer.objects.filter(
        response__rater__participation=person,
        response__instrument=guide_of(person).id,
        response__run=None,
        response__moment="",
    )
    return dict(rows.values_list("item", "text"))


def minutes_written(person: Participation) -> int:
    """Return the minutes that the guide gives to the sections already sent."""
    answers = answers_in(person)
    sections = sections_of(person)
    return sum(part.minutes for part in sections if all(question.key in answers for question in part.questions))


@transaction.atomic
def store_answers(
    person: Participation, answers: Iterable[AnswerValue], *, language: str, seconds: Mapping[str, float]
) -> None:
    """Add a page of answers to the one response; a page that is sent again replaces its earlier answers."""
    guide = guide_of(person)
    place = {"rater": rater_for(person), "run": None, "instrument": guide.id, "moment": "", "turn": 0, "replicate": 1}
    fresh = {"version": guide.version, "language": language, "started_at": timezone.now()}
    response, _ = Response.objects.get_or_create(**place, defaults=fresh)
    for answer in answers:
        values = {"text": answer.text, "missing_reason": answer.missing_reason, "seconds": seconds.get(answer.item)}
        Answer.objects.update_or_create(response=response, item=answer.item, defaults=values)
    Response.objects.filter(pk=response.pk).update(submitted_at=timezone.now())


@transaction.atomic
def keep_candidates(person: Participation, named: Sequence[Candidate]) -> None:
    """Replace the candidates that the person named before."""
    person.candidate_dimensions.all().delete()
    CandidateDimension.objects.bulk_create(
        CandidateDimension(study=person.study, participation=person, **vars(candidate)) for candidate in named
    )


def candidates_of(person: Participation) -> list[Candidate]:
    rows = person.candidate_dimensions.order_by("pk").values_list("name", "definition", "example")
    return [Candidate(*row) for row in rows]
