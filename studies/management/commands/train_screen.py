import json
from typing import Any

from django.core.management.base import BaseCommand

from dialogue.safety import message_training, reply_classifier, reply_training
from dialogue.safety.message_classifier import WEIGHTS
from dialogue.safety.screening import HOLDS, NOTICES, WITHHOLDS
from dialogue.safety.weights import write_weights


class Command(BaseCommand):
    help = "Train the risk screen's two classifiers from fixtures/safety: of messages, of replies (needs scikit-learn)."

    def handle(self, *args: Any, **options: Any) -> None:
        for (card, languages), path in (
            (message_training.train(two=NOTICES, three=HOLDS), WEIGHTS),
            (reply_training.train_replies(suspects=WITHHOLDS), reply_classifier.WEIGHTS),
        ):
            write_weights(path, card["version"], languages)
            path.with_suffix(".json").write_text(json.dumps(card, ensure_ascii=False, indent=2) + "\n")
            for key, value in card.items():
                self.stdout.write(f"{key}: {value}")
