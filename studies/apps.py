from django.apps import AppConfig
from django.conf import settings


class StudiesConfig(AppConfig):
    name = "studies"
    verbose_name = "Studies"

    def ready(self) -> None:
        from studies.care import alarms, checks, clock, sending, stopping_rules  # noqa: F401
        from studies.data.retention import forget_declined
        from studies.data.retention_days import enforce_retention
        from studies.payments import checks as contact_checks  # noqa: F401
        from studies.steps import load_kinds
        from studies.webhooks.deliveries import send_in_background
        from studies.webhooks.events import forget_old_deliveries

        load_kinds()
        if settings.SINGLE_PROCESS:
            clock.add_beginning(sending.free_claims)
        for look in (alarms.climb_overdue, sending.send_due, stopping_rules.Watch().look, send_in_background):
            clock.add_look(look)
        clock.add_chore(forget_declined)
        clock.add_chore(enforce_retention)
        clock.add_chore(forget_old_deliveries)
