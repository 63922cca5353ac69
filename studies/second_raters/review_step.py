"""The step of rating others' conversations, one after the other, until nothing is left; first a few with known scores.

Nothing on the page tells whose conversation it is, with which arm, or what anyone else said of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.chat import self_identification
from studies.design.plan import Step
from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import InstrumentForm, form_for
from studies.instruments.loading import load
from studies.instruments.vignettes import Vignette, vignette
from studies.models import ArmRun, Participation, Review
from studies.participation import progress
from studies.participation.step_kinds import Page, StepKind, StoredData, Visit, Way, Work, register, work_in_pieces
from studies.participation.submissions import NeedsCorrection
from studies.second_raters import comparisons, reviews

PLACE = 8  # characters by which drafts of one step are told apart
DECLINE = "decline"  # the button of the smaller form, and what a draft says where that form was refused


MINUTES_PER_REVIEW = 5.0


class DeclineForm(forms.Form):
    because = forms.ChoiceField(
        label=gettext_lazy("Why?"),
        choices=[
            (Review.Because.DISTRESS, gettext_lazy("It weighs on me.")),
            (Review.Because.RECOGNISED, gettext_lazy("I may know the person.")),
            (Review.Because.UNCLEAR, gettext_lazy("I cannot understand it well enough.")),
            (Review.Because.OTHER, gettext_lazy("Something else.")),
        ],
        widget=forms.RadioSelect,
        error_messages={"required": gettext_lazy("Please choose one of the answers.")},
    )
    note = forms.CharField(
        label=gettext_lazy("In your own words (optional)"),
        required=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off"}),
    )
    use_required_attribute = False


@dataclass(frozen=True)
class ShownTurn:
    """One turn as the page shows it; the reply is empty where none came."""

    text: str
    reply: str


@dataclass(frozen=True)
class Difference:
    """The difference between a reviewer's score and the reference score."""

    label: str
    score: int
    reference: int
    why: str

    def points(self) -> int:
        return abs(self.score - self.reference)


class RateOthers(StepKind):
    label = gettext_lazy("Rating other people's conversations")

    def work(self, step: Step, way: Way) -> Work:
        return work_in_pieces(**vars(reviews.load_of(way.person)), minutes=MINUTES_PER_REVIEW)

    def is_stored(self, step: Step, stored: StoredData) -> bool:
        return reviews.all_stored(stored.person)

    def show(self, visit: Visit) -> Page:
        review = reviews.next_review_for(visit.participation)
        if review is None:
            return nothing_page(visit)
        if review.scores:
            return feedback_page(visit, review)
        part = part_of(review)
        if DECLINE in visit.faults(part):
            return rating_page(visit, review, form_of(visit, review), DeclineForm(visit.answers_to_correct(part)))
        return rating_page(visit, review, form_of(visit, review, data=visit.answers_to_correct(part)))

    def accept(self, visit: Visit) -> bool:
        review = reviews.get_unfinished(visit.participation)
        if visit.request.POST.get("checkpoint", "") != (place_of(review) if review else ""):
            # What the form is about has been rated before, or has gone to someone else.
            messages.info(visit.request, _("This page is no longer waiting for your rating. Your next step is below."))
            return False
        if review is None:
            leave(visit)
        elif review.scores:
            reviews.finish(review)
        elif DECLINE in visit.request.POST:
            give_back(visit, review)
        else:
            rate(visit, review)
        return True


def leave(visit: Visit) -> None:
    """End the step, only from the page that says that nothing is left, and only while that is true."""
    if reviews.next_review_for(visit.participation) is None:
        progress.advance(visit.participation, done=visit.step)


def rate(visit: Visit, review: Review) -> None:
    form = form_of(visit, review, data=visit.request.POST)
    if not form.is_valid():
        raise NeedsCorrection
    if review.vignette:
        reviews.store_vignette_scores(review, form.cleaned_answers())
    else:
        reviews.store_ratings(
            review, scale_of(review), form.cleaned_answers(), language=visit.language, seconds=visit.seconds
        )


def give_back(visit: Visit, review: Review) -> None:
    form = DeclineForm(visit.request.POST)
    if review.vignette or not form.is_valid():
        # The scores given so far are in the other form of the page, which was not sent.
        raise NeedsCorrection([DECLINE], answers={**visit.draft(part_of(review)), **visit.request.POST.dict()})
    reviews.give_back(review, form.cleaned_data["because"], form.cleaned_data["note"])


# What is on the pages


def scale_of(review: Review) -> Questionnaire:
    """Return the questionnaire that is due, in the words for someone who is not the seeker; of a vignette its scores
    alone: no one would read the closing remark."""
    if review.vignette:
        scale = load(vignette(review.vignette).instrument).in_third_person
        return replace(scale, items=scale.rated_items(), comment=None)
    return load(reviews.instrument_due(review)).in_third_person


def place_of(review: Review) -> str:
    """Return a name for the page of the piece of work, so that a form or a draft of another one is let go."""
    number = 0 if review.vignette else review.plan.instruments.index(reviews.instrument_due(review))
    return f"{review.pk}.{'seen' if review.scores else number}"


def part_of(review: Review) -> str:
    return place_of(review)[:PLACE]


def form_of(visit: Visit, review: Review, data: Any = None) -> InstrumentForm:
    return form_for(
        scale_of(review),
        language=visit.language,
        earlier=visit.draft(part_of(review)),
        item_seed=visit.item_seed(scale_of(review)),
        reasons=not review.vignette,
        data=data,
    )


def rating_page(visit: Visit, review: Review, form: InstrumentForm, decline: DeclineForm | None = None) -> Page:
    instruments = review.plan.instruments
    scale = scale_of(review)
    context = {
        "form": form,
        "decline": None if review.vignette else decline or DeclineForm(),
        "questionnaire": scale,
        "part": 1 if review.vignette else instruments.index(scale.id) + 1,
        "parts": 1 if review.vignette else len(instruments),
        **surroundings(visit, review),
    }
    return Page("studies/steps/reviews.html", context)


def feedback_page(visit: Visit, review: Review) -> Page:
    rows = list(differences(vignette(review.vignette), review.scores, visit.language))
    context = {
        "rows": rows,
        "exact": sum(row.points() == 0 for row in rows),
        "near": sum(row.points() <= 1 for row in rows),
        **surroundings(visit, review),
    }
    return Page("studies/steps/calibration.html", context)


def nothing_page(visit: Visit) -> Page:
    finished = visit.participation.reviews.filter(done_at__isnull=False)
    examples = finished.exclude(vignette="").count()
    context = {
        "done": finished.count() - examples,
        "examples": examples,
        "compares_next": compares_next(visit.participation),
    }
    return Page("studies/steps/reviews_done.html", context)


def compares_next(reviewer: Participation) -> bool:
    """Return whether pairs wait for the reviewer in the step after this one."""
    following = reviewer.steps()[reviewer.position + 1 :][:1]
    return any(step.kind == "pairs" for step in following) and comparisons.load_of(reviewer).left > 0


def surroundings(visit: Visit, review: Review) -> dict[str, Any]:
    return {
        "place": place_of(review),
        "is_vignette": bool(review.vignette),
        "turns": turns_of(visit, review),
        "language": visit.language if review.vignette else review.item.run.conversation.language,
    }


def turns_of(visit: Visit, review: Review) -> list[ShownTurn]:
    if review.vignette:
        return [ShownTurn(*(text[visit.language] for text in turn)) for turn in vignette(review.vignette).turns]
    return list(list_turns(review.item.run, visit.spec.names()))


def list_turns(run: ArmRun, names: tuple[str, ...]) -> Iterator[ShownTurn]:
    """Yield the turns, before them the opening. A model's own name is hidden here also where the seeker saw it, or
    no one ever looked for it."""
    if run.conversation.opening:
        yield ShownTurn("", self_identification.mask(run.conversation.opening, names))
    for turn in run.conversation.turns.order_by("number"):
        yield ShownTurn(turn.text, self_identification.mask(turn.reply, names))


def differences(one: Vignette, scores: dict[str, float], language: str) -> Iterator[Difference]:
    scale = load(one.instrument)
    for item, reference in one.scores.items():
        label = scale.item(item).label or scale.item(item).text
        yield Difference(label[language], int(scores[item]), reference.score, reference.why[language])


register("reviews", RateOthers())
