"""Prompts of a judge and a Thinker: a standing text with the parts of the question. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dialogue.prompts import DEFAULTS, Prompts, StandingText, build_messages
from dialogue.providers.base import Message
from dialogue.quoting import quote_message

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
    """A turn. `opening`: of the first turn, what the supporter said before it; it is shown as turn 0, and no turn."""

    number: int
    seeker: str
    supporter: str
    opening: str = ""


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
    standing: StandingText | None = None,
) -> list[Message]:
    """Return the prompt of one questionnaire about one conversation.

    `scope` says which part of the conversation is meant, as the people's own page did. `notes`: of a probe. `without`:
    one of STATE_FIELDS that is not told. `standing`: the standing text; by default emostudy's for judges.
    """
    parts = {
        "dialogue": transcript(turns),
        "profile": [profile] if profile else [],
        "inner_states": [_state(state, without) for state in states],
        "scope": [scope] if scope else [],
        **{note.tag: [note.text] for note in notes},
        "items": [_item(item) for item in items],
    }
    text = (standing or DEFAULTS.get("judge", language)).text
    return build_messages(text, [(name, lines or None) for name, lines in parts.items()], [output_form(items)])


def pair_messages(
    first: Sequence[JudgedTurn],
    second: Sequence[JudgedTurn],
    items: Sequence[JudgedItem],
    *,
    language: str,
    scope: str,
    prompts: Prompts = DEFAULTS,
) -> list[Message]:
    """Return the messages that ask to compare two conversations side by side. `scope` says what of them is to be
    compared, as the people's own page does."""
    parts = [
        ("first_dialogue", transcript(first)),
        ("second_dialogue", transcript(second)),
        ("scope", [scope]),
        ("items", [_item(item) for item in items]),
    ]
    return build_messages(prompts.get("judge_pairs", language).text, parts, [output_form(items)])


def thinker_messages(
    turns: Sequence[JudgedTurn], *, language: str, profile: str, prompts: Prompts = DEFAULTS
) -> list[Message]:
    parts = [("dialogue", transcript(turns)), ("profile", [profile])]
    return build_messages(prompts.get("thinker", language).text, parts)


def repair_messages(answer: str, form: str, *, language: str, prompts: Prompts = DEFAULTS) -> list[Message]:
    """Return the messages that ask to repair an unreadable answer. A model that sees nothing else brings its verdicts
    into the right form."""
    return build_messages(prompts.get("repair", language).text, [("answer", [answer])], [form])


def transcript(turns: Sequence[JudgedTurn]) -> list[str]:
    """Return a line for every message, in which nothing can pass for a label or a closing tag."""
    return [
        line
        for turn in turns
        for line in (
            *opening_lines(turn.opening),
            f"[{turn.number}] Seeker: {quote_message(turn.seeker)}",
            f"[{turn.number}] Supporter: {quote_message(turn.supporter)}",
        )
    ]


def opening_lines(opening: str) -> list[str]:
    """Return the line of what the supporter said before the first turn; none where it said nothing."""
    return [f"[0] Supporter: {quote_message(opening)}"] if opening else []


def _state(state: InnerState, without: str) -> str:
    fields = (f"{name}: {quote_message(str(getattr(state, name)))}" for name in STATE_FIELDS if name != without)
    return f"[{state.turn}] {'; '.join(fields)}"


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
