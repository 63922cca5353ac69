from django.db import transaction
from django.utils.translation import gettext_lazy

from studies.design.plan import Step
from studies.instruments.forms import InstrumentForm, form_for
from studies.models.participation import Status
from studies.participation import progress
from studies.participation.consent import Form, form_of
from studies.participation.signing import store_consent
from studies.participation.step_kinds import Page, StepKind, StoredData, Visit, register
from studies.participation.submissions import NeedsCorrection


class AskConsent(StepKind):
    """The step of the consent form. Each box is a separate act; the text's hash and the time are stored."""

    label = gettext_lazy("Consent")
    minutes = 5.0

    def is_stored(self, step: Step, stored: StoredData) -> bool:
        return stored.person.consents.exists()

    def show(self, visit: Visit) -> Page:
        text = self.text(visit)
        return self.page(text, self.boxes(visit, text, data=visit.answers_to_correct()))

    def text(self, visit: Visit) -> Form:
        return form_of(visit.spec, language=visit.language, track=visit.participation.track)

    def boxes(self, visit: Visit, text: Form, data: object = None) -> InstrumentForm:
        return form_for(text.questionnaire(), language=visit.language, data=data)

    def page(self, text: Form, form: InstrumentForm) -> Page:
        return Page("studies/steps/consent.html", {"consent": text, "form": form, "hash": text.hash()})

    def accept(self, visit: Visit) -> bool:
        text = self.text(visit)
        form = self.boxes(visit, text, data=visit.request.POST)
        if not form.is_valid():
            raise NeedsCorrection
        self.sign(visit, text, form)
        return True

    @transaction.atomic
    def sign(self, visit: Visit, text: Form, form: InstrumentForm) -> None:
        assert visit.spec.consent is not None  # noqa: S101 - this step exists
        if not progress.advance(visit.participation, done=visit.step):
            return
        store_consent(visit.participation, text, form, visit.spec.consent.providers)
        if visit.participation.status == Status.APPLIED:
            progress.set_status(visit.participation, Status.ACTIVE)


register("consent", AskConsent())
