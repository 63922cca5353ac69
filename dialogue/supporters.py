"""A conversation as the supporter sees it: its prompt, and what was said so far."""

from collections.abc import Iterable

from dialogue.models import Conversation, Turn
from dialogue.models.conversation import TurnState
from dialogue.providers.base import Message

SLOT = "{profile}"


def system_prompt(prompt: str, profile: str) -> str:
    """The prompt with the seeker's profile in its place; without one, the line that would introduce it goes too."""
    if profile or SLOT not in prompt:
        return prompt.replace(SLOT, profile)
    paragraphs = prompt.split("\n\n")
    return "\n\n".join(paragraph for paragraph in paragraphs if SLOT not in paragraph)


def messages_for(conversation: Conversation, past: Iterable[Turn], text: str) -> list[Message]:
    """`text` is the message to be answered. A masked reply goes back as it was shown: the supporter must not build on
    what nobody saw."""
    return told(conversation, ((turn.text, turn.reply) for turn in past if turn.state == TurnState.ANSWERED), text)


def told(conversation: Conversation, past: Iterable[tuple[str, str]], text: str) -> list[Message]:
    """The same from pairs of message and reply."""
    prompt = system_prompt(conversation.supporter.prompt, conversation.profile) if conversation.supporter else ""
    messages = [Message("system", prompt)] if prompt else []
    for message, reply in past:
        messages += [Message("user", message), Message("assistant", reply)]
    return [*messages, Message("user", text)]
