"""A kind of step as another package would bring it: this module, its template, and the call of `register`."""

from studies.design.plan import Step
from studies.models import Consent
from studies.participation import progress
from studies.participation.step_kinds import Page, StepKind, StoredData, Visit, Way, Work, register

NAME = "breathing"
MINUTES = 90.0


class Breathing(StepKind):
    """A pause in which the person breathes; that they agreed to take part is all that it asks of the database."""

    label = "Breathing"

    def show(self, visit: Visit) -> Page:
        return Page("breathing.html")

    def accept(self, visit: Visit) -> bool:
        progress.advance(visit.participation, done=visit.step)
        return True

    def work(self, step: Step, way: Way) -> Work:
        return Work(0, MINUTES)

    def is_stored(self, step: Step, stored: StoredData) -> bool:
        return Consent.objects.filter(participation=stored.person).exists()


def bring() -> None:
    register(NAME, Breathing(), in_files=True)
