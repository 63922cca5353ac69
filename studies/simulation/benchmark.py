"""Benchmark runs: every model talks with the same profiles in each condition, and judges rate these conversations."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogue.jobs.estimate import DryCaller, Estimate, Typicals, discard_changes
from dialogue.jobs.store import PlannedJob, WantedItem, known_items
from dialogue.judges.strategies.standard import Standard
from dialogue.models import JobItem
from dialogue.providers.base import ModelSettings
from dialogue.seekers.components import components
from dialogue.seekers.profiles import Profile
from studies.design.spec import ArmSpec
from studies.judging.changes import ChangedJudgeError, refuse_changed
from studies.judging.estimate import judging_loads
from studies.judging.planning import (
    Work,
    get_answered_places,
    get_or_create_rater,
    get_work,
    judgements,
    plan_judging,
    runs_to_judge,
)
from studies.judging.settings import Configuration, judge_settings
from studies.models import Protocol, Study
from studies.seeker_profiles.selection import keep
from studies.simulation.choice import (
    FittingProfiles,
    Unfit,
    fitting_profiles,
    get_arms,
    get_judge,
    seeker_setup,
    supporter_settings,
)
from studies.simulation.counting import count_displaced, let_count
from studies.simulation.estimate import simulation_loads, usual_turns
from studies.simulation.outcomes import CONDITIONS
from studies.simulation.planning import KIND, items, plan_simulation
from studies.simulation.setup import Setup

MOMENTS = ("final",)
WORST_CASE = "worst_case"
OF_EVERY_CONDITION = {"one-agent": "one_agent", "simple-profile": "simple_profile"}  # ablations, and fields of Setup
ABLATIONS = (*OF_EVERY_CONDITION, *components())


@dataclass(frozen=True)
class Benchmark:
    """One benchmark run of a study. `setups`: one for each condition, and those of ablations; the same profiles in
    each, so that they can be compared in pairs. `origin`: of those profiles that the study does not keep yet."""

    protocol: Protocol
    setups: tuple[Setup, ...]
    arms: tuple[ArmSpec, ...]
    profiles: tuple[Profile, ...]
    judges: tuple[Configuration, ...] = ()
    replicates: int = 1
    limit: int | None = None  # conversations of one condition, this time
    origin: str = ""

    @property
    def study(self) -> Study:
        return self.protocol.study

    def size(self) -> int:
        """Return the number of conversations once all are held."""
        return len(self.setups) * len(self.arms) * len(self.profiles) * self.replicates

    def models(self) -> dict[str, ModelSettings]:
        """Return the settings of all models that are asked, by the names that they have in a refusal."""
        spec = self.protocol.spec()
        seekers = self.setups[0].models()
        arms = {f"arm {arm.key}": supporter_settings(arm, spec) for arm in self.arms}
        return seekers | arms | {f"judge {each.judge.key}": judge_settings(each.judge) for each in self.judges}

    def keep_profiles(self) -> None:
        """Store the profiles of a file where judges find them, before anything is planned. The study's own are there,
        and one that is erased while this goes on must not come back."""
        if self.origin:
            keep(self.study, self.profiles, origin=self.origin)

    def plan(self, setup: Setup, **options: Any) -> PlannedJob:
        return plan_simulation(
            self.protocol,
            setup,
            self.arms,
            self.profiles,
            replicates=self.replicates,
            limit=self.limit,
            **options,
        )

    def let_count(self, setup: Setup) -> int:
        """Let the held conversations of this setup count in their places instead of those of other configurations.
        Returns how many of these no longer count."""
        return let_count(self.study, setup, self.list_items(setup))

    def count_displaced(self, setup: Setup) -> int:
        """Return how many conversations of other configurations stop counting once those of this setup are held."""
        return count_displaced(self.study, setup, self.list_items(setup))

    def list_items(self, setup: Setup) -> list[WantedItem]:
        return list(self.items(setup))[: self.limit]

    def items(self, setup: Setup) -> Iterator[WantedItem]:
        return items(self.protocol, setup, self.arms, self.profiles, self.replicates)

    def get_held_numbers(self) -> set[int]:
        """Return the numbers of the run's conversations that are over, whichever job held them."""
        items = [one for setup in self.setups for one in self.items(setup)]
        stored = known_items(items).values()
        return {one.conversation_id for one in stored if one.state == JobItem.State.DONE}

    def judging(self, configuration: Configuration, ours: Collection[int]) -> Work:
        """Return the work that is left for this judge on the conversations `ours`, and on no others of the study."""
        rater = get_or_create_rater(self.study, configuration)
        left = get_work(rater, configuration.judge, moments=MOMENTS, replicates=1).judgements
        answered = get_answered_places(rater)
        runs = runs_to_judge(self.study).filter(conversation__in=ours)
        all_judgements = [one for _, one in judgements(self.study, runs, MOMENTS, 1)]
        work = Work([one for one in left if one.conversation in ours])
        work.skipped_existing = sum(one.place in answered for one in all_judgements)
        work.without_profile = len(all_judgements) - work.skipped_existing - len(work.judgements)
        return work


@dataclass(frozen=True)
class Wish:
    """A benchmark as it is asked for, by keys. No `arms` means all of them; no `profiles` means the study's own, else
    ours. `ablations`: how seekers are changed in further conversations."""

    conditions: Sequence[str] = CONDITIONS
    arms: Sequence[str] = ()
    profiles: Path | None = None
    judges: Sequence[str] = ()
    strategies: Sequence[str] = (Standard.name,)
    replicates: int = 1
    max_turns: int = 15
    review: bool = False
    ablations: Sequence[str] = ()

    def of(self, study: Study) -> tuple[Benchmark, FittingProfiles]:
        """Return the benchmark for this study and the profiles that it can have. Stores nothing. Raises Unfit."""
        protocol = study.current()
        spec = protocol.spec()
        setups = tuple(
            seeker_setup(spec, max_turns=self.max_turns, review=self.review, **values) for values in self.seekers()
        )
        arms = get_arms(spec, self.arms)
        judges = [get_judge(spec, key) for key in dict.fromkeys(self.judges)]
        try:
            for judge in judges:
                refuse_changed(study, judge)
        except ChangedJudgeError as error:
            raise Unfit(str(error)) from error
        fitting = fitting_profiles(study, spec, self.profiles, setups)
        configurations = [
            Configuration.of(spec, judge, strategy) for judge in judges for strategy in dict.fromkeys(self.strategies)
        ]
        run = Benchmark(
            protocol,
            setups,
            tuple(arms),
            tuple(fitting.profiles),
            tuple(configurations),
            self.replicates,
            origin=fitting.origin,
        )
        return run, fitting

    def seekers(self) -> Iterator[dict[str, Any]]:
        """Yield the fields that set the seekers of each setup apart, whole seekers first. Raise Unfit."""
        conditions = list(dict.fromkeys(self.conditions))
        yield from ({"condition": condition} for condition in conditions)
        for ablation in dict.fromkeys(self.ablations):
            if ablation in OF_EVERY_CONDITION:
                yield from ({"condition": one, OF_EVERY_CONDITION[ablation]: True} for one in conditions)
            elif WORST_CASE in conditions:
                yield {"condition": WORST_CASE, "without": (ablation,)}
            else:
                raise Unfit(f"--ablations: {ablation} is a behaviour of the worst case, which is not played.")


class Estimating:
    """A dry run that counts what a benchmark would ask, condition after condition and judge after judge."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self.caller = DryCaller(Typicals.read())
        self.estimate = Estimate(lengths=self.caller.lengths)
        self.to_come: list[tuple[int, set[int]]] = []  # so many conversations, and those of them that were tried

    def run(self) -> Estimate:
        with discard_changes():
            self.benchmark.keep_profiles()
            held = self.benchmark.get_held_numbers()
            for setup in self.benchmark.setups:
                self.add_conversations(setup)
            for configuration in self.benchmark.judges:
                self.add_judgements(configuration, held)
        return self.estimate

    def add_conversations(self, setup: Setup) -> None:
        turns = usual_turns(self.benchmark.study, setup)
        planned = self.benchmark.plan(setup)
        tried = simulation_loads(planned.job, turns, self.caller)
        self.to_come.append((tried.number, tried.conversations))
        self.estimate.held_before += planned.done_before[KIND]
        self.estimate.conversations += tried.number
        self.estimate.turns.append(turns)
        self.estimate.loads += tried.loads

    def add_judgements(self, configuration: Configuration, held: set[int]) -> None:
        tried = {conversation for _, some in self.to_come for conversation in some}
        left = self.benchmark.judging(configuration, held | tried).judgements
        if not left:
            return
        of = Counter(one.conversation for one in left)
        number = sum(of[one] for one in held) + sum(
            items * sum(of[one] for one in some) / len(some) for items, some in self.to_come if some
        )
        planned = plan_judging(self.benchmark.study, configuration, left)
        self.estimate.judgements += round(number)
        self.estimate.loads += judging_loads(planned.job, self.caller, judgements=number)
