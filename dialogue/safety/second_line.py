"""The second line of the risk screen: a classifier of the study's choice, asked beside the arm.

It never stands in for the first line: the higher of both levels counts. Pure but for the call itself.
"""

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dialogue.prompts import PromptFile, read_prompt
from dialogue.providers.base import Message, ModelSettings, ProviderError, Reply
from dialogue.providers.moderation import load_client_soon, moderate
from dialogue.providers.registry import MODELS, get_api_key, model_for
from dialogue.quoting import quote_labelled
from dialogue.safety.categories import PAGE_CATEGORIES
from dialogue.safety.screening import CONTEXT, REPLY_LEVEL, Verdict, screen_message, screen_reply, screen_version

MODERATION, SCRIPTED = "openai_moderation", "scripted"
ENTRY = "second line"  # among the entries of an event that no pattern found
SCRIPTED_LEVEL = re.compile(r"level-([0-4])")  # a scripted second line that always says the same
LONGEST_SCREEN = 200
OBJECT = re.compile(r"\{[^{}]*\}")
HARMS = ("encouragement", "method", "dangerous_advice", "belittling")
PROMPTS = Path(__file__).resolve().parents[2] / "fixtures" / "prompts"

# From which score of the moderation endpoint on a message has which level. Chosen by hand, validated by nobody.
MODERATION_RULES = "rules 1"
LEVELS = (
    ("self-harm/intent", 0.5, 3, "self"),
    ("self-harm/instructions", 0.5, 3, "self"),
    ("self-harm", 0.5, 2, "self"),
    ("harassment/threatening", 0.7, 3, "to_others"),
    ("illicit/violent", 0.7, 3, "to_others"),
    ("violence", 0.8, 2, "from_others"),
    ("sexual/minors", 0.5, 3, "child"),
)
# From which score on a reply is withheld. A kind reply says the person's words back, so "self-harm" alone says nothing.
HARMFUL = (
    ("self-harm/instructions", 0.4, "method"),
    ("illicit/violent", 0.5, "method"),
    ("harassment/threatening", 0.5, "encouragement"),
    ("harassment", 0.7, "belittling"),
)
TRACE = 0.1  # below it a message's own words say nothing, whatever was said before


class EarlierTurn(NamedTuple):
    """A turn before the message: its words, the reply that was shown, and its level."""

    message: str
    reply: str
    level: int


@dataclass(frozen=True)
class SecondLine:
    """The settings of a study's second line, as a conversation keeps them from its opening."""

    kind: str
    base_url: str = ""
    model: str = ""
    api_key_env: str = ""
    provider: str = ""
    when_unreachable: str = "open"
    seconds: float = 2.0

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "SecondLine | None":
        """Return the settings that a conversation keeps, or `None` where it has no second line."""
        return cls(**values) if values else None

    def settings(self) -> ModelSettings:
        return ModelSettings(
            kind=self.kind,
            model=self.model,
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            temperature=0.0 if self.kind == MODELS else None,
        )


@dataclass(frozen=True)
class Question:
    """Something that the second line is asked: a message with the turns before it, or a reply to a message."""

    line: SecondLine
    about: Literal["message", "reply"]
    text: str
    language: str = "en"
    earlier: tuple[EarlierTurn, ...] = ()

    def prompt(self) -> PromptFile:
        return _prompt("second_line" if self.about == "message" else "second_line_reply", self.language)

    def version(self) -> str:
        """Return what an event keeps beside the level: kind, model, and the version of its prompt or rules."""
        match self.line.kind:
            case "openai_moderation":
                rules = MODERATION_RULES
            case "scripted":
                rules = f"screen {screen_version()}"
            case _:
                rules = f"prompt {self.prompt().version}"
        return ", ".join(part for part in (self.line.kind, self.line.model, rules) if part)[:LONGEST_SCREEN]

    def messages(self) -> tuple[Message, ...]:
        """Return what is sent, as the ledger keeps it."""
        if self.line.kind == MODELS:
            return (Message("system", self.prompt().text), Message("user", self._material()))
        if self.about == "reply":
            return (Message("assistant", self.text),)
        return tuple(Message("user", text) for text in self._texts())

    def _texts(self) -> list[str]:
        """Return the message, and where there are turns before it, the person's words of all of them."""
        if not self.earlier:
            return [self.text]
        return [self.text, "\n".join([*(turn.message for turn in self.earlier), self.text])]

    def _material(self) -> str:
        if self.about == "reply":
            message = self.earlier[-1].message if self.earlier else ""
            return f"<message>{quote_labelled(message)}</message>\n<reply>{quote_labelled(self.text)}</reply>"
        parts = [
            f"Person: {quote_labelled(turn.message)}\nPartner: {quote_labelled(turn.reply)}" for turn in self.earlier
        ]
        earlier = "<earlier>\n" + "\n".join(parts) + "\n</earlier>\n" if parts else ""
        return f"{earlier}<message>{quote_labelled(self.text)}</message>"


class Finding(NamedTuple):
    """A level, its categories, and the version of the second line. Of a reply: level 3 where it must be withheld, else
    0."""

    level: int
    categories: tuple[str, ...]
    screen: str


@dataclass(frozen=True)
class Answer:
    """The outcome of a question: a finding, or `None` where none could be had; and what the ledger keeps of it."""

    finding: Finding | None
    outcome: Reply | ProviderError
    status: str = "ok"


def prepare(values: Mapping[str, Any]) -> None:
    """Load what a conversation's second line needs, when the person comes and before they write."""
    if values.get("kind") == MODERATION:
        load_client_soon()


def question_about(line: SecondLine, text: str, earlier: Sequence[EarlierTurn], language: str) -> Question:
    """Return the question about a message: the last six turns, but nothing up to a message that held the conversation,
    for that sign was answered then."""
    recent = earlier[-(CONTEXT - 1) :]
    held = max((at for at, turn in enumerate(recent) if turn.level >= 3), default=-1)
    return Question(line, "message", text, language, tuple(recent[held + 1 :]))


def question_about_reply(line: SecondLine, message: str, reply: str, language: str) -> Question:
    """Return the question about a whole reply to a message."""
    return Question(line, "reply", reply, language, (EarlierTurn(message, "", 0),))


async def ask(question: Question) -> Answer:
    """Return the second line's answer within its limit. Nothing is raised: an answer that cannot be had or read has no
    finding."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(question.line.seconds):
            finding, reply = await _ask(question)
    except TimeoutError:
        return Answer(None, ProviderError("timeout", f"There was no answer within {question.line.seconds:g} s."))
    except UnreadableAnswer as error:
        return Answer(None, error.reply, error.status)
    except ProviderError as error:
        return Answer(None, error)
    if reply.total_ms is None:
        reply = replace(reply, total_ms=round((time.monotonic() - started) * 1000))
    return Answer(finding, reply)


class UnreadableAnswer(Exception):
    """An answer that says nothing that counts. `status` is what the ledger calls it."""

    def __init__(self, reply: Reply, status: str) -> None:
        super().__init__(status)
        self.reply = reply
        self.status = status


async def _ask(question: Question) -> tuple[Finding, Reply]:
    match question.line.kind:
        case "openai_moderation":
            return await _ask_moderation(question)
        case "scripted":
            return _ask_script(question)
        case _:
            return await _ask_model(question)


async def _ask_moderation(question: Question) -> tuple[Finding, Reply]:
    texts = [message.text for message in question.messages()]
    settings = question.line.settings()
    answer = await moderate(texts, settings, api_key=get_api_key(settings.api_key_env, os.environ))
    scores = [{name: round(score, 4) for name, score in one.items()} for one in answer.scores]
    reply = Reply(text=json.dumps(scores), model=answer.model, total_ms=answer.total_ms)
    if question.about == "reply":
        harm = next((harm for name, least, harm in HARMFUL if scores[0].get(name, 0) >= least), "")
        return Finding(REPLY_LEVEL if harm else 0, (harm,) if harm else (), question.version()), reply
    level, categories = _level_of(scores[0])
    if len(scores) > 1 and max(scores[0].get(name, 0) for name, *_ in LEVELS) >= TRACE:
        joined, of_joined = _level_of(scores[1])
        if joined > max(level, *(turn.level for turn in question.earlier)):
            level, categories = joined, of_joined
    return Finding(level, categories, question.version()), reply


def _level_of(scores: Mapping[str, float]) -> tuple[int, tuple[str, ...]]:
    matches = [(level, group) for name, least, level, group in LEVELS if scores.get(name, 0) >= least]
    return max((level for level, _ in matches), default=0), tuple(sorted({group for _, group in matches}))


def _ask_script(question: Question) -> tuple[Finding, Reply]:
    """Return the first line's verdict on the words of six turns, or a level that is always the same, for
    demonstrations."""
    fixed = SCRIPTED_LEVEL.fullmatch(question.line.model)
    if question.about == "reply":
        verdict = screen_reply(question.text) or Verdict(0)
    elif fixed:
        verdict = Verdict(int(fixed[1]), categories=("self",) if fixed[1] != "0" else ())
    else:
        verdict = screen_message(question.text)
        whole = screen_message(question._texts()[-1])
        if verdict.level and whole.level > max(verdict.level, *(turn.level for turn in question.earlier), 0):
            verdict = whole
    reply = Reply(text=json.dumps({"level": verdict.level}), model=question.line.model or SCRIPTED)
    return Finding(verdict.level, verdict.categories, question.version()), reply


async def _ask_model(question: Question) -> tuple[Finding, Reply]:
    reply = await model_for(question.line.settings(), language=question.language).reply(question.messages())
    answer = last_object(reply.text)
    if answer is None:
        raise UnreadableAnswer(reply, "unparseable")
    if question.about == "reply":
        return _reply_finding(question, reply, answer), reply
    level, category = answer.get("level"), answer.get("category")
    if not isinstance(level, int) or isinstance(level, bool):
        raise UnreadableAnswer(reply, "unparseable")
    if not 0 <= level <= 4:
        raise UnreadableAnswer(reply, "out_of_range")
    categories = (str(category),) if level and category in PAGE_CATEGORIES else ()
    return Finding(level, categories, question.version()), reply


def _reply_finding(question: Question, reply: Reply, answer: Mapping[str, Any]) -> Finding:
    harmful, category = answer.get("harmful"), answer.get("category")
    if not isinstance(harmful, bool):
        raise UnreadableAnswer(reply, "unparseable")
    categories = (str(category) if category in HARMS else HARMS[0],) if harmful else ()
    return Finding(REPLY_LEVEL if harmful else 0, categories, question.version())


def last_object(text: str) -> dict[str, Any] | None:
    """Return the last flat JSON object in a text, since models think aloud before they answer."""
    for candidate in reversed(OBJECT.findall(text)):
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None


@cache
def _prompt(name: str, language: str) -> PromptFile:
    return read_prompt(PROMPTS / f"{name}.{'zh' if language.startswith('zh') else 'en'}.txt")
