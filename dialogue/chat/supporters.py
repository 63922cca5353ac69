"""The messages for a supporter: its prompt and the conversation so far.

Where the supporter speaks first, a request to do so stands before its opening as a message of the user. Many servers
refuse a conversation that begins with an assistant's message, and some models a system prompt, so this is the form that
all arms can be sent alike. It is also what an arm that words its opening itself was really asked.
"""

from collections.abc import Iterable

from dialogue.deidentification.redaction import mask_identity
from dialogue.models import Conversation, Turn
from dialogue.models.conversation import TurnState
from dialogue.providers.base import Message
from dialogue.quoting import quote_part

SLOT = "{profile}"


def system_prompt(prompt: str, profile: str) -> str:
    """Return the prompt with the seeker's profile in its place; without one, its introducing line is removed too."""
    if profile or SLOT not in prompt:
        return prompt.replace(SLOT, quote_part(profile))
    paragraphs = prompt.split("\n\n")
    return "\n\n".join(paragraph for paragraph in paragraphs if SLOT not in paragraph)


def messages_for(conversation: Conversation, past: Iterable[Turn], text: str) -> list[Message]:
    """Return the messages for a reply to `text`.

    A masked reply is sent as it was shown, because the supporter must not build on what no one saw.
    """
    return messages_from_pairs(
        conversation, ((turn.text, turn.reply) for turn in past if turn.state == TurnState.ANSWERED), text
    )


def messages_from_pairs(conversation: Conversation, past: Iterable[tuple[str, str]], text: str) -> list[Message]:
    """Return the same messages from pairs of message and reply. The person's are masked where the study says so."""
    mask = mask_identity if conversation.redacts else str
    messages = messages_for_opening(conversation) if conversation.opening else standing_messages(conversation)
    if conversation.opening:
        messages.append(Message("assistant", conversation.opening))
    for message, reply in past:
        messages += [Message("user", mask(message)), Message("assistant", reply)]
    return [*messages, Message("user", mask(text))]


def messages_for_opening(conversation: Conversation) -> list[Message]:
    """Return the messages that ask the supporter to speak first."""
    return [*standing_messages(conversation), Message("user", conversation.opening_request)]


def standing_messages(conversation: Conversation) -> list[Message]:
    profile = mask_identity(conversation.profile) if conversation.redacts else conversation.profile
    prompt = system_prompt(conversation.supporter.prompt, profile) if conversation.supporter else ""
    return [Message("system", prompt)] if prompt else []
