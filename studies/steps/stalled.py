from contextlib import suppress

from studies.participation import enrolment
from studies.steps.base import Page, Visit


class Stalled:
    """Before the first conversation, for one to whom no arms could be given: the study has too few in use. Researchers
    see it on the overview. Each visit tries again."""

    def show(self, visit: Visit) -> Page | None:
        with suppress(enrolment.ArmsMissing):
            enrolment.draw_order(visit.participation)
            return None
        return stalled_page(visit)

    def accept(self, visit: Visit) -> bool:
        return False


def stalled_page(visit: Visit) -> Page:
    return Page("studies/stalled.html", {"contact": visit.spec.contact})
