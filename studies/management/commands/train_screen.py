from typing import Any

from django.core.management.base import BaseCommand

from dialogue.safety import training
from dialogue.safety.classifier import WEIGHTS
from dialogue.safety.screening import HOLDS, NOTICES


class Command(BaseCommand):
    help = "Train the classifier of the risk screen from fixtures/safety/sentences (needs scikit-learn)."

    def handle(self, *args: Any, **options: Any) -> None:
        content = training.train(two=NOTICES, three=HOLDS)
        training.write(content, WEIGHTS)
        for key, value in content["card"].items():
            self.stdout.write(f"{key}: {value}")
