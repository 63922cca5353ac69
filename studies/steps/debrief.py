from django.utils.translation import gettext_lazy

from dialogue.safety.resources import resources_for
from studies.models import Participation
from studies.participation import progress
from studies.participation.deletion import describe_deadline
from studies.participation.step_kinds import Page, StepKind, Visit, register


class Debrief(StepKind):
    """The last page: thanks, time and pay, help, and a code once everything is stored."""

    label = gettext_lazy("Debrief")
    minutes = 1.0

    def show(self, visit: Visit) -> Page:
        missing = progress.complete(visit.participation)
        display = visit.spec.display
        context = {
            "missing": missing,
            "code": visit.participation.completion_code,
            "minutes": round(visit.participation.active_seconds / 60),
            "hourly_pay": display.get("hourly_pay", ""),
            "withdraw_until": describe_deadline(visit.participation),
            "partners": partners(visit.participation, visit) if not missing and display.get("reveal_arms") else [],
            "resources": resources_for(visit.participation.country or visit.spec.country),
        }
        return Page("studies/steps/debrief.html", context)


def partners(participation: Participation, visit: Visit) -> list[tuple[int, str]]:
    titles = {arm.key: arm.title[visit.language] for arm in visit.spec.arms}
    return [(number, titles.get(key, key)) for number, key in enumerate(participation.order, start=1)]


register("debrief", Debrief())
