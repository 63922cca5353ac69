from studies.participation import progress
from studies.steps.base import Page, Visit
from studies.steps.questionnaire import Answer


class Between(Answer):
    """A break before the next conversation. It asks what that one is to be about, unless the study keeps the topic."""

    def __init__(self) -> None:
        super().__init__("studies/steps/between.html")

    def show(self, visit: Visit) -> Page:
        return super().show(visit) if visit.step.instrument else Page(self.template)

    def accept(self, visit: Visit) -> bool:
        if visit.step.instrument:
            return super().accept(visit)
        progress.advance(visit.participation, done=visit.step)
        return False
