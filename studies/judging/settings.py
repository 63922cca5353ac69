"""Settings by which a judge's model is asked, and the hash of all that decides an answer."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from dialogue.deidentification import redaction
from dialogue.judges import probes, schemas
from dialogue.judges.roles import SEEKER, Role
from dialogue.judges.strategies import get_strategy
from dialogue.languages import CODES
from dialogue.prompts import DEFAULTS, Prompts, StandingText
from dialogue.providers.base import ModelSettings, copy_settings
from studies.design.spec import ArmSpec, StudySpec

JUDGE_TEMPERATURE = 0.0  # EmoHarbor §4.1: its evaluator
THINKER_TEMPERATURE = 0.1  # EmoHarbor §4.1: its Thinker
WARM_TEMPERATURE = 0.7  # EmoHarbor §4.1: its Talker
MOST_REPLICATES = 100  # that may be asked for


@dataclass(frozen=True)
class Configuration:
    """A judge at work: who, with which strategy, and asked as it is or in a variant (see dialogue/judges/probes.py)."""

    judge: ArmSpec
    strategy: str
    variant: str = probes.PLAIN
    prompts: Prompts = DEFAULTS

    @classmethod
    def of(cls, spec: StudySpec, judge: ArmSpec, strategy: str, variant: str = probes.PLAIN) -> "Configuration":
        """Return the judge at work with the prompts of its study."""
        return cls(judge, strategy, variant, spec.prompts_of(judge))

    @property
    def rater(self) -> str:
        """Return the code of its Rater. What is asked otherwise is another rater."""
        return f"{self.judge.key}{probes.SIGN}{self.variant}" if self.variant else self.judge.key

    @property
    def role(self) -> Role:
        """Return as whom the judge rates."""
        return self.judge.role

    def get_standing_text(self, language: str) -> StandingText:
        """Return the standing text of the judge's role and strategy."""
        return get_strategy(self.strategy).get_standing_text(language, self.prompts, self.role.prompt)

    def with_variant(self, variant: str) -> "Configuration":
        return replace(self, variant=variant)

    @property
    def structured(self) -> bool:
        return is_structured(self.judge)

    @property
    def redacts(self) -> bool:
        """Return whether what identifies a person is removed before anything is sent."""
        return self.judge.redact or get_strategy(self.strategy).redacts

    def settings(self) -> ModelSettings:
        settings = judge_settings(self.judge)
        return replace(settings, temperature=WARM_TEMPERATURE) if self.variant == probes.WARM else settings

    def hash(self) -> str:
        """Return the same value for the same questions to the same model."""
        settings = self.settings()
        model = settings.identity()
        versions = [self.get_standing_text(language).label for language in CODES]
        versions += [self.prompts.get("repair", language).label for language in CODES]
        if self.variant:
            versions.append(probes.get_version())
        if self.role != SEEKER:  # judges from before there were roles keep their hash
            versions.append(f"role/{self.role.name}")
        versions += get_sending_versions(self.judge, redacts=self.redacts)
        return digest([self.rater, self.strategy, self.variant, model, settings.request_options(), versions])

    def thinker_hash(self) -> str:
        """Return the hash of the Thinker's questions. Its inner states serve every strategy and variant."""
        settings = thinker_settings(self.judge)
        model = settings.identity()
        versions = [self.prompts.get("thinker", language).label for language in CODES]
        versions += get_sending_versions(self.judge, redacts=self.redacts)
        return digest([self.judge.key, model, settings.request_options(), versions])

    def as_plan(self) -> dict[str, Any]:
        """Return the configuration as a job stores it. `from_plan` reads it in the process that works on the job."""
        names = ArmSpec.__dataclass_fields__
        judge = {name: to_plain(getattr(self.judge, name)) for name in names}
        own = {name: dict(texts) for name, texts in self.prompts.own.items()}
        return {"judge": judge, "strategy": self.strategy, "variant": self.variant, "prompts": own}

    @classmethod
    def from_plan(cls, plan: dict[str, Any]) -> "Configuration":
        return cls(ArmSpec(**plan["judge"]), plan["strategy"], plan["variant"], Prompts(plan["prompts"]))


def is_structured(judge: ArmSpec) -> bool:
    """Return whether the judge answers in a JSON schema. A script reads none."""
    return judge.structured and judge.kind == "openai_compatible"


def get_sending_versions(judge: ArmSpec, *, redacts: bool) -> list[str]:
    """Return the versions of the schemas and of redaction, as far as this judge uses them."""
    structured = [f"structured/{schemas.VERSION}"] if is_structured(judge) else []
    return [*structured, *([f"{redaction.MARK}/{redaction.VERSION}"] if redacts else [])]


def to_plain(value: Any) -> Any:
    return dict(value) if hasattr(value, "items") else value


def digest(parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def judge_settings(judge: ArmSpec) -> ModelSettings:
    """Return the settings with which a judge's model is asked."""
    temperature = JUDGE_TEMPERATURE if judge.temperature is None else judge.temperature
    return copy_settings(judge, temperature=temperature, extra=judge.extra_for_model())


def thinker_settings(judge: ArmSpec) -> ModelSettings:
    """Return the settings of the judge's own model, or of the script of a Thinker if it is a script."""
    settings = judge_settings(judge)
    model = "thinker" if judge.kind == "scripted" else judge.model
    return replace(
        settings, model=model, temperature=THINKER_TEMPERATURE if judge.temperature is None else judge.temperature
    )
