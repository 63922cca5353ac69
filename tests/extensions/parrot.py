"""A kind of model as another package would bring it: a class with `reply`, and the call that registers it."""

from collections.abc import Sequence

from dialogue.providers.base import Message, ModelSettings, OnText, Reply
from dialogue.providers.registry import Surroundings
from studies.setup.model_kinds import register_model_kind

NAME = "parrot"


class Parrot:
    """Says the seeker's last words, after the words that the arm names as its model."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        text = f"{self.settings.model}: {messages[-1].text}"
        if on_text:
            on_text(text)
        return Reply(text=text, model=self.settings.model)


def build(settings: ModelSettings, _around: Surroundings) -> Parrot:
    return Parrot(settings)


def bring() -> None:
    register_model_kind(NAME, build)
