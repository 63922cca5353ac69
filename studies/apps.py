from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "studies"
    verbose_name = "Studies"

    def ready(self) -> None:
        from studies.care import checks, clock  # noqa: F401
        from studies.data.retention import forget_declined
        from studies.steps import load_kinds

        load_kinds()
        clock.add_chore(forget_declined)
