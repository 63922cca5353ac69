"""flags.csv: the replies that counsellors marked while they chatted."""

from django.db.models import QuerySet

from studies.data.exports.columns import (
    REDACTED,
    Filter,
    conversation,
    participant_of,
    query_table,
    text,
    time,
    turn,
    words,
)
from studies.instruments.loading import load
from studies.models import Flag, Study
from studies.role_play.flags import INSTRUMENT

REASONS = [str(option.value) for option in load(INSTRUMENT).item("reason").options]

COLUMNS = (
    conversation("run__"),
    text("participant", "the code of the counsellor, who is the conversation's seeker", participant_of("run__")),
    turn(),
    text("reason", "what it is about the reply", values=REASONS),
    words("note", "in the counsellor's own words"),
    words("reply", "the reply exactly as it was shown"),
    time("flagged_at", "when the flag was set"),
    time("withdrawn_at", "when it was taken back or another one took its place; empty for a flag that stands"),
    REDACTED,
)


def flags(study: Study, only: Filter) -> QuerySet[Flag]:
    return Flag.objects.filter(run__in=only.runs(study)).order_by("run", "turn", "pk")


FLAGS = query_table("flags", "a flag that a counsellor put on a reply", COLUMNS, flags)
