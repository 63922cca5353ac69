"""A study as values, the same whether it came from a file or from the database. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field, PlainValidator, ValidationInfo

from dialogue.documents import suggestion
from dialogue.documents import translate as _
from dialogue.judges.roles import ROLES, SEEKER, Role
from dialogue.languages import CODES, LANGUAGES
from dialogue.prompts import Prompts, is_of_judge
from dialogue.providers.base import ModelSettings
from dialogue.schema import (
    KNOWN_KEYS_ONLY,
    Line,
    Lines,
    Needed,
    OneOf,
    Rule,
    Truth,
    Whole,
    about,
    adapter,
    check_unlike,
    refuse,
)
from studies.design.alt_test_spec import AltTestSpec
from studies.design.contrast_spec import ContrastSpec
from studies.design.payment_spec import PaymentSpec
from studies.design.retention_spec import RetentionSpec, write_day
from studies.design.safety_rules import SafetyRules
from studies.instruments.definitions import COUNSELLOR

Text = Mapping[str, str]

TRACKS = ("all", "participant", "counsellor", "reviewer")
# Kinds of step that a study file may name; a feature from elsewhere adds its own when it registers it.
STEPS = ["consent", "questionnaire", "training", "chats", "interview", "blinding", "reviews", "pairs", "debrief"]
MANUAL = "manual"  # the selection by researchers
KEEP_DECLINED_DAYS = 30  # usually
BLINDING = "blinding"  # the step, and its one instrument
INTERVIEW = "interview"  # the step, and the kind of the instruments that guide one
SELF = "self"  # the mode of an interview that a person answers alone, in writing
MODES = (SELF, "interviewer")
TOPICS = ("keep", "change", "choose")
DESIGNS = ("williams", "blocks", "random")  # of the order of arms
BIG_FIVE = {"extraversion": "E", "agreeableness": "A", "conscientiousness": "C", "neuroticism": "N", "openness": "O"}
SEVERITY = "severity"
STRATA = ("language", SEVERITY, *BIG_FIVE)
USUAL_SEVERITY = "-screening.issue_bearable"  # who can bear it least has the most severe problem
LONGEST_LEASE = 8760  # hours: a year
MOST_TURNS = 1000  # of a conversation
MOST_PARTICIPANTS = 1_000_000
MOST_COUNSELLORS = 1000
SUPPORTER = "supporter"  # who can speak first in simulated conversations, besides the seeker
OPENERS = ("seeker", SUPPORTER)
LONGEST_OPENING = 1000  # characters
SWITCHES = ("structured", "redact")  # keys of [[judges]] alone that are true or false
OF_JUDGES = (*SWITCHES, "role")  # keys of [[judges]] alone; they stand in `extra`, and are never sent
CONSENT_KEYS = ("instrument", "version", "providers", "flags")  # of [consent]; the others fill in its form
TIMINGS = "if_timings"  # the part of a consent form that tells of them
CHECKPOINTS, DAILY_LIMIT = "if_checkpoints", "if_daily_limit"  # likewise
FOR_PARTICIPANTS, FOR_EXPERTS = "if_participant", "if_expert"  # the parts for people who are themselves, and who play
TOPIC_FLAGS = {"keep": "if_keep_topic", "change": "if_change_topic", "choose": "if_choose_topic"}
USUAL_RATERS = 3  # of an arm in a block plan


@dataclass(frozen=True)
class ArmSpec(ModelSettings):
    """One model under study, or one judge: who answers, with which settings and which system prompt."""

    key: str = field(kw_only=True)
    title: Text = field(kw_only=True)
    provider: str = ""  # the company that gets the text, by the name that the consent form uses
    prompt: str = ""  # the prompt's file name
    prompt_text: Mapping[str, str] = field(default_factory=dict)  # by language; {"": …} where one text serves all
    group: str = ""  # of an arm: the models with which results list it
    reasoning: bool = False  # of an arm: its model reasons before it answers

    @property
    def structured(self) -> bool:
        """Return whether this judge is asked for its answer by a JSON schema."""
        return bool(self.extra.get("structured"))

    @property
    def redact(self) -> bool:
        """Return whether this judge is sent texts without what tells who someone is."""
        return bool(self.extra.get("redact"))

    @property
    def role(self) -> Role:
        """Return as whom this judge rates."""
        return ROLES[self.extra.get("role", SEEKER.name)]

    def extra_for_model(self) -> dict[str, Any]:
        """Return the parameters that are sent to the model."""
        return {name: value for name, value in self.extra.items() if name not in OF_JUDGES}


@dataclass(frozen=True)
class PromptSpec:
    """A text of the study's own in place of a prompt of emostudy's. `texts`: by language; {"": …} for all."""

    file: str
    texts: Mapping[str, str]


def check_instrument(name: str, info: ValidationInfo) -> str:
    """Return the name where it is an instrument that a study may use."""
    if info.context and name and name not in info.context.instruments:
        way_out = suggestion(name, info.context.instruments) or _(
            "; if it was made on another server, upload its file under Studies → Questionnaires first"
        )
        raise ValueError(_('unknown instrument "%(name)s"', name=name) + way_out)
    return name


Instrument = Annotated[Line, AfterValidator(check_instrument)]
Instruments = Annotated[tuple[Instrument, ...], AfterValidator(check_unlike)]


@dataclass(frozen=True)
class StepSpec:
    """One step of the study. Steps come in the order of the file."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    kind: Annotated[Line, OneOf(STEPS), Needed(), about("What people do in this step.", "questionnaire")]
    instrument: Annotated[
        Instrument,
        about(
            "The instrument of a questionnaire. Other kinds have a default: `training` uses comprehension_check, "
            "`blinding` its own, and `interview` interview_guide.",
            "screening",
        ),
    ] = ""
    track: Annotated[
        Line,
        OneOf(TRACKS),
        about("The people who have this step. `all`: participants and counsellors, not reviewers.", "participant"),
    ] = "all"
    mode: Annotated[
        Line,
        OneOf(MODES),
        about("How an interview is held: in writing (`self`, the default) or by an interviewer.", "interviewer"),
    ] = ""

    def is_for(self, track: str) -> bool:
        """Return whether people of this track have the step."""
        return self.track == track or (self.track == "all" and track != "reviewer")

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return what does not go together."""
        if self.kind == "questionnaire" and not self.instrument:
            yield ("instrument",), _("is missing")
        if self.mode and self.kind and self.kind != INTERVIEW:
            yield ("mode",), _("belongs to interview steps only")


Turns = Annotated[Whole, Field(ge=1, le=MOST_TURNS)]


@dataclass(frozen=True)
class Spacing:
    """Checkpoints that come after every so many turns."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    every: Turns


def read_checkpoints(value: Any) -> Any:
    """Return the turns of a list, or the spacing of a table."""
    if isinstance(value, Spacing | tuple):
        return value
    if isinstance(value, dict):
        return adapter(Spacing).validate_python(value)
    turns = adapter(tuple[Whole, ...]).validate_python(value)
    if turns and (turns[0] < 1 or list(turns) != sorted(turns)):
        raise ValueError(_("must be turn counts from 1, ascending"))
    return turns


def read_text(value: Any, info: ValidationInfo) -> Text:
    """Return a text in every language of the study: one string for all of them, or a table by language."""
    languages = cast(Any, info.context).languages
    if isinstance(value, str):
        return dict.fromkeys(languages, value.strip())
    if not isinstance(value, dict):
        raise ValueError(_("must be text, or a table of texts by language"))
    wrong = {key: _("unknown key") + suggestion(key, CODES) for key in value if key not in CODES}
    for language in CODES:
        if not isinstance(value.get(language, ""), str):
            wrong[language] = _("must be text")
        elif language in languages and not value.get(language, "").strip():
            wrong[language] = _("is missing")
    if wrong:
        raise refuse(((key,), message) for key, message in wrong.items())
    return {language: value[language].strip() for language in CODES if language in value}


def read_opening(value: Any, info: ValidationInfo) -> Text:
    """Return the text, or nothing where it is empty, if a bubble can hold it."""
    if value == "":
        return {}
    texts = read_text(value, info)
    wrong = {language: text for language, text in texts.items() if len(text) > LONGEST_OPENING}
    if wrong:
        places = ((language,) if isinstance(value, dict) else () for language in wrong)
        raise refuse(
            (place, _("is longer than %(limit)s characters", limit=LONGEST_OPENING)) for place in dict.fromkeys(places)
        )
    return texts


@dataclass(frozen=True)
class ChatSpec:
    """The conversations, and what people rate."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    min_turns: Annotated[Whole, about("A conversation can be finished from this turn on.", 10, ge=1, le=MOST_TURNS)] = (
        10
    )
    max_turns: Annotated[Whole, about("A conversation ends with this turn.", 30, ge=1, le=MOST_TURNS)] = 30
    checkpoints: Annotated[
        tuple[int, ...],
        PlainValidator(read_checkpoints),
        about("The turns after which people rate the conversation so far; or `{every = 5}`.", [5, 10]),
    ] = ()
    checkpoint_every: Annotated[
        Whole | None,
        about("Rate after every so many turns, in the place of `checkpoints`.", 5, ge=1, le=MOST_TURNS, alias="every"),
    ] = None
    checkpoint_instrument: Annotated[Instrument, about("The rating scale of the checkpoints.", "turn_checkpoint")] = ""
    final_instruments: Annotated[
        Instruments, about("The rating scales after a conversation. Chats need at least one.", ["emoharbor_10"])
    ] = ()
    counsellor_instruments: Annotated[
        Instruments, about("Additional rating scales for counsellors, who play a seeker.", ["worst_case_4"])
    ] = ()
    de_roling_instrument: Annotated[
        Instrument, about("Replaces the emotion check after a conversation for counsellors.", "de_roling")
    ] = ""
    rate_each_reply: Annotated[Truth, about("Ask for a rating of each single reply.", True)] = False
    emotion_instrument: Annotated[
        Instrument, about("The emotion check before and after a conversation.", "emotion_checkin")
    ] = ""
    give_profile: Annotated[
        Truth, about("Give the models the person's profile, in the place of `{profile}` in the prompt.", True)
    ] = False
    redact_calls: Annotated[
        Truth,
        about(
            "Mask names, e-mail and postal addresses, telephone and other long numbers in what people write, before it "
            "is sent to arms and the second line ([what is found](judges.md#redaction)).",
            True,
        ),
    ] = False
    redact_exports: Annotated[
        Truth,
        about(
            "Mask the same things in training data and in the texts of exported tables. The column `redacted` shows "
            "where.",
            True,
        ),
    ] = False
    topic: Annotated[
        Line,
        OneOf(TOPICS),
        about("The topic of the next conversation: the first one again, a new one, or the person's choice.", "keep"),
    ] = "choose"
    conversations_per_day: Annotated[
        Whole | None,
        about(
            "The most conversations that a person begins on one day (`time_zone` under `[safety]`). Without it, "
            "they can have all on one day.",
            2,
            ge=1,
            le=MOST_TURNS,
        ),
    ] = None
    opening: Annotated[
        Text,
        PlainValidator(read_opening),
        about(
            "A first message of the supporter, the same for all arms, at most 1000 characters. Without it, people "
            "write first ([who speaks first](conversations.md#who-speaks-first)).",
            {"en": "Hello! What is on your mind?", "zh": "你好！今天想聊些什么？"},
        ),
    ] = field(default_factory=dict)

    def broken_rules(self, _around: Any) -> Iterator[Rule]:
        """Return what does not go together."""
        if self.checkpoints and self.checkpoint_every:
            yield ("every",), _("give checkpoints or every, not both")

    def asked_of_counsellors(self) -> tuple[str, ...]:
        """Return the instruments that counsellors alone answer after a conversation."""
        return tuple(filter(None, (*self.counsellor_instruments, self.de_roling_instrument)))

    def for_track(self, track: str) -> "ChatSpec":
        """Return the section as people of this track have it. Counsellors are asked more afterwards, and nothing that
        would break their role while they play (PROTOCOL §2); their topic is the role card, so none is asked."""
        if track != COUNSELLOR:
            return replace(self, counsellor_instruments=(), de_roling_instrument="")
        final = dict.fromkeys((*self.final_instruments, *self.counsellor_instruments))
        return replace(
            self,
            final_instruments=tuple(final),
            checkpoints=(),
            checkpoint_every=None,
            checkpoint_instrument="",
            topic="keep",
        )

    def pauses(self) -> tuple[int, ...]:
        """Return the turn counts after which the conversation waits for a rating, ascending, up to `max_turns`."""
        if not self.checkpoint_instrument:
            return ()
        if self.checkpoint_every:
            return tuple(range(self.checkpoint_every, self.max_turns + 1, self.checkpoint_every))
        return tuple(sorted(turn for turn in self.checkpoints if turn <= self.max_turns))

    def checkpoint_interval(self) -> int | None:
        """Return the number of turns between checkpoints; `None` where there are none or they are not evenly spread."""
        if self.checkpoint_every or not self.checkpoints:
            return self.checkpoint_every
        first, last = min(self.checkpoints), max(self.checkpoints)
        return first if sorted(self.checkpoints) == list(range(first, last + 1, first)) else None


@dataclass(frozen=True)
class OrderSpec:
    """The arms that each person meets in which order ([allocation](setting_up.md#allocation-who-meets-which-arms))."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    design: Annotated[
        Line,
        OneOf(DESIGNS),
        about(
            "`williams`: each arm comes equally often in each place and after each other arm. `blocks`: each arm comes "
            "equally often in each place. `random`: each arm is used equally often, each person has their own order. "
            "Where a person meets only some arms, all arms and, where possible, all pairs of arms are used equally "
            "often.",
            "williams",
        ),
    ] = "williams"
    arms_per_person: Annotated[
        Whole | None, about("Number of arms that each person meets; by default all.", 2, ge=1)
    ] = None
    seed: Annotated[Whole, about("The seed of the draws.", 1)] = 1
    counsellors: Annotated[
        Whole | None,
        about("Number of counsellors who share the arms (only with `blocks`).", 8, ge=1, le=MOST_COUNSELLORS),
    ] = None
    raters_per_arm: Annotated[
        Whole | None,
        about("Number of counsellors who meet each arm; 3 by default.", 3, ge=1, le=MOST_COUNSELLORS),
    ] = None
    strata: Annotated[
        tuple[Annotated[Line, OneOf(STRATA)], ...],
        AfterValidator(check_unlike),
        about(
            "Qualities of people within which arms are balanced at each position, by minimisation. They must be known "
            "before the conversations.",
            ["language", "neuroticism"],
        ),
    ] = ()
    severity: Annotated[
        Line,
        about(
            "With `severity` among the strata: the item or scale that measures it, as INSTRUMENT.KEY. A minus sign "
            "in front means that low values are severe. By default `-screening.issue_bearable`.",
            "-screening.issue_bearable",
        ),
    ] = ""
    lease_hours: Annotated[
        Whole | None,
        about(
            "Number of hours without a sign of life after which a person under way no longer counts for the balance. "
            "They keep their order, and count again when they come back. By default people count until they time out.",
            48,
            ge=1,
            le=LONGEST_LEASE,
        ),
    ] = None
    participants: Annotated[
        Whole | None,
        about(
            "Number of participants who are to complete the study. When this many have completed it or are under "
            "way, no one new can start. By default there is no limit.",
            200,
            ge=1,
            le=MOST_PARTICIPANTS,
        ),
    ] = None

    def severity_source(self) -> tuple[str, str, bool]:
        """Return the instrument, the key of its item or scale, and whether low values are severe."""
        name = self.severity or USUAL_SEVERITY
        instrument, _dot, key = name.removeprefix("-").partition(".")
        return instrument, key, name.startswith("-")


@dataclass(frozen=True)
class RolePlaySpec:
    """The roles of [counsellors who play seekers](counsellors.md#counsellors-who-play-seekers)."""

    __pydantic_config__ = KNOWN_KEYS_ONLY

    cards: Annotated[
        Lines,
        about(
            "JSON files of [role cards](profiles.md) next to the study file, or instruments.", ["seeker_profiles_demo"]
        ),
    ] = ()


@dataclass(frozen=True)
class ConsentSpec:
    instrument: str
    version: str
    values: Mapping[str, Text] = field(default_factory=dict)  # what the study says for the form's placeholders
    flags: tuple[str, ...] = ()  # the `if_…` parts that are kept
    providers: tuple[str, ...] = ()  # who may get a person's text


# Placeholders of the consent form that days of [retention] fill, where the study's own words do not.
DAYS_IN_CONSENT = {
    "withdrawal_deadline": "delete_until",
    "key_deletion_date": "contacts_until",
    "retention_end": "keep_until",
}


@dataclass(frozen=True)
class StudySpec:
    """All that a study file says. A `Text` is a mapping by language, also where the file has one plain string."""

    key: str
    title: Text
    languages: tuple[str, ...]
    country: str
    contact: str
    oncall_email: str
    selection: str  # auto, manual
    open_enrolment: bool
    consent: ConsentSpec | None
    steps: tuple[StepSpec, ...]
    chat: ChatSpec
    order: OrderSpec
    arms: tuple[ArmSpec, ...]
    judges: tuple[ArmSpec, ...]
    display: Mapping[str, Any] = field(default_factory=dict)
    role_play: RolePlaySpec = RolePlaySpec()
    seeker: ArmSpec | None = None  # the model that plays simulated seekers
    opens: str = OPENERS[0]  # who speaks first in simulated conversations
    keep_declined_days: int = KEEP_DECLINED_DAYS  # the answers of applicants who were not chosen
    gone_after_days: int | None = None  # without a sign of life, before a person counts as gone; None: never
    safety: SafetyRules = field(default_factory=SafetyRules)
    primary: tuple[ContrastSpec, ...] = ()  # all other comparisons are exploratory
    prompts: Mapping[str, PromptSpec] = field(default_factory=dict)  # by name, as in dialogue/prompts.py
    evaluator: ArmSpec | None = None  # the model that rates for simulated seekers; None: the one that plays them
    payment: PaymentSpec | None = None  # what people are paid; None: nothing
    retention: RetentionSpec | None = None  # until when data are kept; None: nothing is said
    one_browser: bool = False  # a personal link opens nothing outside the browser in which it was started
    alt_test: AltTestSpec = field(default_factory=AltTestSpec)

    def own_prompts(self) -> Prompts:
        """Return the prompts, with the study's own texts."""
        return Prompts({name: prompt.texts for name, prompt in self.prompts.items()})

    def prompts_of(self, judge: ArmSpec) -> Prompts:
        """Return the prompts of one judge: its own standing text serves all strategies."""
        if not judge.prompt_text:
            return self.own_prompts()
        others = {name: texts for name, texts in self.own_prompts().own.items() if not is_of_judge(name)}
        return Prompts({**others, judge.role.prompt: judge.prompt_text})

    def records_timings(self) -> bool:
        """Return whether the page measures how people type, read and answer. The consent form then says so."""
        return bool(self.display.get("timings"))

    def characters_per_second(self, language: str) -> float | None:
        """Return how fast a reply is shown at most; `None` for as fast as it comes."""
        rate: float | None = self.display.get("characters_per_second", {}).get(language)
        return rate

    def names(self) -> tuple[str, ...]:
        """Return what must not be read in a reply: the names of the models under study and of their makers."""
        of_arms = [
            name
            for arm in self.arms
            if arm.kind != "scripted"
            for name in (arm.model, arm.provider, *arm.title.values())
        ]
        return tuple(dict.fromkeys(name for name in [*self.display.get("names", ()), *of_arms] if name))

    def tracks(self) -> list[str]:
        """Return the tracks of people that the study has something of its own for; participants' if for none."""
        named = {step.track for step in self.steps} | ({COUNSELLOR} if self.role_play.cards else set())
        return [track for track in ("participant", COUNSELLOR) if track in named] or ["participant"]

    def has_block_plan(self, track: str) -> bool:
        return track == COUNSELLOR and self.order.counsellors is not None

    def arms_per_person(self, track: str = "participant") -> int:
        """Return how many arms a person meets at most. In a block plan some may have one less."""
        if self.has_block_plan(track):
            return ceil(len(self.arms) * (self.order.raters_per_arm or 0) / (self.order.counsellors or 1))
        return self.order.arms_per_person or len(self.arms)

    def daily_limit(self, track: str) -> int | None:
        """Return the most conversations a day, where it is fewer than people of this track have in all."""
        limit = self.chat.conversations_per_day
        return limit if limit and limit < self.arms_per_person(track) else None

    def consent_flags(self, track: str) -> set[str]:
        """Return the parts that the consent form keeps: those that the study's file names, and what the design implies
        for this track."""
        chat = self.chat.for_track(track)
        implied = {
            TIMINGS: self.records_timings(),
            CHECKPOINTS: bool(chat.pauses()),
            DAILY_LIMIT: self.daily_limit(track) is not None,
            FOR_EXPERTS: track == COUNSELLOR,
            FOR_PARTICIPANTS: track != COUNSELLOR,
            TOPIC_FLAGS[chat.topic]: self.arms_per_person(track) > 1,
        }
        named = set(self.consent.flags) if self.consent else set()
        return named | {flag for flag, holds in implied.items() if holds}

    def consent_values(self, track: str = "participant") -> dict[str, Text]:
        """Return what fills the consent form's placeholders: what the design implies, then what the study itself says.
        Of what the study says that there is none, there is no value."""
        providers = self.consent.providers if self.consent else ()
        implied: dict[str, Text] = {}
        if providers:
            implied["model_providers"] = {one.code: one.comma.join(providers) for one in LANGUAGES}
        if self.gone_after_days:
            implied["deadline"] = until_gone(self.gone_after_days)
        for placeholder, key in DAYS_IN_CONSENT.items():
            if day := self.retention and self.retention.get_day(key):
                implied[placeholder] = write_day(day)
        numbers = {
            "n_arms": self.arms_per_person(track),
            "min_turns": self.chat.min_turns,
            "checkpoint_every": self.chat.checkpoint_interval(),
            "conversations_per_day": self.daily_limit(track),
        }
        for name, number in numbers.items():
            if number is not None:
                implied[name] = dict.fromkeys(CODES, str(number))
        own = self.consent.values if self.consent else {}
        return implied | {name: text for name, text in own.items() if any(text.values())}


def until_gone(days: int) -> Text:
    """Return how the consent form goes on after "come back until"."""
    return {"en": f"{days} {'day' if days == 1 else 'days'} after your last visit", "zh": f"您上次来访后满 {days} 天"}
