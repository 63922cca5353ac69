from typing import Any

from django.core.management.base import BaseCommand

from dialogue.safety import reply_classifier, reply_training, training
from dialogue.safety.classifier import WEIGHTS
from dialogue.safety.screening import HOLDS, NOTICES, WITHHOLDS


class Command(BaseCommand):
    help = "Train the risk screen's two classifiers from fixtures/safety: of messages, of replies (needs scikit-learn)."

    def handle(self, *args: Any, **options: Any) -> None:
        for content, path in (
            (training.train(two=NOTICES, three=HOLDS), WEIGHTS),
            (reply_training.train_replies(suspects=WITHHOLDS), reply_classifier.WEIGHTS),
        ):
            training.write(content, path)
            for key, value in content["card"].items():
                self.stdout.write(f"{key}: {value}")
