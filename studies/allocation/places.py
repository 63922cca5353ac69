"""The places of a study that wants a certain number of participants (`participants` in `[order]`).

Those who completed the study and those who are under way have a place, in all versions of the study. It is free again
when its person leaves, is excluded, or counts as absent by the lease of their version. People who have not consented
within an hour lose theirs. Whoever comes back can finish, so a few more than wanted may complete.
"""

from datetime import timedelta

from django.utils import timezone

from studies.allocation.leases import LEFT, find_lapsed
from studies.models import Participation, Study
from studies.models.participation import Status

UNTIL_CONSENT = timedelta(hours=1)


def places_of(study: Study, track: str) -> int | None:
    """Return the number of places; None if there is no limit."""
    return study.current().spec().order.participants if track == Participation.Track.PARTICIPANT else None


def count_places_taken(study: Study) -> int:
    """Return how many participants have a place. Test data have none."""
    now = timezone.now()
    people = study.participations.filter(track=Participation.Track.PARTICIPANT, is_test=False)
    people = people.exclude(status=Status.INVITED).exclude(LEFT)
    people = people.exclude(status=Status.APPLIED, started_at__lt=now - UNTIL_CONSENT, paused_at=None)
    for protocol in study.protocols.all():
        if hours := protocol.spec().order.lease_hours:
            theirs = people.filter(protocol=protocol)
            people = people.exclude(pk__in=find_lapsed(theirs, now - timedelta(hours=hours)))
    return people.count()


def count_completed(study: Study) -> int:
    """Return how many participants completed the study and count."""
    people = study.participations.filter(track=Participation.Track.PARTICIPANT, is_test=False)
    return people.filter(status=Status.COMPLETED).exclude(LEFT).count()


def has_place(study: Study, track: str, *, is_test: bool) -> bool:
    """Return whether someone new may begin. Test people always may."""
    limit = None if is_test else places_of(study, track)
    return limit is None or count_places_taken(study) < limit
