"""The form of an instrument file, for the instruments that people answer. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, get_args

from pydantic import ConfigDict, Field, PlainValidator
from typing_extensions import TypedDict

from dialogue.documents import suggestion
from dialogue.documents import translate as _
from dialogue.languages import CODES
from dialogue.schema import KNOWN_KEYS_ONLY, Line, Needed, NeededLine, OneOf, Rule, Truth, Whole, refuse
from studies.instruments.definitions import ItemType, Text

OTHER_KEYS_TOO = ConfigDict(extra="ignore")
SCHEMA = "instrument/1"
# Kinds of instrument; a package that brings one adds its name.
KINDS = ["questionnaire", "rating_scale", "quiz", "interview", "pairwise", "reply_flag", "form"]
TYPES = get_args(ItemType)
ARMS = "arms"  # what options may be taken from beside the file
TRACKS = ("all", "participant", "expert")
PHASES = ("pre", "post")
COMPARISONS = ("eq", "in")


def read_words(value: Any) -> Text:
    """Return a text that is given in every language."""
    if value == "":
        return dict.fromkeys(CODES, "")
    if not isinstance(value, dict):
        raise ValueError(_("must be a text for each language: %(languages)s", languages=", ".join(CODES)))
    wrong = [((key,), _("unknown key") + suggestion(key, CODES)) for key in value if key not in CODES]
    wrong += [((language,), _("is missing")) for language in CODES if not str(value.get(language) or "").strip()]
    wrong += [((key,), _("must be text")) for key, text in value.items() if not isinstance(text, str)]
    if wrong:
        raise refuse(wrong)
    return {language: value[language] for language in CODES}


Words = Annotated[Text, PlainValidator(read_words), Needed()]


@dataclass(frozen=True, kw_only=True)
class Worded:
    """A text by language, beside other keys."""

    en: str = ""
    zh: str = ""

    @property
    def text(self) -> Text:
        """Return the text by language."""
        return {language: getattr(self, language) for language in CODES}

    def find_missing(self) -> Iterator[Rule]:
        """Return the languages in which the text is missing."""
        yield from (((language,), _("is missing")) for language, words in self.text.items() if not words.strip())


@dataclass(frozen=True, kw_only=True)
class OptionFile(Worded):
    """A choice, which has a key, or an anchor of a scale, which has a value."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    key: str | None = None
    value: Whole | None = None
    valence: str = ""
    set: Any = None
    seed_value: Any = None

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Yield a broken rule for the languages in which the option has no text."""
        yield from self.find_missing()


@dataclass(frozen=True, kw_only=True)
class ConditionFile:
    """An earlier answer on which it depends whether an item is shown."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    q: NeededLine
    op: Annotated[str, OneOf(COMPARISONS), Needed()]
    value: Any

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return what does not go together."""
        if self.op == "in" and not isinstance(self.value, list):
            yield ("value",), _("must be a list")


@dataclass(frozen=True, kw_only=True)
class ItemInThirdPersonFile:
    """The words of an item for readers who are not the seeker. What is left out is worded for everyone."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    question: Words
    definition: Words | None = None
    anchors: tuple[OptionFile, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class InThirdPersonFile:
    """The words above the items for readers who are not the seeker."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    instruction: Words


@dataclass(frozen=True, kw_only=True)
class ItemFile(Worded):
    """A question. Its text stands in `question`, or as a key for each language."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    id: Line = ""
    key: Line = ""  # of the dimension; of an item with a factor + or -
    type: Annotated[Line, OneOf(TYPES)] = ""
    question: Words | None = None
    label: Words | None = None
    profile_line: Words | None = None
    definition: Words | None = None
    third_person: ItemInThirdPersonFile | None = None
    required: Truth | None = None
    options: tuple[OptionFile, ...] | None = None
    options_ref: Line = ""  # where else in the file the options stand
    options_from: Annotated[Line, OneOf((ARMS,))] = ""
    anchors: tuple[OptionFile, ...] | None = None
    min: Whole | None = None
    max: Whole | None = None
    min_chars: Mapping[str, Whole] | None = None
    max_chars: Whole | None = None
    max_length: Whole | None = None
    factor: Line = ""
    facet: Line = ""
    phases: tuple[Annotated[Line, OneOf(PHASES)], ...] = ()
    track: Annotated[Line, OneOf(TRACKS)] = ""
    show_if: ConditionFile | None = None
    hide_if: ConditionFile | None = None
    maps_to: Line | None = None
    instructed: Any = None
    answer: Line | None = None  # of a quiz
    mandatory: Truth = False
    feedback: Words | None = None
    reveals: Truth = False  # of an interview, as the next three
    written: Words | None = None
    note: Words | None = None
    probes: tuple[Words, ...] = ()
    on_answer: Any = None
    criterion: Any = None
    safety: Any = None
    n: Any = None
    code: Any = None
    order: Any = None
    origin: Any = None
    direction: Any = None
    warning: Any = None
    seed_000: Any = None
    definition_source: Any = None

    @property
    def name(self) -> str:
        """Return the key under which answers are stored."""
        return self.id or self.key

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return what is missing."""
        if not self.name:
            yield ("id",), _("is missing")
        if self.question is None:
            yield from self.find_missing()


@dataclass(frozen=True, kw_only=True)
class SectionFile:
    """A section of an interview guide."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    key: Line = ""
    title: Words
    minutes: Whole
    questions: tuple[ItemFile, ...]
    intro: Words | None = None
    written: Words | None = None
    shows: tuple[Line, ...] = ()
    candidates: Truth = False
    covers: Any = None
    origin: Any = None
    source: Any = None
    decision: Any = None
    purpose: Any = None


@dataclass(frozen=True, kw_only=True)
class ScaleFile:
    """A scale or facet to which items belong."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    key: NeededLine
    label: Words


class PassRule(TypedDict):
    """The rule by which a quiz is passed; the rest is for people who read the file."""

    __pydantic_config__ = OTHER_KEYS_TOO  # type: ignore[misc]

    min_correct: Whole
    of: Annotated[Whole, Field(ge=1)]
    mandatory_all_correct: Truth
    attempts: Annotated[Whole, Field(ge=1)]


class ResponseScale(TypedDict, total=False):
    """The scale on which all items are answered that have none of their own."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    min: Whole
    max: Whole
    step: Whole
    required: Truth
    allow_na: Truth
    options: tuple[OptionFile, ...]


class Display(TypedDict, total=False):
    """The display of a form; the rest is for people who read the file."""

    __pydantic_config__ = OTHER_KEYS_TOO  # type: ignore[misc]

    comment: Words


class Trigger(TypedDict):
    """The subject of a checkpoint; the rest is for people who read the file."""

    __pydantic_config__ = OTHER_KEYS_TOO  # type: ignore[misc]

    scope: NotRequired[Words]


@dataclass(frozen=True, kw_only=True)
class ScoreItemFile:
    """The items for which researchers give points when they choose among applicants."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    key: NeededLine
    points: Annotated[Whole, Field(ge=1), Needed()]
    label: Words
    rule: Words


@dataclass(frozen=True, kw_only=True)
class SelectionScoreFile:
    """The score by which researchers choose among applicants."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    items: tuple[ScoreItemFile, ...] = ()
    purpose: Any = None
    then: Any = None

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return keys that two items have."""
        keys = [item.key for item in self.items]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                yield ("items", number, "key"), _('"%(value)s" is there already', value=key)


@dataclass(frozen=True, kw_only=True)
class InstrumentFile:
    """An instrument that people answer. Keys without a type are for people who read the file, or checked where used."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    schema: Annotated[Line, OneOf((SCHEMA,)), Needed()]
    id: NeededLine
    kind: Annotated[Line, OneOf(KINDS), Needed()]
    version: NeededLine
    title: Words
    instruction: Words | None = None
    third_person: InThirdPersonFile | None = None
    items: tuple[ItemFile, ...] = ()
    dimensions: tuple[ItemFile, ...] = ()
    questions: tuple[ItemFile, ...] = ()
    expert_questions: tuple[ItemFile, ...] = ()
    comparisons: tuple[ItemFile, ...] = ()
    sections: tuple[SectionFile, ...] = ()
    participant_version: SectionFile | None = None
    response_scale: ResponseScale | None = None
    answers: tuple[OptionFile, ...] = ()
    emotions: tuple[OptionFile, ...] = ()
    factors: tuple[ScaleFile, ...] = ()
    facets: tuple[ScaleFile, ...] = ()
    scoring: Mapping[str, Any] | None = None
    display: Display | None = None
    trigger: Trigger | None = None
    reason: Words | None = None
    rated: tuple[Line, ...] = ()
    held_back: tuple[Line, ...] = ()
    needs_note: tuple[Line, ...] = ()
    sources: tuple[Mapping[str, Any], ...] = ()
    pass_rule: PassRule | None = None
    sample_rule: Any = None
    sample_dialogues: Any = None
    rules: Any = None
    outcomes: Any = None
    selection_score: SelectionScoreFile | None = None
    date: Any = None
    purpose: Any = None
    licence: Any = None
    translation: Any = None
    attribution: Any = None
    notes: Any = None
    facet_note: Any = None
    instruction_note: Any = None
    justification: Any = None
    variants: Any = None
    raters: Any = None
    optional_raters: Any = None
    order: Any = None
    keys: Any = None
    mode: Any = None
    minutes_total: Any = None
    short_form: Any = None
    analysis_hint: Any = None
    origin_values: Any = None
    name_map_000_to_001: Any = None
