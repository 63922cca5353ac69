import json
import re
import socket
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from dialogue.jobs.reasons import Reason
from dialogue.models import Call, Conversation, InnerState, Job, Turn
from dialogue.models.conversation import Status, TurnState
from studies.data.exports.columns import Filter
from studies.data.exports.tables import RATINGS, count_ratings, ratings
from studies.design.reading import read_study
from studies.design.spec import ArmSpec
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import instrument_ids, load
from studies.judging import planning
from studies.models import Answer, ArmRun, Consent, Participation, Rater, Response, Study
from studies.models.participation import Status as PersonStatus
from studies.participation.enrolment import invite
from studies.participation.responses import rater_for, store_response
from studies.workbench.job_words import describe_stop
from tests import factories
from tests.llm_server import running

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

FINAL_ITEMS = [item.key for item in load("emoharbor_10").items]
CHECKPOINT_ITEMS = ["response_appropriateness", "adaptive_strategies", "empathetic", "goal_progress", "redundancy",
                    "willingness"]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


def asked(base_url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{base_url.removesuffix('/v1')}/asked") as response:
        return json.load(response)


class Asked:
    """What the server has been asked since this was made."""

    def __init__(self, base_url: str) -> None:
        self.base_url, self.before = base_url, len(asked(base_url))

    def bodies(self) -> list[dict[str, Any]]:
        return asked(self.base_url)[self.before :]


def judge_at(base_url: str, model: str, **fields: Any) -> ArmSpec:
    return ArmSpec("openai_compatible", model, base_url, key="real", title={"en": "A judge"}, provider="ACME", **fields)


def study(*judges: ArmSpec) -> Study:
    known = [*instrument_ids(), "consent_template"]
    path = settings.FIXTURES / "studies" / "demo.toml"
    spec = read_study(path, instruments=known, prompt_folder=settings.FIXTURES / "prompts")
    return factories.load_study(replace(spec, judges=(*spec.judges, *judges))).protocol.study


def person(study: Study, *, providers: tuple[str, ...] = ("ACME",), language: str = "en") -> Participation:
    someone, _token = invite(study)
    someone.protocol, someone.language, someone.status = study.current(), language, PersonStatus.COMPLETED
    someone.save()
    Consent.objects.create(
        participation=someone, instrument="consent_template", version="1", text_hash="x", language=language,
        boxes={}, providers=list(providers)
    )  # fmt: skip
    answers = [AnswerValue("age_band", text="25_34"), AnswerValue("nickname", text="Sam")]
    store_response(rater_for(someone), load("profile"), answers)
    return someone


def talk(
    study: Study, someone: Participation | None = None, *, turns: int = 6, seeker: str = "Seeker", **fields: Any
) -> ArmRun:
    """A closed conversation that paused after its fifth turn."""
    room = Conversation.objects.create(
        **{"language": "en", "pause_after": [5, 10], "status": Status.CLOSED, "end_reason": "finished", **fields}
    )
    for number in range(1, turns + 1):
        Turn.objects.create(
            conversation=room, number=number, client_id=str(number), state=TurnState.ANSWERED,
            text=f"{seeker} says {number}", reply=f"Supporter says {number}"
        )  # fmt: skip
    position = someone.runs.count() + 1 if someone else 0
    return ArmRun.objects.create(
        study=study, protocol=study.current(), participation=someone, position=position, conversation=room, arm="amber"
    )


def judge(*arguments: str, key: str = "real", strategy: str = "standard") -> tuple[dict[str, Any], int]:
    """The summary and the exit code."""
    out = StringIO()
    code = 0
    try:
        call_command("judge", "demo", "--judge", key, "--strategy", strategy, "--json", *arguments, stdout=out)
    except SystemExit as exit:
        code = int(exit.code or 0)
    told = json.loads(out.getvalue().splitlines()[-1])
    for whatever in ("job", "unpriced"):
        told.pop(whatever, None)
    return told, code


def summary(**counts: Any) -> dict[str, Any]:
    zero = {"done": 0, "skipped_existing": 0, "not_sent": 0, "without_profile": 0, "erased": 0, "unreadable_items": 0,
            "failed": 0, "failed_reasons": {}, "failed_details": {}, "quarantined": 0, "left": 0, "cost": 0.0,
            "budget_reached": False, "valid": 0, "missing_reasons": {}, "repaired": 0, "repaired_share": None,
            "asked_again": 0, "asked_again_share": None, "cost_per_valid": None}  # fmt: skip
    done = {"valid": counts["done"], "repaired_share": 0.0, "asked_again_share": 0.0} if counts.get("done") else {}
    return {"judge": "real", "strategy": "standard", **zero, **done, **counts}


def test_judge_fills_the_same_questionnaire_as_a_person(server: str) -> None:
    run = talk(study(judge_at(server, "echo")))
    assert judge() == (summary(done=1), 0)
    response = Response.objects.get()
    assert (response.run, response.instrument, response.moment, response.turn) == (run, "emoharbor_10", "final", 0)
    assert (response.first_turn, response.last_turn) == (1, 6)
    assert (response.rater.kind, response.rater.code, response.rater.strategy) == ("judge", "real", "standard")
    assert response.is_rating
    answers = list(response.answers.order_by("pk"))
    assert [answer.item for answer in answers] == FINAL_ITEMS
    assert {answer.value for answer in answers} <= {1.0, 2.0, 3.0, 4.0, 5.0}


def test_call_is_kept_with_what_was_asked_and_answered(server: str) -> None:
    run = talk(study(judge_at(server, "echo")))
    since = Asked(server)
    judge()
    call, [body] = Call.objects.get(), since.bodies()
    assert (call.purpose, call.status, call.conversation, call.turn) == ("judge", "ok", run.conversation, None)
    assert (call.provider, call.model, call.prompt_version) == ("ACME", "echo", "judge.en/1")
    assert call.parameters["temperature"] == body["temperature"] == 0
    assert [message["text"] for message in call.request] == [message["content"] for message in body["messages"]]
    assert call.output_tokens == len(call.response.split())


def test_rerun_pays_nothing_twice(server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, seeker="Ann")
    talk(here, seeker="Bo")
    judge("--replicates", "2")
    since = Asked(server)
    talk(here, seeker="Cy")
    assert judge("--replicates", "2") == (summary(done=2, skipped_existing=4), 0)
    assert len(since.bodies()) == 2
    assert sorted(Response.objects.values_list("replicate", flat=True)) == [1, 1, 1, 2, 2, 2]


def test_limit_leaves_the_rest_for_the_next_time(server: str) -> None:
    here = study(judge_at(server, "echo"))
    for _ in range(3):
        talk(here)
    assert judge("--limit", "2")[0]["done"] == 2
    assert judge("--limit", "2")[0]["done"] == 1


def test_judge_that_answers_in_prose_is_missing_with_the_reason(server: str) -> None:
    talk(study(judge_at(server, "badjudge")))
    since = Asked(server)
    nothing = {"valid": 0, "unreadable_items": 10, "missing_reasons": {"unparseable": 10}}
    asked = {"repaired": 1, "repaired_share": 1.0, "asked_again": 1, "asked_again_share": 1.0}
    assert judge() == (summary(done=1, **nothing, **asked), 0)
    assert set(Answer.objects.values_list("value", "missing_reason")) == {(None, "unparseable")}
    assert list(Call.objects.values_list("status", flat=True)) == ["unparseable"] * 3
    first, repair, again = (body["messages"] for body in since.bodies())
    assert "<answer>\nOn the whole I found this conversation rather good.\n</answer>" in repair[-1]["content"]
    assert "Seeker says" not in json.dumps(repair)
    assert again[-1]["content"].startswith(first[-1]["content"])
    assert judge() == (summary(skipped_existing=1), 0)


def test_full_width_digits_and_punctuation_are_read(server: str) -> None:
    talk(study(judge_at(server, "fullwidth")), language="zh")
    assert judge() == (summary(done=1), 0)
    call = Call.objects.get()
    assert "：" in call.response
    assert not re.search("[0-9]", call.response)
    assert set(Answer.objects.values_list("item", flat=True)) == set(FINAL_ITEMS)
    assert all(answer.value in (1, 2, 3, 4, 5) for answer in Answer.objects.all())
    assert call.prompt_version == "judge.zh/1"


def test_score_outside_the_scale_is_missing_and_the_others_are_kept(server: str) -> None:
    talk(study(judge_at(server, "say:" + quote('{"safety": 9, "empathetic": 4}'))))
    assert judge()[0]["unreadable_items"] == 9
    answers = {answer.item: (answer.value, answer.missing_reason) for answer in Answer.objects.all()}
    missing = dict.fromkeys(FINAL_ITEMS, (None, "missing"))
    assert answers == missing | {"safety": (None, "out_of_range"), "empathetic": (4.0, "")}


@pytest.mark.parametrize(
    ("model", "reason", "detail", "attempts"),
    [
        ("status-503", "server_error", "Asked to answer 503.", 8),
        ("status-401", "key_refused", "HTTP 401.", 1),
    ],
)
def test_call_without_an_answer_is_no_response(
    server: str, model: str, reason: str, detail: str, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)
    talk(study(judge_at(server, model)))
    failed = {"failed": 1, "failed_reasons": {reason: 1}, "failed_details": {reason: detail}}
    assert [judge() for _ in range(3)] == [(summary(**failed, quarantined=int(n == 3)), 1) for n in (1, 2, 3)]
    assert list(Call.objects.values_list("status", flat=True)) == [reason] * attempts * 3
    assert not Response.objects.exists()
    assert judge() == (summary(**failed, quarantined=1), 1)
    assert Call.objects.count() == attempts * 3


def too_long(here: Study, count: int) -> None:
    """They come first."""
    for _ in range(count):
        talk(here, turns=1, seeker="on and " * 3000)


def test_conversations_too_long_for_a_judge_are_set_aside_and_all_others_judged(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here = study(judge_at(server, "context-20000"))
    too_long(here, 4)
    for _ in range(56):
        talk(here, turns=1)
    told, code = judge("--replicates", "5", "--concurrency", "8")
    assert (told["done"], told["failed"], told["left"], code) == (280, 20, 0, 1)
    assert (told["failed_reasons"], told["quarantined"]) == ({"too_long": 20}, 20)
    assert told["failed_details"]["too_long"].startswith(
        "This is too long for the model: This model's maximum context length is 20000 tokens."
    )
    assert (Job.objects.get().state, Job.objects.get().reason) == ("done", {})
    before = Call.objects.count()
    told, code = judge("--replicates", "5")
    assert (told["done"], told["skipped_existing"], told["quarantined"], code) == (0, 280, 20, 1)
    assert Call.objects.count() == before
    capsys.readouterr()
    with pytest.raises(SystemExit):
        call_command("judge", "demo", "--judge", "real", "--strategy", "standard")
    assert "4 of them wait in quarantine (too long, or failed the same way three times)" in capsys.readouterr().out
    names = [column.name for column in RATINGS]
    rows = [dict(zip(names, row, strict=True)) for row in ratings(here, Filter())]
    assert Counter(row["missing_reason"] for row in rows) == {"": 280 * 10, "too_long": 20 * 10}


def test_what_stopped_a_job_comes_last_in_the_next(server: str) -> None:
    """A text that tells nothing: at first the judge itself may be wrong, but not once others were judged."""
    here = study(judge_at(server, "odd-20000"))
    too_long(here, 5)
    for _ in range(15):
        talk(here, turns=1)
    told, code = judge("--concurrency", "1")
    assert (told["done"], told["failed"], code) == (0, 3, 1)
    assert Job.objects.latest("pk").state == "stopped"
    told, code = judge("--concurrency", "1")
    assert (told["done"], told["failed"], told["left"], code) == (15, 5, 0, 1)
    assert (Job.objects.latest("pk").state, told["quarantined"]) == ("done", 0)


def test_judge_whose_server_was_down_goes_on_with_the_same_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)
    port = free_port()
    here = study(judge_at(f"http://127.0.0.1:{port}/v1", "echo"))
    for _ in range(6):
        talk(here)
    for _ in range(3):
        told, code = judge("--concurrency", "2")
        assert (told["done"], told["quarantined"], code) == (0, 0, 1)
        assert told["failed"] + told["left"] == 6
    with running(port):
        assert judge() == (summary(done=6), 0)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def test_terminal_tells_of_a_model_that_is_asked_again(
    server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("studies.management.jobs.LOOK", 0.02)
    talk(study(judge_at(server, "flaky-1-status-503")))
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard")
    told = capsys.readouterr().err
    assert (
        "judge real (standard), flaky-1-status-503 does not answer and is asked again (fault of the server)\n" in told
    )


def test_quarantine_is_told_with_what_to_do(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)
    talk(study(judge_at(server, "status-503")))
    out = StringIO()
    for _ in range(3):
        with pytest.raises(SystemExit):
            call_command("judge", "demo", "--judge", "real", "--strategy", "standard", stdout=out)
    assert out.getvalue().count("1 failed: server_error. Asked to answer 503.\n") == 3
    assert out.getvalue().count("--retry-quarantined tries it again.") == 1


def test_nothing_to_judge_is_told_with_what_to_do(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    here = study(judge_at(server, "echo"))
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard")
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("Nothing to judge: no conversation that is closed has a reply. Let simulated seekers talk")
    talk(here, turns=2)
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard", "--moments", "checkpoint")
    [line] = capsys.readouterr().out.splitlines()
    assert line == "Nothing to judge: no conversation has a rating of this moment (checkpoint); see --moments."
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard", "--background")
    [line] = capsys.readouterr().out.splitlines()
    assert line.endswith(": 1 item waits for a runner.")


def test_call_that_fails_at_first_is_made_again(server: str) -> None:
    talk(study(judge_at(server, "flaky-2-status-500")))
    assert judge() == (summary(done=1), 0)
    assert list(Call.objects.order_by("attempt").values_list("status", flat=True)) == ["server_error"] * 2 + ["ok"]


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("status-429-0", "rate_limited"),
        ("status-500", "server_error"),
        ("streamerror", "server_error"),
        ("stall", "timeout"),
        ("break", "network"),
        ("hangup", "network"),
        ("badjson", "network"),
        ("empty", "empty"),
    ],
)
def test_fault_that_passes_costs_one_more_attempt_and_no_score(server: str, fault: str, status: str) -> None:
    talk(study(judge_at(server, f"flaky-1-{fault}", extra={"gap_timeout": 0.3, "total_timeout": 3})))
    assert judge() == (summary(done=1), 0)
    assert list(Call.objects.order_by("pk").values_list("status", "attempt")) == [(status, 1), ("ok", 2)]
    assert Answer.objects.filter(value__isnull=False).count() == 10


@pytest.mark.parametrize("model", ["filter", "refusal"])
def test_refusal_is_no_score_and_is_not_asked_again(server: str, model: str) -> None:
    talk(study(judge_at(server, model)))
    assert judge() == (summary(failed=1, failed_reasons={"refused": 1}), 1)
    assert list(Call.objects.values_list("status", flat=True)) == ["refused"]
    assert not Answer.objects.exists()


def missing_by_item(study: Study) -> dict[str, tuple[Any, ...]]:
    """The judge's rows of ratings.csv: score and reason, by item."""
    names = [column.name for column in RATINGS]
    rows = [dict(zip(names, row, strict=True)) for row in ratings(study, Filter())]
    assert count_ratings(study, Filter()) == len(rows)
    assert {(row["rater"], row["rater_kind"], row["strategy"], row["arm"]) for row in rows} <= {
        ("real", "judge", "standard", "amber")
    }
    return {row["item"]: (row["score"], row["missing_reason"], row["moment"], row["turn"]) for row in rows}


def test_question_that_was_never_answered_is_missing_until_it_is(server: str) -> None:
    here = study(judge_at(server, "flaky-1-refusal"))
    talk(here)
    assert judge()[0]["failed_reasons"] == {"refused": 1}
    assert missing_by_item(here) == dict.fromkeys(FINAL_ITEMS, (None, "refused", "final", 6))
    assert judge()[0]["done"] == 1
    assert [told[1] for told in missing_by_item(here).values()] == [""] * 10


def test_question_that_another_model_was_asked_in_vain_is_answered_by_the_next(server: str) -> None:
    here = study(judge_at(server, "status-401"))
    talk(here)
    judge()
    assert set(missing_by_item(here).values()) == {(None, "key_refused", "final", 6)}
    reload(here, judge_at(server, "refusal"))
    judge()
    assert set(missing_by_item(here).values()) == {(None, "refused", "final", 6)}
    assert len(missing_by_item(here)) == 10
    reload(here, judge_at(server, "echo"))
    judge()
    assert [told[1] for told in missing_by_item(here).values()] == [""] * 10


def reload(study: Study, judge: ArmSpec) -> None:
    """The study file with another judge under the same key."""
    spec = study.current().spec()
    factories.load_study(replace(spec, judges=(*[one for one in spec.judges if one.key != judge.key], judge)))


CHANGES: list[dict[str, Any]] = [
    {"model": "say:" + quote('{"safety": 3}')},
    {"temperature": 0.5},
    {"extra": {"structured": True}},
    {"extra": {"seed": 4}},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_changed_judge_is_refused_under_the_key_that_has_answered(server: str, changes: dict[str, Any]) -> None:
    here = study(judge_at(server, "echo"))
    talk(here)
    talk(here)
    judge("--limit", "1")
    reload(here, replace(judge_at(server, "echo"), **changes))
    before, since = list(Response.objects.values()), Asked(server)
    for strategy in ("standard", "user_aware"):
        for arguments in ([], ["--estimate"], ["--variant", "padding"]):
            with pytest.raises(CommandError, match="Give the changed judge a key of its own") as refusal:
                judge(*arguments, strategy=strategy)
            assert refusal.value.returncode == 2
    assert (list(Response.objects.values()), since.bodies()) == (before, [])


def test_another_prompt_is_a_changed_judge_too(server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here)
    judge()
    reload(here, replace(judge_at(server, "echo"), prompt="mine.txt", prompt_text={"": "Rate what you read."}))
    with pytest.raises(CommandError, match="other prompts"):
        judge()


def test_judge_that_is_asked_more_patiently_is_no_other(server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here)
    judge()
    talk(here, seeker="Bo")
    reload(here, judge_at(server, "echo", extra={"requests_per_minute": 6000, "gap_timeout": 20}))
    assert judge() == (summary(done=1, skipped_existing=1), 0)


def test_judge_that_has_answered_nothing_may_be_put_right(server: str) -> None:
    here = study(judge_at(server, "status-401"))
    talk(here)
    assert judge()[1] == 1
    reload(here, judge_at(server, "echo"))
    assert judge() == (summary(done=1), 0)


def test_judge_of_whom_nothing_can_be_read_is_not_asked_to_the_end(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogue.jobs.runner.USELESS", 3)
    here = study(judge_at(server, "badjudge"))
    for _ in range(8):
        talk(here)
    told, code = judge("--concurrency", "1")
    assert (told["valid"], told["failed"], code) == (0, 0, 1)
    assert 3 <= told["done"] <= 5  # what was under way is done as well
    assert told["done"] + told["left"] == 8
    job = Job.objects.get()
    assert (job.state, job.reason) == ("stopped", Reason.of("useless_answers", number=3).as_json())


def test_judge_of_whom_something_can_be_read_is_asked_to_the_end(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogue.jobs.runner.USELESS", 2)
    here = study(judge_at(server, "say:" + quote('{"safety": 3}')))
    for _ in range(5):
        talk(here)
    assert judge()[0]["done"] == 5


def test_preview_says_that_the_judge_has_changed(server: str) -> None:
    here = study(judge_at(server, "echo"))
    run = talk(here)
    assert run.conversation is not None
    judge()
    assert judge("--preview", run.conversation.code)[0]["previews"][0]["obstacles"] == []
    reload(here, judge_at(server, "echo", temperature=0.5))
    [obstacle] = judge("--preview", run.conversation.code)[0]["previews"][0]["obstacles"]
    assert obstacle.startswith("This judge has already answered with another model")


def test_answer_with_signs_that_no_database_takes_is_kept_and_read(server: str) -> None:
    talk(study(judge_at(server, "say:" + quote('{"safety": 3, "a": "b\0c"}'))))
    assert judge()[0]["valid"] == 1
    assert set(Call.objects.values_list("response", flat=True)) == {'{"safety": 3, "a": "bc"}'}


def test_replicates_have_seeds_of_their_own(server: str) -> None:
    talk(study(judge_at(server, "echo", extra={"seed": 7})))
    since = Asked(server)
    judge("--replicates", "3")
    assert sorted(body["seed"] for body in since.bodies()) == [7, 8, 9]
    kept = Call.objects.order_by("replicate").values_list("replicate", "parameters__seed")
    assert list(kept) == [(1, 7), (2, 8), (3, 9)]


def test_server_that_asks_for_a_long_wait_stops_the_job(server: str) -> None:
    here = study(judge_at(server, "status-429-3600"))
    for _ in range(6):
        talk(here)
    told, code = judge("--concurrency", "2")
    assert (told["done"], told["quarantined"], code) == (0, 0, 1)
    assert told["failed"] + told["left"] == 6
    job = Job.objects.get()
    assert job.state == "stopped"
    said = "Asked to answer 429. The server asks to wait for 3600 s."
    assert describe_stop(job) == (
        f"Stopped after failures in a row: judge real (status-429-3600): too many calls. {said} Wait and ask again. If "
        "it happens again, check the limits and the balance of your account."
    )
    assert not Call.objects.filter(status="started").exists()


SCORES = dict.fromkeys(FINAL_ITEMS, 3)


@pytest.mark.parametrize(
    "answer",
    [
        f"```json\n{json.dumps({'evaluation': SCORES}, indent=1)}\n```",
        json.dumps({"evaluation": SCORES})[:-2] + ",}}",
        f"First: {json.dumps(SCORES | {'safety': 1})}. No, rather: {json.dumps(SCORES)}",
        json.dumps({"evaluation": SCORES | {"something_else": 5}}),
        json.dumps({"评分": dict.fromkeys(FINAL_ITEMS, "3分")}, ensure_ascii=False),
        json.dumps({"evaluation": SCORES})[:-1],
    ],
    ids=["fence", "last comma", "draft", "extra key", "Chinese", "brace left out"],
)
def test_untidy_answers_are_read_at_once(server: str, answer: str) -> None:
    talk(study(judge_at(server, "say", extra={"say": answer})))
    assert judge() == (summary(done=1), 0)
    assert list(Call.objects.values_list("status", flat=True)) == ["ok"]
    assert set(Answer.objects.values_list("value", flat=True)) == {3.0}


def test_answer_that_was_cut_short_is_said_to_be(server: str) -> None:
    talk(study(judge_at(server, "length")))
    assert judge() == (summary(done=1), 0)
    assert list(Call.objects.values_list("status", flat=True)) == ["truncated"]


def test_checkpoint_is_judged_on_the_turns_up_to_it(server: str) -> None:
    talk(study(judge_at(server, "echo")), turns=7)
    since = Asked(server)
    assert judge("--moments", "checkpoint") == (summary(done=1), 0)
    [body] = since.bodies()
    prompt = body["messages"][-1]["content"]
    assert "[5] Supporter: Supporter says 5\n</dialogue>" in prompt
    assert "<scope>\nThink only of the last five turns.\n</scope>" in prompt
    response = Response.objects.get()
    assert (response.instrument, response.moment, response.turn) == ("turn_checkpoint", "checkpoint", 5)
    assert (response.first_turn, response.last_turn) == (1, 5)
    assert [answer.item for answer in response.answers.order_by("pk")] == CHECKPOINT_ITEMS


def test_checkpoint_that_a_person_rated_is_judged_where_nothing_paused(server: str) -> None:
    here = study(judge_at(server, "echo"))
    run = talk(here, turns=7, pause_after=[])
    crowd = Rater.objects.create(study=here, kind="crowd", code="c1")
    store_response(
        crowd, load("turn_checkpoint"), [AnswerValue("redundancy", value=3.0)], run=run, moment="checkpoint", turn=3
    )
    assert judge("--moments", "final", "checkpoint")[0]["done"] == 2
    places = Response.objects.filter(rater__kind="judge").values_list("moment", "turn")
    assert set(places) == {("final", 0), ("checkpoint", 3)}


@pytest.mark.parametrize(("moments", "turns"), [("turns:5,2,50", [2, 5]), ("every-turn", [1, 2, 3, 4, 5, 6, 7])])
def test_final_questions_are_asked_along_a_conversation_that_nobody_paused(moments: str, turns: list[int]) -> None:
    """EmoHarbor's figures over the turns: ten dimensions, each on the turns up to it."""
    talk(study(), turns=7, pause_after=[], seeker_kind="imported")
    assert judge("--moments", moments, key="demo")[0]["done"] == len(turns)
    found = Response.objects.order_by("turn")
    assert [(one.moment, one.instrument, one.turn) for one in found] == [
        ("checkpoint", "emoharbor_10", turn) for turn in turns
    ]
    for call, turn in zip(Call.objects.order_by("pk"), turns, strict=True):
        assert f"Supporter says {turn}\n</dialogue>" in call.request[-1]["text"]
    assert judge("--moments", moments, key="demo")[0]["skipped_existing"] == len(turns)


def test_a_place_that_two_moments_name_is_judged_once() -> None:
    here = study()
    protocol = here.current()
    protocol.design["chat"]["checkpoint_instrument"] = "emoharbor_10"
    protocol.save()
    talk(here, turns=7)
    everything = planning.judgements(here, here.runs.select_related("conversation"), ["checkpoint", "turns:5,7"], 1)
    assert [judgement.turn for _run, judgement in everything] == [5, 7]
    assert judge("--moments", "checkpoint", "turns:5,7", key="demo")[0]["done"] == 2
    assert list(Response.objects.order_by("turn").values_list("turn", flat=True)) == [5, 7]


@pytest.mark.parametrize("moments", ["turns:", "turns:0", "turns:1,x", "turns", "halfway"])
def test_moment_that_there_is_not_is_refused(moments: str) -> None:
    study()
    with pytest.raises(CommandError, match="not one of final, checkpoint, every-turn and turns:5,10"):
        call_command("judge", "demo", "--judge", "demo", "--strategy", "standard", "--moments", moments)


def test_provider_that_the_consent_does_not_name_gets_nothing(server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, person(here, providers=("ACME",)))
    talk(here, person(here, providers=("OpenAI",)))
    since = Asked(server)
    assert judge() == (summary(done=1, not_sent=1), 0)
    assert len(since.bodies()) == 1


def test_latest_consent_decides(server: str) -> None:
    here = study(judge_at(server, "echo"))
    someone = person(here, providers=("ACME",))
    Consent.objects.create(
        participation=someone, instrument="consent_template", version="2", text_hash="y", language="en", boxes={}
    )
    talk(here, someone)
    assert judge() == (summary(not_sent=1), 0)


def test_what_was_not_sent_is_said(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, person(here, providers=()))
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard")
    assert capsys.readouterr().out == "1 not sent: their consent does not name 'ACME'.\n"


def test_scripted_judge_stays_on_this_machine_and_needs_no_consent() -> None:
    here = study()
    talk(here, person(here, providers=()))
    assert judge(key="demo")[0]["done"] == 1


def test_person_who_withdrew_is_left_alone() -> None:
    here = study()
    someone = person(here)
    talk(here, someone)
    someone.status = PersonStatus.WITHDRAWN
    someone.save()
    assert judge(key="demo")[0]["done"] == 0


def test_person_who_withdraws_meanwhile_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    here = study()
    someone = person(here)
    talk(here, someone)
    plan = planning.get_work

    def planned(*args: Any, **kwargs: Any) -> planning.Work:
        work = plan(*args, **kwargs)
        Participation.objects.update(status=PersonStatus.WITHDRAWN)
        return work

    monkeypatch.setattr("studies.management.commands.judge.get_work", planned)
    assert judge(key="demo")[0]["erased"] == 1
    assert not Call.objects.exists()


@pytest.mark.parametrize(("turns", "status"), [(0, Status.CLOSED), (3, Status.OPEN), (3, Status.PAUSED)])
def test_conversation_that_is_open_or_empty_is_not_judged(turns: int, status: str) -> None:
    talk(study(), turns=turns, status=status, end_reason="finished" if status == Status.CLOSED else "")
    assert judge(key="demo")[0]["done"] == 0


def test_user_aware_judge_is_told_the_profile_without_the_name(server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, person(here))
    since = Asked(server)
    assert judge(strategy="user_aware") == (summary(strategy="user_aware", done=1), 0)
    [body] = since.bodies()
    assert "<profile>\nAge: 25 to 34\n</profile>" in body["messages"][-1]["content"]


@pytest.mark.parametrize("strategy", ["user_aware", "state_aware"])
def test_seeker_of_whom_nothing_is_known_is_not_judged_as_if_standard(strategy: str) -> None:
    talk(study(), seeker_kind="imported")
    judged, code = judge(key="demo", strategy=strategy)
    assert (judged["done"], judged["without_profile"], code) == (0, 1, 0)
    assert not Call.objects.exists()


@pytest.mark.parametrize("where", ["run", "conversation"])
def test_imported_profile_is_given_to_the_judge(where: str) -> None:
    run = talk(study(), seeker_kind="imported")
    holder = run if where == "run" else run.conversation
    holder.profile = "Age: 61"
    holder.save()
    assert judge(key="demo", strategy="user_aware")[0]["done"] == 1
    assert "<profile>\nAge: 61\n</profile>" in Call.objects.get().request[-1]["text"]


def test_judge_of_a_role_play_is_told_the_card_and_nothing_of_the_counsellor() -> None:
    here = study()
    run = talk(here, person(here, providers=()))
    run.card = "en01"
    run.save()
    given = factories.role_play(run)
    assert judge(key="demo", strategy="user_aware")[0]["done"] == 1
    told = Call.objects.get().request[-1]["text"].partition("</profile>")[0]
    assert given.card["profile"]["C"]["problem"] in told
    assert given.card["profile"]["D"]["alias"] in told
    assert "25 to 34" not in told


def test_state_aware_judge_thinks_after_each_turn_once() -> None:
    here = study()
    talk(here, person(here, providers=()), turns=6)
    judge(key="demo", strategy="state_aware")
    assert list(InnerState.objects.values_list("turn", "source")) == [(turn, "demo") for turn in range(1, 7)]
    thought = Call.objects.filter(purpose="thinker").order_by("turn")
    assert list(thought.values_list("turn", "prompt_version")) == [(turn, "thinker.en/1") for turn in range(1, 7)]
    judge("--moments", "checkpoint", key="demo", strategy="state_aware")
    assert thought.count() == 6
    last = Call.objects.filter(purpose="judge").latest("pk").request[-1]["text"]
    assert last.count("emotion_score: ") == 5


def test_thinker_is_paid_once_for_all_replicates_and_workers(server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, person(here), turns=3)
    since = Asked(server)
    assert judge("--replicates", "2", "--concurrency", "2", strategy="state_aware")[0]["done"] == 2
    temperatures = sorted(body["temperature"] for body in since.bodies())
    assert temperatures == [0, 0, 0.1, 0.1, 0.1]


def test_state_that_cannot_be_read_is_tried_again_the_next_time(server: str) -> None:
    here = study(judge_at(server, "badjudge"))
    talk(here, person(here), turns=2)
    detail = "The inner state after turn 1 cannot be read."
    told = {"failed_reasons": {"unparseable": 1}, "failed_details": {"unparseable": detail}}
    failed = summary(strategy="state_aware", failed=1, **told)
    assert judge(strategy="state_aware") == (failed, 1)
    assert not InnerState.objects.exists()
    assert not Response.objects.filter(rater__kind="judge").exists()


def test_several_workers_judge_everything_once(server: str) -> None:
    here = study(judge_at(server, "echo"))
    for n in range(8):
        talk(here, seeker=f"Seeker {n}")
    since = Asked(server)
    assert judge("--concurrency", "4", "--moments", "final", "checkpoint") == (summary(done=16), 0)
    assert len(since.bodies()) == 16
    assert Response.objects.count() == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge", "nobody"], "--judge: the study demo has no judge 'nobody'. It has: demo, real."),
        (["--judge", "real"], "judge real: The environment variable NO_SUCH_KEY is not set."),
        (["--judge", "demo", "--concurrency", "0"], "--concurrency must be at least 1."),
        (["--judge", "demo", "--replicates", "101"], "--replicates must be at most 100."),
    ],
)
def test_bad_input_changes_nothing(arguments: list[str], message: str) -> None:
    talk(study(judge_at("http://127.0.0.1:9/v1", "x", api_key_env="NO_SUCH_KEY")))
    with pytest.raises(CommandError) as refusal:
        call_command("judge", "demo", "--strategy", "standard", *arguments)
    assert (str(refusal.value), refusal.value.returncode) == (message, 2)
    assert not Rater.objects.exists()


def test_test_conversations_are_judged_and_exports_leave_their_scores_out(tmp_path: Path) -> None:
    run = talk(study())
    ArmRun.objects.filter(pk=run.pk).update(is_test=True)
    assert judge(key="demo")[0]["done"] == 1
    factories.person(run.study)  # where test data are alone, the export is refused
    for arguments, expected in ([], 0), (["--include-tests"], 10):
        call_command("export", "demo", "--out", str(tmp_path / "data"), *arguments, stdout=StringIO())
        rows = (tmp_path / "data" / "ratings.csv").read_text(encoding="utf-8").splitlines()
        assert len(rows) - 1 == expected


def test_estimate_and_preview_need_no_key() -> None:
    run = talk(study(judge_at("http://127.0.0.1:9/v1", "x", api_key_env="NO_SUCH_KEY")))
    told, code = judge("--estimate")
    assert (told["estimate"]["judgements"], told["estimate"]["calls"], code) == (1, 1, 0)
    assert told["estimate"]["unset_keys"] == ["NO_SUCH_KEY"]
    assert len(judge("--preview", run.conversation.code)[0]["previews"]) == 1
    assert not Rater.objects.filter(kind="judge").exists()
    assert not Call.objects.exists()


@pytest.mark.parametrize(
    ("track", "condition", "asked"),
    [
        ("participant", "", ["emoharbor_10"]),
        ("counsellor", "", ["emoharbor_10", "worst_case_4"]),
        ("", "worst_case", ["emoharbor_10", "worst_case_4"]),
        ("", "average", ["emoharbor_10"]),
    ],
)
def test_judge_answers_the_ratings_of_the_track_and_nothing_about_the_role(
    track: str, condition: str, asked: list[str]
) -> None:
    someone = person(study()) if track else None
    if someone:
        Participation.objects.filter(pk=someone.pk).update(track=track)
        someone.refresh_from_db()
    run = ArmRun(participation=someone, condition=condition, conversation=Conversation())
    places = planning.get_places(run, study().current().spec().chat, ["final"], set())
    assert [instrument for _moment, instrument, _turn in places] == asked
