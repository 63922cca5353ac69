from django.utils.translation import gettext_lazy

from dialogue.safety.resources import lines_for
from studies.design.plan import Step
from studies.models import Participation
from studies.participation import progress
from studies.participation.step_kinds import Page, StepKind, Visit, register

KIND = "help_lines"


class HelpLines(StepKind):
    """The lines, for someone who has asked to see where they can talk to a person; the study continues below.

    It is in no one's plan beforehand; the answer puts it there.
    """

    label = gettext_lazy("Help lines")
    minutes = 1.0

    def show(self, visit: Visit) -> Page:
        country = visit.participation.country or visit.spec.country
        return Page("studies/steps/help_lines.html", {"resources": lines_for(country, level=2, category="self")})

    def accept(self, visit: Visit) -> bool:
        progress.advance(visit.participation, done=visit.step)
        return False


def insert(person: Participation, *, after: Step) -> bool:
    """Put this step behind a questionnaire; return False where it is there already."""
    return progress.insert_step(person, Step(KIND, f"{after.key}.{KIND}", run=after.run), after=after)


register(KIND, HelpLines())
