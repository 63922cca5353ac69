from django.db import transaction
from django.utils.translation import gettext_lazy

from dialogue.safety.resources import lines_for
from studies.care import answers
from studies.design.plan import Step
from studies.models import Participation
from studies.participation import progress
from studies.participation.step_kinds import Page, StepKind, Visit, register

KIND = "aftercare"


class Aftercare(StepKind):
    """A kind close for someone who feels much worse after a conversation than before it.

    It is in no one's plan beforehand; the feelings check puts it there.
    """

    label = gettext_lazy("Care after a conversation")
    minutes = 1.0

    def show(self, visit: Visit) -> Page:
        country = visit.participation.country or visit.spec.country
        lines = lines_for(country, level=2, category="self")
        return Page("studies/steps/aftercare.html", {"resources": lines})

    @transaction.atomic
    def accept(self, visit: Visit) -> bool:
        event = answers.get_worsening(visit.participation, visit.run) if visit.run else None
        if event is not None and visit.request.POST.get("follow_up"):
            answers.ask_for_follow_up(event)
        progress.advance(visit.participation, done=visit.step)
        return False


def insert(person: Participation, *, after: Step) -> bool:
    """Put this step behind a feelings check; return False where it is there already."""
    return progress.insert_step(person, Step(KIND, f"run{after.run}.{KIND}", run=after.run), after=after)


register(KIND, Aftercare())
