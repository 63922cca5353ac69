"""How often the safety check held a conversation: three numbers, and not a word of what was said."""

from typing import NamedTuple

from django.db.models import Q

from dialogue.models import RiskEvent
from studies.data.exports.columns import Filter, conversation_of, integer, number
from studies.models import Study

COLUMNS = (
    integer("holds", "how often the safety check stopped it, to ask whether the person was safe"),
    integer(
        "holds_lifted",
        "how many of these holds were lifted while it was open, by somebody on call or by the person's own answer, so "
        "that it went on; where one was not, end_reason tells how it ended, if it has",
    ),
    number("held_seconds", "from the holds to their lifting, together; empty where none was lifted", "seconds"),
)
# As `dialogue.chat` does it: what is worse than level 3 ends a conversation, but in role-play it waits.
HELD = Q(conversation__role_play=False, level=3) | Q(conversation__role_play=True, level=4)
HELD |= Q(conversation__role_play=True, level=3, role_answer="me")


class Holds(NamedTuple):
    number: int = 0
    lifted: int = 0
    seconds: float | None = None


def holds(study: Study, only: Filter) -> dict[str, Holds]:
    """By the conversation's id. Few have any."""
    found: dict[str, Holds] = {}
    events = RiskEvent.objects.filter(HELD, source=RiskEvent.Source.MESSAGE, conversation__run__in=only.runs(study))
    names = ("created_at", "released_at", "continued_at", "conversation__ended_at")
    rows = events.values_list(conversation_of("conversation__run__"), *names)
    for conversation, held, released, continued, ended in rows:
        before = found.get(conversation, Holds())
        released = continued or released  # an event may be released for review after the person had continued
        if released and (ended is None or released < ended):
            seconds = (before.seconds or 0) + (released - held).total_seconds()
            found[conversation] = Holds(before.number + 1, before.lifted + 1, seconds)
        else:
            found[conversation] = before._replace(number=before.number + 1)
    return found
