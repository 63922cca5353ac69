"""A second look at the files of a release: nothing of people who did not agree is in them.

It reads the files again, and asks the database anew and in another way who agreed. Someone who withdrew in the
meantime has not agreed.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery

from dialogue.deidentification.indirect_identifiers import Names
from dialogue.deidentification.redaction import redact_for_release
from dialogue.models import Conversation, RiskEvent, Turn
from dialogue.models.conversation import EndReason, SeekerKind, Status
from studies.data.release.filters import BOX, GRAVE
from studies.models import Answer, ArmRun, Consent, Participation, Study
from studies.models.participation import Status as PersonStatus

LEAST = 20  # characters: shorter texts are written by many people
TOKEN = re.compile(r"[0-9A-Za-z]+")
ENDS = re.compile(r"\[[^\]]*\]|(?<=[.!?。！？…])")
TEXTS_OF_ANSWERS = ("text", "reason")
TEXTS_OF_TURNS = ("text", "reply", "reply_original")


@dataclass(frozen=True)
class CheckedRelease:
    """The result of the second look: the numbers of what was searched, and the places of finds, never their texts."""

    dialogues: int
    people: int
    codes: int
    texts: int
    found: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "found": len(self.found)}


def check_release(study: Study, dialogues: Path, card: Path) -> CheckedRelease:
    records = [json.loads(line) for line in dialogues.read_text(encoding="utf-8").splitlines()]
    allowed = runs_allowed(study)
    codes = all_codes(study)
    others = Pieces(texts_of_others(study, allowed))
    published = [("README.md", fold(card.read_text(encoding="utf-8")))]
    published += [
        (f"dialogues.jsonl, line {number}", fold(text_of(record))) for number, record in enumerate(records, 1)
    ]
    people = {record["person"] for record in records}
    leaks = [*too_many(records, people, allowed)]
    suspects: defaultdict[str, list[str]] = defaultdict(list)
    for place, text in published:
        leaks += [f"{place}: a code of the study" for token in TOKEN.findall(text) if token in codes]
        for piece in others.find_in(text):
            suspects[piece].append(place)
    harmless = pieces_of_allowed(allowed, suspects)
    leaks += [
        f"{places[0]}: a text of someone who is not in the set"
        for piece, places in suspects.items()
        if piece not in harmless
    ]
    return CheckedRelease(len(records), len(people), len(codes), others.count, tuple(leaks))


def too_many(records: list[Any], people: set[str], allowed: QuerySet[ArmRun]) -> Iterator[str]:
    if len({record["id"] for record in records}) < len(records):
        yield "dialogues.jsonl: two lines have the same id"
    if len(records) > allowed.count():
        yield "dialogues.jsonl: more conversations than people agreed to publish"
    if len(people) > allowed.order_by().values("participation").distinct().count():
        yield "dialogues.jsonl: more people than agreed"


def people_allowed(study: Study) -> QuerySet[Participation]:
    last = (
        Consent.objects.filter(participation=OuterRef("participation")).order_by("-signed_at", "-pk").values("pk")[:1]
    )
    agreed = Consent.objects.filter(**{f"boxes__{BOX}": True}, participation__study=study, pk=Subquery(last))
    in_danger = RiskEvent.objects.filter(conversation=None, level__gte=GRAVE).values("subject")
    people = study.participations.people().filter(pk__in=agreed.values("participation"), excluded=False)
    return people.exclude(status=PersonStatus.WITHDRAWN).exclude(code__in=in_danger)


def runs_allowed(study: Study) -> QuerySet[ArmRun]:
    talks = Conversation.objects.filter(
        status=Status.CLOSED, seeker_kind__in=(SeekerKind.PERSON, SeekerKind.COUNSELLOR)
    )
    talks = talks.exclude(end_reason__in=(EndReason.SAFETY, EndReason.WITHDRAWN))
    talks = talks.exclude(
        pk__in=RiskEvent.objects.filter(level__gte=GRAVE, conversation__isnull=False).values("conversation")
    )
    talks = talks.exclude(pk__in=Turn.objects.filter(risk_level__gte=GRAVE).values("conversation"))
    return study.runs.filter(is_test=False, valid=True, participation__in=people_allowed(study), conversation__in=talks)


def all_codes(study: Study) -> set[str]:
    """Return the codes of people, also of other studies and of those in the set, and of the study's conversations."""
    talks = Conversation.objects.filter(run__study=study).values_list("code", flat=True)
    return {*Participation.objects.values_list("code", flat=True), *talks}


def texts_of_others(study: Study, allowed: QuerySet[ArmRun]) -> Iterator[str]:
    turns = Turn.objects.filter(conversation__run__study=study).exclude(conversation__run__in=allowed)
    for texts in turns.order_by().values_list(*TEXTS_OF_TURNS).iterator():
        yield from texts
    by_people = Q(response__rater__participation__isnull=False) | Q(response__run__isnull=False)
    answers = Answer.objects.filter(by_people, response__rater__study=study)
    answers = answers.exclude(response__rater__participation__in=people_allowed(study))
    for texts in answers.order_by().values_list(*TEXTS_OF_ANSWERS).iterator():
        yield from texts


class Pieces:
    """The pieces of texts, by how they begin, so that all are searched for at once."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.by_beginning: defaultdict[str, set[str]] = defaultdict(set)
        for text in texts:
            for piece in pieces_of(text):
                self.by_beginning[piece[:LEAST]].add(piece)
        self.count = sum(map(len, self.by_beginning.values()))

    def find_in(self, text: str) -> set[str]:
        pieces = set()
        for place in range(len(text) - LEAST + 1):
            for piece in self.by_beginning.get(text[place : place + LEAST], ()):
                if text.startswith(piece, place):
                    pieces.add(piece)
        return pieces


def pieces_of(text: str) -> Iterator[str]:
    """Yield the text, and its sentences as masking would leave them, without those that are short."""
    whole = fold(text)
    if len(whole) < LEAST:
        return
    yield whole
    for language in ("en", "zh"):
        masked, _ = redact_for_release(whole, Names(), language)
        yield from (piece for part in ENDS.split(masked) if len(piece := part.strip()) >= LEAST)


def pieces_of_allowed(allowed: QuerySet[ArmRun], suspects: Iterable[str]) -> set[str]:
    """Return the pieces that someone in the set said, was told or wrote just as well."""
    waiting = set(suspects)
    harmless: set[str] = set()
    for text in texts_of_allowed(allowed) if waiting else ():
        matches = {piece for piece in waiting if piece in text}
        harmless |= matches
        waiting -= matches
    return harmless


def texts_of_allowed(allowed: QuerySet[ArmRun]) -> Iterator[str]:
    turns = Turn.objects.filter(conversation__run__in=allowed).order_by()
    openings = Conversation.objects.filter(run__in=allowed).exclude(opening="").values_list("opening").distinct()
    people = allowed.order_by().values("participation")
    answers = Answer.objects.filter(response__rater__participation__in=people).exclude(text="").order_by()
    messages = turns.values_list("text", "reply").iterator()
    for texts in chain(messages, openings.iterator(), answers.values_list("text").iterator()):
        yield from map(fold, texts)


def text_of(value: Any) -> str:
    """Return all words of a record, a value a line."""
    if isinstance(value, dict):
        return "\n".join(map(text_of, value.values()))
    if isinstance(value, list):
        return "\n".join(map(text_of, value))
    return str(value)


def fold(text: str) -> str:
    return " ".join(text.split())
