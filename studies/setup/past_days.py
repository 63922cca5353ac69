"""Days of `[retention]` that are already over, so that data would go as soon as the study is closed."""

from datetime import date

from dialogue.documents import Fault, place_of
from dialogue.documents import translate as _
from studies.design.retention_spec import DAYS
from studies.design.spec import StudySpec
from studies.models import Study


def find_past_days(spec: StudySpec, today: date) -> list[Fault]:
    """Return a fault for each day that is over. A day that the study of this key has already is no fault: a study that
    is kept unchanged loads for ever."""
    study = Study.objects.filter(key=spec.key).first()
    current = study.current() if study else None
    retention = current.spec().retention if current else None
    return [
        Fault(
            place_of(("retention", name)),
            _("is over already: today is %(today)s (UTC). Choose a later day.", today=today.isoformat()),
        )
        for name in DAYS
        if spec.retention
        and (day := spec.retention.get_day(name))
        and day < today
        and not (retention and retention.get_day(name) == day)
    ]
