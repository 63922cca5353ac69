"""A benchmark run of the demonstration's five scripted arms with its twelve profiles in both conditions: what is
planted in the scripts (dialogue/demonstration) comes back in the report. Once by the command's own runner on SQLite,
and once by two of Celery's workers on PostgreSQL."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.amounts import choose
from tests.faults.site import Site, is_there, site_on
from tests.server import ROOT

ARMS = ("amber", "birch", "cedar", "delta", "ember")  # stock phrases, advice, says back, asks, attuned
CONDITIONS = ("average", "worst_case")
POOR = ("amber", "birch")
PROFILES = 12
NOT_THERE = "no PostgreSQL and Redis answered on their standard ports: the benchmark ran on SQLite alone"
PLACES = len(ARMS) * PROFILES * len(CONDITIONS)


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    def summary(self) -> dict:
        return json.loads(self.out.splitlines()[-1])


@dataclass(frozen=True)
class Place:
    """An installation of its own, without a server."""

    site: Site

    @property
    def folder(self) -> Path:
        return self.site.folder

    def manage(self, *arguments: str) -> Ended:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.site.env,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.folder / "run" / "report" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def started(place: Place, *arguments: str) -> Ended:
    return place.manage("benchmark", "demo", "--judge", "demo", "--concurrency", "16", "--json", *arguments)


@pytest.fixture(scope="module", params=choose(usual=["sqlite"], full=["sqlite", "postgres"]))
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if not is_there(request.param):
        pytest.skip(NOT_THERE)
    folder = tmp_path_factory.mktemp("benchmark")
    with site_on(request.param, folder, f"test_emostudy_benchmark_{os.getpid()}") as site:
        place = Place(site)
        for arguments in (("migrate", "-v0"), ("load_study", str(ROOT / "fixtures" / "studies" / "demo.toml"))):
            assert place.manage(*arguments).code == 0
        with site.working(site.celery()) as workers:
            yield place
            assert all(one.poll() is None for one in workers), site.said()


@pytest.fixture(scope="module")
def run(place: Place) -> Ended:
    return started(place, "--out", str(place.folder / "run"))


def means(place: Place, condition: str) -> dict[str, float]:
    """How simulated seekers rated each arm, over all ten items."""
    rows = [row for row in place.table("conditions") if row["item"] == "*" and row["raters"] == "simulated_seeker"]
    return {row["arm"]: float(row[condition]) for row in rows}


def estimates(place: Place, table: str, **of: str) -> dict[tuple[str, str], float]:
    """By arm and condition."""
    rows = [row for row in place.table(table) if all(row[name] == value for name, value in of.items())]
    return {(row["arm"], row["condition"]): float(row["estimate"]) for row in rows if row["estimate"]}


def test_run_holds_every_conversation_once_and_judges_it(place: Place, run: Ended) -> None:
    assert run.code == 0, run.err
    summary = run.summary()
    told = {name: summary[name] for name in ("conversations", "held", "held_before", "failed", "left")}
    assert told == {"conversations": PLACES, "held": PLACES, "held_before": 0, "failed": 0, "left": 0}
    assert summary["judged"] == PLACES + PLACES // 2  # worst-case conversations have a second questionnaire
    assert (Path(summary["report"]) / "report.html").stat().st_size > 10_000


def test_it_says_who_stands_where(run: Ended) -> None:
    lines = run.out.splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("emoharbor_10 by")]
    assert [lines[number] for number in heads] == [
        "emoharbor_10 by simulated_seeker, mean of its items: average, worst case",
        "emoharbor_10 by judge:standard, mean of its items: average, worst case",
    ]
    assert [lines[number + 1].split()[0] for number in heads] == ["ember", "ember"]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_arms_come_in_the_planted_order(place: Place, run: Ended, condition: str) -> None:
    found = means(place, condition)
    assert max(found, key=found.__getitem__) == "ember"
    assert sorted(found, key=found.__getitem__)[: len(POOR)] == sorted(POOR, key=found.__getitem__)
    assert found["ember"] - max(found[arm] for arm in POOR) > 1


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_judge_sees_the_same_order(place: Place, run: Ended, condition: str) -> None:
    rows = [row for row in place.table("conditions") if row["item"] == "*" and row["raters"] == "judge:standard"]
    found = {row["arm"]: float(row[condition]) for row in rows if row["arm"] != "*"}
    order = sorted(found, key=found.__getitem__)
    # Twelve conversations an arm cannot tell the two poor arms apart, nor the two between them and the best.
    assert (set(order[: len(POOR)]), set(order[len(POOR) : -1]), order[-1]) == (set(POOR), {"cedar", "delta"}, "ember")


def test_worst_case_seekers_rate_lower_unless_at_the_foot_of_the_scale(place: Place, run: Ended) -> None:
    average, worst_case = means(place, "average"), means(place, "worst_case")
    assert average["amber"] < 1.5  # no room below
    assert all(worst_case[arm] < average[arm] - 0.2 for arm in ARMS if arm != "amber")


def test_worst_case_seekers_feel_worse_than_their_twins_with_every_arm(place: Place, run: Ended) -> None:
    """At turn 3, when hardly anyone can have left (demonstration_seekers.FIRST_END)."""
    of = {"item": "emotion_score", "source": "seeker", "statistic": "mean", "turn": "3", "language": "*"}
    feelings = estimates(place, "trends", **of)
    assert len(feelings) == len(ARMS) * len(CONDITIONS)
    assert all(feelings[arm, "worst_case"] < feelings[arm, "average"] - 3 for arm in ARMS)


def test_worst_case_seekers_gain_less_where_the_arm_is_better(place: Place, run: Ended) -> None:
    changes = estimates(place, "emotion", source="seeker", statistic="change")
    lost = {arm: changes[arm, "average"] - changes[arm, "worst_case"] for arm in ARMS}
    assert all(points > 0 for points in lost.values())
    assert lost["ember"] > lost["amber"]


def test_poor_arms_lose_their_seekers_and_difficult_ones_sooner(place: Place, run: Ended) -> None:
    turns = estimates(place, "survival", statistic="restricted_mean_turns")
    assert all(turns[arm, "worst_case"] < turns[arm, "average"] < 10 for arm in POOR)
    assert all(turns[arm, "average"] > 14 for arm in ("cedar", "delta"))
    walked_out = estimates(place, "survival", statistic="incidence: walked_out", turn="5")
    assert all(walked_out[arm, "worst_case"] > 0.5 for arm in POOR)
    assert not any(share for (arm, _), share in walked_out.items() if arm not in POOR)


def test_good_arm_sends_its_average_seekers_home_satisfied(place: Place, run: Ended) -> None:
    satisfied = estimates(place, "survival", statistic="incidence: satisfied", turn="15")
    assert max(satisfied, key=satisfied.__getitem__) == ("ember", "average")


def test_second_run_holds_and_judges_nothing_again(place: Place, run: Ended) -> None:
    again = started(place).summary()
    assert (again["held"], again["held_before"], again["judged"]) == (0, PLACES, 0)
    assert again["judged_before"] == PLACES + PLACES // 2
