"""pairs.csv: what was said of two conversations, or two replies, side by side."""

from django.db.models import Q, QuerySet

from studies.data.exports.columns import Filter, Rows, conversation_of, integer, text, time
from studies.models import Comparison, Study, Verdict
from studies.models.response import RaterKind

OF_PAIR = "comparison__pair__"

PAIRS = (
    text("pair", "the pair's code; of an import as the file called it"),
    text("conversation_a", "one side, as in conversations.csv; of two arms that which comes first in the alphabet"),
    text("conversation_b", "the other side"),
    text("rater", "the person's code, or the judge's key"),
    text("rater_kind", "in which role they compared", RaterKind.values),
    text("question", "the question's key; it is told under the name of its instrument"),
    text("shown_first", "the side that stood left or first; empty where an import is silent", Comparison.Side.values),
    text(
        "verdict",
        "the side that was chosen, wherever it stood, or tie (first, second and tie on the page)",
        Verdict.Choice.values,
    ),
    text("reason", "why, where the rater said so"),
    text("instrument", "where the question is from"),
    text("plan", "the plan that the pair was drawn for; empty where an import is silent"),
    time("judged_at", "when it was stored; of an import the time of the import"),
    integer("turn_a", "of two replies: that of conversation_a; empty where the whole conversations are meant", "turns"),
    integer("turn_b", "of two replies: that of conversation_b", "turns"),
    text("arm_a", "the arm of conversation_a"),
    text("arm_b", "the arm of conversation_b"),
)


def verdicts_of(study: Study, only: Filter) -> QuerySet[Verdict]:
    verdicts = Verdict.objects.filter(comparison__pair__study=study, comparison__done_at__isnull=False)
    if only.include_tests:
        return verdicts
    rater = Q(comparison__rater__participation__isnull=True) | Q(comparison__rater__participation__is_test=False)
    return verdicts.filter(rater, comparison__pair__run_a__is_test=False, comparison__pair__run_b__is_test=False)


def pairs(study: Study, only: Filter) -> Rows:
    found = verdicts_of(study, only).order_by("comparison__pair", "comparison", "pk")
    yield from found.values_list(
        f"{OF_PAIR}code",
        conversation_of(f"{OF_PAIR}run_a__"),
        conversation_of(f"{OF_PAIR}run_b__"),
        "comparison__rater__code",
        "comparison__rater__kind",
        "question",
        "comparison__shown_first",
        "verdict",
        "reason",
        f"{OF_PAIR}plan__instrument",
        f"{OF_PAIR}plan__name",
        "comparison__done_at",
        f"{OF_PAIR}turn_a",
        f"{OF_PAIR}turn_b",
        f"{OF_PAIR}run_a__arm",
        f"{OF_PAIR}run_b__arm",
    ).iterator()


def count_pairs(study: Study, only: Filter) -> int:
    return verdicts_of(study, only).count()


def instruments_of_pairs(study: Study, only: Filter) -> set[str]:
    plans = verdicts_of(study, only).order_by().values_list("comparison__pair__plan__instrument", flat=True)
    return set(plans.distinct()) - {None}
