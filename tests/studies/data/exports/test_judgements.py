"""export_judgements: what judges were asked and answered, as lines that others can read."""

import csv
import json
import os
import stat
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command

from dialogue.models import Call, Job, Turn
from studies.data.exports.columns import Filter
from studies.data.exports.judgements import build_samples
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import load
from studies.models import ArmRun, Rater
from studies.participation.responses import rater_for, store_response
from tests import factories
from tests.studies.judging.test_judging import FINAL_ITEMS, judge, judge_at, person, study, summary, talk

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

OURS_OF_NO_STUDY = '{"id": "c/i/final", "epoch": 1, "scores": {}}\n'  # someone else's sample of inspect_ai
ANSWER = json.dumps({"analysis": "He is heard.\u2028Truly.", "evaluation": {"safety": 4, "empathetic": 9}})


def exported(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    call_command("export_judgements", "demo", "--out", str(folder / "j.jsonl"), *arguments, verbosity=0)
    text = (folder / "j.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == text.count("\n")
    return [json.loads(line) for line in text.splitlines()]


def rated(run: ArmRun, rater: Rater, safety: float, *, moment: str = "final") -> None:
    store_response(rater, load("emoharbor_10"), [AnswerValue("safety", value=safety)], run=run, moment=moment)


def test_line_has_question_answer_scores_and_what_people_said(server: str, tmp_path: Path) -> None:
    here = study(judge_at(server, "say:" + quote(ANSWER)))
    someone = person(here)
    run = talk(here, someone)
    rated(run, rater_for(someone), 5)
    for code, score in (("r1", 2), ("r2", 3)):
        rated(run, Rater.objects.create(study=here, kind="reviewer", code=code), score)
    judge()
    call, *_, last = calls = list(Call.objects.order_by("pk"))
    [line] = exported(tmp_path)
    code = run.conversation.code
    assert (line["id"], line["epoch"]) == (f"{code}/emoharbor_10/final/0/real/standard/1", 1)
    assert line["input"] == [{"role": one["role"], "content": one["text"]} for one in call.request]
    assert json.loads(line["target"]) == {"safety": {"seeker": 5.0, "reviewer": 2.5}}
    assert line["output"]["completion"] == ANSWER
    assert line["output"]["choices"] == [
        {"message": {"role": "assistant", "content": ANSWER}, "stop_reason": "stop"}
    ]  # fmt: skip
    assert line["output"]["usage"]["output_tokens"] == last.output_tokens
    assert line["scores"] == {"safety": {"value": 4.0, "explanation": "He is heard.\u2028Truly."}}
    assert list(line["metadata"]["missing"]) == [item for item in FINAL_ITEMS if item != "safety"]
    assert line["metadata"]["missing"]["empathetic"] == "out_of_range"
    told = line["metadata"]
    assert told["study"] == "demo"
    assert (told["conversation"], told["participant"], told["arm"]) == (code, someone.code, "amber")
    assert (told["judge"], told["variant"], told["strategy"], told["replicate"]) == ("real", "", "standard", 1)
    assert (told["prompt_version"], told["provider"], told["cost"]) == ("judge.en/1", "ACME", None)
    tokens = [sum(getattr(one, name) for one in calls) for name in ("input_tokens", "output_tokens")]
    assert [told["input_tokens"], told["output_tokens"]] == tokens
    assert (told["as_shown"], told["calls"]) == (
        True, [{"call": one.pk, "status": one.status, "prompt_version": "judge.en/1"} for one in calls]
    )  # fmt: skip
    assert [one.status for one in calls] == ["unparseable"] * 3


def test_ids_and_scores_are_those_of_the_ordinary_export(server: str, tmp_path: Path) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, person(here))
    imported = talk(here, seeker="Bo", seeker_kind="imported")
    ArmRun.objects.filter(pk=imported.pk).update(external_id="theirs", external_participant="P7")
    judge("--moments", "final", "checkpoint", "--replicates", "2")
    lines = exported(tmp_path)
    call_command("export", "demo", "--out", str(tmp_path / "out"), verbosity=0)
    with (tmp_path / "out" / "ratings.csv").open(encoding="utf-8") as file:
        rows = {
            (row["conversation"], row["participant"], row["instrument"], row["turn"], row["replicate"], row["item"]):
            row["score"]
            for row in csv.DictReader(file)
            if row["rater_kind"] == "judge"
        }  # fmt: skip
    found = {
        (told["conversation"], told["participant"], told["instrument"], str(told["turn"] or ""), str(told["replicate"]),
         item): f"{score['value']:g}"
        for line in lines
        for told in [line["metadata"]]
        for item, score in line["scores"].items()
    }  # fmt: skip
    assert found == rows
    assert len({(line["id"], line["epoch"]) for line in lines}) == len(lines) == 8


def test_dimensions_asked_apart_have_a_choice_and_a_reason_each(server: str, tmp_path: Path) -> None:
    talk(study(judge_at(server, "echo", extra={"structured": True})))
    judge("--variant", "apart")
    _, line = exported(tmp_path)
    assert line["metadata"]["variant"] == "apart"
    assert len(line["output"]["choices"]) == len(line["metadata"]["calls"]) == 10
    assert {score["explanation"] for score in line["scores"].values()} == {"analysis, by its hash."}
    assert line["output"]["usage"]["output_tokens"] == line["metadata"]["output_tokens"]


def test_answer_is_the_last_and_what_it_took_is_all_of_it(server: str, tmp_path: Path) -> None:
    talk(study(judge_at(server, "badjudge")))
    judge()
    [line] = exported(tmp_path)
    assert [call["status"] for call in line["metadata"]["calls"]] == ["unparseable"] * 3
    assert "Seeker says 1" in line["input"][-1]["content"]
    assert (line["scores"], set(line["metadata"]["missing"].values())) == ({}, {"unparseable"})
    used, last = line["metadata"]["output_tokens"], line["output"]["usage"]["output_tokens"]
    assert used == 3 * last


def test_it_is_told_where_the_judge_did_not_see_what_the_person_saw(server: str, tmp_path: Path) -> None:
    here = study(judge_at(server, "echo", extra={"redact": True}))
    plain, told = talk(here, seeker="Ann"), talk(here, seeker="Bo")
    Turn.objects.filter(conversation=told.conversation, number=3).update(text="Line one\nwrite to a@b.co")
    judge()
    found = {line["metadata"]["conversation"]: line for line in exported(tmp_path)}
    assert [found[run.conversation.code]["metadata"]["as_shown"] for run in (plain, told)] == [True, False]
    assert found[told.conversation.code]["metadata"]["redacted"] == {"email": 1}
    assert "a@b.co" not in json.dumps(found)
    judge("--variant", "padding")
    padded = [line for line in exported(tmp_path) if line["metadata"]["variant"]]
    assert [line["metadata"]["as_shown"] for line in padded] == [False, False]


def test_line_breaks_within_a_message_are_no_difference(server: str, tmp_path: Path) -> None:
    run = talk(study(judge_at(server, "echo")))
    Turn.objects.filter(conversation=run.conversation, number=3).update(text="Line one\n\nline  two")
    judge()
    assert exported(tmp_path)[0]["metadata"]["as_shown"] is True


def test_test_data_and_erased_people_are_left_out(server: str, tmp_path: Path) -> None:
    here = study(judge_at(server, "echo"))
    real, bot = talk(here, seeker="Ann"), talk(here, seeker="Bot")
    ArmRun.objects.filter(pk=bot.pk).update(is_test=True)
    judge()
    code = real.conversation.code
    assert [line["metadata"]["conversation"] for line in exported(tmp_path)] == [code]
    assert len(exported(tmp_path, "--include-tests")) == 2
    ArmRun.objects.filter(pk=real.pk).delete()
    call_command("export_judgements", "demo", "--out", str(tmp_path / "j.jsonl"), verbosity=0)
    assert list(tmp_path.iterdir()) == []  # an empty file would be anyone's


def test_scores_without_calls_of_their_own_have_no_answer(server: str, tmp_path: Path) -> None:
    """Imported ones; and those of a conversation that is word for word another one: it was asked once."""
    here = study(judge_at(server, "echo"))
    runs = [talk(here), talk(here)]
    assert judge() == (summary(done=2), 0)
    for run in runs:
        rated(run, Rater.objects.get_or_create(study=here, kind="judge", code="theirs")[0], 3)
    lines = exported(tmp_path)
    assert len(lines) == 4
    assert sorted(line["output"] == {} for line in lines) == [False, True, True, True]
    assert {line["target"] for line in lines} == {""}
    assert all(line["scores"]["safety"]["value"] for line in lines)


@pytest.mark.parametrize("count", [1, 3])
def test_rows_are_read_in_few_statements(count: int, server: str, django_assert_num_queries: Any) -> None:
    here = study(judge_at(server, "echo"))
    for n in range(count):
        talk(here, seeker=f"Seeker {n}")
    judge()
    with django_assert_num_queries(7):
        assert len(list(build_samples(here, Filter()))) == count


def test_file_is_private_and_an_earlier_one_is_replaced(server: str, tmp_path: Path) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, seeker="Ann")
    judge()
    out = StringIO()
    call_command("export_judgements", "demo", "--out", str(tmp_path / "j.jsonl"), "--json", stdout=out)
    assert json.loads(out.getvalue().splitlines()[-1]) == {
        "study": "demo", "out": str(tmp_path / "j.jsonl"), "rows": 1
    }  # fmt: skip
    assert stat.S_IMODE((tmp_path / "j.jsonl").stat().st_mode) == 0o600
    talk(here, seeker="Bo")
    judge()
    assert len(exported(tmp_path)) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["j.jsonl"]


@pytest.mark.parametrize("content", ["My notes\n", "", '{"messages": []}\n', OURS_OF_NO_STUDY, None])
def test_foreign_file_is_not_written_over(content: str | None, tmp_path: Path) -> None:
    study()
    out = tmp_path / "j.jsonl"
    if content is None:
        out.mkdir()
    else:
        out.write_text(content)
    with pytest.raises(CommandError, match="is there already") as refusal:
        call_command("export_judgements", "demo", "--out", str(out))
    assert refusal.value.returncode == 2
    assert content is None or out.read_text() == content
    assert not Job.objects.exists()


def test_pipe_or_device_is_not_replaced(tmp_path: Path) -> None:
    """As root it could be, and then there is no /dev/null any more."""
    study()
    out = tmp_path / "null"
    os.mkfifo(out)
    with pytest.raises(CommandError, match=r"null: is there already and is no ordinary file\.") as refusal:
        call_command("export_judgements", "demo", "--out", str(out))
    assert refusal.value.returncode == 2
    assert stat.S_ISFIFO(out.stat().st_mode)
    assert list(tmp_path.iterdir()) == [out]


def test_export_of_another_study_is_not_written_over(server: str, tmp_path: Path) -> None:
    talk(study(judge_at(server, "echo")))
    judge()
    [before] = exported(tmp_path)
    factories.study("other")
    with pytest.raises(
        CommandError, match=r"j\.jsonl: holds an export of the study 'demo'\. Name another f"
    ) as refusal:
        call_command("export_judgements", "other", "--out", str(tmp_path / "j.jsonl"))
    assert refusal.value.returncode == 2
    assert exported(tmp_path) == [before]


def test_folder_that_is_not_there_is_named_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match=r"^nodir/j\.jsonl: there is no folder nodir\.$") as refusal:
        call_command("export_judgements", "demo", "--out", "nodir/j.jsonl")
    assert refusal.value.returncode == 2


def test_folder_that_cannot_be_written_in_is_told_without_hidden_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study()

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("studies.data.exports.lines.open_private", full)
    out = tmp_path / "j.jsonl"
    with pytest.raises(CommandError) as refusal:
        call_command("export_judgements", "demo", "--out", str(out))
    assert str(refusal.value) == f"{out}: No space left on device"
