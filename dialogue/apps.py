from django.apps import AppConfig


class DialogueConfig(AppConfig):
    name = "dialogue"
    verbose_name = "Conversations"

    def ready(self) -> None:
        from dialogue import checks  # noqa: F401
