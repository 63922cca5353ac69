"""The time that a person has spent on the study, from the moments of everything they did."""

from datetime import datetime, timedelta
from itertools import pairwise

from django.utils import timezone

from dialogue.models import Turn
from studies.models import Participation, Response

IDLE = timedelta(minutes=15)  # a longer silence is a break, not time spent on the study


def seconds_spent(participation: Participation) -> int:
    """Return the seconds without breaks."""
    moments = sorted(moments_of(participation))
    gaps = (later - earlier for earlier, later in pairwise(moments))
    return int(sum((gap for gap in gaps if gap <= IDLE), timedelta()).total_seconds())


def moments_of(participation: Participation) -> list[datetime]:
    moments = [participation.started_at or participation.created_at, participation.ended_at or timezone.now()]
    moments += Response.objects.filter(rater__participation=participation).values_list("submitted_at", flat=True)
    moments += participation.consents.values_list("signed_at", flat=True)
    moments += participation.submissions.values_list("taken_at", flat=True)
    for created_at, replied_at in Turn.objects.filter(conversation__run__participation=participation).values_list(
        "created_at", "replied_at"
    ):
        moments += [moment for moment in (created_at, replied_at) if moment]
    return moments
