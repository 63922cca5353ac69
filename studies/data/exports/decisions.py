"""decisions.csv: what each coder said of people and conversations. Coders are numbers, the same in both kinds."""

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Coalesce

from studies.data.exports.columns import Filter, Rows, Table, conversation_of, participant_of, text, time
from studies.models import Decision, Study

COLUMNS = (
    text("participant", "the person's code; of a conversation its seeker's"),
    text("conversation", "what was decided on, as in conversations.csv; empty where it was the person as a whole"),
    text("coder", "who decided: c1, c2 …, in the order in which they first did"),
    text("decision", "what they said; two who say leave_out set excluded or valid", ("keep", "leave_out")),
    text("reason", "why, in their words"),
    time("decided_at", "when they said so last"),
)


def wanted(study: Study, only: Filter) -> Q:
    return Q(participation__in=only.participations(study)) | Q(run__in=only.runs(study))


def decisions(study: Study, only: Filter) -> Rows:
    """Coders are counted over all decisions of the study: a number means the same one whatever the filter."""
    coders: dict[int, str] = {}
    of_study = Decision.objects.filter(Q(participation__study=study) | Q(run__study=study))
    shown = ExpressionWrapper(wanted(study, only), BooleanField())
    whose = Coalesce("participation__code", participant_of("run__"))
    names = "coder", shown, whose, conversation_of("run__"), "keep", "reason", "decided_at"
    for coder, is_shown, person, conversation, keep, *why in of_study.order_by("pk").values_list(*names).iterator():
        number = coders.setdefault(coder, f"c{len(coders) + 1}")
        if is_shown:
            yield person, conversation or "", number, "keep" if keep else "leave_out", *why


DECISIONS = Table(
    "decisions",
    "what a coder said of a person or a conversation",
    COLUMNS,
    decisions,
    lambda study, only: Decision.objects.filter(wanted(study, only)).count(),
)
