"""An app outside the product: all that it brings is registered when Django starts."""

from pathlib import Path

from django.apps import AppConfig

INSTRUMENT = Path(__file__).with_name("instruments") / "quiet_two.json"


class ExtensionsConfig(AppConfig):
    name = "tests.extensions"

    def ready(self) -> None:
        from studies.instruments.loading import register_instrument
        from tests.extensions import breathing, outsider, parrot

        breathing.bring()
        outsider.bring()
        parrot.bring()
        register_instrument(INSTRUMENT)
