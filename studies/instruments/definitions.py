"""Instruments as data: one shape for every file of fixtures/instruments, whatever its own body is called. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

ItemType = Literal["scale", "single", "text", "integer", "country", "checkbox"]
Text = Mapping[str, str]  # {"en": …, "zh": …}
COUNSELLOR = "counsellor"  # the track whose people play a seeker
DECLINED = "prefer_not"  # the option that declines to answer


@dataclass(frozen=True)
class Option:
    """A choice of a `single` item (its `value` is a key) or an anchor of a `scale` item (its `value` is a number)."""

    value: str | int
    text: Text
    group: str = ""  # options of one named group may be shown in any order among themselves


@dataclass(frozen=True)
class Condition:
    """A condition that shows or hides an item by an earlier answer.

    `question` may be `pre.<item>`: the answer before the chat.
    """

    question: str
    op: Literal["eq", "in"]
    value: Any

    def holds(self, answers: Mapping[str, Any]) -> bool:
        answer = answers.get(self.question)
        return answer in self.value if self.op == "in" else bool(answer == self.value)


@dataclass(frozen=True)
class Item:
    key: str
    type: ItemType
    text: Text
    options: tuple[Option, ...] = ()
    options_from: str = ""  # "arms": the step puts those of the study before the file's own options
    minimum: int | None = None
    maximum: int | None = None
    required: bool = True
    reverse: bool = False
    scale: str = ""  # the key of the (sub)scale or facet that it belongs to
    label: Text | None = None  # a short name, as in tables
    definition: Text | None = None
    phases: tuple[str, ...] = ()  # () for always; else "pre", "post"
    track: str = "all"  # "all", "participant", "expert"
    minimum_length: Mapping[str, int] = field(default_factory=dict)  # characters, by language
    maximum_length: int | None = None
    show_if: Condition | None = None
    hide_if: Condition | None = None
    maps_to: str | None = None
    instructed: str | int | None = None  # the value that it tells people to choose: it shows who reads, and is no score
    in_third_person: "Item | None" = None  # the same item as someone reads it who is not the seeker

    def is_shown(self, answers: Mapping[str, Any]) -> bool:
        is_due = self.show_if is None or self.show_if.holds(answers)
        return is_due and not (self.hide_if is not None and self.hide_if.holds(answers))

    def is_too_short(self, text: str, language: str) -> bool:
        return len(text.strip()) < self.minimum_length.get(language, 0)

    def option(self, value: str | float) -> Option | None:
        return next((option for option in self.options if option.value == value), None)

    def words_of(self, answer: str | float, language: str) -> str:
        """Return an answer as a person reads it: the text of the option, or what was given."""
        option = self.option(answer)
        return option.text[language] if option else f"{answer:g}" if isinstance(answer, float) else str(answer)


@dataclass(frozen=True)
class Scale:
    """A (sub)scale: the mean of its items after reversal, `None` below `minimum_answered` answered items."""

    key: str
    label: Text
    items: tuple[str, ...]
    minimum_answered: int


@dataclass(frozen=True, eq=False)
class Questionnaire:
    """A questionnaire, equal to itself alone, so that what is made of it can be kept: there is one of each file."""

    id: str
    kind: str
    version: str
    title: Text
    items: tuple[Item, ...]
    heading: Text = field(default_factory=dict)  # what people who answer read; the title is the researchers'
    scales: tuple[Scale, ...] = ()
    instruction: Text | None = None
    instruction_in_third_person: Text | None = None
    comment: Text | None = None  # the invitation of an optional closing remark
    raw: Mapping[str, Any] = field(default_factory=dict)  # the file itself: rules, sections, sample dialogues

    @cached_property
    def in_third_person(self) -> "Questionnaire":
        """Return it as it is read by someone who is not the seeker: the same keys and values in other words."""
        return replace(
            self,
            items=tuple(item.in_third_person or item for item in self.items),
            instruction=self.instruction_in_third_person or self.instruction,
        )

    def item(self, key: str) -> Item:
        for item in self.items:
            if item.key == key:
                return item
        raise KeyError(f"{self.id}: no item {key!r}")

    def rated_items(self) -> tuple[Item, ...]:
        """Return the items whose answer is a score."""
        return tuple(item for item in self.items if item.type == "scale" and item.instructed is None)

    def items_for(self, *, track: str = "all", phase: str = "") -> tuple[Item, ...]:
        """Return the items that a person of this track sees in this phase; `track="all"` shows those of every track."""
        return tuple(
            item
            for item in self.items
            if (track == "all" or item.track in ("all", track))
            and (not item.phases or not phase or phase in item.phases)
        )
