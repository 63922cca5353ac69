"""The data card of a release: a page that tells what is in it, what was taken out, and what its keys mean. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialogue.deidentification.redaction import RELEASE_VERSION
from studies.data.release.filters import LeftOut
from studies.data.release.records import Record
from studies.instruments.definitions import Item, Questionnaire

WHY = {
    LeftOut.TEST: "test data",
    LeftOut.IMPORTED: "imported from elsewhere: their people were not asked here",
    LeftOut.SIMULATED: "simulated seekers: this set holds people's conversations only",
    LeftOut.WITHDRAWN: "of people who withdrew",
    LeftOut.EXCLUDED: "of people whom the researchers excluded",
    LeftOut.INVALID: "excluded by the researchers",
    LeftOut.NOT_AGREED: "of people who did not agree, or were not asked",
    LeftOut.DANGER: "held or ended for safety, or with a sign of danger of level 3 or 4",
    LeftOut.OPEN: "not over yet",
    LeftOut.NO_TURN: "without a reply",
}
KINDS = {
    "name": "names",
    "place": "places",
    "organisation": "schools, employers and other institutions",
    "street": "postal addresses",
    "date": "exact dates and years of birth",
    "phone": "telephone and other long numbers",
    "number": "numbers of five digits or more",
    "email": "e-mail addresses",
    "url": "links",
    "account": "accounts and numbers of documents",
}
KEYS = {
    "id": "the conversation, a random key of this release",
    "person": "the person, a random key of this release: the same for all conversations of one person",
    "language": "of the conversation: `en` or `zh`",
    "track": "`participant`: a person as themselves; `counsellor`: a trained person who plays a seeker",
    "arm": "the supporter, by its key in the study",
    "model": "the supporter's model, as the study names it",
    "condition": "how hard a played seeker is to help; empty for others",
    "role_card": "the role card that a counsellor played; empty for others",
    "profile": "the person's own answers: keys of chosen options, and free texts after masking. Without names, "
    "and without a gender in own words",
    "profile_redacted": "the free texts of the profile in which something was masked",
    "big_five": "means of the person's answers, 1 to 5; empty where they were not asked",
    "opening": "what the supporter said before the first turn, the study's own text; empty where the person wrote "
    "first",
    "turns": "a list: `number`, `seeker` and `supporter` (texts as they were shown, after masking; `supporter` is "
    "empty where no reply came), `seeker_redacted` and `supporter_redacted` (whether something was masked)",
    "ratings": "a list of the person's own ratings: `moment` (`turn`, `checkpoint`, `final`), `turn` (0: the whole "
    "conversation), `instrument`, `version`, `scores` (a value for each item)",
    "emotion": "`before` and `after` the conversation: a value or the key of an option for each item",
}
READ_IT = (
    "**Masking is automatic and misses things.** It also masks words that identify no one. A person must read every "
    "text before this set is published."
)
KEYS_ARE_RANDOM = (
    "The keys `id` and `person` are random. They are made for this release and kept nowhere else, so no one can "
    "lead them back to the study's codes, and another release has other keys. For the same reason, the conversations "
    "of a person who withdraws later cannot be found in this set: make a new release and replace this one."
)
NOT_IN_IT = (
    "Not in the set: times, countries, comments and reasons in free text, interviews, ratings by other people and by "
    "language models, the supporters' prompts, and simulated and imported conversations."
)
AGES = (
    "Ages are the bands of the questionnaire (`age_band`), which are wider than five years; no exact age is known to "
    "the study."
)


@dataclass
class PublishedCounts:
    """Counts of the published records."""

    dialogues: int = 0
    turns: int = 0
    masked: Counter[str] = field(default_factory=Counter)
    masked_texts: int = 0
    by: dict[str, Counter[str]] = field(
        default_factory=lambda: {key: Counter() for key in ("language", "track", "arm", "model", "condition")}
    )
    answered: dict[str, set[str]] = field(default_factory=dict)  # items by instrument

    def add(self, records: Iterable[Record], masked: Mapping[str, int]) -> None:
        self.masked.update(masked)
        for record in records:
            self.dialogues += 1
            self.turns += len(record["turns"])
            self.masked_texts += sum(turn["seeker_redacted"] + turn["supporter_redacted"] for turn in record["turns"])
            for key, counter in self.by.items():
                counter[record[key]] += 1
            self.answered.setdefault("profile", set()).update(record["profile"])
            self.answered.setdefault("emotion_checkin", set()).update(*record["emotion"].values())
            for rating in record["ratings"]:
                self.answered.setdefault(rating["instrument"], set()).update(rating["scores"])


@dataclass(frozen=True)
class Facts:
    """Facts about the study and its people that stand on the card."""

    study: str
    title: Mapping[str, str]
    emostudy: str
    signed: int
    asked: int
    agreed: int
    people: int
    conversations: int
    left_out: Mapping[LeftOut, int]


def write_card(facts: Facts, published: PublishedCounts, codebook: Sequence[Questionnaire]) -> str:
    """Return the card as Markdown. `codebook`: the questionnaires whose items are explained."""
    parts = (
        head(facts, published),
        people_part(facts),
        conversations_part(facts, published),
        masking_part(published),
        keys_part(),
        *(questionnaire_part(one, published.answered[one.id]) for one in codebook),
    )
    return "\n".join(line for part in parts for line in (*part, ""))


def head(facts: Facts, published: PublishedCounts) -> Iterator[str]:
    title = facts.title.get("en") or next(iter(facts.title.values()), facts.study)
    yield f"# {title}: de-identified conversations"
    yield ""
    yield (
        f"{published.dialogues} conversations of {facts.people} people with language models that gave emotional "
        f"support, made with emostudy {facts.emostudy}. `dialogues.jsonl` has one conversation a line."
    )
    yield ""
    yield READ_IT
    yield ""
    yield "**Licence:** [the research group fills in the licence and the terms of use here]"


def people_part(facts: Facts) -> Iterator[str]:
    yield "## People"
    yield from table(
        ("", "people"),
        {
            "signed a consent form and did not withdraw": facts.signed,
            "of these, were asked whether their de-identified data may be shared": facts.asked,
            "of these, agreed": facts.agreed,
            "of these, have a conversation in this set": facts.people,
        },
    )
    yield ""
    yield KEYS_ARE_RANDOM
    yield ""
    yield AGES


def conversations_part(facts: Facts, published: PublishedCounts) -> Iterator[str]:
    yield "## Conversations"
    left_out = {WHY[reason]: facts.left_out.get(reason, 0) for reason in LeftOut if facts.left_out.get(reason)}
    yield from table(
        ("conversations", "count"),
        {"in the study": facts.conversations, **{f"left out: {why}": count for why, count in left_out.items()}},
    )
    yield f"| in this set | {published.dialogues} |"
    yield ""
    yield f"They have {published.turns} turns."
    for key, counter in published.by.items():
        if any(counter):
            yield ""
            yield from table((key, "conversations"), {value or "(none)": counter[value] for value in sorted(counter)})
    yield ""
    yield NOT_IN_IT


def masking_part(published: PublishedCounts) -> Iterator[str]:
    yield "## What was masked"
    yield (
        f"A word in square brackets stands for what was taken out (masking of version {RELEASE_VERSION}). Something "
        f"was masked in {published.masked_texts} of {2 * published.turns} messages and replies. Texts of a profile are "
        "counted once a person."
    )
    yield ""
    yield from table(("masked", "count"), {words: published.masked[kind] for kind, words in KINDS.items()})


def keys_part() -> Iterator[str]:
    yield "## Keys of a line"
    yield from table(("key", "meaning"), {f"`{key}`": meaning for key, meaning in KEYS.items()})


def questionnaire_part(questionnaire: Questionnaire, items: set[str]) -> Iterator[str]:
    """Yield the questionnaire's name and those of its items that occur."""
    yield f"## {in_english(questionnaire.title)} (`{questionnaire.id}`, version {questionnaire.version})"
    questions = [item for item in questionnaire.items if item.key in items]
    yield from table(
        ("item", "question", "values"), {f"`{one.key}`": (in_english(one.text), range_of(one)) for one in questions}
    )


def range_of(item: Item) -> str:
    if item.minimum is not None:
        return f"{item.minimum} to {item.maximum}{', reversed' if item.reverse else ''}"
    return ", ".join(f"`{option.value}`" for option in item.options) or "text"


def in_english(text: Mapping[str, str]) -> str:
    return (text.get("en") or next(iter(text.values()), "")).replace("|", "\\|").replace("\n", " ")


def table(header: Sequence[str], rows: Mapping[str, Any]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    for name, values in rows.items():
        cells = values if isinstance(values, tuple) else (values,)
        yield f"| {' | '.join((name, *map(str, cells)))} |"
