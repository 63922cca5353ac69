"""The conversations that other people may be given to read: one rule for ratings and for comparisons."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from dialogue.models import Turn
from dialogue.models.conversation import EndReason, TurnState
from dialogue.models.conversation import Status as ConversationStatus
from studies.models import ArmRun, Study
from studies.models.participation import Status


def conversations(study: Study, *, is_test: bool) -> QuerySet[ArmRun]:
    """Return closed conversations with a reply. What ended for safety's sake is for the one on call, not for this."""
    answered = Turn.objects.filter(conversation=OuterRef("conversation"), state=TurnState.ANSWERED)
    closed = study.runs.filter(
        Exists(answered), still_wanted(), conversation__status=ConversationStatus.CLOSED, is_test=is_test
    )
    return closed.exclude(conversation__end_reason=EndReason.SAFETY).order_by("pk")


def still_wanted(run: str = "") -> Q:
    """Return the filter for runs neither left out by a decision nor of someone who withdrew. This holds also where
    that came after a plan was drawn: who withdrew is left alone, as by judges. `run`: the way to it, ending in two
    underscores."""
    gone = Q(**{f"{run}participation__status": Status.WITHDRAWN}) | Q(**{f"{run}participation__excluded": True})
    return Q(**{f"{run}valid": True}) & ~gone
