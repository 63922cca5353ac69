"""Settings of the simulated seekers for one job, as they are frozen in its plan."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

from dialogue.languages import CODES
from dialogue.models import Call
from dialogue.prompts import DEFAULTS, Prompts
from dialogue.providers.base import ModelSettings, copy_settings
from dialogue.seekers.behaviours import Condition, average, worst_case
from dialogue.seekers.profiles import Profile
from dialogue.seekers.prompts import NAMES
from dialogue.simulation.runner import Seeker
from studies.design.spec import ArmSpec
from studies.judging.settings import digest, to_plain

SCRIPT = "seeker_talker"  # one of the scripts that play the demonstration's seekers
EVALUATOR_SCRIPT = "seeker_evaluator"
MOST_TURNS, MOST_REPLICATES = 100, 20  # that may be asked for
OF_EVALUATOR = ("seeker_evaluator", "judge", "repair", "reminder")  # prompts that serve a seeker's ratings too
EVALUATOR_TEMPERATURE = 0.0  # EmoHarbor, Section 4.1


class RatingModel(NamedTuple):
    """The model that rates for a simulated seeker. `who`: its name in error messages."""

    settings: ModelSettings
    provider: str
    purpose: Call.Purpose
    who: str


@dataclass(frozen=True)
class Setup:
    """Settings of simulated seekers. `without`: behaviours left out. `one_agent`, `simple_profile`: the ablations of
    EmoHarbor's Section 4.1.1. `evaluator`: the model that rates for them; None for the one that plays them."""

    seeker: ArmSpec
    condition: Literal["average", "worst_case"]
    without: tuple[str, ...] = ()
    one_agent: bool = False
    simple_profile: bool = False
    max_turns: int = 15  # EmoHarbor, Section 4.1
    review: bool = False
    prompts: Prompts = DEFAULTS
    evaluator: ArmSpec | None = None

    def name(self) -> str:
        """Return the name that tells an ablation from the whole; empty for the whole."""
        changes = [f"without {behaviour}" for behaviour in self.without]
        changes += ["one agent"] if self.one_agent else []
        return ", ".join(changes + (["simple profile"] if self.simple_profile else []))

    def condition_of(self, profile: Profile) -> Condition:
        """Return the condition.

        Raises ValueError for an unknown behaviour and for a profile too easy to be a worst case.
        """
        return average(profile) if self.condition == "average" else worst_case(profile, without=self.without)

    def seeker_of(self, profile: Profile) -> Seeker:
        return Seeker(
            profile=profile,
            condition=self.condition_of(profile),
            model=self.model(),
            provider=self.seeker.provider,
            thinks=not self.one_agent,
            detail="simple" if self.simple_profile else "full",
            prompts=self.prompts,
        )

    def model(self) -> ModelSettings:
        """Return the settings of the model that plays the seekers."""
        return copy_settings(self.seeker, model=SCRIPT if self.seeker.kind == "scripted" else self.seeker.model)

    def rating_model(self) -> RatingModel:
        """Return the model that rates, and how the ledger calls what it is asked for."""
        if self.evaluator is None:
            settings = replace(self.model(), temperature=EVALUATOR_TEMPERATURE)
            return RatingModel(_with_script(settings), self.seeker.provider, Call.Purpose.JUDGE, "seeker")
        temperature = self.evaluator.temperature
        settings = copy_settings(
            self.evaluator, temperature=EVALUATOR_TEMPERATURE if temperature is None else temperature
        )
        return RatingModel(_with_script(settings), self.evaluator.provider, Call.Purpose.EVALUATOR, "evaluator")

    def models(self) -> dict[str, ModelSettings]:
        """Return the settings of the models that are asked besides the arms, by the names that a refusal gives them."""
        rating = {"evaluator": self.rating_model().settings} if self.evaluator else {}
        return {"seeker": self.model(), **rating}

    def hash(self) -> str:
        """Return the same value for the same seekers, whoever they talk to."""
        values = self.as_plan()
        values.pop("review")
        own = values.pop("prompts")["own"]
        if self.evaluator is None:
            values.pop("evaluator")  # setups from before there was one keep their hash
        for name in ("seeker", "evaluator"):
            values.get(name, {}).pop("api_key_env", None)
        versions = [self.prompts.get(name, language).label for name in NAMES for language in CODES]
        others = {name: own[name] for name in OF_EVALUATOR if name in own}
        return digest([values, versions, *([others] if others else [])])

    def as_plan(self) -> dict[str, Any]:
        models = {"seeker": _plan_of(self.seeker), "evaluator": self.evaluator and _plan_of(self.evaluator)}
        return {**asdict(self), **models, "without": list(self.without)}

    @classmethod
    def from_plan(cls, plan: dict[str, Any]) -> "Setup":
        values = {name: plan[name] for name in cls.__dataclass_fields__ if name in plan}
        evaluator = plan.get("evaluator")  # plans from before there was one lack it
        return cls(
            **{
                **values,
                "seeker": ArmSpec(**plan["seeker"]),
                "evaluator": ArmSpec(**evaluator) if evaluator else None,
                "without": tuple(plan["without"]),
                "prompts": Prompts(plan["prompts"]["own"]),
            }
        )


def _with_script(settings: ModelSettings) -> ModelSettings:
    return replace(settings, model=EVALUATOR_SCRIPT) if settings.kind == "scripted" else settings


def _plan_of(model: ArmSpec) -> dict[str, Any]:
    return {name: to_plain(getattr(model, name)) for name in ArmSpec.__dataclass_fields__}
