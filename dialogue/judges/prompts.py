"""Prompts of a judge and a Thinker. The standing texts are files of fixtures/prompts; the rest is built here."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from dialogue.prompts import PromptFile, read_prompt
from dialogue.providers.base import Message

PROMPTS = Path(__file__).resolve().parents[2] / "fixtures" / "prompts"
STATE_TEXTS = ("cognition", "emotion", "goal")
STATE_FIELDS = (*STATE_TEXTS, "emotion_score")
ITEM_OF_FORM = re.compile(r'"(\w+)": n')


@dataclass(frozen=True)
class JudgedItem:
    key: str
    text: str
    minimum: int
    maximum: int
    anchors: tuple[tuple[int, str], ...]
    labels: tuple[str, ...] = ()  # its names in any language, by which a judge may call it


@dataclass(frozen=True)
class JudgedTurn:
    number: int
    seeker: str
    supporter: str


@dataclass(frozen=True)
class InnerState:
    """The seeker's state that a Thinker wrote down after one turn; `emotion_score` runs from 0 to 100."""

    turn: int
    cognition: str
    emotion: str
    goal: str
    emotion_score: int


@dataclass(frozen=True)
class Note:
    """A line of its own in the prompt, between `<tag>` and `</tag>`."""

    tag: str
    text: str


@cache
def _template(name: str, language: str, folder: Path = PROMPTS) -> PromptFile:
    return read_prompt(folder / f"{name}.{language}.txt")


def get_standing_text(name: str, language: str) -> str:
    return _template(name, language).text.strip()


def template_version(name: str, language: str, folder: Path = PROMPTS) -> str:
    """Return what is kept with an answer, such as `judge.en/1`. `name`: of a prompt file in the folder."""
    return f"{name}.{language}/{_template(name, language, folder).version}"


def judge_messages(
    turns: Sequence[JudgedTurn],
    items: Sequence[JudgedItem],
    *,
    language: str,
    profile: str = "",
    states: Sequence[InnerState] = (),
    scope: str = "",
    notes: Sequence[Note] = (),
    without: str = "",
    template: str = "judge",
    folder: Path = PROMPTS,
) -> list[Message]:
    """Return the prompt of one questionnaire about one conversation.

    `scope` says which part of the conversation is meant, as the people's own page did. `notes`: of a probe. `without`:
    one of STATE_FIELDS that is not told. `template`: the name of the standing text, a prompt file in `folder`.
    """
    blocks = [
        _block("dialogue", transcript(turns)),
        _block("profile", [profile] if profile else []),
        _block("inner_states", [_state(state, without) for state in states]),
        _block("scope", [scope] if scope else []),
        *(_block(note.tag, [note.text]) for note in notes),
        _block("items", [_item(item) for item in items]),
        [output_form(items)],
    ]
    return _messages(template, language, blocks, folder)


def pair_messages(
    first: Sequence[JudgedTurn], second: Sequence[JudgedTurn], items: Sequence[JudgedItem], *, language: str, scope: str
) -> list[Message]:
    """Return the messages that ask to compare two conversations side by side. `scope` says what of them is to be
    compared, as the people's own page does."""
    blocks = [
        _block("first_dialogue", transcript(first)),
        _block("second_dialogue", transcript(second)),
        _block("scope", [scope]),
        _block("items", [_item(item) for item in items]),
        [output_form(items)],
    ]
    return _messages("judge_pairs", language, blocks)


def thinker_messages(turns: Sequence[JudgedTurn], *, language: str, profile: str) -> list[Message]:
    return _messages("thinker", language, [_block("dialogue", transcript(turns)), _block("profile", [profile])])


def repair_messages(answer: str, form: str, *, language: str) -> list[Message]:
    """Return the messages that ask to repair an unreadable answer. A model that sees nothing else brings its verdicts
    into the right form."""
    return _messages("repair", language, [_block("answer", [answer]), [form]])


def _messages(name: str, language: str, blocks: Iterable[Sequence[str]], folder: Path = PROMPTS) -> list[Message]:
    user = "\n".join(line for block in blocks for line in block)
    return [Message("system", _template(name, language, folder).text), Message("user", user)]


def _block(tag: str, lines: Sequence[str]) -> list[str]:
    return [f"<{tag}>", *lines, f"</{tag}>"] if lines else []


def transcript(turns: Sequence[JudgedTurn]) -> list[str]:
    """Return a line for every message, so that nothing that a person writes can pass for a label or a closing tag."""
    return [
        f"[{turn.number}] {role}: {_flat(text)}"
        for turn in turns
        for role, text in (("Seeker", turn.seeker), ("Supporter", turn.supporter))
    ]


def _state(state: InnerState, without: str) -> str:
    told = (f"{name}: {_flat(str(getattr(state, name)))}" for name in STATE_FIELDS if name != without)
    return f"[{state.turn}] {'; '.join(told)}"


@lru_cache(maxsize=1000)
def _item(item: JudgedItem) -> str:
    head = [f"key: {item.key}", f"scale: {item.minimum}-{item.maximum}", f"question: {_flat(item.text)}"]
    return "\n".join(head + [f"{value} = {_flat(text)}" for value, text in item.anchors])


def items_of_form(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of the items in the form that messages end with."""
    forms = [line for text in texts for line in text.splitlines() if line.startswith("<output>")]
    return tuple(ITEM_OF_FORM.findall(forms[-1])) if forms else ()


def output_form(items: Sequence[JudgedItem]) -> str:
    scores = ", ".join(f'"{item.key}": n' for item in items)
    return f'<output>{{"analysis": "…", "evaluation": {{{scores}}}}}</output>'


def _flat(text: str) -> str:
    return " ".join(text.split())
