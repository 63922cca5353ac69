"""pairs.csv: what was said of two conversations, or two replies, side by side."""

from django.db.models import Q, QuerySet

from dialogue.judges.roles import BY_CODE
from studies.data.exports.columns import REDACTED, Filter, conversation_of, integer, query_table, text, time, words
from studies.models import Comparison, Study, Verdict
from studies.models.response import RaterKind

OF_PAIR = "comparison__pair__"

PAIRS = (
    text("pair", "the pair's code; of an import as the file called it", f"{OF_PAIR}code"),
    text(
        "conversation_a",
        "one side, as in conversations.csv; of two arms that which comes first in the alphabet",
        conversation_of(f"{OF_PAIR}run_a__"),
    ),
    text("conversation_b", "the other side", conversation_of(f"{OF_PAIR}run_b__")),
    text("rater", "the person's code, or the judge's key", "comparison__rater__code"),
    text("rater_kind", "in which role they compared", "comparison__rater__kind", RaterKind.values),
    text("question", "the question's key; it is told under the name of its instrument"),
    text(
        "shown_first",
        "the side that stood left or first; empty where an import is silent",
        "comparison__shown_first",
        Comparison.Side.values,
    ),
    text(
        "verdict",
        "the side that was chosen, wherever it stood, or tie (first, second and tie on the page)",
        values=Verdict.Choice.values,
    ),
    words("reason", "why, where the rater said so"),
    text("instrument", "where the question is from", f"{OF_PAIR}plan__instrument"),
    text("plan", "the plan that the pair was drawn for; empty where an import is silent", f"{OF_PAIR}plan__name"),
    time("judged_at", "when it was stored; of an import the time of the import", "comparison__done_at"),
    integer(
        "turn_a",
        "of two replies: that of conversation_a; empty where the whole conversations are meant",
        f"{OF_PAIR}turn_a",
        "turns",
    ),
    integer("turn_b", "of two replies: that of conversation_b", f"{OF_PAIR}turn_b", "turns"),
    text("arm_a", "the arm of conversation_a", f"{OF_PAIR}run_a__arm"),
    text("arm_b", "the arm of conversation_b", f"{OF_PAIR}run_b__arm"),
    text(
        "role",
        "of a judge: as whom it rates, as in ratings.csv; pairs it compares from outside in any role. Empty of people, "
        "and of imports without it",
        "comparison__role",
        tuple(BY_CODE),
    ),
    text(
        "prompt",
        "of a model's verdicts: the standing text by which it was asked, as in ratings.csv; empty for people",
        "comparison__prompt",
    ),
    REDACTED,
)


def verdicts_of(study: Study, only: Filter) -> QuerySet[Verdict]:
    verdicts = Verdict.objects.filter(comparison__pair__study=study, comparison__done_at__isnull=False)
    if only.include_tests:
        return verdicts
    rater = Q(comparison__rater__participation__isnull=True) | Q(comparison__rater__participation__is_test=False)
    return verdicts.filter(rater, comparison__pair__run_a__is_test=False, comparison__pair__run_b__is_test=False)


def pairs(study: Study, only: Filter) -> QuerySet[Verdict]:
    return verdicts_of(study, only).order_by("comparison__pair", "comparison", "pk")


COMPARISONS = query_table("pairs", "a pairwise verdict", PAIRS, pairs)


def instruments_of_pairs(study: Study, only: Filter) -> set[str]:
    plans = verdicts_of(study, only).order_by().values_list("comparison__pair__plan__instrument", flat=True)
    return set(plans.distinct()) - {None}
