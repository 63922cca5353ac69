"""seeker_faults.csv: where a simulated seeker did not do its part."""

from django.db.models import QuerySet

from dialogue.models import SeekerFault
from dialogue.seekers.gates import KINDS
from studies.data.exports.columns import CONVERSATION, TURN, Filter, Rows, Table, conversation_of, text
from studies.models import Study

COLUMNS = (
    CONVERSATION,
    TURN,
    text("kind", "what went wrong", KINDS),
    text(
        "source",
        "how it was found: by a rule, or by the model that looked the conversation through",
        ("rule", "reviewer"),
    ),
    text("evidence", "the words it was seen in"),
)


def faults_of(study: Study, only: Filter) -> QuerySet[SeekerFault]:
    return SeekerFault.objects.filter(conversation__run__in=only.runs(study))


def faults(study: Study, only: Filter) -> Rows:
    found = faults_of(study, only).order_by("conversation__run__pk", "turn", "kind", "source")
    names = [column.name for column in COLUMNS[1:]]
    yield from found.values_list(conversation_of("conversation__run__"), *names).iterator()


SEEKER_FAULTS = Table(
    "seeker_faults",
    "a fault of a simulated seeker",
    COLUMNS,
    faults,
    lambda study, only: faults_of(study, only).count(),
)
