"""A checked study file into the database, and out again."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from django.db import transaction
from django.utils import timezone

from dialogue.deidentification.identifiers import has_name
from dialogue.judges.makers import known_names
from studies.design.serialisation import spec_to_json
from studies.design.spec import StudySpec
from studies.models import Amendment, Arm, Judge, Protocol, Stage, Study
from studies.models.study import DEMO
from studies.setup.cards import StoredCards, store_cards_of


class AmendmentNeeded(Exception):
    """The error that a study was opened, so that another design needs a reason and a name."""


class NamesModels(Exception):
    """The error that people would read the name of a model in the reason of an amendment. `names`: those found."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


class LacksLanguages(Exception):
    """The error that people would be asked for their consent in a language that is not theirs. `languages`: theirs."""

    def __init__(self, languages: list[str]) -> None:
        super().__init__(", ".join(languages))
        self.languages = languages


@dataclass(frozen=True)
class AmendmentReason:
    """Why a design changes after people could begin, and who says so. `asks_again`: people under way, for consent."""

    reason: str
    by_name: str
    by: Any = None
    asks_again: bool = False


@dataclass(frozen=True)
class LoadedStudy:
    protocol: Protocol
    outcome: Literal["created", "unchanged", "changed", "new version", "amended"]
    cards: StoredCards = field(default_factory=StoredCards)


@transaction.atomic
def load_spec(spec: StudySpec, *, folder: Path | None = None, amendment: AmendmentReason | None = None) -> LoadedStudy:
    """Store the study, with its role cards from files in `folder` or among the instruments. Raise AmendmentNeeded,
    NamesModels and LacksLanguages."""
    loaded = load_design(spec, amendment)
    return replace(loaded, cards=store_cards_of(study=loaded.protocol.study, spec=spec, folder=folder))


def load_design(spec: StudySpec, amendment: AmendmentReason | None) -> LoadedStudy:
    """Store a design. People under way keep their version; a new one is made for those to come."""
    study, created = Study.objects.select_for_update().get_or_create(
        key=spec.key, defaults={"stage": Stage.OPEN if spec.key == DEMO else Stage.REHEARSAL}
    )
    current = study.current()
    outcome = "created" if created or current is None else foresee_change(study, current, spec)
    if outcome == "unchanged":
        return LoadedStudy(current, outcome)
    if outcome == "amended" and amendment is None:
        raise AmendmentNeeded(study.key)
    if outcome == "amended" and amendment and amendment.asks_again:
        refuse_names(amendment.reason, current.full_spec(), spec)
        refuse_languages(study, spec)
    if outcome == "changed":
        current.created_at = timezone.now()  # since when it says this: nothing in it was declared before
        return LoadedStudy(write(current, spec), outcome)
    protocol = write(Protocol(study=study, version=current.version + 1 if current else 1), spec)
    if outcome == "amended":
        amend(protocol, amendment)
    return LoadedStudy(protocol, outcome)


def refuse_names(reason: str, *specs: StudySpec) -> None:
    """Raise NamesModels where the reason, which people read, names an arm, a model or a maker of the study."""
    arms = [arm for spec in specs for arm in spec.arms]
    of_arms = [name for arm in arms for name in (arm.key, arm.model, arm.provider, *arm.title.values())]
    named = [*of_arms, *(name for spec in specs for name in spec.names()), *known_names()]
    if names := [name for name in dict.fromkeys(named) if name and has_name(reason, name)]:
        raise NamesModels(names)


def refuse_languages(study: Study, spec: StudySpec) -> None:
    """Raise LacksLanguages where people who are to be asked again cannot read the design's consent form."""
    asked = study.participations.real().under_way().exclude(consents=None).exclude(language__in=["", *spec.languages])
    if languages := sorted(set(asked.values_list("language", flat=True))):
        raise LacksLanguages(languages)


def foresee_change(
    study: Study, current: Protocol, spec: StudySpec
) -> Literal["unchanged", "changed", "new version", "amended"]:
    """Return what loading this design would do to a study that there is."""
    if current.spec() == spec or (study.was_opened() and current.full_spec() == spec):
        return "unchanged"
    if current.may_change():
        return "changed"
    return "amended" if study.was_opened() else "new version"


def amend(protocol: Protocol, amendment: AmendmentReason) -> None:
    """Store why this version is not the one that was opened. It is fixed from the start."""
    number = Amendment.objects.filter(protocol__study=protocol.study).count() + 1
    Amendment.objects.create(protocol=protocol, number=number, **asdict(amendment))
    protocol.opened_at, protocol.opened_hash = timezone.now(), protocol.hash()
    protocol.save(update_fields=["opened_at", "opened_hash"])


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
