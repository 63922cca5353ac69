"""The published form of a person and their conversations, without what could tell who they are. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialogue.deidentification.identifiers import forms_of_name
from dialogue.deidentification.indirect_identifiers import Names, collect_names, collect_repeated_names
from dialogue.deidentification.redaction import redact_for_release

Record = dict[str, Any]


@dataclass(frozen=True)
class Turn:
    number: int
    seeker: str
    supporter: str  # empty where no reply came


@dataclass(frozen=True)
class Rating:
    moment: str  # turn, checkpoint, final
    turn: int  # 0: of the whole conversation
    instrument: str
    version: str
    scores: Mapping[str, float]

    def as_json(self) -> Record:
        return {**vars(self), "scores": dict(self.scores)}


@dataclass(frozen=True)
class Dialogue:
    language: str
    arm: str
    model: str
    condition: str
    card: str  # the role card that a counsellor played
    turns: tuple[Turn, ...]
    opening: str = ""  # the study's own text, with which the supporter began
    ratings: tuple[Rating, ...] = ()
    before: Mapping[str, float | str] = field(default_factory=dict)
    after: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Person:
    """A person who agreed. `called`: names and codes they go by. `choices` and `texts` are of the profile."""

    language: str
    track: str
    called: tuple[str, ...]
    choices: Mapping[str, str | float]
    texts: Mapping[str, str]
    big_five: Mapping[str, float]
    dialogues: tuple[Dialogue, ...]

    def own_texts(self) -> list[str]:
        messages = [turn.seeker for dialogue in self.dialogues for turn in dialogue.turns]
        return [*messages, *self.texts.values()]

    def answers(self) -> list[str]:
        return [turn.supporter for dialogue in self.dialogues for turn in dialogue.turns]


class Mask:
    """The redaction of all texts of one person. `counts`: what has been taken out so far, by kind."""

    def __init__(self, person: Person) -> None:
        own, answers = person.own_texts(), person.answers()
        names = [form for name in person.called for form in forms_of_name(name)]
        repeated = sorted(collect_repeated_names(own, answers))
        self.names = Names(tuple(dict.fromkeys([*names, *repeated])), tuple(sorted(collect_names(own))))
        self.counts: Counter[str] = Counter()

    def text(self, text: str, language: str) -> tuple[str, bool]:
        """Return the text without what identifies, and whether something was taken out."""
        changed, kinds = redact_for_release(text, self.names, language)
        self.counts.update(kinds)
        return changed, bool(kinds)


def records_of(person: Person, ids: Sequence[str], key: str) -> tuple[list[Record], Counter[str]]:
    """Return a record for each dialogue, and what was taken out of all of them, by kind.

    `ids` are those of the dialogues, `key` is the person's; neither is known to the study.
    """
    mask = Mask(person)
    profile = profile_of(person, mask)
    about = {"track": person.track, **profile, "big_five": dict(person.big_five)}
    records = [
        record_of(dialogue, mask, {"id": id_, "person": key}, about)
        for dialogue, id_ in zip(person.dialogues, ids, strict=True)
    ]
    return records, mask.counts


def profile_of(person: Person, mask: Mask) -> Record:
    texts = {item: mask.text(text, person.language) for item, text in person.texts.items()}
    return {
        "profile": {**person.choices, **{item: text for item, (text, _) in texts.items()}},
        "profile_redacted": [item for item, (_, changed) in texts.items() if changed],
    }


def record_of(dialogue: Dialogue, mask: Mask, keys: Record, about: Record) -> Record:
    return {
        **keys,
        "language": dialogue.language,
        "track": about["track"],
        "arm": dialogue.arm,
        "model": dialogue.model,
        "condition": dialogue.condition,
        "role_card": dialogue.card,
        "profile": about["profile"],
        "profile_redacted": about["profile_redacted"],
        "big_five": about["big_five"],
        "opening": dialogue.opening,
        "turns": [turn_of(turn, mask, dialogue.language) for turn in dialogue.turns],
        "ratings": [rating.as_json() for rating in dialogue.ratings],
        "emotion": {"before": dict(dialogue.before), "after": dict(dialogue.after)},
    }


def turn_of(turn: Turn, mask: Mask, language: str) -> Record:
    seeker, seeker_redacted = mask.text(turn.seeker, language)
    supporter, supporter_redacted = mask.text(turn.supporter, language)
    return {
        "number": turn.number,
        "seeker": seeker,
        "seeker_redacted": seeker_redacted,
        "supporter": supporter,
        "supporter_redacted": supporter_redacted,
    }
