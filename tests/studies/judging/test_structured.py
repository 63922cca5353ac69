"""Judges who are asked by a JSON schema, where the study file says so: live, in batches, on pairs, in the preview."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import call_command

from dialogue.judges.schemas import WHAT_TO_CHANGE
from dialogue.models import Call, InnerState, Job
from studies.judging.settings import Configuration
from studies.models import Answer, Response, Verdict
from tests.studies.judging.test_comparisons import judge_pairs, pair_of
from tests.studies.judging.test_judging import (
    CHECKPOINT_ITEMS,
    FINAL_ITEMS,
    Asked,
    judge,
    judge_at,
    person,
    study,
    summary,
    talk,
)

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

STRUCTURED = {"extra": {"structured": True}}


def forms(since: Asked) -> list[dict[str, Any] | None]:
    return [body.get("response_format") for body in since.bodies()]


def schema_of(form: dict[str, Any]) -> dict[str, Any]:
    return form["json_schema"]["schema"]["properties"]


def test_schema_has_exactly_the_items_with_the_numbers_of_their_scale(server: str) -> None:
    talk(study(judge_at(server, "echo", **STRUCTURED)))
    since = Asked(server)
    assert judge("--moments", "final", "checkpoint") == (summary(done=2), 0)
    found = {tuple(schema_of(form)["evaluation"]["properties"]): form for form in forms(since)}
    assert found.keys() == {tuple(FINAL_ITEMS), tuple(CHECKPOINT_ITEMS)}
    form = found[tuple(FINAL_ITEMS)]
    assert (form["type"], form["json_schema"]["name"], form["json_schema"]["strict"]) == ("json_schema", "scores", True)
    assert list(schema_of(form)) == ["analysis", "evaluation"]  # the reasons before the scores
    assert schema_of(form)["evaluation"]["properties"]["safety"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert Call.objects.filter(parameters__response_format=form).count() == 1
    assert not Answer.objects.filter(value=None).exists()
    assert not any("structured" in body for body in since.bodies())


def test_judge_of_which_the_study_file_says_nothing_gets_no_schema(server: str) -> None:
    talk(study(judge_at(server, "echo")))
    since = Asked(server)
    judge()
    assert forms(since) == [None]


def test_each_dimension_apart_has_a_schema_of_its_own(server: str) -> None:
    talk(study(judge_at(server, "echo", **STRUCTURED)))
    since = Asked(server)
    judge("--variant", "apart")
    asked = [list(schema_of(form)["evaluation"]["properties"]) for form in forms(since)]
    assert sorted(asked, key=len) == [*([item] for item in FINAL_ITEMS), FINAL_ITEMS]


def test_thinker_has_the_schema_of_a_state(server: str) -> None:
    here = study(judge_at(server, "echo", **STRUCTURED))
    talk(here, person(here), turns=2)
    since = Asked(server)
    assert judge(strategy="state_aware")[0]["done"] == 1
    assert [form["json_schema"]["name"] for form in forms(since)] == ["inner_state", "inner_state", "scores"]
    assert list(schema_of(forms(since)[0])) == ["cognition", "emotion", "goal", "emotion_score"]
    assert InnerState.objects.count() == 2


def test_pairs_are_compared_by_a_schema_in_both_orders(server: str) -> None:
    pair_of(study(judge_at(server, "echo", **STRUCTURED)), None, None)
    since = Asked(server)
    told, code = judge_pairs()
    assert (told["done"], told["unreadable_items"], code) == (2, 0, 0)
    questions = [schema_of(form)["evaluation"]["properties"] for form in forms(since)]
    assert [one["better_overall"]["enum"] for one in questions] == [[1, 2, 3]] * 2
    assert Verdict.objects.count() == 2 * len(questions[0])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TICK", "SHORTEST", "LONGEST"):
        monkeypatch.setattr(f"dialogue.jobs.batcher.{name}", 0.05)


@pytest.mark.usefixtures("quick")
def test_batch_asks_by_the_schema_too_and_its_answers_serve_live_runs(server: str) -> None:
    here = study(judge_at(server, "batch-slow-1", **STRUCTURED))
    talk(here)
    since = Asked(server)
    assert judge("--batch") == (summary(done=1), 0)
    [body] = since.bodies()
    assert "stream" not in body
    assert list(schema_of(body["response_format"])["evaluation"]["properties"]) == FINAL_ITEMS
    Response.objects.filter(run__study=here).delete()
    Job.objects.all().delete()
    assert judge()[0]["done"] == 1
    assert len(since.bodies()) == 1


def test_server_that_refuses_schemas_fails_with_what_to_change(server: str) -> None:
    talk(study(judge_at(server, "noschema", **STRUCTURED)))
    told, code = judge()
    assert (told["failed_reasons"], code) == ({"client_error": 1}, 1)
    call, item = Call.objects.get(), Job.objects.get().items.get()
    said = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
    assert (call.status, call.error) == ("client_error", said)
    assert (item.state, item.detail) == ("failed", f"{WHAT_TO_CHANGE} It said: {said}")
    assert told["failed_details"] == {"client_error": item.detail}


def test_job_stops_with_what_to_change_where_nobody_can_be_judged(server: str) -> None:
    here = study(judge_at(server, "noschema", **STRUCTURED))
    for name in ("Ann", "Bo", "Cy", "Di", "Ed"):
        talk(here, seeker=name)
    assert judge("--concurrency", "1")[1] == 1
    job = Job.objects.get()
    assert (job.state, job.reason["values"]["status"]) == ("stopped", "client_error")
    assert job.reason["values"]["detail"].startswith(WHAT_TO_CHANGE)
    assert Call.objects.count() < 5


def test_judge_answers_without_the_schema_once_the_study_file_says_so(server: str) -> None:
    run = talk(study(judge_at(server, "noschema", **STRUCTURED)))
    judge()
    run.protocol.judges.filter(key="real").update(extra={})
    assert judge()[0]["done"] == 1


def test_answer_that_heeds_no_schema_is_repaired_without_one(server: str) -> None:
    """A repair that had to give a number for every item would make up what the answer does not say."""
    talk(study(judge_at(server, "say:" + quote("Rather good, on the whole."), **STRUCTURED)))
    since = Asked(server)
    nothing = {"valid": 0, "unreadable_items": 10, "missing_reasons": {"unparseable": 10}}
    asked = {"repaired": 1, "repaired_share": 1.0, "asked_again": 1, "asked_again_share": 1.0}
    assert judge() == (summary(done=1, **nothing, **asked), 0)
    assert [form is None for form in forms(since)] == [False, True, False]


@pytest.mark.parametrize("answer", [{"evaluation": dict.fromkeys(FINAL_ITEMS, "3分")}, dict.fromkeys(FINAL_ITEMS, 3)])
def test_answers_of_servers_that_pass_over_the_schema_are_read_as_ever(server: str, answer: dict[str, Any]) -> None:
    talk(study(judge_at(server, "say", extra={"structured": True, "say": f"```json\n{json.dumps(answer)}\n```"})))
    assert judge() == (summary(done=1), 0)
    assert set(Answer.objects.values_list("value", flat=True)) == {3.0}


def test_script_reads_no_schema() -> None:
    here = study()
    talk(here)
    judge(key="demo")
    before = Call.objects.get().key
    Response.objects.all().delete()
    Job.objects.all().delete()
    here.current().judges.update(extra={"structured": True})
    assert judge(key="demo")[0]["done"] == 1
    assert [(call.key, "response_format" in call.parameters) for call in Call.objects.all()] == [(before, False)]


def test_schema_is_part_of_the_hash_and_of_the_key(server: str) -> None:
    plain, structured = judge_at(server, "echo"), judge_at(server, "echo", **STRUCTURED)
    for asked in ("hash", "thinker_hash"):
        assert (
            getattr(Configuration(plain, "standard"), asked)()
            != getattr(Configuration(structured, "standard"), asked)()
        )
    here = study(plain)
    run = talk(here)
    judge()
    Response.objects.filter(run=run).delete()
    Job.objects.all().delete()
    here.current().judges.filter(key="real").update(extra={"structured": True})
    judge()
    assert len(set(Call.objects.values_list("key", flat=True))) == 2


@pytest.mark.parametrize("variant", [[], ["--variant", "apart"]])
def test_preview_shows_the_schema_that_is_sent(
    variant: list[str], server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = talk(study(judge_at(server, "echo", **STRUCTURED)))
    asked = ["demo", "--judge", "real", "--strategy", "standard", *variant, "--preview", run.conversation.code]
    call_command("judge", *asked, "--json")
    out = capsys.readouterr().out
    told = json.loads(out.splitlines()[-1])
    shown = [prompt["response_format"] for one in told["previews"] for prompt in one["prompts"]]
    assert out.count("## response_format\n{") == len(shown) == (10 if variant else 1)
    judge(*variant)
    sent = [call.parameters["response_format"] for call in Call.objects.order_by("pk")][-len(shown) :]
    assert shown == sent
    [parameters] = [one["parameters"]["response_format"] for one in told["previews"]]
    assert parameters == (shown if variant else shown[0])
