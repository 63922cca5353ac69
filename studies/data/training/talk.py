"""A conversation as training data: what was said, whose it is, and how it was scored. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

WHOLE = 0  # the turn of a score that is about the whole conversation

Scores = Mapping[str, float]  # by rater


class Message(TypedDict):
    role: str  # user: the seeker; assistant: the supporter
    content: str


@dataclass(frozen=True)
class Exchange:
    """A seeker's message and the reply to it. `opening`: of the first one, what the supporter had said before."""

    number: int
    seeker: str
    supporter: str
    opening: str = ""


@dataclass(frozen=True)
class About:
    """The origin of a conversation. `seeker` names the person, the profile, or a conversation of no one known."""

    conversation: str
    seeker: str
    seeker_kind: str
    arm: str
    model: str
    condition: str
    profile: str
    setup: str  # how a simulated seeker was changed for an ablation
    language: str
    is_test: bool


@dataclass(frozen=True)
class Talk:
    """A conversation for training. `turns` are those that may be used, from the first on.

    `scores` are by turn; WHOLE for the conversation.
    """

    run: int
    about: About
    turns: tuple[Exchange, ...]
    scores: Mapping[int, Scores] = field(default_factory=dict)


def messages(turns: Iterable[Exchange]) -> list[Message]:
    return [
        message
        for turn in turns
        for message in (
            *([Message(role="assistant", content=turn.opening)] if turn.opening else []),
            Message(role="user", content=turn.seeker),
            Message(role="assistant", content=turn.supporter),
        )
    ]


def prompt_before(turns: Sequence[Exchange]) -> list[Message]:
    """Return the messages that the supporter was sent for the last of these replies."""
    return messages(turns)[:-1]


def as_text(turns: Iterable[Exchange]) -> str:
    """Return the text from the first message on. An opening is left out, because all conversations may share it."""
    return "\n".join(text for turn in turns for text in (turn.seeker, turn.supporter))
