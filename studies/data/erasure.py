"""Remove a person's data everywhere it went.

What is left is a code, a track and that they withdrew, to be counted; of one who never agreed to take part also how far
they came.
"""

import logging
from dataclasses import dataclass, field

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from dialogue.models import Call, Conversation, InnerState, RiskEvent, Turn
from dialogue.models.conversation import SeekerKind
from studies.data.exports.removal import remove_exports
from studies.interviews import attachments
from studies.judging.comparisons import calls_on_pairs
from studies.models import (
    Adjudication,
    AdverseEvent,
    Answer,
    ArmRun,
    Comparison,
    Consent,
    Decision,
    Flag,
    Interview,
    InterviewNote,
    Pair,
    Participation,
    Passage,
    Rater,
    Response,
    Review,
    RolePlay,
    SelectionDecision,
)
from studies.models.participation import Status
from studies.seeker_profiles.planning import calls_about, items_about, profiles_about

logger = logging.getLogger(__name__)


@dataclass
class Removed:
    """The rows, files and folders that were removed, and the other files below var/ that still name the person."""

    rows: dict[str, int] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)


def erase(participation: Participation) -> Removed:
    """Remove a person from the database, its write-ahead log, and every export and result on this server."""
    identifiers = get_identifiers(participation)
    removed = erase_rows(participation)
    files = remove_exports(participation, identifiers)
    removed.folders, removed.remaining = files.removed, files.remaining
    connection.on_commit(clear_write_ahead_log)
    return removed


def get_identifiers(person: Participation) -> list[str]:
    """Return the codes by which files name a person: their own, and those of their conversations."""
    return [person.code, *conversations_of(person).values_list("code", flat=True)]


def clear_write_ahead_log() -> None:
    """Move all of SQLite's write-ahead log into its file, where erased rows are zeros, and make the log empty.

    PostgreSQL has nothing of the kind that we could do: docs/hosting.md says how long its files keep what was erased.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # waits for those who read, as long as for a lock
        if cursor.fetchone()[0]:
            logger.warning(
                "Somebody was reading: SQLite's log keeps what was erased until the next erasure or restart."
            )


def conversations_of(person: Participation) -> QuerySet[Conversation]:
    return Conversation.objects.filter(run__in=runs_of(person))


@transaction.atomic
def erase_rows(participation: Participation) -> Removed:
    person = Participation.objects.select_for_update().get(pk=participation.pk)
    forget_in_adverse_events(person)
    _rows, deleted = RiskEvent.objects.filter(subject=person.code).delete()  # with their alarms and acts
    removed = remove_rows(person)
    removed.rows["risk_events"] = deleted.get(RiskEvent._meta.label, 0)
    blank(person)
    return removed


def forget_in_adverse_events(person: Participation) -> None:
    """Keep that something happened and how severe it was, but neither the person nor a word."""
    AdverseEvent.objects.filter(study=person.study, subject=person.code).update(
        subject="", event=None, description="", action="", changes=[]
    )


def forget_unsigned(participation: Participation) -> None:
    """Delete what was given by one who leaves without having agreed to take part.

    What is left is counted: a code, a track, how far they came and when, and events of safety, which others acted on.
    """
    identifiers = get_identifiers(participation)
    if forget_rows(participation):
        remove_exports(participation, identifiers)
        connection.on_commit(clear_write_ahead_log)


@transaction.atomic
def forget_rows(participation: Participation) -> bool:
    person = Participation.objects.select_for_update().get(pk=participation.pk)
    if person.is_over() or person.consents.exists():
        return False
    RiskEvent.objects.filter(subject=person.code).update(conversation=None)  # it would go with its conversation
    remove_rows(person)
    clear(person)
    person.ended_at = timezone.now()
    person.save()
    return True


def remove_rows(person: Participation) -> Removed:
    runs = runs_of(person)
    conversations = conversations_of(person)
    responses = Response.objects.filter(rater__participation=person) | Response.objects.filter(run__in=runs)
    on_pairs = Q(pk__in=calls_on_pairs(pairs_with(person)))
    calls = Call.objects.filter(Q(conversation__in=conversations) | on_pairs | Q(pk__in=calls_about(person)))
    removed = Removed(
        {
            "conversations": conversations.count(),
            "turns": Turn.objects.filter(conversation__in=conversations).count(),
            "calls": calls.count(),
            "inner_states": InnerState.objects.filter(conversation__in=conversations).count(),
            "responses": responses.distinct().count(),
            "answers": Answer.objects.filter(response__in=responses).count(),
            "reviews": reviews_with(person).count(),
            "adjudications": Adjudication.objects.filter(run__in=runs).count(),
            "comparisons": comparisons_with(person).count(),
            "role_plays": RolePlay.objects.filter(run__in=runs).count(),
            "flags": Flag.objects.filter(run__in=runs).count(),
            "interviews": Interview.objects.filter(participation=person).count(),
            "interview_notes": InterviewNote.objects.filter(interview__participation=person).count(),
            "passages": Passage.objects.filter(interview__participation=person).count(),
            "interview_files": attachments.remove_files_of(person),
            "candidate_dimensions": person.candidate_dimensions.count(),
            "decisions": Decision.objects.filter(Q(participation=person) | Q(run__in=runs)).count(),
            "consents": Consent.objects.filter(participation=person).count(),
            "seeker_profiles": profiles_about(person).count(),
            "selection_scores": person.selection_scores.count(),
            "selection_decisions": SelectionDecision.objects.filter(participation=person).count(),
        }
    )
    conversation_ids = list(conversations.values_list("pk", flat=True))
    calls.delete()
    items_about(person).delete()
    runs.delete()
    Conversation.objects.filter(pk__in=conversation_ids).delete()
    Rater.objects.filter(participation=person).delete()
    Interview.objects.filter(participation=person).delete()
    person.reviews.all().delete()
    person.candidate_dimensions.all().delete()
    person.decisions.all().delete()
    person.consents.all().delete()
    person.drafts.all().delete()
    person.submissions.all().delete()
    profiles_about(person).delete()
    person.selection_scores.all().delete()
    SelectionDecision.objects.filter(participation=person).delete()
    return removed


def runs_of(person: Participation) -> QuerySet[ArmRun]:
    """Return their own conversations, and those of simulated seekers whose profile goes back to their answers."""
    keys = profiles_about(person).values("key")
    simulated = ArmRun.objects.filter(study=person.study_id, conversation__seeker_kind=SeekerKind.SIMULATED)
    return ArmRun.objects.filter(Q(participation=person) | Q(pk__in=simulated.filter(profile__in=keys)))


def reviews_with(person: Participation) -> QuerySet[Review]:
    """Return their work as a reviewer, and that of others on their conversations."""
    return Review.objects.filter(Q(reviewer=person) | Q(item__run__in=runs_of(person)))


def comparisons_with(person: Participation) -> QuerySet[Comparison]:
    """Return the comparisons that a person made, and those of others that one of their conversations was in."""
    return Comparison.objects.filter(Q(rater__participation=person) | Q(pair__in=pairs_with(person)))


def pairs_with(person: Participation) -> QuerySet[Pair]:
    """Return the pairs that one of their conversations is in."""
    return Pair.objects.filter(Q(run_a__in=runs_of(person)) | Q(run_b__in=runs_of(person)))


def blank(person: Participation) -> None:
    clear(person)
    person.plan, person.position = [], 0
    person.token_hash = f"erased-{person.pk}"
    person.save()


def clear(person: Participation) -> None:
    """Clear what a withdrawn person's row holds, all but how far they came and the link."""
    person.status = Status.WITHDRAWN
    person.language = person.country = person.completion_code = person.exclusion_reason = ""
    person.order, person.cards, person.outcome = [], [], {}
    person.quiz_attempts = person.percent_shown = 0
    person.order_index = person.last_seen_at = person.awaited_since = None
