"""The conversations that other people may be given to read: one rule for ratings and for comparisons."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from dialogue.models import Turn
from dialogue.models.conversation import EndReason, TurnState
from dialogue.models.conversation import Status as ConversationStatus
from studies.models import ArmRun, Study
from studies.models.participation import Status


def conversations(study: Study, *, is_test: bool) -> QuerySet[ArmRun]:
    """Return closed conversations with a reply. Safety endings are left to the person on call."""
    answered = Turn.objects.filter(conversation=OuterRef("conversation"), state=TurnState.ANSWERED)
    closed = study.runs.filter(
        Exists(answered), usable_runs(), conversation__status=ConversationStatus.CLOSED, is_test=is_test
    )
    return closed.exclude(conversation__end_reason=EndReason.SAFETY).order_by("pk")


def usable_runs(run: str = "") -> Q:
    """Return the filter for runs that no decision leaves out and whose person has not withdrawn. It also holds for
    plans that were drawn before. `run`: the lookup that leads to a run, ending in two underscores."""
    gone = Q(**{f"{run}participation__status": Status.WITHDRAWN}) | Q(**{f"{run}participation__excluded": True})
    return Q(**{f"{run}valid": True}) & ~gone
