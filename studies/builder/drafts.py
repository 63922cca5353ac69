"""Drafts of study files: where they begin, what is wrong with them, and how they become studies."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue.documents import Fault
from dialogue.documents import translate as say
from dialogue.languages import CODES, LANGUAGES
from dialogue.prompts import read_prompt
from studies.audit.chain import record
from studies.builder.document import NAME, StudyDocument
from studies.builder.pasted_keys import refuse_pasted_keys
from studies.builder.sections import owner_of
from studies.design.card_files import CardSpec, dump_cards, read_cards
from studies.design.contradictions import way_out_in_files
from studies.design.reading import INSTRUMENTS, StudyFileError, card_file, languages_of, read_study
from studies.design.spec import StudySpec
from studies.design.writing import dump_study
from studies.instruments.loading import instrument_ids
from studies.models import AuditEntry, Protocol, Study, StudyDraft
from studies.participation.consent import template_ids
from studies.setup.addresses import words_of_addresses
from studies.setup.past_days import find_past_days
from studies.setup.storage import AmendmentReason, LoadedStudy, foresee_change, load_spec

LANGUAGE_NAMES = {one.code: one.name for one in LANGUAGES}
OWN_CARDS = "cards.json"  # the file of role cards that a study got on the workbench alone


@dataclass(frozen=True)
class CheckedDraft:
    """A draft after the check that `load_study` does. `faults`: by place, as people read it."""

    spec: StudySpec | None
    faults: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def count_by_section(self) -> dict[str, int]:
        """Return how many things each section still needs."""
        counts: dict[str, int] = {}
        for place, messages in self.faults.items():
            owner = owner_of(place)
            counts[owner] = counts.get(owner, 0) + len(messages)
        return counts


def check_draft(draft: StudyDraft) -> CheckedDraft:
    """Return the study that the draft describes, or all its faults."""
    with folder_of(draft) as folder:
        try:
            return CheckedDraft(read_draft(folder))
        except StudyFileError as error:
            return CheckedDraft(None, group_faults(error.faults))


def group_faults(faults: Sequence[Fault]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for fault in faults:
        grouped.setdefault(fault.place, []).append(reword(fault))
    return grouped


def reword(fault: Fault) -> str:
    """Return a fault in the words of the pages, on which languages have names, and "there is none" has a box."""
    language = LANGUAGE_NAMES.get(fault.place.rpartition(".")[2])
    if language and fault.message == say("is missing"):
        return _("is missing in %(language)s") % {"language": language}
    if fault.message.endswith(way_out_in_files()):
        return _("is not filled in. Write it, or tick “There is none”.")
    return fault.message


@contextmanager
def folder_of(draft: StudyDraft) -> Iterator[Path]:
    """Write the draft and the files beside it into a folder, as `load_study` would find them."""
    with TemporaryDirectory(prefix="emostudy-draft.") as name:
        folder = Path(name)
        (folder / NAME).write_text(draft.text, encoding="utf-8")
        for file, text in draft.files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        yield folder


def read_draft(folder: Path) -> StudySpec:
    """Return the study that a folder holds. Raise StudyFileError."""
    spec = read_study(
        folder / NAME,
        instruments=[*instrument_ids(), *template_ids()],
        prompt_folder=settings.FIXTURES / "prompts",
        reserved_keys=words_of_addresses(),
    )
    if over := find_past_days(spec, timezone.now().date()):
        raise StudyFileError(folder / NAME, over)
    return spec


def get_languages(document: StudyDocument) -> tuple[str, ...]:
    """Return the languages of a draft; all that there are until some are chosen."""
    return languages_of({"languages": document.get(("languages",))}) or CODES


# Where a draft begins.


def read_template(name: str) -> str:
    """Return the text of a study file that comes with emostudy."""
    return (settings.FIXTURES / "studies" / f"{name}.toml").read_text(encoding="utf-8")


def copy_study(protocol: Protocol, *, for_new: bool = False) -> tuple[str, dict[str, str]]:
    """Return the file of a study, and the prompts and role cards that it names. `for_new`: for another study."""
    spec = protocol.spec()
    cards, card_files = copy_cards(protocol.study, spec.role_play.cards, for_new=for_new)
    named = [(model.prompt, model.prompt_text) for model in (*spec.arms, *spec.judges)]
    named += [(prompt.file, prompt.texts) for prompt in spec.prompts.values()]
    files = dict(file for name, texts in named if name for file in prompt_files(name, texts))
    copied = replace(spec, role_play=replace(spec.role_play, cards=cards))
    return dump_study(copied), files | card_files


def copy_cards(study: Study, names: Sequence[str], *, for_new: bool) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return what `cards` of a copy names, and a file of the cards that no file of emostudy brings.

    `for_new`: for another study, which also gets what was changed on the workbench.
    """
    brought = {name: read_cards(file) for name in names if (file := card_file(name, [INSTRUMENTS]))}
    missing = [name for name in names if name not in brought]
    if not missing and not for_new:
        return tuple(names), {}
    stored = [
        CardSpec(card.key, card.language, card.profile, card.intensities)
        for card in study.cards.filter(retired=False).order_by("key")
    ]
    if for_new and any(card not in stored for cards in brought.values() for card in cards):
        brought = {}
    keys = {card.key for cards in brought.values() for card in cards}
    own = [card for card in stored if card.key not in keys]
    if not own:
        return tuple(brought), {}
    name = missing[0] if missing else OWN_CARDS
    return (*brought, name), {f"{name.removesuffix('.json')}.json": dump_cards(own)}


def prompt_files(name: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the files of a prompt by name, but for those that emostudy brings."""
    for language, text in texts.items():
        file = f"{name}.{language}.txt" if language else name
        own = settings.FIXTURES / "prompts" / file
        if not (own.is_file() and read_prompt(own).text == text):
            yield file, text


def find_draft_of(study: Study) -> StudyDraft | None:
    """Return the draft from which the study's current version was loaded; None where it came otherwise."""
    draft = study.drafts.first()
    return draft if draft and check_draft(draft).spec == study.current().spec() else None


def open_draft(text: str, files: Mapping[str, str], owner: Any, study: Study | None = None) -> StudyDraft:
    """Store a new draft. Raise DocumentError where the text is no TOML, or has a key in the place of a variable."""
    refuse_pasted_keys(StudyDocument(text))
    return StudyDraft.objects.create(
        text=text, files=dict(files), owner=owner, owner_name=owner.get_username(), study=study
    )


# How it becomes a study.


@transaction.atomic
def load_draft(draft: StudyDraft, amendment: AmendmentReason | None = None) -> LoadedStudy:
    """Load the draft as a study. Raise StudyFileError where something is wrong with it, and AmendmentNeeded."""
    with folder_of(draft) as folder:
        loaded = load_spec(read_draft(folder), folder=folder, amendment=amendment)
    draft.study = loaded.protocol.study
    draft.save(update_fields=["study"])
    if loaded.outcome != "unchanged":
        version = str(loaded.protocol.version)
        record(loaded.protocol.study.key, AuditEntry.Act.CHANGED, AuditEntry.Thing.DESIGN, version)
    return loaded


def foresee(spec: StudySpec) -> str:
    """Return what loading the study will do, in the words of its outcome."""
    study = Study.objects.filter(key=spec.key).first()
    current = study.current() if study else None
    return foresee_change(study, current, spec) if study and current else "created"
