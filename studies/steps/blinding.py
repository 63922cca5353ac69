"""The blinding question: the person guesses which arm each partner was.

The page lists the arms by their titles, for everyone in the same order, and its values are the places in that list. It
holds no arm's key and nothing about the order in which this person met them.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy

from dialogue.languages import CODES
from studies.design.plan import Step
from studies.design.spec import ArmSpec, StudySpec
from studies.instruments.definitions import Condition, Item, Option, Questionnaire
from studies.instruments.forms import AnswerValue, InstrumentForm, Row, form_for
from studies.instruments.instrument_file import ARMS
from studies.instruments.loading import load
from studies.instruments.wording import fill, placeholders
from studies.models import ArmRun
from studies.participation import progress
from studies.participation.chats import runs_with_a_reply
from studies.participation.responses import rater_for, store_response
from studies.participation.step_kinds import Page, StepKind, StoredData, Visit, Way, Work, register
from studies.participation.submissions import NeedsCorrection

PARTNER = "partner"  # the placeholder of the items that are asked of each partner
MINUTES_PER_GUESS = 0.4
WHOLE = 0  # the number that stands for the page as a whole


class Blinding(StepKind):
    """One page about all partners who gave a reply; without any, nothing is asked."""

    label = gettext_lazy("Blinding question")

    def work(self, step: Step, way: Way) -> Work:
        return Work(0, MINUTES_PER_GUESS * way.runs)

    def is_stored(self, step: Step, stored: StoredData) -> bool:
        places = {(step.instrument, step.moment, run.position) for run in runs_with_a_reply(stored.person)}
        return places <= stored.responses

    def show(self, visit: Visit) -> Page | None:
        runs = runs_with_a_reply(visit.participation)
        if not runs:
            progress.advance(visit.participation, done=visit.step)
            return None
        return self.page(visit, guesses(visit, runs, data=visit.answers_to_correct()))

    def page(self, visit: Visit, form: InstrumentForm) -> Page:
        context = {"form": form, "cards": cards(form), "questionnaire": load(visit.step.instrument)}
        return Page("studies/steps/blinding.html", context)

    def accept(self, visit: Visit) -> bool:
        runs = runs_with_a_reply(visit.participation)
        form = guesses(visit, runs, data=visit.request.POST)
        if not form.is_valid():
            raise NeedsCorrection
        self.save(visit, runs, form)
        return True

    @transaction.atomic
    def save(self, visit: Visit, runs: Sequence[ArmRun], form: InstrumentForm) -> None:
        """Store a response for each conversation and one for the page, all of them or none."""
        if not progress.advance(visit.participation, done=visit.step):
            return
        rater, seconds = rater_for(visit.participation), visit.seconds
        conversations = {run.position: run for run in runs}
        for partner, answers in groupby(form.cleaned_answers(), key=lambda answer: partner_of(answer.item)):
            values = list(answers)
            store_response(
                rater,
                load(visit.step.instrument),
                [answer_to_store(answer, visit) for answer in values],
                run=conversations.get(partner),
                moment=visit.step.moment,
                language=visit.language,
                seconds={item_of(one.item): seconds[one.item] for one in values if one.item in seconds},
            )


def guesses(visit: Visit, runs: Sequence[ArmRun], data: Any = None) -> InstrumentForm:
    questionnaire = repeat_for_partners(load(visit.step.instrument), [run.position for run in runs], titles(visit))
    return form_for(questionnaire, language=visit.language, earlier=visit.draft(), data=data)


def arms_by_title(spec: StudySpec) -> list[ArmSpec]:
    """Return the arms in one order for all languages, so that a place means the same arm after a change of language."""
    return sorted(spec.arms, key=lambda arm: arm.title[spec.languages[0]].casefold())


def titles(visit: Visit) -> list[Option]:
    arms = enumerate(arms_by_title(visit.spec), start=1)
    return [Option(str(place), dict.fromkeys(CODES, arm.title[visit.language])) for place, arm in arms]


def repeat_for_partners(questionnaire: Questionnaire, partners: Sequence[int], arms: Sequence[Option]) -> Questionnaire:
    """Return the questionnaire with its items about a partner once for each partner, then the others."""
    of_each = [item for item in questionnaire.items if PARTNER in placeholders(item.text["en"])]
    others = [item for item in questionnaire.items if item not in of_each]
    items = [item_about(item, partner, arms) for partner in partners for item in of_each]
    return replace(questionnaire, items=(*items, *others))


def item_about(item: Item, partner: int, arms: Sequence[Option]) -> Item:
    """Return the item about one partner, with a field name of its own."""
    return replace(
        item,
        key=field_of(partner, item.key),
        text={language: fill(text, {PARTNER: partner}) for language, text in item.text.items()},
        options=(*arms, *item.options) if item.options_from == ARMS else item.options,
        show_if=item.show_if and condition_on(item.show_if, partner, arms),
    )


def condition_on(condition: Condition, partner: int, arms: Sequence[Option]) -> Condition:
    """Return the condition for the items about the same partner. `arms` in a list of answers stands for any of them."""
    answers = [arm.value for arm in arms] if condition.value == [ARMS] else condition.value
    return replace(condition, question=field_of(partner, condition.question), value=answers)


def field_of(partner: int, item: str) -> str:
    return f"run{partner}-{item}"


def partner_of(field: str) -> int:
    return int(field.partition("-")[0].removeprefix("run")) if "-" in field else WHOLE


def item_of(field: str) -> str:
    return field.rpartition("-")[2]


def cards(form: InstrumentForm) -> list[list[Row]]:
    """Return a form's rows in groups: those of each partner, then those about the page as a whole."""
    return [list(rows) for _, rows in groupby(form.rows, key=lambda row: partner_of(row.field.name))]


def answer_to_store(answer: AnswerValue, visit: Visit) -> AnswerValue:
    """Return the answer with the item's own key, and with the arm's key in place of its place in the list."""
    item = load(visit.step.instrument).item(item_of(answer.item))
    text = arm_at(answer.text, visit.spec) if item.options_from == ARMS else answer.text
    return replace(answer, item=item.key, text=text)


def arm_at(place: str, spec: StudySpec) -> str:
    """Return the arm's key; another answer, such as "cannot tell", stays as it is."""
    keys = {str(at): arm.key for at, arm in enumerate(arms_by_title(spec), start=1)}
    return keys.get(place, place)


register("blinding", Blinding())
