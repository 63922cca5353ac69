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

TEXTS = Path(__file__).resolve().parents[2] / "fixtures" / "demonstration" / "profiles.json"
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


def write_profile(answers: Mapping[str, str], texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile; `answers`: the lines of the prompt, by key."""
    topic = _option_for(texts["topics"], answers.get("topic", ""))
    wish = _option_for(texts["goals"], answers.get("goal", ""))
    habits = [texts["habits"]["C"][_is_high(answers, "C")], texts["habits"]["N"][_is_high(answers, "N")]]
    happened = [topic["background"], texts["statuses"].get(answers.get("status", ""), "")]
    return {
        "P": {
            "speech_style": texts["speech"][_third(answers, "E")],
            "habits": habits,
            "hobbies": [texts["hobbies"][_third(answers, "O")]],
            "support_preference": wish["support_preference"],
        },
        "C": {
            "problem": topic["problem"].replace("{name}", answers.get("alias", "")),
            "emotion": topic["emotion"],
            "intensity": INTENSITIES[_is_high(answers, "N")],
            "background": texts["between_sentences"].join(filter(None, happened)),
            "goals": wish["goals"],
            "roles": {"partner": texts["partner"], "others": topic["others"]},
        },
        "S": {
            "opening": texts["opening"][_third(answers, "E")],
            "layers": [layer.replace("{name}", answers.get("alias", "")) for layer in topic["layers"]],
            "reactions": texts["reactions"][_is_high(answers, "A")],
            "ends_when": texts["ends_when"][not _is_high(answers, "N")],
        },
    }


def _option_for(options: Mapping[str, Any], answer: str) -> Any:
    """Return the option for an answer; the last one for other answers, or none."""
    return options.get(answer, list(options.values())[-1])


def _is_high(answers: Mapping[str, str], factor: str) -> bool:
    return _score(answers, factor) >= MIDDLE


def _third(answers: Mapping[str, str], factor: str) -> int:
    score = _score(answers, factor)
    return 0 if score < LOW else 2 if score > HIGH else 1


def _score(answers: Mapping[str, str], factor: str) -> float:
    return float(answers.get(factor, MIDDLE))


@cache
def _texts() -> Any:
    return json.loads(TEXTS.read_text(encoding="utf-8"))
