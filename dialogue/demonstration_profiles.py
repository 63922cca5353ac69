"""The demonstration's scripted writer of profiles. The same answers always give the same profile.

It takes nothing from what people wrote in words of their own, so nobody can be recognised by what it writes: the story
comes from the topic, the wishes from the goal, the manner from the Big Five.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dialogue.languages import get_code
from dialogue.providers.base import Message, OnText, ProviderError, Reply
from dialogue.providers.scripted import speak
from dialogue.seekers.profile_writer import NAME

TEXTS = Path(__file__).resolve().parents[1] / "fixtures" / "demonstration" / "profiles.json"
LINE = re.compile(r"^(\w+): (.*)$", re.MULTILINE)
LOW, HIGH, MIDDLE = 2.5, 3.5, 3.0  # of the Big Five; the last where a person answered none of it
INTENSITIES = (3, 4)  # by neuroticism: low, high


class ScriptedProfileWriter:
    """The scripted model that answers the prompt of `dialogue.seekers.profile_writer`."""

    demonstration = True

    def __init__(self, language: str = "en") -> None:
        self._texts = _texts()[get_code(language)]

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        prompt = next((message.text for message in reversed(messages) if message.role == "user"), "")
        if "<person>" not in prompt:
            raise ProviderError("client_error", "The prompt has no <person> block.", permanent=True)
        profile = write_profile(dict(LINE.findall(prompt)), self._texts)
        return await speak(f"<output>{json.dumps(profile, ensure_ascii=False)}</output>", NAME, on_text)


def write_profile(told: Mapping[str, str], texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile; `told`: the lines of the prompt, by key."""
    topic = _option_for(texts["topics"], told.get("topic", ""))
    wish = _option_for(texts["goals"], told.get("goal", ""))
    habits = [texts["habits"]["C"][_is_high(told, "C")], texts["habits"]["N"][_is_high(told, "N")]]
    happened = [topic["background"], texts["statuses"].get(told.get("status", ""), "")]
    return {
        "P": {
            "speech_style": texts["speech"][_third(told, "E")],
            "habits": habits,
            "hobbies": [texts["hobbies"][_third(told, "O")]],
            "support_preference": wish["support_preference"],
        },
        "C": {
            "problem": topic["problem"].replace("{name}", told.get("alias", "")),
            "emotion": topic["emotion"],
            "intensity": INTENSITIES[_is_high(told, "N")],
            "background": texts["between_sentences"].join(filter(None, happened)),
            "goals": wish["goals"],
            "roles": {"partner": texts["partner"], "others": topic["others"]},
        },
        "S": {
            "opening": texts["opening"][_third(told, "E")],
            "layers": [layer.replace("{name}", told.get("alias", "")) for layer in topic["layers"]],
            "reactions": texts["reactions"][_is_high(told, "A")],
            "ends_when": texts["ends_when"][not _is_high(told, "N")],
        },
    }


def _option_for(options: Mapping[str, Any], said: str) -> Any:
    """Return the option for an answer; the last one for other answers, or none."""
    return options.get(said, list(options.values())[-1])


def _is_high(told: Mapping[str, str], factor: str) -> bool:
    return _score(told, factor) >= MIDDLE


def _third(told: Mapping[str, str], factor: str) -> int:
    score = _score(told, factor)
    return 0 if score < LOW else 2 if score > HIGH else 1


def _score(told: Mapping[str, str], factor: str) -> float:
    return float(told.get(factor, MIDDLE))


@cache
def _texts() -> Any:
    return json.loads(TEXTS.read_text(encoding="utf-8"))
