"""Signed consents, and who has to be asked again because the study was amended."""

from collections.abc import Iterable

from dialogue.compiled_sql import CompiledQuery
from studies.instruments.forms import InstrumentForm
from studies.models import Amendment, Consent, Participation
from studies.participation.consent import Form


def store_consent(person: Participation, text: Form, form: InstrumentForm, providers: Iterable[str]) -> Consent:
    """Store what was signed, each box as it was ticked. `providers`: who may be sent the person's text."""
    return Consent.objects.create(
        participation=person,
        instrument=text.instrument,
        version=text.version,
        text_hash=text.hash(),
        language=text.language,
        boxes={key: bool(form.cleaned_data.get(key)) for key, _required, _text in text.boxes},
        providers=list(providers),
    )


ASKING_AMENDMENTS = CompiledQuery(
    Amendment,
    lambda: (
        Amendment.objects.select_related("protocol").filter(asks_again=True, protocol__study=0).order_by("-number")[:1]
    ),
)


def amendment_to_sign(person: Participation) -> Amendment | None:
    """Return the last amendment for which this person has to be asked again; None if there is none.

    No one is asked who has not signed, who is over, or who signed after it was made.
    """
    if person.is_over():
        return None
    asks = ASKING_AMENDMENTS.first(person.study_id)
    signed = person.consents.order_by("pk").last() if asks else None
    return asks if asks and signed and signed.signed_at < asks.at else None


def sign_again(person: Participation, text: Form, form: InstrumentForm, providers: Iterable[str]) -> Consent:
    """Store the new consent. Who was named in the one before may still be sent text: people keep their arms."""
    before = person.consents.order_by("pk").last()
    named = [*providers, *(before.providers if before else ())]
    return store_consent(person, text, form, dict.fromkeys(named))
