"""The messages for a supporter: its prompt and the conversation so far."""

from collections.abc import Iterable

from dialogue.models import Conversation, Turn
from dialogue.models.conversation import TurnState
from dialogue.providers.base import Message

SLOT = "{profile}"


def system_prompt(prompt: str, profile: str) -> str:
    """Return the prompt with the seeker's profile in its place; without one, its introducing line is removed too."""
    if profile or SLOT not in prompt:
        return prompt.replace(SLOT, profile)
    paragraphs = prompt.split("\n\n")
    return "\n\n".join(paragraph for paragraph in paragraphs if SLOT not in paragraph)


def messages_for(conversation: Conversation, past: Iterable[Turn], text: str) -> list[Message]:
    """Return the messages for a reply to `text`.

    A masked reply is sent as it was shown, because the supporter must not build on what nobody saw.
    """
    return messages_from_pairs(
        conversation, ((turn.text, turn.reply) for turn in past if turn.state == TurnState.ANSWERED), text
    )


def messages_from_pairs(conversation: Conversation, past: Iterable[tuple[str, str]], text: str) -> list[Message]:
    """Return the same messages from pairs of message and reply."""
    prompt = system_prompt(conversation.supporter.prompt, conversation.profile) if conversation.supporter else ""
    messages = [Message("system", prompt)] if prompt else []
    for message, reply in past:
        messages += [Message("user", message), Message("assistant", reply)]
    return [*messages, Message("user", text)]
