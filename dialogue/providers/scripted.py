"""Scripted answers: from a list for tests, and those of the five supporters of the demonstration study."""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dialogue.languages import CODES
from dialogue.prompts import DEFAULTS
from dialogue.providers.base import Message, OnText, ProviderError, Reply
from dialogue.safety.screening import REPLY_LEVEL, screen_message, screen_reply

SUPPORTERS = ("formula", "advice", "mirror", "question", "attuned")
TEXTS = Path(__file__).resolve().parents[2] / "fixtures" / "demonstration" / "supporters.json"

Script = Sequence[str | ProviderError] | Callable[[Sequence[Message]], str]

# A word with the space after it, or one to three Chinese characters with the signs between them.
PIECE = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]{1,3}|[^\s\u2e80-\u9fff\uff00-\uffef]+\s*|\s+")
CLAUSE_END = re.compile(r"[.,;:!?…\n\"“”()。，；：！？、（）]+")
HAN = re.compile("[\u4e00-\u9fff]")
INTEREST = re.compile(r"^\W*(?:interests?|hobbies|hobby|兴趣爱好|兴趣|爱好)\s*[:：]\s*([^,，、;；.。\n]+)", re.I | re.M)
QUOTED_WORDS = 8
QUOTED_HAN = 12
FIRST_PIECE_SECONDS = (0.5, 1.2)
PIECE_SECONDS = 0.04


class ScriptedModel:
    """A model that answers with the replies of a list in turn, or with what a function makes of the messages.

    A ProviderError in the list is raised. `calls` keeps the messages of every call. A list that has run out raises a
    permanent ProviderError.
    """

    def __init__(self, replies: Script, *, model: str = "scripted") -> None:
        self.calls: list[tuple[Message, ...]] = []
        self._replies = replies
        self._model = model

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        self.calls.append(tuple(messages))
        return await speak(self._next(messages), self._model, on_text)

    def _next(self, messages: Sequence[Message]) -> str:
        if callable(self._replies):
            return self._replies(messages)
        if len(self.calls) > len(self._replies):
            raise ProviderError("client_error", "The script has no reply left.", permanent=True)
        answer = self._replies[len(self.calls) - 1]
        if isinstance(answer, ProviderError):
            raise answer
        return answer


class DemonstrationSupporter:
    """One of SUPPORTERS, in English or Chinese: the same messages always get the same reply.

    `pace` 1 streams as a model would, 0 sends everything at once.
    """

    demonstration = True

    def __init__(self, name: str, language: str = "en", pace: float = 1.0) -> None:
        self._name = name
        self._texts = _texts()["zh" if language.startswith("zh") else "en"]
        self._pace = pace

    async def reply(self, messages: Sequence[Message], on_text: OnText | None = None) -> Reply:
        return await speak(self.text_for(messages), self._name, on_text, self._pace)

    def text_for(self, messages: Sequence[Message]) -> str:
        """Return the reply; it says the seeker's own words back only where the screen finds no danger in them."""
        messages = skip_opening(messages)
        if all(message.role == "system" for message in messages):
            openings = self._texts["openings"]
            return str(openings[_number(self._name) % len(openings)])
        last = next((message.text for message in reversed(messages) if message.role == "user"), "")
        neutral = self._texts["neutral_quote"]
        if screen_message(last).level >= REPLY_LEVEL:
            return self._compose(messages, neutral, last)
        text = self._compose(messages, quote_phrase(last) or neutral, last)
        return text if screen_reply(text) is None else self._compose(messages, neutral, last)

    def _compose(self, messages: Sequence[Message], quote: str, last: str) -> str:
        spoken = [message for message in messages if message.role != "system"]
        turn = sum(message.role == "user" for message in spoken)
        sentences = []
        for place, part in enumerate(self._texts[self._name]):
            if self._name == "formula":  # draws anew each time, so it repeats itself
                sentences.append(part[_number(place, *spoken) % len(part)])
            else:  # goes round, so no sentence comes back before all the others
                sentences.append(part[(_number(place, *spoken[:1]) + turn) % len(part)])
        if self._name == "attuned" and turn % 3 == 0 and (interest := _interest(messages)):
            sentences.insert(-1, self._texts["interest"][turn // 3 % 3].format(interest=interest))
        joiner = "" if HAN.search(sentences[0]) else " "
        return joiner.join(sentences).replace("{quote}", quote).replace("{feeling}", self._feeling(last))

    def _feeling(self, text: str) -> str:
        for pattern, feeling in self._texts["feelings"]:
            if re.search(pattern, text, re.IGNORECASE):
                return str(feeling)
        others = self._texts["other_feelings"]
        return str(others[_number("feeling", text) % len(others)])


def skip_opening(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without the request to speak first and the opening after it, where they begin with these. Of
    requests only emostudy's own are known."""
    standing = [message for message in messages if message.role == "system"]
    spoken = [message for message in messages if message.role != "system"]
    requests = [DEFAULTS.get("supporter_opens", language).text for language in CODES]
    return [*standing, *(spoken[2:] if spoken and spoken[0].text in requests else spoken)]


def quote_phrase(text: str) -> str:
    """Return the start of the seeker's longest clause; "" where there is none."""
    clause = max(CLAUSE_END.split(text), key=len).strip()
    if HAN.search(clause):
        return clause[:QUOTED_HAN]
    return " ".join(clause.split()[:QUOTED_WORDS])


async def speak(text: str, model: str, on_text: OnText | None = None, pace: float = 0.0) -> Reply:
    """Hand `text` to `on_text` piece by piece, and return it as a reply."""
    started = time.monotonic()
    first_token_ms = None
    for number, piece in enumerate(pieces(text)):
        if pace:
            await asyncio.sleep(pace * (PIECE_SECONDS if number else _first_wait(text)))
        if first_token_ms is None:
            first_token_ms = _ms_since(started)
        if on_text:
            on_text(piece)
    return Reply(text=text, model=model, first_token_ms=first_token_ms, total_ms=_ms_since(started))


def pieces(text: str) -> Iterator[str]:
    return (match.group() for match in PIECE.finditer(text))


def _first_wait(text: str) -> float:
    shortest, longest = FIRST_PIECE_SECONDS
    return shortest + (longest - shortest) * (_number(text) % 1000) / 1000


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _interest(messages: Sequence[Message]) -> str:
    """Return the first interest of the profile in the system prompt; "" where it names none."""
    match = INTEREST.search("\n".join(message.text for message in messages if message.role == "system"))
    return match.group(1).strip() if match else ""


def _number(*parts: object) -> int:
    """Return a number that is the same for the same parts in every process."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6])


@cache
def _texts() -> dict[str, Any]:
    texts: dict[str, Any] = json.loads(TEXTS.read_text(encoding="utf-8"))
    return texts
