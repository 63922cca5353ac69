"""Each model of a study is asked one question; what does not answer says why, and nothing counts."""

import json
import tomllib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from django.core.management import CommandError, call_command

from dialogue.models import Call, Conversation, Job
from studies.design.skeleton import skeleton
from studies.models import Participation, Response
from tests.llm_server import running

# Transactions are real: calls are stored in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

KEY = "sk-very-secret-0123456789"
SENSIBLE = "Is the server running? If it only needs longer, raise gap_timeout or total_timeout in extra."


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture
def load(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load a study with an arm for each of these models of the server, and with these sections."""
    monkeypatch.setenv("OUR_KEY", KEY)

    def load(*models: str | dict[str, Any], **sections: Any) -> None:
        document = tomllib.loads(skeleton("minimal"))
        usual = {"kind": "openai_compatible", "base_url": server, "provider": "our own institution"}
        document["arms"] = [
            {"key": f"a{number}", **usual, **(one if isinstance(one, dict) else {"model": one})}
            for number, one in enumerate(models, 1)
        ]
        document |= {
            name: [usual | one for one in value] if isinstance(value, list) else value
            for name, value in sections.items()
        }
        path = tmp_path / "study.toml"
        path.write_text(tomlkit.dumps(document), encoding="utf-8")
        call_command("load_study", str(path), verbosity=0, stderr=StringIO())

    return load


def check(*arguments: str) -> tuple[str, dict[str, Any], int]:
    """The printed lines, the summary and the exit code."""
    out, code = StringIO(), 0
    try:
        call_command("check_models", "my_study", "--json", *arguments, stdout=out, stderr=StringIO())
    except SystemExit as stop:
        code = int(stop.code or 0)
    told, _newline, summary = out.getvalue().rstrip("\n").rpartition("\n")
    return told, json.loads(summary), code


def shown(summary: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(one[name] for name in names) for one in summary["models"]]


def test_model_that_answers_tells_its_words_times_tokens_and_price(load: Any, settings: Any, tmp_path: Path) -> None:
    settings.PRICES = str(tmp_path / "prices.toml")
    table = '[[models]]\nmodel = "echo"\nsince = 2026-01-01\ninput = 100\noutput = 1000\n'
    Path(settings.PRICES).write_text(f'version = "1"\ncurrency = "EUR"\n{table}', encoding="utf-8")
    load({"model": "echo", "api_key_env": "OUR_KEY"})
    told, summary, code = check()
    [one] = summary["models"]
    assert (code, summary["failed"], summary["version"], summary["currency"]) == (0, [], 1, "EUR")
    assert (one["role"], one["key"], one["status"], one["answers"], one["key_set"]) == ("arm", "a1", "ok", True, True)
    assert one["text"] == "You say: Hello! Can you read this? What weighs on you most in it?"
    assert (one["input_tokens"], one["output_tokens"], one["cost"]) == (10, 14, "0.015000")
    assert 0 <= one["first_ms"] <= one["total_ms"]
    assert told.splitlines()[:4] == [
        "1 short question: about 22 input and 30 output tokens, 0.032 EUR.",
        "arm a1: answered",
        f"  echo at {one['base_url']}, key in OUR_KEY (set)",
        "  “You say: Hello! Can you read this? What weighs on you most in it?”",
    ]
    assert told.splitlines()[4].endswith(" s, tokens 10 + 14, price 0.015 EUR")
    assert told.splitlines()[5:] == ["1 of 1 models answer."]


SETTINGS = "Check model and base_url in the study file, and what stands under extra."
FAULTS: list[tuple[str | dict[str, Any], str, str, str]] = [  # the model, its status, the server's words, the advice
    (
        "status-401",
        "key_refused",
        "HTTP 401.",
        "Check the key in api_key_env: is it valid, and is it for this server?",
    ),
    ("status-403", "client_error", "HTTP 403: Asked to answer 403.", SETTINGS),
    ("status-404", "client_error", "Asked to answer 404.", SETTINGS),
    ("status-500", "server_error", "Asked to answer 500.", "The fault is in the server. Ask again later."),
    (
        "status-429",
        "rate_limited",
        "Asked to answer 429.",
        "Wait and ask again. If it happens again, check the limits and the balance of your account.",
    ),
    (
        {"model": "stall", "extra": {"total_timeout": 0.5}},
        "timeout",
        "The answer was not complete after 0.5 s.",
        SENSIBLE,
    ),
    ({"model": "late-5000+echo", "extra": {"gap_timeout": 0.3}}, "timeout", "Nothing came for 0.3 s.", SENSIBLE),
    (
        "refusal",
        "refused",
        "I cannot answer that.",
        "The model or a filter of its server refuses a harmless question. Look at its settings there.",
    ),
    (
        "empty",
        "empty",
        "No text came (finish reason: stop).",
        "A model that thinks may have used up max_tokens. Raise it in the study file.",
    ),
    (
        {"model": "echo", "base_url": "http://127.0.0.1:9/v1"},
        "network",
        "ClientConnectorError: Cannot connect to host 127.0.0.1:9",
        "Check that the server is running, and that base_url names it.",
    ),
    (
        "break",
        "network",
        "ClientPayloadError: Response payload is not completed",
        "The answer broke off in the middle. Ask again. If it happens again, check the server and the connection to "
        "it.",
    ),
]


@pytest.mark.parametrize(("model", "status", "detail", "advice"), FAULTS, ids=[str(fault[0]) for fault in FAULTS])
def test_model_that_does_not_answer_tells_why_and_what_to_do(
    model: Any, status: str, detail: str, advice: str, load: Any
) -> None:
    load(model, "echo")
    told, summary, code = check()
    assert (code, summary["failed"]) == (1, ["arm a1"])
    assert shown(summary, "key", "status", "answers") == [("a1", status, False), ("a2", "ok", True)]
    said = summary["models"][0]["detail"]
    assert said[: len(detail)] == detail
    assert [line for line in told.splitlines() if line in (f"  {said}", f"  {advice}")] == [f"  {said}", f"  {advice}"]
    assert told.endswith("1 of 2 models answer.")
    stored = set(Call.objects.values_list("purpose", "model", "status"))
    assert stored == {("check", summary["models"][0]["model"], status), ("check", "echo", "ok")}


def test_model_whose_key_is_not_set_is_not_asked(load: Any) -> None:
    load({"model": "echo", "api_key_env": "NOT_THERE"})
    told, summary, code = check()
    assert (code, shown(summary, "status", "key_set", "total_ms")) == (1, [("key_unset", False, None)])
    assert told.splitlines()[1:4] == [
        "arm a1: key not set",
        f"  echo at {summary['models'][0]['base_url']}, key in NOT_THERE (not set)",
        "  Set the variable NOT_THERE for the server and for commands, and start the server again.",
    ]
    assert summary["estimate"]["calls"] == 0
    assert not Call.objects.exists()


def test_model_whose_key_no_study_may_name_says_whom_to_ask(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    load({"model": "echo", "api_key_env": "OUR_KEY"})
    monkeypatch.setenv("MODEL_KEYS", "OTHER_KEY")
    told, summary, code = check()
    assert (code, shown(summary, "status", "key_set")) == (1, [("key_unlisted", False)])
    assert told.splitlines()[2].endswith(", key in OUR_KEY (not allowed here)")
    assert told.splitlines()[1] == "arm a1: key not allowed on this server"
    assert told.splitlines()[3] == "  Ask whoever runs this server to add OUR_KEY to MODEL_KEYS."
    assert not Call.objects.exists()


def test_key_is_never_told(load: Any) -> None:
    load({"model": "leak", "api_key_env": "OUR_KEY"})
    told, summary, code = check()
    assert (code, summary["models"][0]["status"]) == (1, "client_error")
    assert "***" in summary["models"][0]["detail"]
    assert KEY not in told + json.dumps(summary) + str(list(Call.objects.values()))


def test_judges_seeker_evaluator_and_second_line_are_asked_too_each_as_it_is_really_asked(
    load: Any, server: str
) -> None:
    judge = {"key": "j", "model": "threes", "structured": True, "redact": True}
    ours = {"kind": "openai_compatible", "base_url": server, "provider": "our own institution"}
    line = {"second_line": ours | {"model": "level-0", "seconds": 10.0}}
    load("echo", judges=[judge], seeker=ours | {"model": "say:Yes."}, evaluator=ours | {"model": "echo"}, safety=line)
    _told, summary, code = check()
    assert (code, summary["failed"]) == (0, [])
    assert shown(summary, "role", "key", "status") == [
        ("arm", "a1", "ok"), ("judge", "j", "ok"), ("seeker", "", "ok"), ("evaluator", "", "ok"),
        ("second line", "", "ok"),
    ]  # fmt: skip
    checked = {call.parameters["checked"]: call for call in Call.objects.all()}
    assert set(checked) == {"arm a1", "judge j", "seeker", "evaluator", "second line"}
    assert {call.parameters["study"] for call in checked.values()} == {"my_study"}
    assert not {"structured", "redact"} & set(checked["judge j"].parameters)
    assert "<message>I had a long day" in checked["second line"].request[1]["text"]


def test_second_line_that_cannot_be_read_does_not_answer(load: Any, server: str) -> None:
    ours = {"kind": "openai_compatible", "base_url": server, "provider": "our own institution"}
    load("echo", safety={"second_line": ours | {"model": "say:Fine.", "seconds": 10.0}})
    _told, summary, code = check("--only", "safety")
    assert (code, summary["failed"]) == (1, ["second line"])
    assert shown(summary, "status", "text") == [("unparseable", "Fine.")]


def test_moderation_endpoint_is_asked_by_its_own_means(load: Any, server: str) -> None:
    line = {"kind": "openai_moderation", "base_url": server, "provider": "our own institution", "seconds": 10.0}
    load("echo", safety={"second_line": line | {"model": "level-0"}})
    assert check("--only", "safety")[2] == 0
    load("echo", safety={"second_line": line | {"model": "status-401"}})
    _told, summary, code = check("--only", "safety")
    assert (code, summary["models"][0]["status"]) == (1, "key_refused")


def test_demonstration_answers_and_its_judge_and_seeker_need_no_question() -> None:
    out = StringIO()
    call_command("load_study", "fixtures/studies/demo.toml", verbosity=0)
    call_command("check_models", "demo", stdout=out, stderr=StringIO())
    assert out.getvalue().splitlines()[-5:] == [
        "judge demo: a script, which needs no question",
        "  judge, no key",
        "seeker: a script, which needs no question",
        "  no key",
        "7 of 7 models answer.",
    ]
    assert Call.objects.count() == 5


def test_script_that_does_not_exist_does_not_answer(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.design.study_file.SCRIPTS", {"arms": ["nobody"], "judges": ["nobody"]})
    load({"kind": "scripted", "model": "nobody"}, judges=[{"key": "j", "kind": "scripted", "model": "nobody"}])
    _told, summary, code = check()
    assert (code, shown(summary, "status", "detail")) == (
        1,
        [("client_error", "There is no scripted model nobody.")] * 2,
    )


@pytest.mark.parametrize(("language", "said"), [("en", "You say: Hello! Can"), ("zh", "你好！你能看到")])
def test_question_is_in_the_language(language: str, said: str, load: Any) -> None:
    load("echo")
    _told, summary, _code = check("--language", language)
    assert said in summary["models"][0]["text"]


def test_each_check_asks_anew(load: Any) -> None:
    load("echo")
    check(), check()
    assert Call.objects.filter(status="ok").count() == 2


def test_estimate_asks_nothing(load: Any) -> None:
    load("echo", "echo")
    told, summary, code = check("--estimate")
    assert (code, summary["estimate"]["calls"], summary["estimate"]["unpriced"]) == (0, 2, ["echo"])
    assert told.splitlines() == [
        "2 short questions: about 44 input and 60 output tokens; the price table has no price for echo.",
        "Nothing was asked and nothing stored.",
    ]
    assert not Call.objects.exists()


def test_nothing_but_the_ledger_changes(load: Any) -> None:
    load("echo")
    check()
    assert [kind.objects.count() for kind in (Conversation, Job, Participation, Response)] == [0, 0, 0, 0]
    assert list(Call.objects.values_list("conversation", "item")) == [(None, None)]


def test_daily_budget_that_is_spent_is_told(load: Any, settings: Any, tmp_path: Path) -> None:
    settings.PRICES, settings.DAILY_BUDGET = str(tmp_path / "prices.toml"), 0
    table = '[[models]]\nmodel = "echo"\nsince = 2026-01-01\ninput = 100\noutput = 1000\n'
    Path(settings.PRICES).write_text(f'version = "1"\ncurrency = "EUR"\n{table}', encoding="utf-8")
    load("echo")
    _told, summary, code = check()
    assert (code, shown(summary, "status", "detail")) == (1, [("day_budget", "")])
    assert not Call.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "arms,writers"], "--only: 'writers' is not one of arms, judges, seeker, evaluator, safety."),
        (["--only", "judges"], "--only: my_study has no model of this kind."),
    ],
)
def test_roles_that_are_not_there_are_refused(arguments: list[str], said: str, load: Any) -> None:
    load("echo")
    with pytest.raises(CommandError) as refusal:
        check(*arguments)
    assert str(refusal.value) == said
