"""Requirements of a study before people begin: an acknowledged drill of the alarm, and help lines that someone tried.

No real person is invited to talk with a model before a drill was acknowledged.
"""

from datetime import timedelta

from django.utils import timezone

from dialogue.safety.resources import list_version
from studies.care.alarms import has_acknowledged_drill
from studies.models import Arm, Participation, Study
from studies.models.participation import TRACKS_OF_PEOPLE

SCRIPTED = "scripted"
DAYS = 30  # since the last drill
RESOURCE_DAYS = 90  # for which a check of the help lines holds (crisis_resources.json, verification)


def lacks_drill(study: Study) -> bool:
    """Return whether no one may be invited yet because no one on call has acknowledged a drill of the last days.

    The demonstration and studies whose arms are all scripts need none. A study in which real people have begun
    stays open: no one finds a closed door because a drill has become old.
    """
    if study.is_demo() or not study.current().arms.exclude(kind=SCRIPTED).exists():
        return False
    begun = study.participations.people().filter(protocol__arms__in=Arm.objects.exclude(kind=SCRIPTED))
    return not begun.exists() and not has_acknowledged_drill(study, within_days=DAYS)


def needs_lines_tried(study: Study) -> bool:
    """Return whether no one has tried the help lines that people see now for too long; the demonstration needs none."""
    if study.is_demo():
        return False
    since = timezone.now() - timedelta(days=RESOURCE_DAYS)
    country = study.current().spec().country
    return not study.resource_checks.filter(at__gte=since, country=country, version=list_version()).exists()


def may_not_start(person: Participation) -> bool:
    """Return whether this person has to wait with their first visit until a drill was acknowledged."""
    is_real = not person.is_test and person.track in TRACKS_OF_PEOPLE
    return is_real and not person.has_started() and lacks_drill(person.study)


def get_advice(study: Study) -> str:
    """Return the advice for commands; pages have the same sentence in both languages."""
    return (
        f"No one on call has acknowledged a drill of {study.key} in the last {DAYS} days, so no real people can be "
        f"invited. Run `.venv/bin/python manage.py try_oncall {study.key} --wait 10`, or send a drill from the safety "
        "desk, and press the button behind its link. "
        "Test links (--test) need no drill."
    )
