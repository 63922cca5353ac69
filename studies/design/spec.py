"""A study as values, the same whether it came from a file or from the database. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from dialogue.languages import CODES, LANGUAGES
from studies.design.safety_rules import SafetyRules
from studies.instruments.definitions import COUNSELLOR

Text = Mapping[str, str]

TRACKS = ("all", "participant", "counsellor", "reviewer")
# Kinds of step that a study file may name; a feature from elsewhere adds its own when it registers it.
STEPS = ["consent", "questionnaire", "training", "chats", "interview", "blinding", "reviews", "pairs", "debrief"]
BLINDING = "blinding"  # the step, and its one instrument
INTERVIEW = "interview"  # the step, and the kind of the instruments that guide one
SELF = "self"  # the mode of an interview that a person answers alone, in writing
OF_JUDGES = ("structured", "redact")  # keys of [[judges]] alone; they stand in `extra`, and are never sent
CONSENT_KEYS = ("instrument", "version", "providers", "flags")  # of [consent]; the others fill in its form
TIMINGS = "if_timings"  # the part of a consent form that tells of them
CHECKPOINTS = "if_checkpoints"  # likewise
FOR_PARTICIPANTS, FOR_EXPERTS = "if_participant", "if_expert"  # the parts for people who are themselves, and who play
TOPIC_FLAGS = {"keep": "if_keep_topic", "change": "if_change_topic", "choose": "if_choose_topic"}
USUAL_RATERS = 3  # of an arm in a block plan


@dataclass(frozen=True)
class ArmSpec:
    """One model under study, or one judge: who answers, with which settings and which system prompt."""

    key: str
    title: Text
    kind: str
    base_url: str = ""
    model: str = ""
    api_key_env: str = ""
    provider: str = ""  # the company that gets the text, by the name that the consent form uses
    prompt: str = ""  # the prompt's file name
    prompt_text: Mapping[str, str] = field(default_factory=dict)  # by language; {"": …} where one text serves all
    temperature: float | None = None
    max_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def structured(self) -> bool:
        """Of a judge: the answer is asked for by a JSON schema."""
        return bool(self.extra.get("structured"))

    @property
    def redact(self) -> bool:
        """Of a judge: what tells who somebody is, is taken out of what it is sent."""
        return bool(self.extra.get("redact"))

    def extra_for_model(self) -> dict[str, Any]:
        return {name: value for name, value in self.extra.items() if name not in OF_JUDGES}


@dataclass(frozen=True)
class StepSpec:
    kind: str  # consent, questionnaire, training, chats, interview, blinding, reviews, pairs, debrief
    instrument: str = ""
    track: str = "all"  # participant, counsellor, reviewer; all: those who chat, that is not reviewers
    mode: str = ""  # of an interview: self (the person writes) or interviewer

    def is_for(self, track: str) -> bool:
        return self.track == track or (self.track == "all" and track != "reviewer")


@dataclass(frozen=True)
class ChatSpec:
    min_turns: int = 10
    max_turns: int = 30
    checkpoints: tuple[int, ...] = (5, 10)  # after these turns
    checkpoint_every: int | None = None  # or after every k turns
    checkpoint_instrument: str = ""
    final_instruments: tuple[str, ...] = ()
    counsellor_instruments: tuple[str, ...] = ()  # after the final ones, where the seeker is a counsellor in a role
    de_roling_instrument: str = ""  # for counsellors in the place of the emotion check after the conversation
    rate_each_reply: bool = False
    emotion_instrument: str = ""
    give_profile: bool = False
    topic: str = "choose"  # of the next conversation: keep the first one, change it, or as the person chooses

    def for_track(self, track: str) -> "ChatSpec":
        """As people of this track have it. Counsellors are asked more afterwards, and nothing that would break their
        role while they play (PROTOCOL §2); their topic is the role card, so none is asked."""
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
        """The turn counts after which the conversation waits for a rating, ascending, up to `max_turns`."""
        if not self.checkpoint_instrument:
            return ()
        if self.checkpoint_every:
            return tuple(range(self.checkpoint_every, self.max_turns + 1, self.checkpoint_every))
        return tuple(sorted(turn for turn in self.checkpoints if turn <= self.max_turns))

    def checkpoint_interval(self) -> int | None:
        """Every how many turns a checkpoint comes; `None` where there is none or they are not evenly spread."""
        if self.checkpoint_every or not self.checkpoints:
            return self.checkpoint_every
        first, last = min(self.checkpoints), max(self.checkpoints)
        return first if sorted(self.checkpoints) == list(range(first, last + 1, first)) else None


@dataclass(frozen=True)
class OrderSpec:
    design: str = "williams"  # williams, blocks, random
    arms_per_person: int | None = None  # None: all of them
    seed: int = 1
    counsellors: int | None = None  # so many share the arms by a block plan (design/blocks.py)
    raters_per_arm: int | None = None  # so many of them meet each arm


@dataclass(frozen=True)
class RolePlaySpec:
    """What counsellors play."""

    cards: tuple[str, ...] = ()  # files of role cards, or instruments that are such files


@dataclass(frozen=True, kw_only=True)
class ContrastSpec:
    """A comparison that is declared before data are seen: of two strategies of a judge, or of two arms.

    Each pair in the order of the alphabet. `item` of two arms may be "*", the mean over the instrument's items."""

    strategies: tuple[str, ...] = ()
    judge: str = ""  # of two strategies
    arms: tuple[str, ...] = ()
    item: str
    instrument: str
    raters: str = "seeker"  # with whom the judge is to agree, or who rate the arms
    moment: str = "final"
    seekers: str = ""  # of two arms: who met them
    condition: str = ""  # of two arms, where not people as themselves met them

    def pair(self) -> tuple[str, ...]:
        return self.strategies or self.arms


@dataclass(frozen=True)
class ConsentSpec:
    instrument: str
    version: str
    values: Mapping[str, Text] = field(default_factory=dict)  # what the study says for the form's placeholders
    flags: tuple[str, ...] = ()  # the `if_…` parts that are kept
    providers: tuple[str, ...] = ()  # who may get a person's text


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
    gone_after_days: int | None = None  # without a sign of life, before a person counts as gone; None: never
    safety: SafetyRules = field(default_factory=SafetyRules)
    primary: tuple[ContrastSpec, ...] = ()  # all other comparisons are exploratory

    def records_timings(self) -> bool:
        """Whether the page measures how people type, read and answer. The consent form then says so."""
        return bool(self.display.get("timings"))

    def characters_per_second(self, language: str) -> float | None:
        """How fast a reply is shown at most; `None` for as fast as it comes."""
        rate: float | None = self.display.get("characters_per_second", {}).get(language)
        return rate

    def names(self) -> tuple[str, ...]:
        """What must not be read in a reply: the names of the models under study and of their makers."""
        of_arms = [
            name
            for arm in self.arms
            if arm.kind != "scripted"
            for name in (arm.model, arm.provider, *arm.title.values())
        ]
        return tuple(dict.fromkeys(name for name in [*self.display.get("names", ()), *of_arms] if name))

    def has_block_plan(self, track: str) -> bool:
        return track == COUNSELLOR and self.order.counsellors is not None

    def arms_per_person(self, track: str = "participant") -> int:
        """By the block plan at most so many: some may have one less."""
        if self.has_block_plan(track):
            return ceil(len(self.arms) * (self.order.raters_per_arm or 0) / (self.order.counsellors or 1))
        return self.order.arms_per_person or len(self.arms)

    def consent_flags(self, track: str) -> set[str]:
        """The parts that the consent form keeps: those that the study's file names, and what the design implies for
        this track."""
        chat = self.chat.for_track(track)
        implied = {
            TIMINGS: self.records_timings(),
            CHECKPOINTS: bool(chat.pauses()),
            FOR_EXPERTS: track == COUNSELLOR,
            FOR_PARTICIPANTS: track != COUNSELLOR,
            TOPIC_FLAGS[chat.topic]: self.arms_per_person(track) > 1,
        }
        named = set(self.consent.flags) if self.consent else set()
        return named | {flag for flag, holds in implied.items() if holds}

    def consent_values(self, track: str = "participant") -> dict[str, Text]:
        """What fills the consent form's placeholders: what the design implies, then what the study itself says. Of what
        the study says that there is none, there is no value."""
        providers = self.consent.providers if self.consent else ()
        implied: dict[str, Text] = {}
        if providers:
            implied["model_providers"] = {one.code: one.comma.join(providers) for one in LANGUAGES}
        if self.gone_after_days:
            implied["deadline"] = until_gone(self.gone_after_days)
        numbers = {
            "n_arms": self.arms_per_person(track),
            "min_turns": self.chat.min_turns,
            "checkpoint_every": self.chat.checkpoint_interval(),
        }
        for name, number in numbers.items():
            if number is not None:
                implied[name] = dict.fromkeys(CODES, str(number))
        own = self.consent.values if self.consent else {}
        return implied | {name: text for name, text in own.items() if any(text.values())}


def until_gone(days: int) -> Text:
    """As the consent form goes on after "come back until"."""
    return {"en": f"{days} {'day' if days == 1 else 'days'} after your last visit", "zh": f"您上次来访后满 {days} 天"}
