"""Signs of danger in a conversation, and the help that is shown for them."""

from collections.abc import Sequence

from django.conf import settings
from django.utils.module_loading import import_string

from dialogue.chat import chat_frames
from dialogue.models import Conversation, RiskEvent, Turn
from dialogue.safety.screening import CLASSIFIER, Verdict, screen_version
from dialogue.safety.second_line import (
    ENTRY,
    Finding,
)


def help_for(turn: Turn) -> tuple[chat_frames.Outgoing, ...]:
    if not turn.risk_level:
        return ()
    return (chat_frames.Help(seq=help_seq(turn), turn=turn.number, level=turn.risk_level),)


def is_left_to_role(conversation: Conversation, level: int, entries: Sequence[str]) -> bool:
    """Return whether a sign in role-play is kept without a question: of level 2, and found by the classifier alone.

    The lines of a difficult seeker are often dark, and a question after each breaks the role.
    """
    return conversation.role_play and level == 2 and list(entries) == [CLASSIFIER]


def help_seq(turn: Turn) -> int:
    """Return the number of the help shown for a message: the one after the message's own, so it need not be stored; but
    where the second line asked for it, one of those that the reply had claimed."""
    return turn.help_seq or turn.seq + 1


def record_risk(
    conversation: Conversation,
    turn: Turn,
    *,
    level: int,
    verdict: Verdict,
    source: str = RiskEvent.Source.MESSAGE,
    first_level: int | None = None,
    second: Finding | None = None,
) -> RiskEvent:
    """Store a sign of danger, or raise the one that the first line has stored for the same message."""
    event = RiskEvent(conversation=conversation, turn=turn.number, source=source)
    if second is not None and source == RiskEvent.Source.MESSAGE:
        same = RiskEvent.objects.filter(conversation=conversation, turn=turn.number, source=source)
        event = same.first() or event
    event.level = level
    event.entries = list(verdict.entries)
    event.categories = list(verdict.categories)
    event.screen = screen_version()
    event.first_level = level if first_level is None else first_level
    if second is not None:
        event.second_level, event.second_screen = second.level, second.screen
        if second.level > event.first_level:
            event.entries.append(ENTRY)
            event.categories = sorted({*event.categories, *second.categories})
    # A reply is withheld for what a pattern found in it, or the second line.
    is_sure = second is None if source == RiskEvent.Source.REPLY else verdict.pattern_level >= 3
    event.suspected = level >= 3 and not is_sure
    event.save()
    import_string(settings.RISK_HANDLER)(event)
    return event


def still_needs_help(conversation: Conversation, turn: Turn) -> bool:
    """Return whether help is shown again to one who comes back: not where a counsellor has said whose words they were,
    or was not asked."""
    if not turn.risk_level:
        return False
    signs = RiskEvent.objects.filter(conversation=turn.conversation_id, turn=turn.number)
    return not any(sign.role_answer or is_left_to_role(conversation, turn.risk_level, sign.entries) for sign in signs)


def needs_help(conversation: Conversation) -> bool:
    """Return whether help belongs on the page that follows the last turn: its message was of level 2 or more, or its
    reply was withheld. In role-play the counsellor is asked whose words they were, and gets it if they say "me"."""
    last = conversation.turns.order_by("-number").first()
    if last is None:
        return False
    signs = RiskEvent.objects.filter(conversation=conversation, turn=last.number)
    if conversation.role_play:
        return signs.filter(role_answer="me").exists()
    return last.risk_level >= 2 or signs.filter(source=RiskEvent.Source.REPLY).exists()
