"""flags.csv: the replies that counsellors marked while they chatted."""

from django.db.models import QuerySet

from studies.data.exports.columns import CONVERSATION, TURN, Filter, Rows, conversation_of, participant_of, text, time
from studies.instruments.loading import load
from studies.models import Flag, Study
from studies.role_play.flags import INSTRUMENT

REASONS = [str(option.value) for option in load(INSTRUMENT).item("reason").options]

FLAGS = (
    CONVERSATION,
    text("participant", "the code of the counsellor, who is the conversation's seeker"),
    TURN,
    text("reason", "what it is about the reply", REASONS),
    text("note", "in the counsellor's own words"),
    text("reply", "the reply exactly as it was shown"),
    time("flagged_at", "when the flag was set"),
    time("withdrawn_at", "when it was taken back or another one took its place; empty for a flag that stands"),
)


def flags_of(study: Study, only: Filter) -> QuerySet[Flag]:
    return Flag.objects.filter(run__in=only.runs(study))


def flags(study: Study, only: Filter) -> Rows:
    names = [column.name for column in FLAGS[2:]]
    rows = flags_of(study, only).values_list(conversation_of("run__"), participant_of("run__"), *names)
    yield from rows.order_by("run", "turn", "pk").iterator()


def count_flags(study: Study, only: Filter) -> int:
    return flags_of(study, only).count()
