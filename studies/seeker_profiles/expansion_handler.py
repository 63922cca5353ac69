"""Let a model write a further profile after a seed, look whether it is consistent, and store it for approval."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from dialogue.jobs.calls import Caller, Question
from dialogue.judges.judge import ask_until_readable
from dialogue.models import Call, Job, JobItem
from dialogue.prompts import Prompts
from dialogue.providers.base import Message, ProviderError
from dialogue.providers.registry import model_for
from dialogue.seekers.profile_checks import SENTENCES, Finding, OwnAnswers, check_profile
from dialogue.seekers.profile_draw import DrawnPart
from dialogue.seekers.profile_expansion import (
    EXPANDER,
    VALIDATOR,
    UnreadableVerdict,
    expander_messages,
    read_expansion,
    read_verdict,
    unread_reason,
    validator_messages,
)
from dialogue.seekers.profile_writer import UnreadableProfile, failure_reason
from dialogue.seekers.profiles import Profile, from_content
from studies.design.spec import ArmSpec
from studies.models import SeekerProfile, Study
from studies.seeker_profiles.checking import EXPANDED, State, check_row, profiles_of, seed_answers
from studies.seeker_profiles.expansion import Models, reasons_against

Content = TypeVar("Content")
BY_MODEL = "validator"  # in the place of a rule, where the model found it inconsistent
REFUSING = ("risk", "duplicate", "inconsistent", "language", "name", "own_words")  # what a person could only refuse


@dataclass(frozen=True)
class Material:
    """A seed, what was drawn, and what the new profile must not resemble. `own`: of the person behind the seed."""

    seed: Profile
    drawn: DrawnPart
    others: Sequence[Profile]
    own: OwnAnswers | None


@dataclass(frozen=True)
class ExpansionOutcome:
    """A profile, and why it is not stored: the rule, empty if it is, and a sentence."""

    profile: Profile
    refused: str = ""
    why: str = ""

    def result(self) -> dict[str, Any]:
        return {"refused": self.refused, "why": self.why} if self.refused else {}


class ExpansionHandler:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.study = Study.objects.get(pk=job.plan["study"])
        self.models = Models(ArmSpec(**job.plan["writer"]), ArmSpec(**job.plan["validator"]))
        self.writing, self.validating = self.models.settings().values()
        self.prompts = Prompts(job.plan["prompts"])

    def check(self) -> None:
        for settings in (self.writing, self.validating):
            model_for(settings)

    def read(self, items: Sequence[JobItem]) -> dict[int, Material]:
        """Return the material of the items. Those whose seed is no longer approved, or whose person no longer agrees,
        are left out; earlier calls about such people are deleted."""
        keys = {item.payload["seed"] for item in items}
        against = reasons_against(self.study, keys, self.models)
        Call.objects.filter(item__in=[item.pk for item in items if item.payload["seed"] in against]).delete()
        rows = {row.key: row for row in self.study.seeker_profiles.filter(key__in=keys).select_related("made_of")}
        others = profiles_of(self.study)
        materials = {item.pk: self.material(item, rows.get(item.payload["seed"]), others) for item in items}
        return {
            item.pk: material
            for item in items
            if item.payload["seed"] not in against and (material := materials[item.pk]) is not None
        }

    def material(self, item: JobItem, row: SeekerProfile | None, others: Sequence[Profile]) -> Material | None:
        content = item.payload.get("content")
        if content is None and row is not None and row.state == State.APPROVED:
            content = row.content
        if content is None:
            return None
        seed = from_content(content)
        own = seed_answers(row) if row and row.made_of else None
        return Material(seed, DrawnPart(**item.payload["drawn"]), [*others, seed], own)

    async def work(self, item: JobItem, material: Material, caller: Caller) -> ExpansionOutcome:
        written = await self.ask(
            self.question(item, material, EXPANDER),
            caller,
            expander_messages(material.seed, material.drawn, self.prompts),
            lambda text: read_expansion(text, material.seed, material.drawn),
            failure_reason,
        )
        if isinstance(written, UnreadableProfile):
            raise ProviderError("unparseable", f"The profile cannot be read: {'; '.join(written.faults)}.")
        profile = replace(written, id=item.payload["id"])
        if finding := refusing(check_profile(profile, own=material.own, others=material.others)):
            return refused_by(profile, finding)
        verdict = await self.ask(
            self.question(item, material, VALIDATOR),
            caller,
            validator_messages(profile, self.prompts),
            read_verdict,
            unread_reason,
        )
        if isinstance(verdict, UnreadableVerdict):
            raise ProviderError("unparseable", "Whether the profile is consistent cannot be read.")
        return ExpansionOutcome(profile) if verdict.consistent else ExpansionOutcome(profile, BY_MODEL, verdict.reason)

    def question(self, item: JobItem, material: Material, prompt: str) -> Question:
        """Return the ledger's fields of a call that writes or validates."""
        validates = prompt == VALIDATOR
        model = self.models.validator if validates else self.models.writer
        return Question(
            purpose=Call.Purpose.PROFILE_CHECK if validates else Call.Purpose.PROFILE,
            messages=(),
            settings=self.validating if validates else self.writing,
            provider=model.provider,
            who=f"{'validator' if validates else 'writer'} of profiles {model.key}",
            language=material.seed.language,
            prompt_version=self.prompts.get(prompt, material.seed.language).label,
            item=item.pk,
            job=self.job.pk,
        )

    async def ask(
        self,
        question: Question,
        caller: Caller,
        messages: Sequence[Message],
        read: Callable[[str], Content],
        why_unread: Callable[[Content], str],
    ) -> Content:
        return await ask_until_readable(
            caller.bind(question), messages, read, why_unread, question.language, self.prompts
        )

    def store_outcomes(self, outcomes: Sequence[tuple[JobItem, ExpansionOutcome]]) -> list[dict[str, Any]]:
        Study.objects.select_for_update(no_key=True).get(pk=self.study.pk)  # two may not store twins at once
        return [self.keep_profile(item, one).result() for item, one in outcomes]

    def keep_profile(self, item: JobItem, outcome: ExpansionOutcome) -> ExpansionOutcome:
        """Store a profile as a draft, unless it is refused, also as the twin of one that was stored meanwhile."""
        if outcome.refused or self.study.seeker_profiles.filter(key=outcome.profile.id).exists():
            return outcome
        row = SeekerProfile(study=self.study, origin=EXPANDED, seed=item.payload["seed"])
        check_row(row, outcome.profile, profiles_of(self.study), usual=State.DRAFT)
        if finding := refusing(Finding(**check) for check in row.checks):
            return refused_by(outcome.profile, finding)
        row.save()
        return outcome


def refusing(findings: Iterable[Finding]) -> Finding | None:
    """Return the first finding that keeps a further profile from being stored."""
    return next((finding for finding in findings if finding.rule in REFUSING), None)


def refused_by(profile: Profile, finding: Finding) -> ExpansionOutcome:
    return ExpansionOutcome(
        profile, finding.rule, SENTENCES[finding.rule] % {"where": finding.where, "found": finding.found}
    )
