from django.utils.translation import gettext_lazy

from studies.design.plan import Step
from studies.participation import progress
from studies.participation.step_kinds import Page, Visit, register
from studies.steps.questionnaire import Answer


class Between(Answer):
    """A break before the next conversation. It asks for its topic, unless the study keeps the topic."""

    label = gettext_lazy("break")
    minutes = 1.0

    def __init__(self) -> None:
        super().__init__("studies/steps/between.html")

    def name_of(self, step: Step) -> str:
        return str(self.label)

    def show(self, visit: Visit) -> Page:
        skipped = {"was_skipped": progress.has_skipped_role(visit.participation, run=visit.step.run)}
        page = super().show(visit) if visit.step.instrument else Page(self.template)
        return Page(page.template, {**page.context, **skipped})

    def accept(self, visit: Visit) -> bool:
        if visit.step.instrument:
            return super().accept(visit)
        progress.advance(visit.participation, done=visit.step)
        return False


register("between", Between())
