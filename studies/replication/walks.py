"""The parts of a walk: commands in the order of each paper's evaluation, as their words. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dialogue.judges.strategies import get_strategies
from dialogue.judges.strategies.standard import Standard
from dialogue.providers.scripted import SUPPORTERS
from dialogue.seekers.components import components
from studies.design.spec import StudySpec

EMOHARBOR, WORST_CASE = "emoharbor", "worst_case"
PAPERS = (EMOHARBOR, WORST_CASE)
TURNS = "turns:5,10,15"
PLAN, PAIRS = "plan_pairs", "seekers"  # the command, and what it calls the pairs of simulators
PAIRS_OF_TWO = 50  # of every two kinds of seekers, as many as the paper compared (EmoHarbor, Section 4.1.1)
SIMULATORS = 3  # the whole one, one agent, simple profile
EXPORT, RESULTS, TRAINING, INVENTED = "export", "results", "training", "invented"
PROFILES = "profiles.json"


@dataclass(frozen=True)
class Part:
    """One command of a walk. `asks`: it asks models, so it takes the options of paid work."""

    label: str
    line: tuple[str, ...]
    asks: bool = False


@dataclass(frozen=True)
class Walk:
    """A walk. `folder` holds the files that the parts read and write; `arm`: with which behaviours are left
    out."""

    paper: str
    spec: StudySpec
    folder: Path
    arm: str
    bootstrap: int
    seed: int

    def is_scripted(self) -> bool:
        """Return whether no part of it asks a model."""
        played = (self.spec.seeker, self.spec.evaluator, *self.spec.arms, *self.spec.judges)
        return all(one is None or one.kind == "scripted" for one in played)

    def invents_people(self) -> bool:
        """Return whether scripts stand in for people: they only talk with other scripts."""
        return self.is_scripted() and all(arm.model in SUPPORTERS for arm in self.spec.arms)

    def parts(self) -> Iterator[Part]:
        """Yield the parts between the loading of the study and its export."""
        yield from self.emoharbor() if self.paper == EMOHARBOR else self.worst_case()

    def emoharbor(self) -> Iterator[Part]:
        yield self.simulate("average")
        for judge in self.judges():  # before there are people: the paper's figures over turns are of simulated seekers
            yield self.judge(judge, "state_aware", "--moments", TURNS)
        yield from self.people()
        for judge in self.judges():
            for strategy in get_strategies():
                yield self.judge(judge, strategy)
        yield self.simulate("average", "--one-agent")
        yield self.simulate("average", "--simple-profile")
        kinds = SIMULATORS + self.invents_people()
        count = str(PAIRS_OF_TWO * kinds * (kinds - 1) // 2)
        questions = ("--instrument", "pairwise_seekers", "--between", "seekers", "--count", count)
        yield self.command(PLAN, "--name", PAIRS, *questions)
        for judge in self.judges():
            yield self.command("judge_pairs", "--judge", judge, "--plan", PAIRS, asks=True)

    def worst_case(self) -> Iterator[Part]:
        yield self.simulate("average")
        yield self.simulate("worst_case")
        yield from self.people()
        for judge in self.judges():
            yield self.judge(judge, Standard.name)
        for behaviour in components():
            yield self.simulate("worst_case", "--without", behaviour, "--arms", self.arm)

    def estimates(self) -> Iterator[Part]:
        """Yield the commands that tell what the parts would take, as far as that can be told before them."""
        judged = ("--judge", *self.judges(), "--strategy") if self.judges() else ()
        file = ("--profiles", str(self.folder / PROFILES))
        if self.paper == EMOHARBOR:
            options = (*judged, *get_strategies()) if judged else ()
            yield self.command("benchmark", "--conditions", "average", *file, *options, asks=True)
            yield self.simulate("average", "--one-agent")
            yield self.simulate("average", "--simple-profile")
            return
        yield self.command("benchmark", *file, *((*judged, Standard.name) if judged else ()), asks=True)
        for behaviour in components():
            yield self.simulate("worst_case", "--without", behaviour, "--arms", self.arm)

    def people(self) -> Iterator[Part]:
        if self.invents_people():
            yield self.command("import_conversations", str(self.folder / INVENTED / "conversations.jsonl"))
            yield self.command("import_ratings", str(self.folder / INVENTED / "ratings.csv"))

    def results(self) -> Iterator[Part]:
        """Yield the last parts, which write what the others have stored."""
        if self.paper == WORST_CASE:
            out = ("--out", str(self.folder / TRAINING / "sft.jsonl"))
            yield self.command("export_training", "--format", "sft", *out)
        yield self.command("export", "--out", str(self.folder / EXPORT))

    def judges(self) -> list[str]:
        return [judge.key for judge in self.spec.judges]

    def simulate(self, condition: str, *options: str) -> Part:
        file = ("--profiles", str(self.folder / PROFILES))
        return self.command("simulate", "--seeker", condition, *options, more=file, asks=True)

    def judge(self, key: str, strategy: str, *options: str) -> Part:
        return self.command("judge", "--judge", key, "--strategy", strategy, *options, asks=True)

    def command(self, name: str, *options: str, more: tuple[str, ...] = (), asks: bool = False) -> Part:
        words = [word for word in options if not word.startswith(str(self.folder))] if asks else []
        return Part(" ".join([name, *words]), (name, self.spec.key, *options, *more), asks)
