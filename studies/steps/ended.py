from dialogue.safety.resources import resources_for
from studies.care import oncall
from studies.steps.base import Page, Visit
from studies.steps.screening import farewell


class Notice:
    """A page for one who waits or whose part is over; there is nothing to send."""

    def __init__(self, template: str) -> None:
        self.template = template

    def show(self, visit: Visit) -> Page:
        person = visit.participation
        help_list = resources_for(person.country or visit.spec.country)
        context = {
            "farewell": farewell(person),
            "said_unsafe": oncall.has_said_unsafe(person),
            "resources": help_list,
            "minutes": round(person.active_seconds / 60),
            "hourly_pay": visit.spec.display.get("hourly_pay", ""),
            "contact": visit.spec.contact,
        }
        return Page(self.template, context)

    def accept(self, visit: Visit) -> bool:
        return False
