"""Two conversations or replies side by side, one pair after the other until nothing is left.

The page calls them the first and the second, and so do its answers: nothing on it tells which is a, or of which arm.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.chat import self_identification
from dialogue.models import Turn
from studies.design.plan import Step
from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import REASON, InstrumentForm, form_for
from studies.instruments.loading import load
from studies.models import ArmRun, Comparison
from studies.models.pair import Pair
from studies.participation import progress
from studies.participation.responses import rater_for
from studies.participation.step_kinds import Page, StepKind, Visit, Way, Work, register, work_in_pieces
from studies.participation.submissions import NeedsCorrection
from studies.second_raters import comparisons

FIRST, SECOND = "first", "second"


MINUTES_PER_PAIR = 6.0


@dataclass(frozen=True)
class ShownTurn:
    """One turn as the page shows it. `is_asked`: the reply that is to be compared."""

    text: str
    reply: str
    is_asked: bool


@dataclass(frozen=True)
class Side:
    place: str  # first, second
    language: str
    turns: tuple[ShownTurn, ...]


class Compare(StepKind):
    label = gettext_lazy("Comparing other people's conversations")

    def work(self, step: Step, way: Way) -> Work:
        return work_in_pieces(**vars(comparisons.load_of(way.person)), minutes=MINUTES_PER_PAIR)

    def show(self, visit: Visit) -> Page | None:
        comparison = comparisons.next_comparison_for(visit.participation)
        if comparison is None:
            progress.advance(visit.participation, done=visit.step)
            return None
        return self.page(
            visit, comparison, form_of(visit, comparison, data=visit.answers_to_correct(str(comparison.pk)))
        )

    def page(self, visit: Visit, comparison: Comparison, form: InstrumentForm) -> Page:
        context = {
            "form": form,
            "questionnaire": questions_of(comparison),
            "sides": list(sides(comparison.pair, comparison, names=visit.spec.names())),
            "of_replies": comparison.pair.turn_a is not None,
            "comparison": comparison.pk,
        }
        return Page("studies/steps/pairs.html", context)

    def accept(self, visit: Visit) -> bool:
        comparison = comparisons.resume_comparison(rater_for(visit.participation))
        # The field that tells a draft's place among several of one step says here which pair was on the page.
        if comparison is None or visit.request.POST.get("checkpoint") != str(comparison.pk):
            # Judged before, or gone to someone else.
            messages.info(
                visit.request, _("This pair is no longer waiting for your comparison. Your next step is below.")
            )
            return False
        if "decline" in visit.request.POST:
            comparisons.give_back(comparison)
            return True
        form = form_of(visit, comparison, data=visit.request.POST)
        if not form.is_valid():
            raise NeedsCorrection
        comparisons.store_verdicts(comparison, form.cleaned_answers())
        return True


def questions_of(comparison: Comparison) -> Questionnaire:
    return load(comparison.pair.plan.instrument)


def form_of(visit: Visit, comparison: Comparison, data: Any = None) -> InstrumentForm:
    questionnaire = questions_of(comparison)
    draft = visit.draft(str(comparison.pk))
    form = form_for(questionnaire, language=visit.language, earlier=draft, reasons=True, data=data)
    for item in questionnaire.items:
        form.fields[REASON + item.key].label = questionnaire.raw["reason"][visit.language]
    return form


def sides(pair: Pair, comparison: Comparison, *, names: tuple[str, ...]) -> Iterator[Side]:
    for place, side in ((FIRST, comparison.shown_first), (SECOND, comparison.second_side())):
        run, turn = pair.side(side)
        yield Side(place, run.conversation.language, tuple(list_turns(run, turn, names)))


def list_turns(run: ArmRun, last: int | None, names: tuple[str, ...]) -> Iterator[ShownTurn]:
    """Yield the turns of the whole conversation, or those up to and with the reply that is asked about.

    Imports were never looked through for a model's own name, and studies need not hide it from their people: here it
    is always hidden. The opening stands before them.
    """
    if run.conversation.opening:
        yield ShownTurn("", self_identification.mask(run.conversation.opening, names), is_asked=False)
    turns: Any = Turn.objects.filter(conversation=run.conversation).order_by("number")
    for turn in turns.filter(number__lte=last) if last else turns:
        yield ShownTurn(turn.text, self_identification.mask(turn.reply, names), is_asked=turn.number == last)


register("pairs", Compare())
