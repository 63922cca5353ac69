"""The form of a study file: each key with its type, its limits and its meaning. Pure.

The reference in `docs/study_file.md` is generated from here (`reference.py`).
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationInfo
from typing_extensions import TypedDict

from dialogue.documents import suggestion
from dialogue.documents import translate as _
from dialogue.judges.roles import ROLES, SEEKER
from dialogue.judges.strategies import get_strategies
from dialogue.languages import CODES
from dialogue.prompts import JUDGE, PLACEHOLDERS
from dialogue.providers.base import PARAMETERS, ModelSettings
from dialogue.providers.scripted import SUPPORTERS
from dialogue.schema import (
    KNOWN_KEYS_ONLY,
    Email,
    Line,
    Lines,
    Needed,
    NeededLine,
    Number,
    OneOf,
    Rule,
    Slug,
    Truth,
    Whole,
    about,
    adapter,
    check_unlike,
    refuse,
)
from studies.design.alt_test_spec import AltTestSpec
from studies.design.contrasts import ContrastFile
from studies.design.payment_spec import PaymentSpec
from studies.design.retention_spec import RetentionSpec
from studies.design.safety_rules import SafetyRules
from studies.design.spec import (
    BLINDING,
    INTERVIEW,
    KEEP_DECLINED_DAYS,
    MANUAL,
    OF_JUDGES,
    OPENERS,
    SELF,
    USUAL_RATERS,
    ChatSpec,
    Instrument,
    OrderSpec,
    RolePlaySpec,
    Spacing,
    StepSpec,
    Text,
    read_text,
)
from studies.instruments.countries import KNOWN_CODES, find_code

SELECTIONS = ("auto", MANUAL)
SELF_NAMING = ("flag", "mask")
USUAL_INSTRUMENTS = {"training": "comprehension_check", BLINDING: BLINDING, INTERVIEW: "interview_guide"}
LONGEST_TIMEOUT = 3650  # days; with more of them a study means never, and leaves the key out
LONGEST_FLOOR = 10  # seconds: no one waits longer for a reply to begin for the sake of evenness
SLOWEST, FASTEST = 1.0, 1000.0  # characters a second
LONGEST_NAME = 200  # characters of a prompt's file and of a provider
SCRIPTED = "scripted"  # the kind of models that need no network
SCRIPTS = {"arms": SUPPORTERS, "judges": ("judge",)}  # that can answer, by section; the seeker's are not named
RESPONSE_FORMAT = "response_format"  # what a server calls the form that it is to answer in


class Surroundings(NamedTuple):
    """The surroundings in which the names in a file are looked up."""

    languages: tuple[str, ...]
    instruments: Collection[str]
    prompt_folders: tuple[Path, ...]
    card_folders: tuple[Path, ...]
    reserved_keys: Collection[str]


def surroundings(info: ValidationInfo) -> Surroundings:
    """Return what `read_study` gave for the names in the file."""
    return cast(Surroundings, info.context)


# Kinds of value.


def read_placeholder(value: Any, info: ValidationInfo) -> Text:
    """Return a text; a whole number reads as its digits."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return read_text(str(value) if is_number else value, info)


def read_rates(value: Any, info: ValidationInfo) -> dict[str, float]:
    """Return the speed for each language: one number for all of them, or a table by language."""
    rate, languages = adapter(Rate), surroundings(info).languages
    if not isinstance(value, dict):
        return dict.fromkeys(languages, rate.validate_python(value))
    wrong = {key: _("unknown key") + suggestion(key, CODES) for key in value if key not in CODES}
    wrong |= {language: _("is missing") for language in languages if language not in value}
    if wrong:
        raise refuse(((key,), message) for key, message in wrong.items())
    rates: dict[str, float] = adapter(dict[str, Rate]).validate_python(value)
    return rates


def check_country(text: str) -> str:
    """Return the text where it is a country's code."""
    if text and text not in KNOWN_CODES:
        meant = find_code(text)
        hint = _('; did you mean "%(word)s"?', word=meant) if meant else ""
        raise ValueError(_('"%(code)s" is not a country code (two capital letters, ISO 3166)', code=text) + hint)
    return text


def check_key(key: str, info: ValidationInfo) -> str:
    """Return the key where no page of the server's own has it as its address."""
    if key in surroundings(info).reserved_keys:
        raise ValueError(_('"%(key)s" is a word of the server\'s own addresses: choose another', key=key))
    return key


def fill_step(value: Any) -> Any:
    """Return a step with what is usual for its kind."""
    if not isinstance(value, dict):
        return value
    kind = value.get("kind")
    usual = {"instrument": USUAL_INSTRUMENTS[kind]} if isinstance(kind, str) and kind in USUAL_INSTRUMENTS else {}
    return usual | ({"mode": SELF} if kind == INTERVIEW else {}) | value


def settle_checkpoints(chat: ChatSpec) -> ChatSpec:
    """Return the section with `checkpoints = {every = 5}` read as `every = 5`."""
    if not isinstance(chat.checkpoints, Spacing):
        return chat
    return replace(chat, checkpoints=(), checkpoint_every=chat.checkpoints.every)


def settle_raters(order: OrderSpec) -> OrderSpec:
    """Return the section with the usual number of raters where counsellors share the arms."""
    if order.counsellors and not order.raters_per_arm:
        return replace(order, raters_per_arm=USUAL_RATERS)
    return order


def check_prompt_names(files: dict[str, str]) -> dict[str, str]:
    """Return the files where each stands for a prompt that there is."""
    names = [*PLACEHOLDERS, *(f"{JUDGE}_{strategy}" for strategy in get_strategies())]
    wrong = {
        name: _("unknown prompt")
        + (suggestion(name, names) or ".")
        + " "
        + _("There are %(known)s", known=", ".join(names))
        for name in files
        if name not in names
    }
    wrong |= {name: _("is missing") for name, file in files.items() if not file}
    if wrong:
        raise refuse(((name,), message) for name, message in wrong.items())
    return files


def script_faults(model: ModelSettings, scripts: Collection[str]) -> Iterator[Rule]:
    """Yield a fault if no script has the name that the model gives."""
    if model.kind == SCRIPTED and model.model not in scripts:
        wrong = _('unknown script "%(name)s"', name=model.model) if model.model else _("is missing")
        wrong += suggestion(model.model, scripts) or "."
        yield ("model",), wrong + " " + _("There are %(known)s", known=", ".join(scripts))


PromptName = Annotated[Line, Field(max_length=LONGEST_NAME)]
Rate = Annotated[Number, Field(ge=SLOWEST, le=FASTEST)]
FileText = Annotated[Text, PlainValidator(read_text)]
NeededText = Annotated[FileText, Needed()]
Placeholder = Annotated[Text, PlainValidator(read_placeholder)]
Language = Annotated[Line, OneOf(CODES)]


# Sections.


class ConsentFile(BaseModel):
    """The consent form, and what the study says for its placeholders."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, Placeholder] = Field(init=False)

    instrument: Annotated[Instrument, Needed(), about("The consent form.", "consent_template")]
    version: Annotated[NeededLine, about("The version of the text as your ethics board approved it.", "1")]
    providers: Annotated[
        Lines, about("All companies that get what people write. Each arm's `provider` must be among them.", ["OpenAI"])
    ] = ()
    flags: Annotated[
        Lines, about("The optional parts of the form that apply. The design sets some itself.", ["if_cross_border"])
    ] = ()


@dataclass(frozen=True)
class ModelFile(ModelSettings):
    """A model with what arms, judges and the seeker have in common."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    provider: Annotated[
        Line,
        about("The company that gets the text, as the consent form names it.", "OpenAI", max_length=LONGEST_NAME),
    ] = ""

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return what does not go together."""
        if self.kind == "openai_compatible":
            yield from (((key,), _("is missing")) for key in ("base_url", "model") if not getattr(self, key))
        for name in PARAMETERS:
            if name in self.extra:
                yield ("extra", name), _("does not belong under extra: write %(name)s directly in the table", name=name)
        for name in OF_JUDGES:
            if name in self.extra:
                yield ("extra", name), _("is a key of [[judges]] itself: write %(name)s beside extra", name=name)


@dataclass(frozen=True, kw_only=True)
class ArmFile(ModelFile):
    """A model under study ([models](models.md))."""

    key: Annotated[Slug, about("Its name in every exported file. Participants never see it.", "a1")]
    title: Annotated[FileText, about("Its name for people, as the debrief tells it; by default the key.", "GPT-4o")] = (
        field(default_factory=dict)
    )
    prompt: Annotated[
        Line,
        about(
            "The file with its system prompt: `x.txt` for all languages, or `x` for `x.en.txt` and `x.zh.txt`. It lies "
            "next to the study file, in a folder below, or among emostudy's own.",
            "supporter",
            max_length=LONGEST_NAME,
        ),
    ] = ""
    group: Annotated[
        Line,
        about(
            "The group of models under which tables of results list it: `open`, `closed`, `in-domain`, or your own.",
            "open",
        ),
    ] = ""
    reasoning: Annotated[Truth, about("Its model reasons before it answers. Tables of results mark it.", True)] = False

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return what does not go together."""
        yield from super().broken_rules(_around)
        yield from script_faults(self, SCRIPTS["arms"])


@dataclass(frozen=True, kw_only=True)
class JudgeFile(ModelFile):
    """A model that answers the rating scales ([LLM judges](judges.md))."""

    key: Annotated[Slug, about("Its name in every exported file.", "gpt4o")]
    title: Annotated[FileText, about("Its name for people; by default the key.", "GPT-4o")] = field(
        default_factory=dict
    )
    role: Annotated[
        Line,
        OneOf(tuple(ROLES)),
        about(
            "As whom it rates: as the seeker (`seeker`, the default), as an outside evaluator (`evaluator`), or by the "
            "third-person rubric (`rubric`). [The roles](judges.md#roles).",
            "rubric",
        ),
    ] = SEEKER.name
    prompt: Annotated[
        Line,
        about(
            "The file with its standing text, in place of that of its role in [prompts](prompts.md).",
            "our_judge",
            max_length=LONGEST_NAME,
        ),
    ] = ""
    structured: Annotated[Truth, about("Ask for its answer by a JSON schema.", True)] = False
    redact: Annotated[
        Truth, about("Mask names and similar details in everything that is sent to this model.", True)
    ] = False

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return what does not go together."""
        yield from super().broken_rules(_around)
        yield from script_faults(self, SCRIPTS["judges"])
        if self.structured and RESPONSE_FORMAT in self.extra:
            yield ("extra", RESPONSE_FORMAT), _("is already set by structured = true: leave out one of them")


@dataclass(frozen=True, kw_only=True)
class SeekerFile(ModelFile):
    """The model that plays simulated seekers, and who speaks first with them ([simulated seekers](simulation.md))."""

    opens: Annotated[
        Line,
        OneOf(OPENERS),
        about(
            "Who speaks first. With `supporter`, simulated conversations begin with the `opening` of `[chat]`; without "
            "one, each arm is asked for its first message.",
            "supporter",
        ),
    ] = OPENERS[0]


class DisplayFile(TypedDict, total=False):
    """What pages show, and how fast."""

    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    reveal_arms: Annotated[Truth, about("Tell people at the end which models they talked with.", True)]
    timings: Annotated[Truth, about("Measure how people type, read and answer. The consent form must say so.", True)]
    shuffle_items: Annotated[
        Truth,
        about(
            "Show the items of rating scales in an order drawn for each person, the same for all their ratings. The "
            "exported ratings tell each item's place (`item_position`).",
            True,
        ),
    ]
    first_piece_seconds: Annotated[
        Number,
        about(
            "Every reply begins at least this many seconds after the message, so that speed does not reveal an arm.",
            2.0,
            ge=0,
            le=LONGEST_FLOOR,
        ),
    ]
    characters_per_second: Annotated[
        dict[str, float],
        PlainValidator(read_rates),
        about("The highest speed at which a reply is shown.", {"en": 60, "zh": 20}),
    ]
    self_naming: Annotated[
        Line,
        OneOf(SELF_NAMING),
        about(
            'A reply that names its model or maker: `flag` shows it, `mask` replaces the name ("an AI program").',
            "mask",
        ),
    ]
    names: Annotated[
        Lines, about("Names to look for in replies, besides the known ones and those of your arms.", ["Sidekick"])
    ]
    hourly_pay: Annotated[FileText, about("What people are paid, for the last page.", "12 EUR per hour")]
    withdraw_until: Annotated[
        FileText, about("The last day on which people can have their data deleted.", "30 June 2026")
    ]


@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """The keys at the top of the file."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    key: Annotated[Slug, AfterValidator(check_key), about("The study's name in addresses and commands.", "my_study")]
    title: Annotated[NeededText, about("The title that people read.", {"en": "A conversation", "zh": "一次对话"})]
    languages: Annotated[
        tuple[Language, ...],
        AfterValidator(check_unlike),
        Needed(),
        about("The languages that people can choose.", ["en", "zh"]),
    ]
    country: Annotated[
        NeededLine,
        AfterValidator(check_country),
        about("The country whose emergency numbers the help page shows.", "DE"),
    ]
    contact: Annotated[Email, Needed(), about("The address for questions about the study.", "lab@example.org")]
    oncall_email: Annotated[
        Email,
        Needed(unless=("safety", "oncall")),
        about(
            "The address that gets a mail when someone may be in danger. Needed as long as there are no contacts under "
            "`[safety.oncall]`: with them, alarms go to them alone.",
            "oncall@example.org",
        ),
    ] = ""
    selection: Annotated[
        Line, OneOf(SELECTIONS), about("`manual`: researchers select people after the screening.", "manual")
    ] = "auto"
    keep_declined_days: Annotated[
        Whole,
        about(
            "With manual selection: number of days after which the answers of people who were declined or screened out "
            "are deleted.",
            90,
            ge=1,
            le=LONGEST_TIMEOUT,
        ),
    ] = KEEP_DECLINED_DAYS
    open: Annotated[Truth, about("Anyone who knows the address `/open/KEY/` can join.", True)] = False
    one_browser: Annotated[
        Truth,
        about(
            "A personal link works only in the browser in which its button was pressed first: a link that others read "
            "opens nothing. People who change browser need a new link.",
            True,
        ),
    ] = False
    gone_after_days: Annotated[
        Whole | None,
        about(
            "Number of days without a sign of life after which a participation ends; by default it never does.",
            30,
            ge=1,
            le=LONGEST_TIMEOUT,
        ),
    ] = None
    consent: ConsentFile | None = None
    steps: tuple[Annotated[StepSpec, BeforeValidator(fill_step)], ...] = ()
    chat: Annotated[ChatSpec, AfterValidator(settle_checkpoints)] = field(default_factory=ChatSpec)
    order: Annotated[OrderSpec, AfterValidator(settle_raters)] = field(default_factory=OrderSpec)
    arms: tuple[ArmFile, ...] = ()
    judges: tuple[JudgeFile, ...] = ()
    seeker: SeekerFile | None = None
    evaluator: Annotated[
        ModelFile | None,
        about("The model that rates in the place of simulated seekers; by default the one that plays them.", None),
    ] = None
    display: DisplayFile = field(default_factory=DisplayFile)
    role_play: RolePlaySpec = field(default_factory=RolePlaySpec)
    safety: SafetyRules = field(default_factory=SafetyRules)
    primary: tuple[ContrastFile, ...] = ()
    alt_test: AltTestSpec = field(default_factory=AltTestSpec)
    payment: PaymentSpec | None = None
    retention: RetentionSpec | None = None
    prompts: Annotated[
        dict[str, PromptName],
        AfterValidator(check_prompt_names),
        about("Files with your own texts for [prompts](prompts.md), by name.", {"judge": "our_judge"}),
    ] = field(default_factory=dict)
