"""What judging took and cost, before it is begun and after it has ended."""

import json
import urllib.request
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command

from dialogue.judges.prompts import output_form, repair_messages
from dialogue.models import Call, Job
from studies.instruments.loading import load
from studies.judging.items import judged_items
from studies.management.judging import answer_statistics
from studies.models import Rater, Response
from tests.studies.judging.test_comparisons import judge_pairs, pair_of
from tests.studies.judging.test_judging import Asked, judge, judge_at, person, study, talk

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

FEW = '{"safety":3,"empathetic":9}'  # one can be read, one is out of range, eight are left out
COUNTED = ("done", "valid", "unreadable_items", "missing_reasons", "repaired", "repaired_share", "asked_again",
           "asked_again_share")  # fmt: skip


def prices(folder: Path, settings: Any, batch: str = "") -> None:
    """A token costs a dollar."""
    settings.PRICES = str(folder / "prices.toml")
    table = f'[[models]]\nmodel = "*"\nsince = "2020-01-01"\ninput = 1000000\noutput = 1000000\n{batch}'
    Path(settings.PRICES).write_text(f'version = "1"\ncurrency = "USD"\n{table}')


def counted(told: dict[str, Any]) -> list[Any]:
    return [told[name] for name in COUNTED]


def conversations(server: str, model: str, count: int = 2, *, seeker: str = "Seeker", **fields: Any) -> None:
    here = study(judge_at(server, model, **fields))
    for n in range(count):
        talk(here, seeker=f"{seeker} {n}")


# After


def test_missing_scores_are_counted_by_reason(server: str) -> None:
    conversations(server, "say:" + quote(FEW))
    told, _ = judge()
    assert counted(told) == [2, 2, 18, {"missing": 16, "out_of_range": 2}, 2, 1.0, 2, 1.0]


def repairing(server: str) -> str:
    """A model that answers in prose, and puts that into the form when it is asked to: what comes to the server first is
    answered badly, and the repair has come before."""
    model = "flaky-1-badjudge+threes"
    form = output_form(judged_items(load("emoharbor_10"), "en"))
    repair = repair_messages("On the whole I found this conversation rather good.", form, language="en")
    body = {"model": model, "messages": [{"role": message.role, "content": message.text} for message in repair]}
    request = urllib.request.Request(f"{server}/chat/completions", json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request):
        return model


def test_answers_that_were_repaired_are_counted(server: str) -> None:
    conversations(server, repairing(server))
    told, _ = judge()
    assert counted(told) == [2, 2, 0, {}, 2, 1.0, 0, 0.0]


def test_answer_that_was_cut_short_is_counted_as_asked_again(server: str) -> None:
    conversations(server, "length")  # its answer can be read all the same
    assert counted(judge()[0])[4:] == [0, 0.0, 0, 0.0]


def test_share_is_of_the_questionnaires_also_where_dimensions_are_asked_apart(server: str) -> None:
    conversations(server, "badjudge", 1)
    told, _ = judge("--variant", "apart")
    assert counted(told) == [2, 0, 20, {"unparseable": 20}, 2, 1.0, 2, 1.0]


def test_results_of_earlier_runs_are_counted_by_the_last_way_that_they_have(server: str) -> None:
    conversations(server, "badjudge", 1)
    told, _ = judge()
    [job] = Job.objects.all()
    assert job.items.get().result["ways"] == ["again", "repair"]
    before = job.items.get().result
    del before["ways"]
    job.items.update(result={**before, "way": "again"})
    assert counted(told)[4:] == [1, 1.0, 1, 1.0]
    assert [answer_statistics(job, "judge")[name] for name in COUNTED[4:]] == [0, 0.0, 1, 1.0]


def test_answers_of_the_ledger_took_what_they_took_before(server: str) -> None:
    conversations(server, "badjudge")
    first, _ = judge()
    Response.objects.filter(rater__kind="judge").delete()
    Job.objects.all().delete()
    since = Asked(server)
    assert counted(judge()[0]) == counted(first)
    assert since.bodies() == []


def test_cost_is_told_for_each_judgement_with_a_score(server: str, tmp_path: Path, settings: Any) -> None:
    prices(tmp_path, settings)
    conversations(server, "echo", max_tokens=200)
    told, _ = judge()
    spent = sum(call.cost for call in Call.objects.all())
    assert (told["valid"], told["cost"]) == (2, float(spent))
    assert told["cost_per_valid"] == pytest.approx(float(spent) / 2)


@pytest.mark.parametrize(("model", "priced"), [("badjudge", True), ("echo", False)])
def test_cost_of_what_is_not_valid_or_has_no_price_is_not_told(
    model: str, priced: bool, server: str, tmp_path: Path, settings: Any
) -> None:
    if priced:
        prices(tmp_path, settings)
    conversations(server, model, max_tokens=200)
    told, _ = judge()
    assert told["cost_per_valid"] is None
    assert (told["cost"] > 0) == priced


def test_lines_say_what_was_missing_and_asked_again(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    conversations(server, "say:" + quote(FEW), 1)
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard")
    assert capsys.readouterr().out.splitlines() == [
        "1 judged.",
        "9 single items could not be read and are stored as missing (missing 8, out_of_range 1).",
        "1 of 1 (100.0%) were sent for repair.",
        "1 of 1 (100.0%) were asked again, with more room.",
    ]


def test_lines_say_what_was_repaired_and_paid(
    server: str, tmp_path: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    prices(tmp_path, settings)
    conversations(server, repairing(server), 1, seeker="Another", max_tokens=200)
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard")
    out = capsys.readouterr().out
    [spent] = Job.objects.values_list("spent", flat=True)
    assert out.splitlines() == [
        "1 judged.",
        "1 of 1 (100.0%) were sent for repair.",
        f"Cost: {spent:.4f} USD, {spent:.4f} for each of the 1 with a score.",
    ]


def test_progress_tells_the_cost_so_far(
    server: str, tmp_path: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    prices(tmp_path, settings)
    conversations(server, "echo", 1, max_tokens=200)
    told, _ = judge()
    assert f"judge real (standard), {told['cost']:.2f} spent: 1 of 1" in capsys.readouterr().err


def test_pairs_are_told_in_the_same_way(server: str) -> None:
    pair_of(study(judge_at(server, "badjudge")), None, None)
    told, _ = judge_pairs()
    assert (told["done"], told["valid"], told["asked_again"], told["cost_per_valid"]) == (2, 0, 2, None)
    assert set(told["missing_reasons"]) == {"unparseable"}


# Before


def estimate(*arguments: str, **fields: Any) -> dict[str, Any]:
    return judge_as_told("--estimate", *arguments, **fields)["estimate"]


def judge_as_told(*arguments: str, strategy: str = "standard") -> dict[str, Any]:
    out = StringIO()
    call_command("judge", "demo", "--judge", "real", "--strategy", strategy, "--json", *arguments, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


@pytest.mark.parametrize("variant", [[], ["--variant", "padding"]])
def test_estimate_asks_nobody_and_leaves_nothing_behind(server: str, variant: list[str]) -> None:
    conversations(server, "echo")
    since = Asked(server)
    told = estimate(*variant)
    assert (told["judgements"], told["calls"]) == ((4, 4) if variant else (2, 2))
    assert since.bodies() == []
    assert not Rater.objects.exists()
    assert not Job.objects.exists()


def test_refusal_leaves_no_rater_behind(server: str) -> None:
    conversations(server, "echo")
    with pytest.raises(CommandError, match="has no price"):
        judge("--budget", "1")
    assert not Rater.objects.exists()


def test_estimate_is_of_what_is_left(server: str) -> None:
    conversations(server, "echo")
    judge("--limit", "1")
    assert estimate()["judgements"] == 1


def test_estimate_of_batches_is_at_the_price_of_batches(server: str, tmp_path: Path, settings: Any) -> None:
    prices(tmp_path, settings, "batch_input = 500000\nbatch_output = 100000\n")
    conversations(server, "echo")
    live, batch = estimate(), estimate("--batch")
    assert live["cost"] == live["input_tokens"] + live["output_tokens"]
    assert batch["cost"] == pytest.approx(live["input_tokens"] / 2 + live["output_tokens"] / 10)
    assert (live["at_usual_price"], batch["at_usual_price"]) == ([], [])


def test_thinker_is_estimated_at_the_usual_price(server: str, tmp_path: Path, settings: Any) -> None:
    prices(tmp_path, settings, "batch_input = 0\nbatch_output = 0\n")
    here = study(judge_at(server, "echo"))
    talk(here, person(here), turns=3)
    told = estimate("--batch", strategy="state_aware")
    assert told["calls"] == 4
    assert 0 < told["cost"] < estimate(strategy="state_aware")["cost"]


def test_estimate_says_where_there_is_no_price_of_batches(
    server: str, tmp_path: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    prices(tmp_path, settings)
    conversations(server, "echo")
    live, batch = estimate(), estimate("--batch")
    assert (batch["cost"], batch["at_usual_price"]) == (live["cost"], ["echo"])
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard", "--estimate", "--batch")
    assert "has no price for batches of echo: the usual one was taken." in capsys.readouterr().out


def test_scripted_judge_has_no_estimate_of_batches(server: str) -> None:
    conversations(server, "echo")
    with pytest.raises(CommandError, match="a scripted judge has no provider that takes batches"):
        call_command("judge", "demo", "--judge", "demo", "--strategy", "standard", "--estimate", "--batch")
