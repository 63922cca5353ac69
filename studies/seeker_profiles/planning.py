"""Choose people from whose answers profiles may be made, and plan the job that makes them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Q, QuerySet

from dialogue.jobs import store
from dialogue.jobs.store import PlannedJob, WantedItem
from dialogue.languages import CODES
from dialogue.models import Call, JobItem
from dialogue.prompts import Prompts
from dialogue.providers.base import ModelSettings
from dialogue.seekers.profile_writer import NAME
from studies.design.spec import ArmSpec
from studies.judging.settings import digest, judge_settings, to_plain
from studies.models import Answer, Consent, Participation, SeekerProfile, Study
from studies.models.participation import Status
from studies.seeker_profiles.source import BIG_FIVE_INSTRUMENTS, DECLINED

KIND = "profile"  # of job and item
EXPANSION = "profile_expansion"  # of those that make further profiles
LATER_USE = "share_deidentified"  # the box of the consent form that allows it; see "Sharing and later use" there
LEFT = (Status.WITHDRAWN, Status.SCREENED_OUT)
TOPICS = {"profile": "topic", "screening": "issue_category"}
TEMPERATURE = 0.7  # where the study file names none
WHOSE = "response__rater__participation"
ROOM = 2000  # tokens: what a study file allows for a chat message is too little


@dataclass
class Work:
    """The people to make profiles of, and counts of the others."""

    people: list[Participation] = field(default_factory=list)
    made_before: int = 0
    unanswered: int = 0  # nothing known of topic or Big Five
    not_agreed: int = 0  # to later use of what they gave
    not_sent: int = 0  # their consent does not name the model's provider


def work_for(study: Study, writer: ArmSpec, *, include_tests: bool) -> Work:
    people = list(candidates(study, include_tests=include_tests))
    answered = people_with_topic(people) & people_with_big_five(people)
    work = Work()
    for person in people:
        if person.seeker_profiles.all():
            work.made_before += 1
        elif person.pk not in answered:
            work.unanswered += 1
        elif not agrees_to_later_use(person):
            work.not_agreed += 1
        elif not may_be_sent(person, writer):
            work.not_sent += 1
        else:
            work.people.append(person)
    return work


def candidates(study: Study, *, include_tests: bool) -> QuerySet[Participation]:
    """Return the participants. Counsellors play others, and reviewers say nothing about themselves."""
    people = study.participations.filter(
        track=Participation.Track.PARTICIPANT, language__in=CODES, excluded=False
    ).exclude(status__in=LEFT)
    people = people if include_tests else people.real()
    return people.prefetch_related("consents", "seeker_profiles").order_by("pk")


def people_with_topic(people: Sequence[Participation]) -> set[int]:
    rows = answers(people).exclude(text__in=("", *DECLINED)).values_list("response__instrument", "item", WHOSE)
    return {person for instrument, item, person in rows if TOPICS.get(instrument) == item}


def people_with_big_five(people: Sequence[Participation]) -> set[int]:
    rows = answers(people).filter(response__instrument__in=BIG_FIVE_INSTRUMENTS, value__isnull=False)
    return set(rows.values_list(WHOSE, flat=True).distinct())


def answers(people: Sequence[Participation]) -> QuerySet[Answer]:
    """Return the answers to questions before the conversations."""
    return Answer.objects.filter(response__rater__participation__in=people, response__run=None)


def agrees_to_later_use(person: Participation) -> bool:
    """Return whether the latest consent allows later use."""
    consent = latest_consent(person)
    return consent is not None and consent.boxes.get(LATER_USE) is True


def may_be_sent(person: Participation, writer: ArmSpec) -> bool:
    """Return whether the latest consent names the model's provider, or no provider is asked."""
    consent = latest_consent(person)
    return writer.kind == "scripted" or (consent is not None and writer.provider in consent.providers)


def latest_consent(person: Participation) -> Consent | None:
    return max(person.consents.all(), key=lambda consent: consent.signed_at, default=None)


def plan_profiles(
    study: Study, writer: ArmSpec, people: Sequence[Participation], *, include_tests: bool, **options: Any
) -> PlannedJob:
    """Plan the job. `options`: budget, attended, retry_quarantined, as `store.plan` takes them."""
    hashed = configuration(study, writer)
    items = [
        WantedItem(
            subject=f"person {person.pk}", role=KIND, configuration=hashed, payload={"participation": person.code}
        )
        for person in people
    ]
    named = {name: to_plain(getattr(writer, name)) for name in ArmSpec.__dataclass_fields__}
    own = {name: dict(texts) for name, texts in get_prompts(study).own.items()}
    plan = {"study": study.pk, "writer": named, "include_tests": include_tests, "prompts": own}
    return store.plan(items, kind=KIND, scope=study.key, title="profiles from answers", plan=plan, **options)


def configuration(study: Study, writer: ArmSpec) -> str:
    """Return the hash of everything that decides what is asked of whom."""
    settings = writer_settings(writer)
    versions = [get_prompts(study).get(NAME, language).label for language in CODES]
    return digest([study.key, settings.identity(), dict(settings.extra), versions])


def get_prompts(study: Study) -> Prompts:
    return study.current().spec().own_prompts()


def writer_settings(writer: ArmSpec) -> ModelSettings:
    """Return the settings of the study's model, or of the script that writes profiles."""
    return replace(
        judge_settings(writer),
        model=NAME if writer.kind == "scripted" else writer.model,
        temperature=TEMPERATURE if writer.temperature is None else writer.temperature,
        max_tokens=writer.max_tokens and max(writer.max_tokens, ROOM),
    )


def profiles_about(people: QuerySet[Participation]) -> QuerySet[SeekerProfile]:
    """Return the profiles made of people's answers, and those that a model wrote after them. The people are of one
    study."""
    profiles = SeekerProfile.objects.filter(made_of__in=people)
    after = Q(study__in=people.values("study"), seed__in=profiles.values("key"))
    return SeekerProfile.objects.filter(Q(made_of__in=people) | after)


def items_about(people: QuerySet[Participation]) -> QuerySet[JobItem]:
    seeds = list(SeekerProfile.objects.filter(made_of__in=people).values_list("key", flat=True))
    scopes = list(people.values_list("study__key", flat=True).distinct().order_by())
    codes = list(people.values_list("code", flat=True))
    after_them = Q(job__kind=EXPANSION, job__scope__in=scopes, payload__seed__in=seeds)
    return JobItem.objects.filter(Q(role=KIND, payload__participation__in=codes) | after_them)


def calls_about(people: QuerySet[Participation]) -> QuerySet[Call]:
    """Return the calls that made people's profiles, and others after them.

    Calls whose item is gone may have been about anyone, so all of these count.
    """
    calls = Call.objects.filter(purpose__in=(Call.Purpose.PROFILE, Call.Purpose.PROFILE_CHECK))
    return calls.filter(Q(item__in=items_about(people)) | Q(item=None))
