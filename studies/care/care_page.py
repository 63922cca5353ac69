"""The care page that a person in danger sees: help lines, a question, who was alerted. It names no arm."""

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from dialogue.models import RiskEvent
from dialogue.safety.categories import PageCategory, page_category
from dialogue.safety.resources import Resource, lines_for
from studies.care import answers
from studies.care.alarms import WaitingFacts, get_waiting_facts
from studies.care.letters import Letter, get_letters, get_zone
from studies.models import Participation, SafetyAct
from studies.models.participation import Status

NO_ALARM = WaitingFacts((), None, overdue=False)
SHOWN_FIRST = 2  # lines that stand as buttons at the head of the page


@dataclass(frozen=True)
class CarePage:
    """Everything that the page says of one sign of danger. `number` is 0 where no sign is stored."""

    number: int
    level: int
    category: PageCategory
    lines: Sequence[Resource]
    facts: WaitingFacts
    letters: Sequence[Letter]
    zone: ZoneInfo
    answer: str = ""  # to "Are you safe right now?": no, hard, safe
    from_answer: bool = False  # they said it by a button, so there are no words of theirs
    is_held: bool = False
    goes_on: bool = False  # the person's part does, beside this page
    is_test: bool = False
    is_demo: bool = False  # the demonstration, in which nobody is told
    asks_role: bool = False
    asks_role_again: bool = False
    words: str = ""  # that the question about the role is about
    needs_check: bool = False
    rule: str = "wait"  # what "Yes, I am safe" leads to
    asks_where: bool = False
    where: str = ""

    def messages(self) -> Sequence[Letter]:
        """Return what the team wrote by itself, as about the danger: it stands before the question how they are."""
        return [letter for letter in self.letters if not letter.question]

    def team_answers(self) -> Sequence[Letter]:
        """Return the answers to earlier questions of the person, which stand behind it."""
        return [letter for letter in self.letters if letter.question]

    def first_lines(self) -> Sequence[Resource]:
        return self.lines[:SHOWN_FIRST]

    def other_lines(self) -> Sequence[Resource]:
        return self.lines[SHOWN_FIRST:]


def get_care_page(person: Participation) -> CarePage:
    """Return the contents of a person's care page, about their newest sign of danger."""
    event = answers.get_event(person)
    spec = person.design()
    level = event.level if event else 3
    category = page_category(event.categories if event else ())
    common = {
        "level": level,
        "category": category,
        "lines": lines_for(person.country or spec.country, level=level, category=category),
        "letters": get_letters(person),
        "zone": get_zone(person),
        "is_held": person.status == Status.HELD,
        "goes_on": not person.is_over() and person.status != Status.HELD,
        "is_test": person.is_test,
        "is_demo": person.study.is_demo(),
    }
    if event is None:
        return CarePage(number=0, facts=NO_ALARM, **common)
    asks_role = person.status == Status.HELD and answers.asks_about_role(event)
    is_unsafe = event.safe_answer == RiskEvent.SafeAnswer.NO
    return CarePage(
        number=event.pk,
        facts=get_waiting_facts(event),
        answer=event.safe_answer,
        from_answer=answers.is_choice(event),
        asks_role=asks_role,
        asks_role_again=asks_role and answers.has_said_role(event),
        words=answers.get_words(event) if asks_role else "",
        needs_check=person.status == Status.HELD and answers.needs_check(person, event),
        rule=answers.get_rule(person, event),
        asks_where=is_unsafe and spec.safety.ask_where,
        where=get_where(event) if is_unsafe else "",
        **common,
    )


def get_where(event: RiskEvent) -> str:
    """Return the place where the person last said that they are, or ""."""
    act = event.acts.filter(kind=SafetyAct.Kind.WHERE).order_by("at", "pk").last()
    return act.text if act else ""
