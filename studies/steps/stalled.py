from contextlib import suppress

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studies.design.plan import Step
from studies.models import Participation
from studies.participation import enrolment
from studies.participation.step_kinds import Page, StepKind, Visit, register


class Stalled(StepKind):
    """The step before the first conversation of a person for whom there are too few arms.

    Researchers see it on the overview. Each visit tries again.
    """

    label = gettext_lazy("Conversations")

    def name_of(self, step: Step) -> str:
        return _("Before the first conversation")

    def prepare(self, person: Participation) -> None:
        # With too few arms the person stays at this step; their answers are stored.
        with suppress(enrolment.ArmsMissing):
            enrolment.draw_order(person)

    def show(self, visit: Visit) -> Page | None:
        with suppress(enrolment.ArmsMissing):
            enrolment.draw_order(visit.participation)
            return None
        return page_when_stalled(visit)


def page_when_stalled(visit: Visit) -> Page:
    return Page("studies/stalled.html", {"contact": visit.spec.contact})


register("chats", Stalled())
