"""Screen the words that people write into forms and questions, as messages in a conversation are screened."""

from collections.abc import Iterable
from itertools import chain

from django.db import transaction

from dialogue.models import RiskEvent
from dialogue.safety.screening import Verdict, screen_message, screen_version
from studies.care import answers
from studies.care.alarms import raise_alarm
from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import AnswerValue
from studies.models import Answer, ArmRun, Participation

GRAVE = 3  # level
WRITTEN = "written"  # among the entries of an event: the words stood in a form
IN_KEYS = ("single", "country", "checkbox")  # types of items whose answer is a key, not words
OF_THEMSELVES = ("role_words", "cl2")  # items in which a counsellor says how they are: after a role, after an interview


def find_words(person: Participation, questionnaire: Questionnaire, values: Iterable[AnswerValue]) -> list[str]:
    """Return a person's own texts about themselves: open items, closing remarks and reasons.

    Counsellors and reviewers write about others, but for the few items that ask them how they are.
    """
    is_participant = person.track == Participation.Track.PARTICIPANT
    meant = [one for one in values if is_participant or one.item in OF_THEMSELVES]
    keys = {item.key for item in questionnaire.items if item.type in IN_KEYS}
    words = [text for one in meant for text in ("" if one.item in keys else one.text, one.reason)]
    return [text for text in words if text.strip()]


@transaction.atomic
def screen_words(person: Participation, words: Iterable[str], run: ArmRun | None = None) -> bool:
    """Screen what a person has written about themselves into a form; return whether it shows grave danger.

    At level 3 the person on call is alarmed, and what the person takes part in goes on. At level 4 it ends for them.
    """
    verdict = max(map(screen_message, words), key=lambda one: one.level, default=Verdict(0))
    if verdict.level < GRAVE:
        return False
    event = raise_event(person, verdict, WRITTEN, run)
    if verdict.level > GRAVE:
        person.refresh_from_db()
        answers.end_part(person)
    raise_alarm(event)
    return True


def raise_event(person: Participation, verdict: Verdict, where: str, run: ArmRun | None = None) -> RiskEvent:
    """Store a sign of danger in a person's words; `where` they stood is the first of its entries."""
    return RiskEvent.objects.create(
        conversation=run.conversation if run else None,
        subject=person.code,
        source=RiskEvent.Source.ANSWER,
        level=verdict.level,
        first_level=verdict.level,
        entries=[where, *verdict.entries],
        categories=list(verdict.categories),
        screen=screen_version(),
        suspected=verdict.pattern_level < GRAVE,
        is_test=person.is_test,
    )


def find_grave_words(person: Participation) -> list[str]:
    """Return the person's texts with signs of grave danger, from forms and from questions to the team."""
    rows = Answer.objects.filter(response__rater__participation=person).order_by("pk").values_list("text", "reason")
    texts = [*chain.from_iterable(rows), *person.questions.order_by("pk").values_list("text", flat=True)]
    return [text for text in texts if text and screen_message(text).level >= GRAVE]
