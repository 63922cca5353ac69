from dataclasses import replace

from django.db import transaction

from dialogue.safety.resources import resources_for
from studies import progress
from studies.models import Participation
from studies.models.participation import Status
from studies.questionnaires.eligibility import Outcome, outcome
from studies.questionnaires.forms import InstrumentForm, form_for
from studies.questionnaires.loading import load
from studies.questionnaires.wording import fill
from studies.responses import rater_for, store
from studies.steps.base import Page, Visit

EXITS = {"exclude": Status.SCREENED_OUT, "exclude_with_care": Status.SCREENED_OUT, "review_by_person": Status.IN_REVIEW}


class Screening:
    """Whether the study fits this person now. Who it does not fit is thanked, shown help, never told which answer."""

    def show(self, visit: Visit) -> Page:
        return self.page(visit, self.form(visit))

    def form(self, visit: Visit, data: object = None) -> InstrumentForm:
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
            accept_short=True,
            data=data,
        )

    def page(self, visit: Visit, form: InstrumentForm, **context: object) -> Page:
        return Page("studies/steps/screening.html", {"form": form, "questionnaire": load("screening"), **context})

    def accept(self, visit: Visit) -> Page | None:
        form = self.form(visit, data=visit.request.POST)
        if not form.is_valid():
            return self.page(visit, form)
        decided = outcome(
            load("screening"),
            form.given_answers(),
            track=visit.track,
            language=visit.language,
            attempt=visit.participation.outcome.get("attempt", 1),
        )
        if decided.kind == "ask_again":
            visit.participation.outcome = {"attempt": 2}
            visit.participation.save(update_fields=["outcome"])
            return replace(self.page(visit, form, again=decided.text[visit.language]), taken=True)
        self.settle(visit, form, decided)
        return None

    @transaction.atomic
    def settle(self, visit: Visit, form: InstrumentForm, decided: Outcome) -> None:
        person = visit.participation
        store(
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


def as_json(decided: Outcome) -> dict[str, object]:
    return {
        "kind": decided.kind,
        "reasons": list(decided.reasons),
        "flags": list(decided.flags),
        "show_help": decided.show_help,
    }


def farewell(participation: Participation) -> dict[str, object]:
    """What a person reads whom the study does not fit, or who waits for a researcher after the screening."""
    kind = participation.outcome.get("kind", "exclude")
    texts = load("screening").raw["outcomes"]
    text = texts.get(kind, texts["exclude"])[participation.language or "en"]
    return {
        "text": fill(text, {"review_days": "3"}),
        "resources": resources_for(participation.country) if participation.outcome.get("show_help") else [],
    }
