from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.models import Turn
from studies.care import answers, form_words
from studies.design.plan import Step
from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import InstrumentForm, form_for
from studies.instruments.loading import load
from studies.models import Participation
from studies.participation import progress
from studies.participation.responses import answers_of, is_rating, rater_for, store_response, turns_seen
from studies.participation.step_kinds import Page, StepKind, Visit, register
from studies.participation.submissions import NeedsCorrection
from studies.steps import aftercare, help_lines
from studies.workbench.rating_tables import title_of

PLAIN = "studies/steps/questionnaire.html"


class Answer(StepKind):
    """Any questionnaire of a plan: profile, Big Five, feelings check, final rating, next topic."""

    label = gettext_lazy("Questionnaire")

    def __init__(self, template: str = PLAIN) -> None:
        self.template = template

    def name_of(self, step: Step) -> str:
        return title_of(step.instrument)

    def show(self, visit: Visit) -> Page:
        return self.page(visit, form_of(visit, data=visit.answers_to_correct()))

    def page(self, visit: Visit, form: InstrumentForm) -> Page:
        person, run = visit.participation, visit.step.run
        context = {
            "form": form,
            "questionnaire": instrument_of(visit),
            "talk": talk_behind(visit),
            "leaves_role": leaves_role(visit),
            "was_skipped": visit.step.phase == "post" and progress.has_skipped_role(person, run=run),
        }
        return Page(self.template, context)

    def accept(self, visit: Visit) -> bool:
        form = form_of(visit, data=visit.request.POST)
        if not form.is_valid():
            raise NeedsCorrection
        self.save(visit, form)
        return True

    @transaction.atomic
    def save(self, visit: Visit, form: InstrumentForm) -> None:
        keep_form(visit, form)
        support = form.given_answers().get("want_support")
        if visit.run and has_become_worse(visit, form):
            if aftercare.insert(visit.participation, after=visit.step):  # a page with the lines, too
                answers.record_worsening(visit.participation, visit.run)
        elif support == "yes":
            help_lines.insert(visit.participation, after=visit.step)
        moved = progress.advance(visit.participation, done=visit.step)
        if moved and support == "unsafe":
            answers.record_unsafe(visit.participation, visit.run)
        if moved:
            words = form_words.find_words(visit.participation, instrument_of(visit), form.cleaned_answers())
            visit.shows_danger = form_words.screen_words(visit.participation, words, visit.run)


@dataclass(frozen=True)
class TalkBehind:
    """A conversation that is over, as the person saw it: it has no arm, and no words of a withheld reply."""

    partner: int
    opening: str
    opening_language: str
    turns: Sequence[Turn]


def talk_behind(visit: Visit) -> TalkBehind | None:
    """Return the conversation that a questionnaire looks back on; None on other pages, or if nothing was said."""
    looks_back = visit.step.moment == "final" or visit.step.phase == "post"
    talk = visit.run.conversation if looks_back and visit.run else None
    if talk is None:
        return None
    turns = list(talk.turns.order_by("number").only("conversation", "number", "text", "reply"))
    return TalkBehind(visit.step.run, talk.opening, talk.language_of(0), turns) if turns else None


def leaves_role(visit: Visit) -> bool:
    """Return whether this is the first page that rates a conversation in which the person played a role."""
    if visit.participation.track != Participation.Track.COUNSELLOR or visit.step.moment != "final":
        return False
    of_run = [step.key for step in visit.participation.steps() if step.run == visit.step.run and step.kind == "rating"]
    return of_run[:1] == [visit.step.key]


def has_become_worse(visit: Visit, form: InstrumentForm) -> bool:
    """Return whether the study counts the mood in this form as much worse than before the conversation."""
    mood = form.given_answers().get(answers.MOOD)
    if visit.step.phase != "post" or visit.run is None or mood is None:
        return False
    return answers.has_become_worse(visit.participation, visit.run, int(mood), by=visit.spec.safety.worse_by)


def instrument_of(visit: Visit) -> Questionnaire:
    return visit.reword(load(visit.step.instrument))


def form_of(visit: Visit, data: Any = None) -> InstrumentForm:
    return form_for(
        instrument_of(visit),
        language=visit.language,
        track=visit.track,
        phase=visit.step.phase,
        earlier={**visit.draft(), **before_the_chat(visit)},
        values=placeholder_values(visit),
        order_seed=visit.participation.pk,
        item_seed=visit.item_seed(instrument_of(visit)),
        reasons=is_rating(instrument_of(visit)),
        data=data,
    )


def placeholder_values(visit: Visit) -> dict[str, str]:
    """Return the values for placeholders of questionnaires: the study's own consent values and durations."""
    return {name: text[visit.language] for name, text in visit.spec.consent_values(visit.participation.track).items()}


def before_the_chat(visit: Visit) -> dict[str, Any]:
    """Return the answers before a conversation, for the check after it."""
    if visit.step.phase != "post":
        return {}
    earlier = answers_of(visit.participation, visit.step.instrument, run=visit.run, moment="pre")
    return {f"pre.{item}": answer for item, answer in earlier.items()}


def keep_form(visit: Visit, form: InstrumentForm) -> None:
    store_response(
        rater_for(visit.participation),
        instrument_of(visit),
        form.cleaned_answers(),
        run=visit.run,
        moment=visit.step.moment or visit.step.phase,
        language=visit.language,
        turns=turns_seen(visit.run) if visit.step.moment else None,
        seconds=visit.seconds,
    )


class FinalRating(Answer):
    label = gettext_lazy("Rating")

    def name_of(self, step: Step) -> str:
        return _("rating %(instrument)s") % {"instrument": title_of(step.instrument)}


register("questionnaire", Answer())
register("rating", FinalRating())
