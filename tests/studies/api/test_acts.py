"""What programs do over the API: load study files, make links, start and stop paid work, read results."""

import csv
import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from dialogue.jobs.reasons import Reason
from dialogue.models import Job
from studies.models import BoardAct, Participation, Stage, Study, StudyDraft, Task
from studies.models.participation import digest
from studies.workbench import tasks
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR = tmp_path


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def spawned(monkeypatch, on_commit_at_once):
    started: list[Task] = []
    monkeypatch.setattr(tasks, "spawn", started.append)
    return started


def demo_file(**changes: str) -> str:
    text = (django_settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8")
    for old, new in changes.items():
        text = text.replace(f'{old} = "demo"', f'{old} = "{new}"', 1)
    return text


# Study files


def test_check_names_each_fault_with_its_place_and_stores_nothing(program):
    text = demo_file(key="mine").replace('kind = "scripted"', 'kind = "sripted"', 1)

    told = program("read").send("check/", {"toml": text}).json()

    assert (told["ok"], told["key"]) == (False, "")
    assert {fault["place"] for fault in told["faults"]} == {"arms[1].kind"}
    assert 'did you mean "scripted"?' in told["faults"][0]["fault"]
    assert not Study.objects.exists()
    assert not StudyDraft.objects.exists()


def test_check_of_a_right_file(program):
    assert program("read").send("check/", {"toml": demo_file(key="mine")}).json() == {
        "ok": True,
        "key": "mine",
        "faults": [],
    }


def test_check_of_what_is_no_toml(program):
    told = program("read").send("check/", {"toml": "key ="}).json()

    assert [fault["place"] for fault in told["faults"]] == ["line 1"]


def test_study_is_loaded_from_the_text_of_its_file_and_changes_as_load_study_does(program, ada):
    script = program("read", "write")
    outcomes = []
    for text in (
        demo_file(key="mine"),
        demo_file(key="mine"),
        demo_file(key="mine").replace("min_turns = 10", "min_turns = 4"),
    ):
        response = script.send("studies/", {"toml": text})
        outcomes.append((response.status_code, response.json()["outcome"], response.json()["study"]["version"]))

    assert outcomes == [(201, "created", 1), (200, "unchanged", 1), (200, "changed", 1)]
    assert StudyDraft.objects.filter(study__key="mine", owner=ada).count() == 3


def test_file_with_faults_is_not_loaded(program):
    response = program("write").send("studies/", {"toml": "key = 'mine'"})

    assert response.status_code == 422
    assert {"place": "title", "fault": "is missing"} in response.json()["faults"]
    assert not Study.objects.exists()


def test_file_beside_the_study_file_is_read(program):
    text = demo_file(key="mine").replace('model = "formula"', 'model = "formula"\nprompt = "ours.txt"', 1)
    assert "arms[1].prompt" in str(program("write").send("studies/", {"toml": text}).json())

    response = program("write").send("studies/", {"toml": text, "files": {"ours.txt": "Be kind."}})

    assert response.status_code == 201
    assert Study.objects.get().current().arms.get(key="amber").prompt_text == {"": "Be kind."}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "toml"),
        ({"toml": "a\0b"}, "toml"),
        ({"toml": "x", "files": {"../../etc/passwd.txt": ""}}, "files"),
        ({"toml": "x", "files": {"a.txt": None}}, "files"),
        ({"toml": "x", "files": {f"{n}.txt": "" for n in range(101)}}, "files"),
    ],
)
def test_what_is_no_file_is_refused(body, field, program):
    for path in ("check/", "studies/"):
        response = program().send(path, body)
        assert (response.status_code, list(response.json())) == (400, [field])


def test_token_of_one_study_loads_no_other(program, study):
    script = program("write", study=study)

    assert script.send("studies/", {"toml": demo_file(key="mine")}).status_code == 403
    assert script.send("studies/", {"toml": demo_file()}).status_code == 200
    assert [one.key for one in Study.objects.all()] == ["demo"]


# Stages


def test_study_is_opened_paused_and_closed(program):
    study = factories.study("mine")
    Study.objects.update(stage=Stage.REHEARSAL)
    script = program("write")
    refused = script.send("studies/mine/open/")
    assert (refused.status_code, bool(refused.json()["missing"])) == (409, True)

    Study.objects.update(stage=Stage.OPEN)
    assert script.send("studies/mine/pause/", {"reason": "a fault"}).json() == {"stage": "paused"}
    assert script.send("studies/mine/close/").json() == {"stage": "closed"}
    assert script.send("studies/mine/pause/").status_code == 409
    assert study.stage_changes.values_list("stage", "by_name", "reason").first() == ("paused", "ada", "a fault")


def test_arm_is_paused_and_resumed_with_a_reason(program, study):
    script = program("write")
    pause, resume = (f"studies/demo/arms/amber/{act}/" for act in ("pause", "resume"))
    assert script.send(pause).status_code == 400
    assert script.send("studies/demo/arms/nothing/pause/", {"reason": "slow"}).status_code == 404
    told = script.send(pause, {"reason": "slow"}).json()
    assert (told["key"], told["paused"]) == ("amber", True)
    assert script.send(pause, {"reason": "slow"}).status_code == 409
    assert script.send(resume, {"reason": "fast"}).json()["paused"] is False
    assert script.send(resume, {"reason": "fast"}).status_code == 409
    assert program("read").send(pause, {"reason": "slow"}).status_code == 403
    acts = BoardAct.objects.order_by("pk").values_list("kind", "arm", "by_name", "reason")
    assert list(acts) == [("arm_paused", "amber", "ada", "slow"), ("arm_resumed", "amber", "ada", "fast")]


# Links


def test_links_are_returned_once(program, study):
    script = program("write")

    links = script.send("studies/demo/invites/", {"count": 2, "track": "reviewer", "test": True}).json()

    people = {person.code: person for person in study.participations.all()}
    assert [(link["code"] in people, link["track"]) for link in links] == [(True, "reviewer")] * 2
    token = links[0]["url"].removeprefix("http://testserver/j/").removesuffix("/")
    assert people[links[0]["code"]].token_hash == digest(token)
    assert people[links[0]["code"]].is_test
    assert token not in program("read").read("studies/demo/people/").content.decode()


def test_no_links_for_a_closed_study(program, study):
    Study.objects.update(stage=Stage.CLOSED)

    response = program().send("studies/demo/invites/")

    assert (response.status_code, "closed" in response.json()["detail"]) == (409, True)
    assert not Participation.objects.exists()


def test_no_links_for_real_people_before_a_drill(program):
    study = factories.study("far", arms=(*factories.demo_spec().arms[:4], factories.remote_arm()))

    assert program().send("studies/far/invites/").status_code == 409
    assert program().send("studies/far/invites/", {"test": True}).status_code == 201
    factories.acknowledged_drill(study)
    assert program().send("studies/far/invites/").status_code == 201


@pytest.mark.parametrize("wrong", [{"count": 0}, {"count": 501}, {"track": "judge"}, {"test": "perhaps"}])
def test_wrong_wishes_for_links_are_refused(wrong, program, study):
    response = program().send("studies/demo/invites/", wrong)

    assert (response.status_code, list(response.json())) == (400, list(wrong))


def test_people_are_listed_page_by_page(program, study):
    codes = [factories.person(study, status="completed" if number else "active").code for number in range(3)]
    factories.person(study, is_test=True)

    page = program("read").read("studies/demo/people/", test="no", page_size="2").json()
    rest = program("read").get(page["next"]).json()

    assert (page["count"], [row["code"] for row in page["results"] + rest["results"]]) == (3, codes)
    completed = program("read").read("studies/demo/people/", test="no", status="completed").json()
    assert [row["code"] for row in completed["results"]] == codes[1:]


# Exports


def test_table_is_streamed_as_an_export_writes_it(program, study):
    person = factories.person(study)
    factories.run_with_turns(study, person)

    response = program("export").read("studies/demo/tables/turns.csv")

    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert response["Content-Disposition"] == 'attachment; filename="demo-turns.csv"'
    assert [row["text"] for row in rows] == [text for turn in factories.TURNS for text in turn]
    assert program("export").read("studies/demo/tables/nothing.csv").status_code == 404


def test_archive_holds_a_whole_export_and_nothing_stays_here(program, study, tmp_path):
    factories.rating(person := factories.person(study), factories.run_with_turns(study, person))

    response = program("export").read("studies/demo/export.zip")
    archive = zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))

    assert archive.testzip() is None
    manifest = json.loads(archive.read("manifest.json"))
    assert manifest["files"]["ratings.csv"]["rows"] == 10
    assert {*archive.namelist()} == {
        "manifest.json",
        *(n for n, f in manifest["files"].items() if f["rows"] or n in archive.namelist()),
    }
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_an_archive_stays_if_the_caller_leaves_before_its_first_byte(program, study, tmp_path):
    response = program("export").read("studies/demo/export.zip")
    assert [path.name.startswith("export-") for path in tmp_path.iterdir()] == [True]
    response.close()
    assert list(tmp_path.iterdir()) == []


# Judges and simulations


def test_judge_is_estimated_started_watched_and_stopped(program, study, spawned):
    factories.run_with_turns(study)
    script = program("read", "run")

    estimate = script.send("studies/demo/estimates/judge/", {"judge": "demo", "strategies": ["standard"]}).json()
    assert (estimate["judgements"], estimate["calls"], estimate["cost"]) == (1, 1, "0.000000")
    assert not Task.objects.exists()

    started = script.send("studies/demo/tasks/", {"confirm": estimate["confirm"]})
    task = Task.objects.get()
    assert started.status_code == 201
    assert (started.json()["number"], started.json()["arguments"]) == (task.pk, ["demo", "standard"])
    assert started.json()["started_by"] == "ada"
    assert spawned == [task]
    assert script.send("studies/demo/tasks/", {"confirm": estimate["confirm"]}).status_code == 409

    Task.objects.update(done=1, total=4)
    told = script.read(f"studies/demo/tasks/{task.pk}/").json()
    assert (told["state"], told["done"], told["total"]) == ("running", 1, 4)

    job = Job.objects.create(kind="judge", scope="demo", title="demo standard", plan={})
    stopped = script.send(f"studies/demo/tasks/{task.pk}/stop/")
    job.refresh_from_db()
    assert (stopped.status_code, stopped.json()["stop_asked_by"]) == (202, "ada")
    assert (job.state, job.reason) == (Job.State.STOPPED, Reason.of("person", name="ada").as_json())


def test_stopped_judge_begins_no_further_strategy(program, study, spawned):
    from studies.management.commands.run_task import Command

    factories.run_with_turns(study)
    script = program("run")
    wish = {"judge": "demo", "strategies": ["standard", "user_aware"]}
    confirm = script.send("studies/demo/estimates/judge/", wish).json()["confirm"]
    number = script.send("studies/demo/tasks/", {"confirm": confirm}).json()["number"]
    script.send(f"studies/demo/tasks/{number}/stop/")

    from django.core.management import CommandError

    with pytest.raises(CommandError, match="It was stopped"):
        Command().handle(task=number)

    assert not Job.objects.exists()
    assert Task.objects.get().state == Task.State.FAILED
    assert script.send(f"studies/demo/tasks/{number}/stop/").status_code == 409


def test_estimate_says_what_is_wrong_with_the_price_file(program, study, settings, tmp_path):
    settings.PRICES = str(tmp_path / "prices.toml")
    refused = program("read", "run").send(
        "studies/demo/estimates/judge/", {"judge": "demo", "strategies": ["standard"]}
    )
    assert refused.status_code == 409
    assert refused.json() == {"detail": f"PRICES: {settings.PRICES}: cannot be read: No such file or directory"}


def test_simulation_is_estimated_and_started_as_estimated(program, study, spawned):
    script = program("read", "run")
    wish = {"arms": ["amber"], "conditions": ["average"], "max_turns": 2, "judges": ["demo"], "budget": "1.5"}

    estimate = script.send("studies/demo/estimates/simulation/", wish).json()
    assert estimate["conversations"] > 0
    assert script.send("studies/demo/tasks/", {"confirm": estimate["confirm"]}).status_code == 201

    task = Task.objects.get()
    assert task.command == "benchmark"
    assert task.arguments[:4] == ["--arms", "amber", "--conditions", "average"]
    assert task.arguments[-2:] == ["--budget", "1.500000"]


@pytest.mark.parametrize(
    ("kind", "wish", "field"),
    [
        ("judge", {"judge": "nobody", "strategies": ["standard"]}, "judge"),
        ("judge", {"judge": "demo", "strategies": ["guess"]}, "strategies"),
        ("judge", {"judge": "demo", "strategies": []}, "strategies"),
        ("simulation", {"arms": ["nobody"]}, "arms"),
        ("simulation", {"arms": ["amber"], "conditions": ["best"]}, "conditions"),
        ("simulation", {"arms": ["amber"], "replicates": 0}, "replicates"),
        ("simulation", {"arms": ["amber"], "budget": "-1"}, "budget"),
    ],
)
def test_wrong_wishes_for_work_are_refused(kind, wish, field, program, study):
    response = program("run").send(f"studies/demo/estimates/{kind}/", wish)

    assert (response.status_code, list(response.json())) == (400, [field])


def test_simulation_needs_a_model_that_plays_seekers(program):
    factories.study(seeker=None)

    assert program("run").send("studies/demo/estimates/simulation/", {"arms": ["amber"]}).status_code == 409


def test_estimate_of_another_study_starts_nothing(program, study, spawned):
    other = factories.study("another")
    factories.run_with_turns(other)
    wish = {"judge": "demo", "strategies": ["standard"]}
    confirm = program("run").send("studies/another/estimates/judge/", wish).json()["confirm"]

    assert program("run").send("studies/demo/tasks/", {"confirm": confirm}).status_code == 400
    assert spawned == []


def test_work_that_cannot_be_paid_for_gets_nothing_to_confirm(program, monkeypatch):
    monkeypatch.delenv("FAR_KEY", raising=False)
    study = factories.study(judges=(*factories.demo_spec().judges, factories.remote_arm("far")))
    factories.run_with_turns(study)

    told = program("run").send("studies/demo/estimates/judge/", {"judge": "far", "strategies": ["standard"]}).json()

    assert (told["unset_variables"], told["confirm"]) == (["FAR_KEY"], None)


def test_task_of_another_study_is_not_there(program, study):
    other = factories.study("another")
    task = Task.objects.create(study=other, command="judge")

    assert program().read(f"studies/demo/tasks/{task.pk}/").status_code == 404
    assert program().send(f"studies/demo/tasks/{task.pk}/stop/").status_code == 404


@pytest.mark.parametrize(("state", "command"), [("done", "judge"), ("running", "analyse")])
def test_what_is_over_or_asks_no_model_is_not_stopped(state, command, program, study):
    task = Task.objects.create(study=study, command=command, state=state)

    assert program().send(f"studies/demo/tasks/{task.pk}/stop/").status_code == 409


def test_task_whose_process_has_died_has_failed(program, study):
    task = Task.objects.create(study=study, command="judge", heard_at=timezone.now() - timedelta(hours=1))

    assert program().read(f"studies/demo/tasks/{task.pk}/").json()["state"] == "failed"


# Results


@pytest.fixture
def analysed(study, tmp_path):
    task = Task.objects.create(
        study=study, command="analyse", state="done", folder="tasks/demo/1", ended_at=timezone.now()
    )
    report = tmp_path / "tasks" / "demo" / "1" / "report"
    report.mkdir(parents=True)
    (report / "results.json").write_text("{}")
    (report / "models.csv").write_text("arm,score\r\namber,4\r\n")
    return task


def test_results_are_the_tables_of_the_latest_analysis(program, analysed):
    script = program("read")

    assert script.read("studies/demo/results/").json()["tables"] == ["models"]
    table = script.read("studies/demo/results/models.csv")
    assert (table["Content-Type"], table.content) == ("text/csv; charset=utf-8", b"arm,score\r\namber,4\r\n")
    assert script.read("studies/demo/results/results.csv").status_code == 404


def test_results_of_a_blind_study_are_not_shown(program, analysed):
    Study.objects.update(key="blind")
    factories.person(Study.objects.get())

    assert program().read("studies/blind/results/").status_code == 403
    assert program().read("studies/blind/results/models.csv").status_code == 403


def test_analysis_is_started(program, study, spawned):
    assert program("read").read("studies/demo/results/").status_code == 404

    started = program("run").send("studies/demo/results/", {"include_tests": True})

    assert started.status_code == 201
    assert (spawned[0].command, spawned[0].arguments) == ("analyse", ["--include-tests"])
    assert program("run").send("studies/demo/results/").status_code == 409
