"""The benchmark command where not all goes well, and what it asks no one for. A whole run: tests/walks."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dialogue.jobs import store
from dialogue.jobs.group_commit import in_database
from dialogue.jobs.reasons import Reason
from dialogue.models import Call, Conversation, Job, JobItem
from studies.design.spec import ArmSpec
from studies.models import ArmRun, Rater, SeekerProfile
from studies.simulation.handler import SimulationHandler
from tests import factories
from tests.llm_server import running
from tests.studies.simulation.test_simulate import mild, profiles

# Transactions are real: the runner works in another thread, with a connection of its own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("figures_are_left_out")]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture
def prices(settings: Any, tmp_path: Path) -> None:
    """A call of the server's `echo` is estimated, and set aside for, at some thousandths."""
    path = tmp_path / "prices.toml"
    path.write_text(
        'version = "1"\ncurrency = "EUR"\n[[models]]\nmodel = "echo"\nsince = "2026-01-01"\ninput = 1\noutput = 1\n',
        encoding="utf-8",
    )
    settings.PRICES = str(path)


def benchmark(*arguments: str | Path) -> tuple[dict[str, Any], int]:
    """The summary and the exit code."""
    out, code = StringIO(), 0
    try:
        call_command("benchmark", "demo", "--json", *map(str, arguments), stdout=out)
    except SystemExit as stop:
        code = int(stop.code or 0)
    return json.loads(out.getvalue().splitlines()[-1]), code


def few(folder: Path) -> tuple[str | Path, ...]:
    return "--profiles", profiles(folder, "en01"), "--arms", "amber,ember", "--max-turns", "2"


def test_conditions_are_twins_on_the_same_profiles(tmp_path: Path) -> None:
    factories.study()
    summary, code = benchmark(*few(tmp_path))
    assert (summary["held"], summary["left"], code) == (4, 0, 0)
    assert summary["end_reasons"] == dict(Counter(Conversation.objects.values_list("end_reason", flat=True)))
    opened = Conversation.objects.filter(turns__number=1).values_list("run__condition", "run__arm", "turns__text")
    assert {(condition, arm) for condition, arm, _ in opened} == {
        (condition, arm) for condition in ("average", "worst_case") for arm in ("amber", "ember")
    }
    assert len({text for *_, text in opened}) == 1


def test_ablations_are_held_and_judged_in_the_same_run(tmp_path: Path) -> None:
    factories.study()
    asked = (*few(tmp_path), "--ablations", "one-agent", "resistance", "--judge", "demo", "--strategy", "standard")
    estimate, _ = benchmark(*asked, "--estimate")
    summary, code = benchmark(*asked, "--out", tmp_path / "run")
    setups = ["", "one agent", "one agent", "without resistance"]
    held = Counter(ArmRun.objects.values_list("condition", "setup"))
    assert held == {
        ("average", ""): 2,
        ("worst_case", ""): 2,
        ("average", "one agent"): 2,
        ("worst_case", "one agent"): 2,
        ("worst_case", "without resistance"): 2,
    }
    assert (summary["held"], summary["conversations"], estimate["estimate"]["conversations"], code) == (10, 10, 10, 0)
    assert [part["setup"] for part in summary["parts"] if "setup" in part] == ["", *setups]
    judged = ArmRun.objects.filter(responses__rater__kind="judge").distinct()
    assert judged.count() == 10
    with (tmp_path / "run" / "report" / "sensitivity.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["condition"], row["variant"]) for row in rows} >= {
        ("average", "one agent"),
        ("worst_case", "one agent"),
        ("worst_case", "without resistance"),
    }
    again, _ = benchmark(*asked)
    assert (again["held"], again["judged"]) == (0, 0)


def test_behaviour_of_a_condition_that_is_not_played_is_refused(tmp_path: Path) -> None:
    factories.study()
    with pytest.raises(CommandError, match="--ablations: resistance is a behaviour of the worst case"):
        benchmark(*few(tmp_path), "--conditions", "average", "--ablations", "resistance")


def test_judges_rate_these_conversations_and_no_others(tmp_path: Path) -> None:
    study = factories.study()
    other = factories.run_with_turns(study, factories.person(study))
    benchmark(*few(tmp_path), "--judge", "demo", "--strategy", "standard", "user_aware")
    raters = Rater.objects.filter(kind="judge")
    assert {rater.strategy for rater in raters} == {"standard", "user_aware"}
    assert {rater.responses.count() for rater in raters} == {2 + 4}  # the worst case has a second questionnaire
    assert not other.responses.filter(rater__kind="judge").exists()


def test_again_only_what_is_missing_is_done(tmp_path: Path) -> None:
    factories.study()
    benchmark(*few(tmp_path), "--conditions", "average")
    calls = Call.objects.count()
    summary, _ = benchmark(*few(tmp_path), "--conditions", "average", "--judge", "demo")
    assert (summary["held"], summary["held_before"], summary["judged"]) == (0, 2, 2)
    assert Call.objects.count() == calls + 2


def test_changed_judge_is_refused_under_the_key_that_has_answered(tmp_path: Path) -> None:
    study = factories.study()
    benchmark(*few(tmp_path), "--conditions", "average", "--judge", "demo")
    calls, before = Call.objects.count(), Conversation.objects.count()
    study.current().judges.filter(key="demo").update(temperature=0.7)
    for more in ([], ["--estimate"]):
        with pytest.raises(CommandError, match="Give the changed judge a key of its own"):
            benchmark(*few(tmp_path), "--judge", "demo", *more)
    assert (Call.objects.count(), Conversation.objects.count()) == (calls, before)


def test_run_that_somebody_stops_leaves_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the first conversation is held."""
    factories.study()
    hold = SimulationHandler.work

    async def stopped(self: SimulationHandler, *given: Any) -> Any:
        await in_database(store.end, self.job.pk, Job.State.STOPPED, Reason.of("person", name="ada"))
        return await hold(self, *given)

    monkeypatch.setattr(SimulationHandler, "work", stopped)
    arguments = (*few(tmp_path), "--replicates", "4", "--judge", "demo", "--concurrency", "1", "--out", tmp_path / "o")
    summary, code = benchmark(*arguments)

    assert code == 1
    assert summary["left"] >= 1
    assert summary["held"] + summary["left"] == 8
    assert [part["condition"] for part in summary["parts"]] == ["average"]
    assert not (tmp_path / "o").exists()
    assert not Rater.objects.filter(kind="judge").exists()


def echo(base_url: str, key: str) -> ArmSpec:
    return ArmSpec("openai_compatible", "echo", base_url, key=key, title={"en": key}, max_tokens=500)


def test_budget_is_one_for_all_parts(server: str, prices: None, tmp_path: Path) -> None:
    factories.study(arms=(echo(server, "amber"), echo(server, "ember")))
    given = few(tmp_path)
    whole, code = benchmark(*given, "--budget", "1")
    assert (whole["held"], whole["budget_reached"], code) == (4, False, 0)
    first = whole["parts"][0]["cost"]

    JobItem.objects.all().delete()
    Call.objects.all().delete()
    short, code = benchmark(*given, "--budget", f"{first + 0.0006:.6f}", "--concurrency", "1")

    assert (short["budget_reached"], code) == (True, 3)
    assert short["cost"] <= first + 0.0006
    assert [part["budget_reached"] for part in short["parts"]] == [False, True]
    assert short["left"] >= 1


def test_run_whose_budget_is_spent_at_once_takes_no_results_away(server: str, prices: None, tmp_path: Path) -> None:
    """The earlier conversations, with fewer turns, count until the new ones are held."""
    factories.study(arms=(echo(server, "amber"), echo(server, "ember")))
    given = (*few(tmp_path), "--conditions", "average")
    benchmark(*given)
    told, code = benchmark(*given, "--max-turns", "3", "--budget", "0.0001")
    assert (told["held"], told["parts"][0]["set_aside"], code) == (0, 0, 3)
    counting = ArmRun.objects.filter(valid=True)
    assert list(counting.values_list("conversation__max_turns", flat=True)) == [2, 2]


def test_profile_too_mild_for_the_worst_case_has_no_average_twin_either(tmp_path: Path) -> None:
    factories.study()
    given = ("--profiles", mild(tmp_path, "en02"), "--arms", "amber", "--max-turns", "1")
    assert benchmark(*given, "--estimate")[0]["estimate"]["conversations"] == 2
    assert benchmark(*given)[0]["held"] == 2
    assert set(ArmRun.objects.values_list("condition", "profile")) == {("average", "en02"), ("worst_case", "en02")}


@pytest.mark.parametrize("more", [[], ["--estimate"]])
@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("notes.json", "notes.json: is a file, not a folder."),
        ("notes.json/run", "notes.json: is a file, not a folder."),
        ("run", "run/export: is not empty and no earlier export. Name a new folder."),
        ("other", "other/export: holds an export of the study 'other'. Name another folder."),
        ("reported", "reported/report: is a file, not a folder."),
    ],
)
def test_place_that_cannot_be_written_is_refused_before_anybody_is_asked(
    out: str, message: str, more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    factories.study()
    Path("notes.json").write_text("mine")
    Path("run/export").mkdir(parents=True)
    Path("run/export/notes.txt").write_text("mine")
    Path("other/export").mkdir(parents=True)
    Path("other/export/manifest.json").write_text('{"study": "other", "files": {}}')
    Path("reported").mkdir()
    Path("reported/report").write_text("mine")
    with pytest.raises(CommandError) as refusal:
        benchmark(*few(tmp_path), "--out", out, *more)
    assert (str(refusal.value), refusal.value.returncode) == (message, 2)
    assert not Job.objects.exists()
    assert not SeekerProfile.objects.exists()


def test_folder_that_cannot_be_made_is_refused_too(tmp_path: Path) -> None:
    """Not by root either."""
    factories.study()
    with pytest.raises(CommandError, match=r"^/proc/new/run/export: nothing can be written in /proc: "):
        benchmark(*few(tmp_path), "--out", Path("/proc/new/run"))
    assert not Job.objects.exists()


def test_estimate_names_the_cost_and_asks_nobody(server: str, prices: None, tmp_path: Path) -> None:
    factories.study(arms=(echo(server, "amber"),))
    summary, code = benchmark("--profiles", profiles(tmp_path, "en01"), "--judge", "demo", "--estimate")
    told = summary["estimate"]
    assert (told["conversations"], told["judgements"], told["currency"], code) == (2, 3, "EUR", 0)
    assert 0 < told["cost"] < 0.1
    assert not Call.objects.exists()
    assert not Job.objects.exists()


def test_background_plans_and_holds_nothing(tmp_path: Path) -> None:
    factories.study()
    summary, code = benchmark(*few(tmp_path), "--background", "--judge", "demo")
    assert (summary["waiting"], summary["left"], code) == (4, 0, 0)
    assert not Conversation.objects.exists()
    assert Job.objects.filter(state="open", attended_until=None, kind="simulation").count() == 2


def test_report_says_so_where_conditions_cannot_be_compared(tmp_path: Path) -> None:
    factories.study()
    out = StringIO()
    given = (*few(tmp_path), "--conditions", "average", "--out", tmp_path / "out")
    call_command("benchmark", "demo", *map(str, given), stdout=out)
    assert "Conditions cannot be compared yet" in out.getvalue()
    assert (tmp_path / "out" / "report" / "arms.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arms", "nobody"], "has no arm 'nobody'"),
        (["--judge", "nobody"], "has no judge 'nobody'"),
        (["--replicates", "0"], "--replicates must be at least 1"),
        (["--replicates", "99999", "--estimate"], "--replicates must be at most 20"),
        (["--max-turns", "101"], "--max-turns must be at most 100"),
        (["--arms", ""], "has no arm ''"),
        (["--budget", "1e6"], "--budget: must be less than 1,000,000"),
        (["--budget", "5", "--background"], "--budget is kept from one job to the next"),
        (["--profiles", "nothing.json"], "nothing.json: cannot be read"),
    ],
)
def test_bad_input_changes_nothing(arguments: list[str], message: str) -> None:
    factories.study()
    with pytest.raises(CommandError, match=message) as refusal:
        benchmark(*arguments)
    assert refusal.value.returncode == 2
    assert not Job.objects.exists()


def test_estimate_needs_no_key_and_a_run_does() -> None:
    remote = {"kind": "openai_compatible", "base_url": "http://127.0.0.1:9/v1", "model": "m", "api_key_env": "NO_KEY"}
    spec = factories.demo_spec()
    factories.study(seeker=replace(spec.seeker, **remote), arms=(replace(spec.arms[0], **remote),))
    told = benchmark("--estimate")[0]["estimate"]
    assert told["calls"] > 0
    assert (told["cost"], told["unset_keys"]) == (None, ["NO_KEY"])
    with pytest.raises(CommandError, match="seeker: The environment variable NO_KEY is not set"):
        benchmark()
    assert not Job.objects.exists()


def test_study_without_a_seeker_says_what_to_add() -> None:
    spec = replace(factories.demo_spec(), seeker=None)
    factories.study(seeker=spec.seeker)
    with pytest.raises(CommandError, match=r"Add a table \[seeker\]"):
        benchmark()
