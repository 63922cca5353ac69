"""The base of the command that makes further profiles from seeds: its options, and the summary of such a job."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from dialogue.jobs import store
from dialogue.jobs.store import PlannedJob, WantedItem
from dialogue.languages import CODES
from dialogue.models import JobItem
from dialogue.seekers.profile_draw import VARIED
from dialogue.seekers.profiles import ProfilesRefused
from studies.design.spec import ArmSpec, StudySpec
from studies.management.jobs import JobCommand, failure_counts
from studies.models import Study
from studies.seeker_profiles.estimate import estimate_expansion
from studies.seeker_profiles.expansion import (
    ALL,
    KIND,
    MOST_PROFILES,
    Expansion,
    Models,
    Seeds,
    find_seeds,
    plan_expansion,
)
from studies.seeker_profiles.planning import LATER_USE
from studies.workbench.labels import one_or_more

ONLY_WITH_EXPAND = ("count", "seed", "language", "vary", "validator")


class ExpandingCommand(JobCommand):
    def add_expansion_arguments(self, parser: CommandParser) -> None:
        group = parser.add_argument_group("further profiles")
        group.add_argument(
            "--expand",
            metavar="FILE|all",
            help="write further profiles after those of a file, or after all approved ones of the study",
        )
        group.add_argument(
            "--count", type=int, metavar="N", help=f"how many further profiles in all (at most {MOST_PROFILES:,})"
        )
        group.add_argument(
            "--seed", type=int, metavar="S", help="of the draw (default 1); another one for other people"
        )
        group.add_argument("--language", choices=CODES, help="only after profiles in this language (default: all)")
        group.add_argument(
            "--vary",
            nargs="+",
            choices=VARIED,
            metavar="FIELD",
            help=f"the fields in which each differs from its seed (default: {' '.join(VARIED)})",
        )
        group.add_argument(
            "--validator",
            metavar="KEY",
            help="an arm or a judge whose model looks whether each is consistent (default: the model that writes)",
        )

    def refuse_without_expand(self, options: dict[str, Any]) -> None:
        if names := [name for name in ONLY_WITH_EXPAND if options[name] is not None]:
            self.refuse(f"--{names[0]} belongs to --expand.")

    def expand(self, study: Study, writer: ArmSpec, options: dict[str, Any]) -> dict[str, Any]:
        if options["count"] is None:
            self.refuse("--expand needs --count: how many further profiles.")
        self.refuse_below_one(options, "count")
        self.refuse_above(options, count=MOST_PROFILES)
        expansion = self.expansion(study, writer, options)
        items = expansion.list_items()
        undone = self.undone(items)
        left = undone[: options["limit"]]
        if options["estimate"]:
            return self.say_expansion_estimate(expansion, left)
        terms = self.job_options(options, expansion.models.settings())
        planned = plan_expansion(expansion, left, **terms)
        if options["background"]:
            self.say_planned(planned, "profile", "profiles")
        else:
            self.work_on(planned.job, "further profiles", at_once=options["concurrency"])
        summary = self.summarize_expansion(planned, expansion.seeds)
        summary["made_before"] = len(items) - len(undone)
        self.tell_expansion(summary)
        return {"study": study.key, **summary}

    def expansion(self, study: Study, writer: ArmSpec, options: dict[str, Any]) -> Expansion:
        spec = study.current().spec()
        models = Models(writer, self.validator(spec, writer, options["validator"]))
        for model in (models.writer, models.validator):
            if model.kind == "scripted":
                self.refuse(
                    f"{model.key} is a script, which writes from answers alone: --expand needs a model. Name another "
                    "one in [seeker] and load the study again, or an arm or a judge with --model and --validator."
                )
        languages = [options["language"]] if options["language"] else spec.languages
        try:
            seeds = find_seeds(study, options["expand"], models, languages)
        except ProfilesRefused as error:
            self.refuse(str(error))
        self.say_seeds_left_out(seeds, models)
        if not seeds.profiles:
            where = "the study has no approved profile" if seeds.name == ALL else f"{seeds.name} has no profile"
            self.refuse(
                f"--expand: {where} in {' or '.join(languages)} that may be used. Import or approve some first, or "
                "name a file, such as fixtures/instruments/seeker_profiles_demo.json."
            )
        named = {"seed": options["seed"], "vary": options["vary"] and tuple(dict.fromkeys(options["vary"]))}
        values = {name: value for name, value in named.items() if value is not None}
        return Expansion(study, models, seeds, options["count"], **values)

    def validator(self, spec: StudySpec, writer: ArmSpec, key: str | None) -> ArmSpec:
        models = {model.key: model for model in (*spec.arms, *spec.judges)}
        if key is not None and key not in models:
            self.refuse(f"--validator: the study {spec.key} has no arm or judge {key!r}. It has: {', '.join(models)}.")
        return models[key] if key else writer

    def say_seeds_left_out(self, seeds: Seeds, models: Models) -> None:
        names = " and ".join(dict.fromkeys(model.provider or model.base_url for model in vars(models).values()))
        reasons = {
            "other_language": "in another language",
            "danger": "with words of danger to life",
            "not_agreed": f"of people who have not agreed to later use ({LATER_USE}), or have left",
            "not_sent": f"of people whose consent does not name {names}",
        }
        for reason, number in seeds.left_out.items():
            self.say(f"Left out as seeds: {number} {one_or_more(number, 'profile', 'profiles')} {reasons[reason]}.")

    def undone(self, items: Sequence[WantedItem]) -> list[WantedItem]:
        """Return those that no job has done."""
        existing = store.known_items(items)
        done = {place for place, item in existing.items() if item.state == JobItem.State.DONE}
        return [one for one in items if one.place not in done]

    def say_expansion_estimate(self, expansion: Expansion, left: Sequence[WantedItem]) -> dict[str, Any]:
        for one in left:
            self.say(f"{one.payload['id']}: {describe_draw(one)}")
        estimate = self.say_estimate(estimate_expansion(expansion, left))
        drawn = [{"id": one.payload["id"], "seed": one.payload["seed"], **one.payload["drawn"]} for one in left]
        return {**estimate, "seeds": len(expansion.seeds.profiles), "drawn": drawn}

    def summarize_expansion(self, planned: PlannedJob, seeds: Seeds) -> dict[str, Any]:
        summary = self.job_summary(planned.job, KIND, planned=planned.items)
        items = planned.job.items.filter(role=KIND, state=JobItem.State.DONE).order_by("pk")
        refused = [
            {"id": item.payload["id"], "seed": item.payload["seed"], **item.result}
            for item in items
            if item.result.get("refused")
        ]
        return {
            **summary,
            "stored": summary["done"] - len(refused),
            "refused": dict(Counter(one["refused"] for one in refused)),
            "refused_profiles": refused,
            "seeds": len(seeds.profiles),
            "seeds_left_out": dict(seeds.left_out),
        }

    def tell_expansion(self, summary: dict[str, Any]) -> None:
        for one in summary["refused_profiles"]:
            self.say(f"Refused, {one['id']} after {one['seed']}: {one['refused']}. {one['why']}")
        refused = len(summary["refused_profiles"])
        stored, before = summary["stored"], summary["made_before"]
        counts = {
            f"further {one_or_more(stored, 'profile', 'profiles')} made; approve on the page Profiles": stored,
            f"{one_or_more(refused, 'was', 'were')} refused and not stored; a larger --count makes others": refused,
            "asked for before": before,
            "not made: the seed may not be used any more": summary["erased"],
            **failure_counts(summary),
            "left for the next time": summary["left"],
        }
        self.say_counts(counts)
        if summary["cost"]:
            self.say(f"Cost: {summary['cost']:g} {self.prices().currency}")


def describe_draw(one: WantedItem) -> str:
    """Return one line about the person of a further profile."""
    drawn = one.payload["drawn"]
    person = drawn["demographics"]
    facts = [person.get("occupation"), person.get("age"), person.get("gender"), drawn["personality"].get("mbti")]
    return f"after {one.payload['seed']}: {', '.join(str(each) for each in (*facts, drawn['problem']) if each)}"
