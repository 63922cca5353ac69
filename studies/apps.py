from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "studies"
    verbose_name = "Studies"

    def ready(self) -> None:
        from studies.care import checks  # noqa: F401
        from studies.steps import load_kinds

        load_kinds()
