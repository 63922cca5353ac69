"""Let a model write a profile from a person's answers, and store it with its findings for approval."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dialogue.jobs.calls import Caller, Question
from dialogue.judges.judge import ask_until_readable
from dialogue.models import Call, Job, JobItem
from dialogue.prompts import Prompts
from dialogue.providers.base import ProviderError
from dialogue.providers.registry import model_for
from dialogue.seekers.profile_writer import NAME, UnreadableProfile, failure_reason, read_answer, writer_messages
from dialogue.seekers.profiles import Profile
from studies.design.spec import ArmSpec
from studies.models import Participation, SeekerProfile, Study
from studies.models.participation import new_code
from studies.seeker_profiles.checking import State, check_row, profiles_of
from studies.seeker_profiles.planning import agrees_to_later_use, candidates, may_be_sent, writer_settings
from studies.seeker_profiles.source import ProfileSource, profile_source

ANSWERS = "answers"  # the origin of what is made here


class ProfileHandler:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.study = Study.objects.get(pk=job.plan["study"])
        self.writer = ArmSpec(**job.plan["writer"])
        self.settings = writer_settings(self.writer)
        self.prompts = Prompts(job.plan["prompts"])

    def check(self) -> None:
        model_for(self.settings)

    def read(self, items: Sequence[JobItem]) -> dict[int, ProfileSource]:
        """Return the sources of the items' people.

        People who left after planning, or withdrew a consent, are left out, and earlier calls about them are deleted.
        """
        people = self.people(items)
        gone = [item.pk for item in items if item.payload["participation"] not in people]
        Call.objects.filter(item__in=gone).delete()
        return {item.pk: profile_source(people[item.payload["participation"]]) for item in items if item.pk not in gone}

    def people(self, items: Sequence[JobItem]) -> dict[str, Participation]:
        codes = {item.payload["participation"] for item in items}
        rows = candidates(self.study, include_tests=self.job.plan["include_tests"]).filter(code__in=codes)
        return {
            person.code: person for person in rows if agrees_to_later_use(person) and may_be_sent(person, self.writer)
        }

    async def work(self, item: JobItem, material: ProfileSource, caller: Caller) -> Profile:
        answered = material.answered
        question = Question(
            purpose=Call.Purpose.PROFILE,
            messages=(),
            settings=self.settings,
            provider=self.writer.provider,
            who=f"writer of profiles {self.writer.key}",
            language=answered.language,
            prompt_version=self.prompts.get(NAME, answered.language).label,
            item=item.pk,
            job=self.job.pk,
        )
        written = await ask_until_readable(
            caller.bind(question),
            writer_messages(answered, self.prompts),
            lambda text: read_answer(text, answered),
            failure_reason,
            answered.language,
            self.prompts,
        )
        if isinstance(written, UnreadableProfile):
            raise ProviderError("unparseable", f"The profile cannot be read: {'; '.join(written.faults)}.")
        return written

    def store_outcomes(self, outcomes: Sequence[tuple[JobItem, Profile]]) -> list[dict[str, Any]]:
        return [self.keep_profile(item, profile) for item, profile in outcomes]

    def keep_profile(self, item: JobItem, profile: Profile) -> dict[str, Any]:
        """Store a profile under a key that does not reveal the person. A person has one profile, whatever the number of
        jobs."""
        person = Participation.objects.get(code=item.payload["participation"])
        if person.seeker_profiles.exists():
            return {}
        row = SeekerProfile(study=self.study, origin=ANSWERS, made_of=person)
        named = replace(profile, id=f"made-{new_code()[1:].lower()}")
        check_row(row, named, profiles_of(self.study), usual=State.DRAFT).save()
        return {"refused": row.state == State.REFUSED}
