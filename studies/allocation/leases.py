"""The people who hold a place in the design: those who completed the study, and those under way.

Someone under way holds their place by a lease. It runs out when they time out, or earlier: after `lease_hours`
without a sign of life, as long as they have conversations to come. They keep their order all the same, and hold a place
again as soon as they are back. People whom the team has paused keep their place. A place is free again when its person
withdraws, is stopped, is ended by the team, times out or is excluded.
"""

from datetime import datetime, timedelta

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dialogue.models import Turn
from dialogue.models.conversation import Status as ConversationStatus
from studies.models import Draft, Interview, Participation
from studies.models.participation import AWAITED, OVER, Status

LEFT = Q(status__in=[status for status in OVER if status != Status.COMPLETED]) | Q(excluded=True)


def others_beside(participation: Participation) -> QuerySet[Participation]:
    """Return the others of the same version and track who have drawn their arms; test data by itself."""
    same = Participation.objects.filter(
        protocol=participation.protocol, track=participation.track, is_test=participation.is_test
    )
    return same.exclude(pk=participation.pk).exclude(order=[])


def holders_beside(participation: Participation) -> QuerySet[Participation]:
    """Return those of them who hold a place."""
    others = others_beside(participation).exclude(LEFT)
    hours = participation.design().order.lease_hours
    return others.exclude(pk__in=find_lapsed(others, timezone.now() - timedelta(hours=hours))) if hours else others


def find_lapsed(people: QuerySet[Participation], moment: datetime) -> list[int]:
    """Return the keys of those who have conversations to come, or have not drawn any yet, and gave no sign of life
    since this moment."""
    silent = people.filter(absent_since(moment), status__in=AWAITED, paused_at=None)
    closed = Count("runs", filter=Q(runs__conversation__status=ConversationStatus.CLOSED))
    rows = silent.annotate(closed=closed).values_list("pk", "order", "closed")
    return [key for key, order, closed in rows if closed < max(len(order), 1)]


def absent_since(moment: datetime) -> Q:
    """Return the filter for people who began before this moment and gave no sign of life since."""
    turns = Turn.objects.filter(conversation__run__participation=OuterRef("pk"), created_at__gte=moment)
    drafts = Draft.objects.filter(participation=OuterRef("pk"), saved_at__gte=moment)
    interview = Interview.objects.filter(participation=OuterRef("pk"), ended_at__gte=moment)
    seen = Q(last_seen_at=None) | Q(last_seen_at__lt=moment)
    awaited = Q(awaited_since=None) | Q(awaited_since__lt=moment)
    heard = Q(Exists(turns)) | Q(Exists(drafts)) | Q(Exists(interview))
    return Q(started_at__lt=moment) & seen & awaited & ~heard
