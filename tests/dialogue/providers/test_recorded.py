"""Answers that were recorded: each question, replicate and attempt gets what it got then."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from dialogue.providers.base import PARAMETERS, Message, ModelSettings, ProviderError, Reply
from dialogue.providers.openai_compatible import OpenAICompatible
from dialogue.providers.recorded import RecordedModel, question_of
from dialogue.providers.registry import answering_kind, is_free, model_for

ASKED = ModelSettings(
    "openai_compatible", model="m", base_url="http://far/v1", api_key_env="KEY", temperature=0.7, extra={"seed": 7}
)
HELLO = [Message("system", "Be kind."), Message("user", "Hello\u2028there")]
ANSWER = Reply("Good day.", "m-2026", "length", 120, 900, 11, 3, "Hm.", 4, 2)


def reply(number: int, *, replicate: int = 1, attempt: int = 1, **changes: Any) -> dict[str, Any]:
    answer = replace(ANSWER, text=f"Good day {number}.", **changes)
    return {"question": question_of(ASKED, HELLO), "replicate": replicate, "attempt": attempt, "reply": asdict(answer)}


def failure(status: str, attempt: int = 1) -> dict[str, Any]:
    told = {"status": status, "detail": "Too many.", "partial": "Good"}
    return {"question": question_of(ASKED, HELLO), "replicate": 1, "attempt": attempt, "failure": told}


def written(folder: Path, *lines: dict[str, Any]) -> dict[str, str]:
    """The environment in which they are played."""
    path = folder / "calls.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return {"REPLAY": str(path)}


async def ask(environ: dict[str, str], settings: ModelSettings = ASKED, **which: int) -> Reply:
    return await model_for(settings, environ=environ, pace=0.0, **which).reply(HELLO)


async def test_answer_comes_with_the_times_and_tokens_of_then(tmp_path: Path) -> None:
    assert await ask(written(tmp_path, reply(1))) == replace(ANSWER, text="Good day 1.")


async def test_each_replicate_has_its_own_answer_whoever_asks_first(tmp_path: Path) -> None:
    environ = written(tmp_path, reply(1), reply(2, replicate=2))
    assert [(await ask(environ, replicate=number)).text for number in (2, 1, 2)] == [
        "Good day 2.", "Good day 1.", "Good day 2.",
    ]  # fmt: skip


async def test_failure_comes_at_its_attempt_and_the_last_outcome_stays(tmp_path: Path) -> None:
    environ = written(tmp_path, failure("rate_limited"), reply(1, attempt=2))
    with pytest.raises(ProviderError) as caught:
        await ask(environ, attempt=1)
    assert (caught.value.status, caught.value.permanent, caught.value.partial) == ("rate_limited", False, "Good")
    assert [(await ask(environ, attempt=number)).text for number in (2, 3)] == ["Good day 1."] * 2


@pytest.mark.parametrize(
    ("status", "permanent"), [("refused", True), ("too_long", True), ("quota_spent", True), ("timeout", False)]
)
async def test_what_was_for_good_is_for_good_again(status: str, permanent: bool, tmp_path: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        await ask(written(tmp_path, failure(status)))
    assert caught.value.permanent is permanent


@pytest.mark.parametrize(
    "changes", [{"model": "n"}, {"temperature": 0.8}, {"max_tokens": 9}, {"extra": {"seed": 8}}, {"extra": {}}]
)
async def test_another_question_has_no_answer_and_says_so(changes: dict[str, Any], tmp_path: Path) -> None:
    environ = written(tmp_path, reply(1))
    with pytest.raises(ProviderError, match=r"^The recording has no answer to this question\.$") as caught:
        await ask(environ, replace(ASKED, **changes))
    assert (caught.value.status, caught.value.permanent) == ("client_error", True)
    assert question_of(ASKED, HELLO[1:]) != question_of(ASKED, HELLO)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_makes_another_question_and_is_in_hashes_only_where_it_is_set(name: str) -> None:
    unset, asked = replace(ASKED, **{name: None}), replace(ASKED, **{name: 3})
    assert question_of(unset, HELLO) != question_of(asked, HELLO)
    assert unset.identity() != asked.identity()
    assert name not in str(unset.identity())


async def test_where_the_model_ran_how_patient_we_were_and_whole_numbers_change_nothing(tmp_path: Path) -> None:
    moved = replace(ASKED, base_url="http://near/v1", api_key_env="", extra={"seed": 7, "gap_timeout": 3})
    assert (await ask(written(tmp_path, reply(1)), moved)).text == "Good day 1."
    assert question_of(replace(ASKED, temperature=1), HELLO) == question_of(replace(ASKED, temperature=1.0), HELLO)


async def test_reply_streams_as_a_model_would(tmp_path: Path) -> None:
    pieces: list[str] = []
    await model_for(ASKED, environ=written(tmp_path, reply(1)), pace=0.0).reply(HELLO, pieces.append)
    assert pieces == ["Good ", "day ", "1."]


async def test_what_another_command_got_when_it_asked_anew_counts(tmp_path: Path) -> None:
    environ = written(tmp_path, failure("timeout"), failure("timeout", 2), failure("client_error"), reply(1, attempt=2))
    with pytest.raises(ProviderError) as caught:
        await ask(environ, attempt=1)
    assert caught.value.status == "client_error"
    assert (await ask(environ, attempt=2)).text == "Good day 1."


async def test_question_asked_anew_from_its_first_attempt_has_the_later_answer(tmp_path: Path) -> None:
    assert (await ask(written(tmp_path, failure("client_error"), reply(2)))).text == "Good day 2."


def change(path: Path, content: str | None) -> None:
    path.unlink() if content is None else path.write_text(content)


@pytest.mark.parametrize("content", [None, "", "no JSON\n", json.dumps(reply(3) | {"question": "another"}) + "\n"])
async def test_file_that_changes_meanwhile_plays_nothing_else(content: str | None, tmp_path: Path) -> None:
    environ = written(tmp_path, reply(1))
    model = model_for(ASKED, environ=environ, pace=0.0)
    change(Path(environ["REPLAY"]), content)
    with pytest.raises(ProviderError, match=r"^calls\.jsonl has been changed or taken away since it was read\.$"):
        await model.reply(HELLO)


ODD_ATTEMPT = json.dumps(reply(1) | {"attempt": 0})


@pytest.mark.parametrize(
    "line",
    ["no JSON", "[]", "{}", "", '{"question": "q", "replicate": 1, "attempt": 1, "reply": {"words": 1}}', ODD_ATTEMPT],
)
def test_faulty_line_is_named(line: str, tmp_path: Path) -> None:
    environ = written(tmp_path, reply(1))
    with Path(environ["REPLAY"]).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(ProviderError, match=r"calls\.jsonl, line 2: is no line of export_calls\.$"):
        model_for(ASKED, environ=environ)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"none\.jsonl: No such file or directory$"):
        model_for(ASKED, environ={"REPLAY": str(tmp_path / "none.jsonl")})


def test_only_models_behind_a_server_are_replaced_and_then_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyless = replace(ASKED, api_key_env="")
    assert isinstance(model_for(keyless, environ={}), OpenAICompatible)
    assert not is_free("openai_compatible")
    environ = written(tmp_path, reply(1))
    monkeypatch.setenv("REPLAY", environ["REPLAY"])
    assert isinstance(model_for(keyless), RecordedModel)
    assert (answering_kind("openai_compatible"), answering_kind("scripted")) == ("recorded", "scripted")
    assert is_free("openai_compatible")
