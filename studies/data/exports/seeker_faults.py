"""seeker_faults.csv: where a simulated seeker did not do its part."""

from django.db.models import QuerySet

from dialogue.models import SeekerFault
from dialogue.seekers.gates import KINDS
from studies.data.exports.columns import REDACTED, Filter, conversation, query_table, text, turn, words
from studies.models import Study

COLUMNS = (
    conversation("conversation__run__"),
    turn(),
    text("kind", "what went wrong", values=KINDS),
    text(
        "source",
        "how it was found: by a rule, or by the model that looked the conversation through",
        values=("rule", "reviewer"),
    ),
    words("evidence", "the words it was seen in"),
    REDACTED,
)


def faults(study: Study, only: Filter) -> QuerySet[SeekerFault]:
    of_these = SeekerFault.objects.filter(conversation__run__in=only.runs(study))
    return of_these.order_by("conversation__run__pk", "turn", "kind", "source")


SEEKER_FAULTS = query_table("seeker_faults", "a fault of a simulated seeker", COLUMNS, faults)
