from django.utils.translation import gettext_lazy

from dialogue.safety.resources import resources_for
from studies.design.plan import Step
from studies.participation import progress
from studies.participation.daily_limit import find_next_day
from studies.participation.step_kinds import Page, Visit, register
from studies.steps.questionnaire import Answer


class Between(Answer):
    """A break before the next conversation, until the next day where the study allows no more on this one. It asks for
    the topic, unless the study keeps it."""

    label = gettext_lazy("break")
    minutes = 1.0

    def __init__(self) -> None:
        super().__init__("studies/steps/between.html")

    def name_of(self, step: Step) -> str:
        return str(self.label)

    def show(self, visit: Visit) -> Page:
        if next_day := find_next_day(visit.participation):
            help_list = resources_for(visit.participation.country or visit.spec.country)
            facts = {"next_day": next_day, "zone": visit.spec.safety.time_zone, "resources": help_list}
            return Page("studies/steps/enough_today.html", facts)
        skipped = {"was_skipped": progress.has_skipped_role(visit.participation, run=visit.step.run)}
        page = super().show(visit) if visit.step.instrument else Page(self.template)
        return Page(page.template, {**page.context, **skipped})

    def accept(self, visit: Visit) -> bool:
        if find_next_day(visit.participation):  # the page was opened on a day that is over
            return False
        if visit.step.instrument:
            return super().accept(visit)
        progress.advance(visit.participation, done=visit.step)
        return False


register("between", Between())
