"""Kinds of model from outside the product."""

from collections.abc import Callable

from dialogue.providers.base import KINDS as KNOWN_KINDS
from dialogue.providers.base import ChatModel, ModelSettings
from dialogue.providers.registry import KINDS, Surroundings


def register_model_kind(name: str, build: Callable[[ModelSettings, Surroundings], ChatModel]) -> None:
    """Make a kind of model known by the name that study files give it in `kind`.

    `build` makes the model from an arm's or a judge's settings. Call this in your `AppConfig.ready`.
    """
    KINDS[name] = build
    if name not in KNOWN_KINDS:
        KNOWN_KINDS.append(name)
