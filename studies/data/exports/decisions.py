"""decisions.csv: what each coder said of people and conversations. Coders are numbers, the same in both kinds."""

from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from studies.data.exports.columns import (
    REDACTED,
    Filter,
    Then,
    conversation_of,
    participant_of,
    query_table,
    text,
    time,
    words,
)
from studies.models import Decision, Study


def coder_numbers(study: Study, _only: Filter) -> dict[int, str]:
    """Return c1, c2 … by account, counted over all decisions of the study, whatever the filter."""
    of_study = Decision.objects.filter(Q(participation__study=study) | Q(run__study=study))
    accounts = dict.fromkeys(of_study.order_by("pk").values_list("coder", flat=True))
    return {account: f"c{number}" for number, account in enumerate(accounts, 1)}


COLUMNS = (
    text(
        "participant",
        "the person's code; of a conversation its seeker's",
        Coalesce("participation__code", participant_of("run__")),
    ),
    text(
        "conversation",
        "what was decided on, as in conversations.csv; empty where it was the person as a whole",
        conversation_of("run__"),
    ),
    text(
        "coder",
        "who decided: c1, c2 …, in the order in which they first did",
        Then("coder", lambda account, numbers: numbers[account], coder_numbers),
    ),
    text(
        "decision",
        "what they said; two who say leave_out set excluded or valid",
        Case(When(keep=True, then=Value("keep")), default=Value("leave_out")),
        ("keep", "leave_out"),
    ),
    words("reason", "why, in their words"),
    time("decided_at", "when they said so last"),
    REDACTED,
)


def decisions(study: Study, only: Filter) -> QuerySet[Decision]:
    of_these = Q(participation__in=only.participations(study)) | Q(run__in=only.runs(study))
    return Decision.objects.filter(of_these).order_by("pk")


DECISIONS = query_table("decisions", "what a coder said of a person or a conversation", COLUMNS, decisions)
