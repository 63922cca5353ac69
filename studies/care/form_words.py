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


def find_words(person: Participation, questionnaire: Questionnaire, given: Iterable[AnswerValue]) -> list[str]:
    """Return what a person wrote about themselves in words: into open items and closing remarks, and as reasons.

    Counsellors and reviewers write about others, but for the few items that ask them how they are.
    """
    is_participant = person.track == Participation.Track.PARTICIPANT
    meant = [one for one in given if is_participant or one.item in OF_THEMSELVES]
    keys = {item.key for item in questionnaire.items if item.type in IN_KEYS}
    words = [text for one in meant for text in ("" if one.item in keys else one.text, one.reason)]
    return [text for text in words if text.strip()]


@transaction.atomic
def screen_words(person: Participation, words: Iterable[str], run: ArmRun | None = None) -> bool:
    """Screen what a person has written about themselves into a form; return whether it shows grave danger.

    At level 3 the person on call is alarmed, and what the person takes part in goes on. At level 4 it ends for them.
    """
    found = max(map(screen_message, words), key=lambda one: one.level, default=Verdict(0))
    if found.level < GRAVE:
        return False
    event = raise_event(person, found, WRITTEN, run)
    if found.level > GRAVE:
        person.refresh_from_db()
        answers.end_part(person)
    raise_alarm(event)
    return True


def raise_event(person: Participation, found: Verdict, where: str, run: ArmRun | None = None) -> RiskEvent:
    """Store a sign of danger in a person's words; `where` they stood is the first of its entries."""
    return RiskEvent.objects.create(
        conversation=run.conversation if run else None,
        subject=person.code,
        source=RiskEvent.Source.ANSWER,
        level=found.level,
        first_level=found.level,
        entries=[where, *found.entries],
        categories=list(found.categories),
        screen=screen_version(),
        suspected=found.pattern_level < GRAVE,
        is_test=person.is_test,
    )


def find_grave_words(person: Participation) -> list[str]:
    """Return what the person has written of grave danger in forms and in questions to the team."""
    given = Answer.objects.filter(response__rater__participation=person).order_by("pk").values_list("text", "reason")
    texts = [*chain.from_iterable(given), *person.questions.order_by("pk").values_list("text", flat=True)]
    return [text for text in texts if text and screen_message(text).level >= GRAVE]
