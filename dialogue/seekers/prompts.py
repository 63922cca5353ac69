"""Prompts for the models behind a simulated seeker (EmoHarbor, arXiv:2601.01530, Section 2.2). Pure.

Each prompt starts with what never changes (rules, profile), continues with what grows at its end (the conversation),
and ends with what is new each turn (the newest thought, the behaviour with its arousal), so that a provider's prefix
cache serves all but the end.

There are two memories: the dialogue, which both sides have seen, and the thoughts, which only the Thinker's prompt
holds. The Talker gets the newest thought. Nothing here is ever part of a supporter's prompt.
"""

from collections.abc import Sequence
from itertools import zip_longest

from dialogue.judges.prompts import JudgedTurn, opening_lines
from dialogue.prompts import DEFAULTS, ENDINGS, Part, Prompts, build_messages
from dialogue.providers.base import Message
from dialogue.quoting import quote_message
from dialogue.seekers.reading import END_PHRASES, Thought

NAMES = ("seeker_thinker", "seeker_talker", "seeker_one_agent", "seeker_reviewer")


def thinker_messages(
    profile_text: str,
    condition_text: str,
    turns: Sequence[JudgedTurn],
    thoughts: Sequence[Thought | None],
    language: str,
    prompts: Prompts = DEFAULTS,
    *,
    opening: str = "",
) -> list[Message]:
    """Return the prompt for what goes on in the seeker after the last of `turns`.

    `thoughts` are those after the turns before it, in order; None for a missing one. Without turns, it asks for the
    feeling with which the seeker comes. `opening`: what the supporter said before the first turn.
    """
    memory = opening_lines(opening) + [
        line
        for turn, thought in zip_longest(turns, thoughts[: len(turns)])
        for line in (*_turn_lines(turn), *_thought_line(turn.number, thought))
    ]
    parts = [("profile", [profile_text]), ("memory", memory), _behaviour(condition_text)]
    return build_messages(prompts.get("seeker_thinker", language).text, parts)


def talker_messages(
    profile_text: str,
    condition_text: str,
    turns: Sequence[JudgedTurn],
    thought: Thought | None,
    language: str,
    can_end: bool,
    prompts: Prompts = DEFAULTS,
    *,
    opening: str = "",
) -> list[Message]:
    """Return the prompt for what the seeker says next. Without `can_end` it leaves out the phrases that end the
    conversation."""
    parts = [
        ("profile", [profile_text]),
        _dialogue(turns, opening),
        ("thought", _thought_lines(thought) if thought else None),
        _behaviour(condition_text),
    ]
    return build_messages(_with_endings(prompts.get("seeker_talker", language).text, language, can_end), parts)


def one_agent_messages(
    profile_text: str,
    condition_text: str,
    turns: Sequence[JudgedTurn],
    language: str,
    can_end: bool,
    prompts: Prompts = DEFAULTS,
    *,
    opening: str = "",
) -> list[Message]:
    """Return the prompt of one call without a thought before it, the ablation of EmoHarbor, Section 4.1.1."""
    parts = [("profile", [profile_text]), _dialogue(turns, opening), _behaviour(condition_text)]
    return build_messages(_with_endings(prompts.get("seeker_one_agent", language).text, language, can_end), parts)


def review_messages(
    profile_text: str,
    turns: Sequence[JudgedTurn],
    language: str,
    condition_text: str = "",
    prompts: Prompts = DEFAULTS,
    *,
    opening: str = "",
) -> list[Message]:
    """Return the prompt that marks the simulator's own faults. `condition_text` says which behaviour was asked for."""
    parts = [("profile", [profile_text]), _behaviour(condition_text), _dialogue(turns, opening)]
    return build_messages(prompts.get("seeker_reviewer", language).text, parts)


def _with_endings(text: str, language: str, can_end: bool) -> str:
    """Return the prompt with the closing phrases in their places, or without the paragraphs that have the places."""
    if not can_end:
        slots = [f"{{{ending}}}" for ending in ENDINGS]
        return "\n\n".join(part for part in text.split("\n\n") if not any(slot in part for slot in slots))
    for slot, phrases in END_PHRASES[language].items():
        text = text.replace(f"{{{slot}}}", " / ".join(phrases))
    return text


def _behaviour(condition_text: str) -> Part:
    return "behaviour", [condition_text] if condition_text else None


def _dialogue(turns: Sequence[JudgedTurn], opening: str) -> Part:
    return "dialogue", opening_lines(opening) + [line for turn in turns for line in _turn_lines(turn)]


def _turn_lines(turn: JudgedTurn) -> list[str]:
    """Return one line for each message, so that nothing in it can pass for a label or a closing tag.

    There is one line less if an import has no words of one side, or if no reply came.
    """
    messages = (("Seeker", turn.seeker), ("Supporter", turn.supporter))
    return [f"[{turn.number}] {role}: {quote_message(text)}" for role, text in messages if text]


def _thought_line(turn: int, thought: Thought | None) -> list[str]:
    return [f"[{turn}] Thought: {'; '.join(_thought_lines(thought))}"] if thought else []


def _thought_lines(thought: Thought) -> list[str]:
    parts = {"cognition": thought.cognition, "emotion": thought.emotion, "goal": thought.goal}
    return [
        *(f"{name}: {quote_message(text)}" for name, text in parts.items()),
        f"emotion_score: {thought.emotion_score}",
    ]
