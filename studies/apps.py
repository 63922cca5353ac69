import gc
from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.conf import settings

if TYPE_CHECKING:
    from studies.care.clock import Duties


class StudiesConfig(AppConfig):
    name = "studies"
    verbose_name = "Studies"

    def ready(self) -> None:
        from studies.care import checks, clock  # noqa: F401
        from studies.instruments.loading import SITE
        from studies.payments import checks as contact_checks  # noqa: F401
        from studies.steps import load_kinds

        SITE.set_folder(settings.VAR / "instruments")
        load_kinds()
        clock.set_loader(load_duties)
        gc.freeze()  # what is loaded stays, and need not be looked through again
        gc.enable()


def load_duties() -> "Duties":
    """Return what servers do beside answering. It needs much that no command waits for."""
    from studies.board.failure_mails import FailureWatch
    from studies.care import alarms, sending, stopping_rules
    from studies.care.clock import Duties
    from studies.data.applicant_retention import forget_declined
    from studies.data.exports.removal import finish_removals
    from studies.data.retention_schedule import enforce_retention
    from studies.webhooks.deliveries import send_in_background
    from studies.webhooks.events import forget_old_deliveries

    return Duties(
        beginnings=[sending.free_claims] if settings.SINGLE_PROCESS else [],
        looks=[
            *(alarms.climb_overdue, sending.send_due, stopping_rules.Watch().look),
            *(send_in_background, FailureWatch().look),
        ],
        chores=[forget_declined, enforce_retention, finish_removals, forget_old_deliveries],
    )
