"""The number of times that the safety check held a conversation: three numbers, and not a word of what was said."""

from typing import NamedTuple

from django.db.models import Q

from dialogue.models import RiskEvent
from studies.data.exports.columns import Filter, Then, integer, number
from studies.models import Study

# As `dialogue.chat` does it: what is worse than level 3 ends a conversation, but in role-play it waits.
HELD = Q(conversation__role_play=False, level=3) | Q(conversation__role_play=True, level=4)
HELD |= Q(conversation__role_play=True, level=3, role_answer="me")


class Holds(NamedTuple):
    number: int = 0
    lifted: int = 0
    seconds: float | None = None


NONE = Holds()


def get_holds(study: Study, only: Filter) -> dict[int, Holds]:
    """Return the holds of each run that has any, by run."""
    holds: dict[int, Holds] = {}
    events = RiskEvent.objects.filter(HELD, source=RiskEvent.Source.MESSAGE, conversation__run__in=only.runs(study))
    names = ("created_at", "released_at", "continued_at", "conversation__ended_at")
    for run, held, released, continued, ended in events.values_list("conversation__run", *names):
        before = holds.get(run, NONE)
        released = continued or released  # an event may be released for review after the person had continued
        if released and (ended is None or released < ended):
            seconds = (before.seconds or 0) + (released - held).total_seconds()
            holds[run] = Holds(before.number + 1, before.lifted + 1, seconds)
        else:
            holds[run] = before._replace(number=before.number + 1)
    return holds


def of_holds(part: str) -> Then:
    """Return the source of one number of a run's holds."""
    return Then("pk", lambda run, holds: getattr(holds.get(run, NONE), part), get_holds)


COLUMNS = (
    integer(
        "holds",
        "how often the safety check stopped it, to ask whether the person was safe",
        of_holds("number"),
    ),
    integer(
        "holds_lifted",
        "how many of these holds were lifted while it was open, by someone on call or by the person's own answer, so "
        "that it went on; where one was not, end_reason tells how it ended, if it has",
        of_holds("lifted"),
    ),
    number(
        "held_seconds",
        "from the holds to their lifting, together; empty where none was lifted",
        of_holds("seconds"),
        "seconds",
    ),
)
