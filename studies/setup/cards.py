"""Role cards: from files into rows, and out to the counsellors who play them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from django.db import transaction

from studies.design.card_files import CardSpec, read_cards
from studies.design.reading import INSTRUMENTS, card_file
from studies.design.spec import StudySpec
from studies.models import ArmRun, Card, Participation, RolePlay, Study


@dataclass(frozen=True)
class StoredCards:
    """The numbers of stored cards. `kept` are those that differ from what came and were left as they are."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    kept: int = 0


@transaction.atomic
def store_cards(*, study: Study, cards: Iterable[CardSpec], change: bool = True) -> StoredCards:
    """Store cards. What was given out already stays as it was: each run has a copy."""
    existing = {card.key: card for card in study.cards.select_for_update()}
    stored = StoredCards()
    for card in cards:
        outcome = _store(study, existing.get(card.key), card, change)
        stored = replace(stored, **{outcome: getattr(stored, outcome) + 1})
    return stored


def _store(study: Study, row: Card | None, card: CardSpec, change: bool) -> str:
    content = {"language": card.language, "profile": dict(card.profile), "intensities": dict(card.intensities)}
    if row is None:
        Card.objects.create(study=study, key=card.key, **content)
        return "added"
    if all(getattr(row, name) == value for name, value in content.items()):
        return "unchanged"
    if not change:
        return "kept"
    Card.objects.filter(pk=row.pk).update(**content)
    return "changed"


def store_cards_of(*, study: Study, spec: StudySpec, folder: Path | None) -> StoredCards:
    """Store the cards that the study file names and that are not there yet. What was changed on the workbench is
    kept."""
    folders = [folder, INSTRUMENTS] if folder else [INSTRUMENTS]
    files = [card_file(name, folders) for name in spec.role_play.cards]
    cards = [card for file in files if file for card in read_cards(file)]
    return store_cards(study=study, cards=cards, change=False)


def keys_in(*, study: Study, language: str) -> list[str]:
    """Return the keys of the cards that may be given out in this language, in the same order whichever the database."""
    return sorted(study.cards.filter(language=language, retired=False).values_list("key", flat=True))


def give_card(*, run: ArmRun, participation: Participation) -> None:
    """Copy the person's card for this run as it is now. Without a card there is still a row to tick behaviours in."""
    drawn = participation.cards[run.position - 1 : run.position]
    card = participation.study.cards.filter(key__in=drawn).first()
    if card:
        run.card, run.profile, run.condition = card.key, card.profile["id"], card.condition()
        run.save(update_fields=["card", "profile", "condition"])
    RolePlay.objects.get_or_create(run=run, defaults={"card": card.as_given() if card else {}})


@transaction.atomic
def tick(*, run: ArmRun, behaviour: str, played: bool) -> bool:
    """Mark a behaviour of the card as played, or no longer; False where the card has no such behaviour."""
    role_play = RolePlay.objects.select_for_update().filter(run=run).first()
    if role_play is None or not role_play.shows(behaviour):
        return False
    role_play.tick(behaviour, played=played)
    role_play.save(update_fields=["played"])
    return True
