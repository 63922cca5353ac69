"""Choose the seeds of further profiles, draw who these are of, and plan the job that makes them (EmoHarbor, Section
2.1: seed profiles are expanded by a model)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from dialogue.jobs import store
from dialogue.jobs.store import PlannedJob, WantedItem
from dialogue.languages import CODES
from dialogue.models import JobItem
from dialogue.providers.base import ModelSettings
from dialogue.seekers.profile_checks import check_profile, is_refused
from dialogue.seekers.profile_draw import VARIED, DrawnPart, Spread
from dialogue.seekers.profile_expansion import EXPANDER, VALIDATOR
from dialogue.seekers.profiles import Profile, as_content, from_content, load_profiles
from studies.design.spec import ArmSpec
from studies.judging.settings import digest, to_plain
from studies.models import Participation, Study
from studies.seeker_profiles.checking import EXPANDED, State
from studies.seeker_profiles.planning import EXPANSION as KIND
from studies.seeker_profiles.planning import agrees_to_later_use, candidates, get_prompts, may_be_sent, writer_settings

ALL = "all"  # in the place of a file: the study's approved profiles
MOST_PROFILES = 1000  # that may be asked for
VALIDATOR_TEMPERATURE = 0.0  # as a judge's


@dataclass(frozen=True)
class Models:
    """The model that writes, and the one that looks whether what it wrote is consistent."""

    writer: ArmSpec
    validator: ArmSpec

    def settings(self) -> dict[str, ModelSettings]:
        """Return the settings of both, by the names that a refusal gives them."""
        validating = writer_settings(self.validator)
        if self.validator.temperature is None:
            validating = replace(validating, temperature=VALIDATOR_TEMPERATURE)
        return {self.writer.key: writer_settings(self.writer), f"validator {self.validator.key}": validating}


@dataclass(frozen=True)
class Seeds:
    """The profiles to start from. `name`: the file's, or `all`. `left_out`: how many others there are, by reason."""

    name: str
    profiles: Sequence[Profile]
    left_out: Mapping[str, int]

    @property
    def is_of_study(self) -> bool:
        return self.name == ALL


@dataclass(frozen=True)
class Expansion:
    """A number of further profiles. `seed`: of the draw; `vary`: the fields in which they differ from their seeds."""

    study: Study
    models: Models
    seeds: Seeds
    count: int
    seed: int = 1
    vary: tuple[str, ...] = VARIED

    def configuration(self) -> str:
        """Return the hash of everything that decides what is asked, but for which profiles the study has."""
        models = [[*settings.identity(), settings.request_options()] for settings in self.models.settings().values()]
        prompts = get_prompts(self.study)
        versions = [prompts.get(name, language).label for name in (EXPANDER, VALIDATOR) for language in CODES]
        languages = sorted({profile.language for profile in self.seeds.profiles})
        return digest([self.study.key, models, versions, self.seeds.name, languages, self.seed, sorted(self.vary)])

    def list_items(self) -> list[WantedItem]:
        """Return the items. Those that were planned before are as they were; the others are drawn with regard to all
        that the study has and all that is planned."""
        hashed = self.configuration()
        places = [self.place(number, hashed) for number in range(self.count)]
        existing = store.known_items(places)
        spreads = self.spreads(existing.values())
        order = Random(f"seeds {self.seed}").sample(self.seeds.profiles, len(self.seeds.profiles))
        items = [
            replace(
                one,
                payload=existing[one.place].payload
                if one.place in existing
                else self.draw(number, hashed, order, spreads),
            )
            for number, one in enumerate(places)
        ]
        return [one for one in items if one.place not in existing or self.may_be_made(existing[one.place])]

    def seed_of(self, one: WantedItem) -> Profile:
        """Return the seed of an item that is to be planned."""
        if "content" in one.payload:
            return from_content(one.payload["content"])
        return next(profile for profile in self.seeds.profiles if profile.id == one.payload["seed"])

    def may_be_made(self, item: JobItem) -> bool:
        """Return whether an item is done, or its seed may still be used."""
        seeds = {profile.id for profile in self.seeds.profiles}
        return item.state == JobItem.State.DONE or "content" in item.payload or item.payload["seed"] in seeds

    def place(self, number: int, configuration: str) -> WantedItem:
        return WantedItem(f"study {self.study.pk}: further profile {number + 1}", KIND, configuration)

    def spreads(self, items: Iterable[JobItem]) -> dict[str, Spread]:
        """Return by language how the values are spread over the seeds, the study's profiles and those on the way."""
        on_the_way = {item.payload["id"]: item for item in items}
        rows = self.study.seeker_profiles.exclude(state=State.REFUSED).exclude(key__in=on_the_way)
        profiles = {profile.id: profile for profile in self.seeds.profiles}
        profiles |= {row.key: from_content(row.content) for row in rows}
        spreads = {language: Spread(language, profiles.values()) for language in CODES}
        for item in on_the_way.values():
            if not item.result.get("refused"):
                spreads[item.payload["language"]].add(DrawnPart(**item.payload["drawn"]))
        return spreads

    def draw(
        self, number: int, configuration: str, order: Sequence[Profile], spreads: Mapping[str, Spread]
    ) -> dict[str, Any]:
        """Return the payload of a new item. A seed from a file goes with it, as the study need not have it."""
        seed = order[number % len(order)]
        drawn = spreads[seed.language].draw(seed, self.vary, Random(f"{self.seed} {number}"))
        return {
            "id": f"more-{configuration[:8]}-{number + 1:03}",
            "seed": seed.id,
            "language": seed.language,
            "drawn": drawn.as_json(),
            **({} if self.seeds.is_of_study else {"content": as_content(seed)}),
        }


def find_seeds(study: Study, which: str, models: Models, languages: Sequence[str]) -> Seeds:
    """Return the approved profiles, or those of a file, in these languages.

    What was itself made from a seed is none, as errors would add up. Profiles of people who have not agreed to it are
    left out. Raises ProfilesRefused.
    """
    profiles = approved_profiles(study) if which == ALL else list(load_profiles(Path(which)))
    fit = [profile for profile in profiles if profile.language in languages]
    safe = [profile for profile in fit if not is_refused(check_profile(profile))]
    against = reasons_against(study, [profile.id for profile in safe], models)
    left_out = Counter(against.values())
    left_out.update({"other_language": len(profiles) - len(fit), "danger": len(fit) - len(safe)})
    name = ALL if which == ALL else Path(which).name
    return Seeds(name, [profile for profile in safe if profile.id not in against], dict(+left_out))


def approved_profiles(study: Study) -> list[Profile]:
    rows = study.seeker_profiles.filter(state=State.APPROVED).exclude(origin=EXPANDED)
    return [from_content(row.content) for row in rows]


def reasons_against(study: Study, keys: Collection[str], models: Models) -> dict[str, str]:
    """Return why profiles made of people's answers may not be sent, by key: `not_agreed` or `not_sent`, where the
    consent does not name a provider. Profiles of invented people are not in it."""
    rows = study.seeker_profiles.filter(key__in=keys, made_of__isnull=False)
    people = {person.pk: person for person in candidates(study, include_tests=True)}
    reasons = {row.key: reason_against(people.get(row.made_of_id), models) for row in rows}
    return {key: reason for key, reason in reasons.items() if reason}


def reason_against(person: Participation | None, models: Models) -> str:
    if person is None or not agrees_to_later_use(person):
        return "not_agreed"
    allowed = may_be_sent(person, models.writer) and may_be_sent(person, models.validator)
    return "" if allowed else "not_sent"


def plan_expansion(expansion: Expansion, items: Sequence[WantedItem], **options: Any) -> PlannedJob:
    """Plan the job. `options`: budget, attended, retry_quarantined, as `store.plan` takes them."""
    models = {"writer": expansion.models.writer, "validator": expansion.models.validator}
    plan = {
        "study": expansion.study.pk,
        "prompts": {name: dict(texts) for name, texts in get_prompts(expansion.study).own.items()},
        **{role: as_plain_model(model) for role, model in models.items()},
    }
    return store.plan(items, kind=KIND, scope=expansion.study.key, title="further profiles", plan=plan, **options)


def as_plain_model(model: ArmSpec) -> dict[str, Any]:
    return {name: to_plain(getattr(model, name)) for name in ArmSpec.__dataclass_fields__}
