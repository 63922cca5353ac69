"""export_calls, and the same work once more without the server: what came then comes again, failures too."""

import json
import stat
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Q

from dialogue.models import Call, Conversation, Job, JobItem, Turn
from studies.management.commands.export_calls import SCRIPTED_ALONE
from studies.models import Answer, ArmRun, Rater, Response, Study
from tests.llm_server import running
from tests.studies.judging.test_judging import Asked, judge, judge_at, person, study, summary, talk
from tests.studies.simulation.test_simulate import model_at, profiles, simulate
from tests.studies.simulation.test_simulate import study as simulated_study

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

ANSWERS = ("item", "value", "missing_reason")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)


def export_calls(out: Path, *arguments: str) -> dict[str, Any]:
    told = StringIO()
    call_command("export_calls", "demo", "--out", str(out), "--json", *arguments, stdout=told)
    return json.loads(told.getvalue().splitlines()[-1])


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def forget_judging() -> None:
    for model in (Answer, Response, Rater, Call, JobItem, Job):
        model.objects.all().delete()


def forget_simulations() -> None:
    forget_judging()
    for model in (ArmRun, Turn, Conversation):
        model.objects.all().delete()


def replay(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAY", str(file))


def judged() -> tuple[dict[str, Any], int]:
    """The summary but for the cost, and the exit code."""
    told, code = judge("--replicates", "2")
    return {name: value for name, value in told.items() if not name.startswith("cost")}, code


def asked_in_order(*fields: str) -> list[Any]:
    return list(Call.objects.order_by("key", "replicate", "pk").values_list(*fields))


@pytest.mark.parametrize("model", ["echo", "flaky-2-status-503", "flaky-1-badjudge", "badjudge", "refusal", "brief"])
def test_judging_is_repeated_without_the_server(
    model: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = study(judge_at(server, model, max_tokens=40))
    run = talk(here)
    before, scores = judged(), list(Answer.objects.order_by("pk").values_list(*ANSWERS))
    outcomes = ("attempt", "status", "response", "finish_reason", "error", "total_ms", "input_tokens", "output_tokens")
    told = asked_in_order(*outcomes)
    assert export_calls(tmp_path / "calls.jsonl")["rows"] == len(told)
    forget_judging()
    asked = Asked(server)
    replay(tmp_path / "calls.jsonl", monkeypatch)
    assert judged() == before
    assert asked.bodies() == []
    assert list(Answer.objects.order_by("pk").values_list(*ANSWERS)) == scores
    assert Response.objects.filter(~Q(run=run)).count() == 0
    answered = [row for row in asked_in_order(*outcomes) if not row[4]]
    assert answered == [row for row in told if not row[4]]
    assert set(Call.objects.values_list("kind", "cost")) == {("recorded", 0)}


def test_simulated_dialogues_are_repeated_word_by_word(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated_study(
        model_at(server, "echo", "one"), model_at(server, "counted-0", "two"), seeker=model_at(server, "echo")
    )
    file = profiles(tmp_path, "en01")

    def held() -> tuple[Any, list[Any]]:
        told, code = simulate("--profiles", file, "--max-turns", "3", "--replicates", "2")
        turns = Turn.objects.order_by("conversation__run__arm", "conversation__run__replicate", "number")
        return (told["done"], code), list(turns.values_list("text", "reply"))

    before = held()
    assert before[0] == (4, 0)
    export_calls(tmp_path / "calls.jsonl")
    forget_simulations()
    asked = Asked(server)
    replay(tmp_path / "calls.jsonl", monkeypatch)
    assert held() == before
    assert asked.bodies() == []


def test_what_was_not_recorded_fails_and_says_so(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = study(judge_at(server, "echo"))
    talk(here)
    judge()
    export_calls(tmp_path / "calls.jsonl")
    forget_judging()
    talk(here, seeker="Someone else")
    replay(tmp_path / "calls.jsonl", monkeypatch)
    told, code = judge()
    assert (told["done"], told["failed"], told["failed_reasons"], code) == (1, 1, {"client_error": 1}, 1)
    assert "has no answer to this question" in json.dumps(told["failed_details"])


def test_file_has_answers_and_no_questions_and_is_for_its_owner_alone(server: str, tmp_path: Path) -> None:
    talk(study(judge_at(server, "echo")), seeker="Very private")
    judge()
    out = tmp_path / "calls.jsonl"
    export_calls(out)
    [line] = lines(out)
    assert (line["study"], line["replicate"], line["attempt"]) == ("demo", 1, 1)
    assert line["reply"]["text"] == Call.objects.get().response
    assert "Very private" not in out.read_text()
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_attempts_that_nothing_came_of_and_later_answers_are_left_out(server: str, tmp_path: Path) -> None:
    talk(study(judge_at(server, "echo")))
    judge()
    first = Call.objects.get()
    for status in ("stopped", "started", "rate_limited", "ok"):
        Call.objects.create(**{
            name: getattr(first, name)
            for name in ("purpose", "conversation", "kind", "model", "parameters", "request", "replicate")
        }, status=status)  # fmt: skip
    export_calls(tmp_path / "calls.jsonl")
    assert [line["reply"]["text"] for line in lines(tmp_path / "calls.jsonl")] == [first.response]


def test_tests_are_left_out_until_they_are_asked_for_and_nothing_leaves_no_file(server: str, tmp_path: Path) -> None:
    run = talk(study(judge_at(server, "echo")))
    judge()
    ArmRun.objects.filter(pk=run.pk).update(is_test=True)
    out = tmp_path / "calls.jsonl"
    with pytest.raises(CommandError, match=r"1 call, all of test data\. Add --include-tests") as refusal:
        export_calls(out)
    assert (refusal.value.returncode, out.exists()) == (2, False)
    assert export_calls(out, "--include-tests")["rows"] == 1


def test_why_there_is_no_file_is_true(server: str, tmp_path: Path) -> None:
    said = StringIO()
    run = talk(study(judge_at(server, "echo")))
    out = tmp_path / "calls.jsonl"
    call_command("export_calls", "demo", "--out", out, stdout=said)
    assert said.getvalue() == f"{out}: not written. No model has been asked yet.\n"
    judge()
    assert export_calls(out)["rows"] == 1
    Call.objects.update(kind="scripted")
    ArmRun.objects.filter(pk=run.pk).update(is_test=True)
    for arguments, did in ([], "the earlier file was removed"), (["--include-tests"], "not written"):
        said = StringIO()
        call_command("export_calls", "demo", "--out", out, *arguments, stdout=said)
        assert said.getvalue() == f"{out}: {did}. {SCRIPTED_ALONE}\n"


def test_foreign_file_is_not_written_over(tmp_path: Path) -> None:
    study()
    out = tmp_path / "calls.jsonl"
    out.write_text('{"id": 1, "epoch": 1, "scores": {}, "metadata": {"study": "demo"}}\n')
    with pytest.raises(CommandError, match=r"is there already, and no earlier export of calls\.") as refusal:
        export_calls(out)
    assert refusal.value.returncode == 2


def test_no_batch_is_sent_while_answers_are_replayed(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(study(judge_at(server, "echo")))
    (tmp_path / "calls.jsonl").touch()
    replay(tmp_path / "calls.jsonl", monkeypatch)
    with pytest.raises(CommandError, match=r"^--batch: nothing is sent to a provider while REPLAY names"):
        judge("--batch")
    assert not Job.objects.exists()


def test_command_says_that_no_model_is_asked_and_is_not_left_to_a_runner(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    talk(study(judge_at(server, "echo")))
    judge()
    export_calls(tmp_path / "calls.jsonl")
    forget_judging()
    replay(tmp_path / "calls.jsonl", monkeypatch)
    settings.REPLAY = str(tmp_path / "calls.jsonl")
    err = StringIO()
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard", stdout=StringIO(), stderr=err)
    assert err.getvalue().count("No model is asked: answers come from") == 1
    with pytest.raises(CommandError, match=r"^--background: a runner elsewhere would ask models") as refusal:
        judge("--background")
    assert refusal.value.returncode == 2


def test_job_is_left_alone_by_a_process_that_would_ask_models(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(study(judge_at(server, "echo")))
    judge()
    export_calls(tmp_path / "calls.jsonl")
    forget_judging()
    asked = Asked(server)
    replay(tmp_path / "calls.jsonl", monkeypatch)
    judge("--background")  # as a command does that was killed: its job is attended by no one
    monkeypatch.delenv("REPLAY")
    call_command("run_jobs", "--until-done", verbosity=0)
    assert asked.bodies() == []
    assert Job.objects.get().state == Job.State.OPEN
    assert judge()[0]["done"] == 1  # the same command without it asks for real
    assert len(asked.bodies()) == 1


def test_faulty_recording_is_refused_before_anything_is_planned(
    server: str, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(study(judge_at(server, "echo")))
    (tmp_path / "calls.jsonl").write_text("{}\n")
    replay(tmp_path / "calls.jsonl", monkeypatch)
    settings.REPLAY = str(tmp_path / "calls.jsonl")
    with pytest.raises(
        CommandError, match=r"^REPLAY: .*calls\.jsonl, line 1: is no line of export_calls\.$"
    ) as refusal:
        judge()
    assert refusal.value.returncode == 2
    assert not Job.objects.exists()
    with pytest.raises(SystemExit, match=r"^emostudy: REPLAY: .*line 1: is no line of export_calls\.$"):
        call_command("start")


def test_answer_that_a_second_command_got_is_played(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(study(judge_at(server, "flaky-1-status-401+echo")))
    assert judge()[1] == 1
    before = judge()
    assert (before[0]["done"], before[1]) == (1, 0)
    export_calls(tmp_path / "calls.jsonl")
    forget_judging()
    replay(tmp_path / "calls.jsonl", monkeypatch)
    told, code = judge()
    assert (told["done"], told["failed"], code) == (1, 0, 0)


def test_refusals_that_were_recorded_are_not_waited_for(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(study(judge_at(server, "flaky-2-status-429+echo", extra={"requests_per_minute": 600})))
    judge()
    export_calls(tmp_path / "calls.jsonl")
    forget_judging()
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 3600.0)
    monkeypatch.setattr("dialogue.providers.limits.COOLDOWN", 3600.0)
    replay(tmp_path / "calls.jsonl", monkeypatch)
    assert judge()[0]["done"] == 1
    assert list(Call.objects.order_by("pk").values_list("status", flat=True)) == ["rate_limited"] * 2 + ["ok"]


def test_question_that_was_not_recorded_is_in_no_later_recording(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(study(judge_at(server, "echo")))
    (tmp_path / "none.jsonl").touch()
    replay(tmp_path / "none.jsonl", monkeypatch)
    assert judge()[0]["failed"] == 1
    assert export_calls(tmp_path / "calls.jsonl")["rows"] == 0


def test_persons_words_are_recorded_with_those_of_others(server: str, tmp_path: Path) -> None:
    """A withdrawn person's calls are gone from the ledger, so no later recording has them."""
    here = study(judge_at(server, "echo"))
    someone = person(here)
    talk(here, someone)
    assert judge() == (summary(done=1), 0)
    assert export_calls(tmp_path / "calls.jsonl")["rows"] == 1
    call_command("erase", "demo", someone.code, "--yes")
    assert export_calls(tmp_path / "calls.jsonl")["rows"] == 0
    assert Study.objects.count() == 1
