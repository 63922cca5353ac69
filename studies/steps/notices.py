from datetime import date

from django.utils import timezone
from django.utils.translation import gettext_lazy

from dialogue.safety.resources import resources_for
from studies.care.care_page import get_care_page
from studies.models import Participation, SelectionDecision
from studies.models.participation import Status
from studies.participation import counts, progress
from studies.participation.board_acts import get_told
from studies.participation.deletion import may_delete
from studies.participation.step_kinds import Page, StepKind, Visit, register
from studies.steps.screening import farewell


class Notice(StepKind):
    """A page without a form, for people who wait or whose part is over."""

    def __init__(self, template: str) -> None:
        self.template = template

    def show(self, visit: Visit) -> Page:
        person = visit.participation
        help_list = resources_for(person.country or visit.spec.country)
        context = {
            "farewell": farewell(person),
            "resources": help_list,
            "code": person.completion_code,
            "minutes": round(person.active_seconds / 60),
            "hourly_pay": visit.spec.display.get("hourly_pay", ""),
            "contact": visit.spec.contact,
            "may_delete": may_delete(person),
            "has_receipt": person.receipts.exists(),
            "has_open_alarm": counts.open_risks_of(person).exists(),
        }
        return Page(self.template, context)


class ScreenedOut(Notice):
    """The thanks to those whom the study does not fit, and to applicants who were not chosen."""

    def show(self, visit: Visit) -> Page:
        page = super().show(visit)
        person = visit.participation
        declined = SelectionDecision.objects.filter(participation=person, admitted=False)
        facts = {"was_declined": declined.exists(), "deleted_on": get_deletion_day(person)}
        return Page(page.template, {**page.context, **facts})


class EndedByTeam(Notice):
    """The thanks to those whose part the team has ended, with the reason that the team gives them."""

    def show(self, visit: Visit) -> Page:
        page = super().show(visit)
        return Page(page.template, {**page.context, "told": get_told(visit.participation)})


def get_deletion_day(person: Participation) -> date | None:
    """Return when the answers of someone who cannot take part are deleted; None if no such day lies ahead."""
    keeps = person.protocol.keeps_declined() if person.protocol else None
    if keeps is None or person.ended_at is None or person.consents.exists():
        return None
    day = (person.ended_at + keeps).date()
    return day if day >= timezone.now().date() else None


class Danger(Notice):
    """A page that meets someone in danger: the lines first, the question, who was told."""

    def show(self, visit: Visit) -> Page:
        page = super().show(visit)
        return Page(page.template, {**page.context, "care_page": get_care_page(visit.participation)})


class Selection(Notice):
    """The wait for a researcher who looks at the screening."""

    label = gettext_lazy("Selection")
    minutes = 0.0

    def prepare(self, person: Participation) -> None:
        progress.set_status(person, Status.IN_REVIEW)


register("selection", Selection("studies/steps/review.html"))
register("review", Notice("studies/steps/review.html"))
register("held", Danger("studies/steps/held.html"))
register("screened_out", ScreenedOut("studies/steps/screened_out.html"))
register("stopped", Danger("studies/steps/stopped.html"))
register("timed_out", Notice("studies/steps/timed_out.html"))
register("ended", EndedByTeam("studies/steps/ended.html"))
register("withdrawn", Notice("studies/steps/withdrawn.html"))
