from django.db import transaction
from django.utils.translation import gettext_lazy

from dialogue.safety.resources import resources_for
from studies.care.form_words import find_words, screen_words
from studies.instruments.eligibility import Outcome, outcome
from studies.instruments.forms import InstrumentForm, form_for
from studies.instruments.loading import load
from studies.instruments.wording import fill
from studies.models import Participation
from studies.models.participation import Status
from studies.participation import progress
from studies.participation.deletion import describe_deadline
from studies.participation.responses import rater_for, store_response
from studies.participation.step_kinds import Page, StepKind, Visit, register
from studies.participation.submissions import NeedsCorrection

EXITS = {"exclude": Status.SCREENED_OUT, "exclude_with_care": Status.SCREENED_OUT, "review_by_person": Status.IN_REVIEW}


class Screening(StepKind):
    """The step that decides whether the study fits a person. Others are thanked and shown help, without a reason."""

    label = gettext_lazy("Screening")
    minutes = 4.0

    def show(self, visit: Visit) -> Page:
        context = {
            "form": self.form(visit, data=visit.answers_to_correct()),
            "questionnaire": load("screening"),
            "deadline": describe_deadline(visit.participation),
        }
        return Page("studies/steps/screening.html", context)

    def form(self, visit: Visit, *, data: object = None, accept_short: bool = False) -> InstrumentForm:
        spec = visit.spec
        values = {
            "duration_total": "",
            "days": "14",
            **{n: t[visit.language] for n, t in spec.consent_values(visit.participation.track).items()},
        }
        earlier = {**visit.draft(), "language": visit.language}
        return form_for(
            load("screening"),
            language=visit.language,
            track=visit.track,
            values=values,
            earlier=earlier,
            accept_short=accept_short,
            country=spec.country,
            data=data,
        )

    def accept(self, visit: Visit) -> bool:
        """Accept the form; if a rule excludes the person, do so at once, before asking them to write more."""
        form = self.form(visit, data=visit.request.POST, accept_short=True)
        if not form.is_valid():
            raise NeedsCorrection
        decided = outcome(load("screening"), form.given_answers(), track=visit.track, language=visit.language)
        if decided.kind == "ask_again":
            raise NeedsCorrection
        self.settle(visit, form, decided)
        return True

    @transaction.atomic
    def settle(self, visit: Visit, form: InstrumentForm, decided: Outcome) -> None:
        person = visit.participation
        store_response(
            rater_for(person),
            load("screening"),
            form.cleaned_answers(),
            language=visit.language,
            seconds=visit.seconds,
        )
        person.country = str(form.given_answers()["country"])
        person.outcome = as_json(decided)
        person.save(update_fields=["country", "outcome"])
        progress.advance(person, done=visit.step)
        if decided.kind in EXITS:
            progress.set_status(person, EXITS[decided.kind])
        visit.shows_danger = screen_words(person, find_words(person, load("screening"), form.cleaned_answers()))


def as_json(decided: Outcome) -> dict[str, object]:
    return {
        "kind": decided.kind,
        "reasons": list(decided.reasons),
        "flags": list(decided.flags),
        "show_help": decided.show_help,
    }


def farewell(participation: Participation) -> dict[str, object]:
    """Return the text for people whom the study does not fit, or who wait for a researcher after the screening."""
    kind = participation.outcome.get("kind", "exclude")
    texts = load("screening").raw["outcomes"]
    text = texts.get(kind, texts["exclude"])[participation.language or "en"]
    return {
        "text": fill(text, {"review_days": "3"}),
        "resources": resources_for(participation.country) if participation.outcome.get("show_help") else [],
    }


register("screening", Screening())
