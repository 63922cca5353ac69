"""A checked study file into the database, and out again."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from django.db import transaction
from django.utils import timezone

from studies.design.serialisation import spec_to_json
from studies.design.spec import StudySpec
from studies.models import Arm, Judge, Protocol, Study
from studies.setup.cards import Stored, store_cards_of


@dataclass(frozen=True)
class Loaded:
    protocol: Protocol
    outcome: Literal["created", "unchanged", "changed", "new version"]
    cards: Stored = field(default_factory=Stored)


@transaction.atomic
def load_spec(spec: StudySpec, *, folder: Path | None = None) -> Loaded:
    """Store the study, with its role cards from files in `folder` or among the instruments."""
    loaded = load_design(spec)
    return replace(loaded, cards=store_cards_of(study=loaded.protocol.study, spec=spec, folder=folder))


def load_design(spec: StudySpec) -> Loaded:
    """Store a design. People under way keep their version; a new one is made for those to come."""
    study, created = Study.objects.select_for_update().get_or_create(key=spec.key)
    current = study.current()
    if created or current is None:
        return Loaded(write(Protocol(study=study, version=1), spec), "created")
    if current.spec() == spec:
        return Loaded(current, "unchanged")
    if current.is_draft() and not current.runs.exists():
        current.created_at = timezone.now()  # since when it says this: nothing in it was declared before
        return Loaded(write(current, spec), "changed")
    return Loaded(write(Protocol(study=study, version=current.version + 1), spec), "new version")


def write(protocol: Protocol, spec: StudySpec) -> Protocol:
    design = spec_to_json(spec)
    design.pop("arms")
    design.pop("judges")
    protocol.design = design
    protocol.save()
    vars(protocol).pop("_spec", None)
    for kind, rows in ((Arm, spec.arms), (Judge, spec.judges)):
        kind.objects.filter(protocol=protocol).delete()
        for number, row in enumerate(rows):
            own = {name: getattr(row, name) for name in kind.spec_fields()}
            kind.objects.create(protocol=protocol, number=number, **own)
    return protocol
