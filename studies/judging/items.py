"""A questionnaire as a judge is given it."""

from collections.abc import Sequence
from functools import cache

from dialogue.judges.prompts import JudgedItem
from studies.instruments.definitions import Questionnaire


@cache
def judged_items(questionnaire: Questionnaire, language: str) -> Sequence[JudgedItem]:
    """Return the items from the same file that draws the people's form, without remarks in words."""
    return tuple(
        JudgedItem(
            key=item.key,
            text=" ".join(text[language] for text in (item.text, item.definition) if text),
            minimum=item.minimum or 0,
            maximum=item.maximum or 0,
            anchors=tuple((int(option.value), option.text[language]) for option in item.options),
            labels=tuple(item.label.values()) if item.label else (),
        )
        for item in questionnaire.rated_items()
    )


def scope_of(questionnaire: Questionnaire, moment: str, language: str) -> str:
    """Return which part of the conversation a checkpoint is about, in the words that people read above it."""
    if moment != "checkpoint" or questionnaire.instruction is None:
        return ""
    return questionnaire.instruction[language]
