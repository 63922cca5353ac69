import asyncio
import io
import json
import os
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from dialogue.providers.base import Message, ModelSettings, ProviderError, Reply
from dialogue.providers.batches import Batches, NotRun, get_batches, read_line, request_line, split_lines
from dialogue.providers.openai_client import Gone
from tests.llm_server import usage

KEY = "sk-test-secret-123"
ODD = "One\u2028two\u2029three\x85four\x0cfive\r six"


def asked(llm_url: str, model: str) -> ModelSettings:
    return ModelSettings("openai_compatible", model=model, base_url=llm_url, temperature=0.0, extra={"seed": 7})


def file_of(settings: ModelSettings, *texts: str) -> io.BytesIO:
    lines = (request_line(f"n{n}", settings, [Message("user", text)]) for n, text in enumerate(texts))
    return io.BytesIO(b"".join(lines))


async def submitted(llm_url: str, model: str, *texts: str) -> tuple[Batches, str]:
    settings = asked(llm_url, model)
    batches = Batches(settings, api_key=KEY)
    file = await batches.upload(file_of(settings, *texts))
    return batches, (await batches.start(file, {"job": "1"})).id


async def results(batches: Batches, batch: str) -> dict[str, Reply | ProviderError]:
    standing = await batches.state(batch)
    return {name: outcome for file in standing.files async for name, outcome in batches.results(file)}


# Asking


def test_request_is_one_line_that_says_what_a_live_call_says() -> None:
    line = request_line("call-1", asked("http://x/v1", "m"), [Message("system", "Be kind."), Message("user", ODD)])
    assert json.loads(line) == {
        "custom_id": "call-1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "m",
            "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": ODD}],
            "temperature": 0.0,
            "seed": 7,
        },
    }


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_request_stays_one_line_whoever_splits_it(text: str) -> None:
    line = request_line("n", asked("http://x/v1", "m"), [Message("user", text)])
    assert line.decode().splitlines() == [line.decode().removesuffix("\n")]
    assert json.loads(line)["body"]["messages"][0]["content"] == text


async def test_batch_is_answered_as_a_live_call(llm_url: str) -> None:
    batches, batch = await submitted(llm_url, "echo", "I feel low.", "I lost my job.")
    found = await results(batches, batch)
    assert {name: reply.text for name, reply in found.items()} == {
        "n0": "You say: I feel low. What weighs on you most in it?",
        "n1": "You say: I lost my job. What weighs on you most in it?",
    }
    reply = found["n0"]
    assert (reply.model, reply.finish_reason, reply.first_token_ms, reply.total_ms) == ("echo", "stop", None, None)
    assert (reply.input_tokens, reply.output_tokens) == (3, 12)


async def test_standing_counts_as_the_provider_does(llm_url: str) -> None:
    batches, batch = await submitted(llm_url, "batch-slow-2", "a", "b", "c")
    first, second = await batches.state(batch), await batches.state(batch)
    assert (first.state, first.total, first.answered, first.files, first.has_ended) == ("in_progress", 3, 1, (), False)
    assert (second.state, second.total, second.answered, second.has_ended) == ("completed", 3, 3, True)
    assert len(second.files) == 1  # no file of errors, which this server calls ""


async def test_separators_in_an_answer_cut_no_line(llm_url: str) -> None:
    batches, batch = await submitted(llm_url, "say:One%E2%80%A8two%C2%85three", "a")
    [reply] = (await results(batches, batch)).values()
    assert reply.text == "One\u2028two\u0085three"


async def test_lines_that_failed_bring_their_errors(llm_url: str) -> None:
    batches, batch = await submitted(llm_url, "batch-lines", "a", "b")
    found = await results(batches, batch)
    assert isinstance(found["n0"], Reply)
    assert (found["n1"].status, found["n1"].detail, found["n1"].permanent) == ("server_error", "It broke.", False)


async def test_lines_that_were_not_run_say_so(llm_url: str) -> None:
    batches, batch = await submitted(llm_url, "batch-expired", "a", "b")
    found = await results(batches, batch)
    assert isinstance(found["n0"], Reply)
    assert isinstance(found["n1"], NotRun)
    assert (found["n1"].status, found["n1"].detail) == ("timeout", "It was not run. (batch_expired)")


async def test_line_that_is_broken_off_is_left_out(llm_url: str) -> None:
    batches, batch = await submitted(llm_url, "batch-malformed", "a", "b")
    assert list(await results(batches, batch)) == ["n0"]


async def test_refused_batch_says_why(llm_url: str) -> None:
    batches, batch = await submitted(llm_url, "batch-invalid", "a")
    standing = await batches.state(batch)
    assert (standing.state, standing.error) == ("failed", "This line cannot be read. (invalid_json_line)")
    assert not standing.too_much


async def test_too_much_at_once_is_told_apart(llm_url: str) -> None:
    batches, batch = await submitted(llm_url, "batch-limit-1", "a", "b")
    assert (await batches.state(batch)).too_much


async def test_cancelled_batch_keeps_what_was_answered(llm_url: str) -> None:
    batches, batch = await submitted(llm_url, "batch-never", "a", "b")
    assert (await batches.cancel(batch)).state == "cancelling"
    found = await results(batches, batch)
    assert isinstance(found["n0"], Reply)
    assert (type(found["n1"]), found["n1"].status) == (NotRun, "stopped")


async def test_batch_is_found_by_its_file(llm_url: str) -> None:
    settings = asked(llm_url, "echo")
    batches = Batches(settings, api_key=KEY)
    file = await batches.upload(file_of(settings, "a"))
    assert await batches.find(file) is None
    begun = await batches.start(file, {"job": "1"})
    await submitted(llm_url, "echo", "b")
    assert await batches.find(file) == begun


async def test_deleted_file_is_gone(llm_url: str) -> None:
    batches = Batches(asked(llm_url, "echo"), api_key=KEY)
    file = await batches.upload(io.BytesIO(b"{}"))
    await batches.delete(file)
    with pytest.raises(Gone) as error:
        await batches.delete(file)
    assert (error.value.permanent, error.value.detail) == (True, "No such file.")
    with pytest.raises(Gone):
        _ = [one async for one in batches.results(file)]


async def test_server_that_is_not_there_is_asked_again() -> None:
    with pytest.raises(ProviderError) as error:
        await Batches(asked("http://127.0.0.1:9/v1", "m"), api_key=KEY).state("batch_1")
    assert (error.value.status, error.value.permanent) == ("network", False)


async def test_key_is_not_told(llm_url: str) -> None:
    async def refuse(request: web.Request) -> web.Response:
        told = request.headers["Authorization"]
        return web.json_response({"error": {"message": f"Bad request with {told}"}}, status=400)

    app = web.Application()
    app.router.add_get("/v1/batches/{batch}", refuse)
    async with TestServer(app) as server:
        with pytest.raises(ProviderError) as error:
            await Batches(asked(str(server.make_url("/v1")), "m"), api_key=KEY).state("batch_1")
    assert (error.value.status, error.value.detail) == ("client_error", "Bad request with Bearer ***")


def test_key_comes_from_the_environment() -> None:
    settings = ModelSettings("openai_compatible", model="m", api_key_env="SOME_KEY")
    assert isinstance(get_batches(settings, {"SOME_KEY": KEY}), Batches)
    with pytest.raises(ProviderError) as error:
        get_batches(settings, {})
    assert error.value.detail == "The environment variable SOME_KEY is not set."


async def test_upload_reads_its_file_piece_by_piece(llm_url: str) -> None:
    class Watched(io.BytesIO):
        largest = 0

        def read(self, size: int | None = -1) -> bytes:
            piece = super().read(size)
            Watched.largest = max(Watched.largest, len(piece))
            return piece

    content = os.urandom(2**20)
    await Batches(asked(llm_url, "echo"), api_key=KEY).upload(Watched(content))
    assert 0 < Watched.largest < len(content)


# Reading


def line(result: Any) -> bytes:
    return json.dumps({"custom_id": "n", **result}).encode()


def answered(message: dict[str, Any], finish: str = "stop", status: int = 200) -> bytes:
    body = {"model": "m-1", "choices": [{"message": message, "finish_reason": finish}], "usage": None}
    return line({"response": {"status_code": status, "body": body}, "error": None})


def failed(status: int, **error: str) -> bytes:
    return line({"response": {"status_code": status, "body": {"error": error}}, "error": None})


def test_thoughts_are_kept_apart() -> None:
    name, reply = read_line(answered({"content": "<think>Hm.</think>Yes.", "reasoning_content": "Well. "}), "m")
    assert (name, reply.text, reply.reasoning, reply.model) == ("n", "Yes.", "Well. Hm.", "m-1")


def test_tokens_are_those_that_are_told() -> None:
    told = {**usage({"messages": []}, "a b c"), "prompt_tokens_details": {"cached_tokens": 2}}
    body = {"choices": [{"message": {"content": "Yes."}}], "usage": told}
    _, reply = read_line(line({"response": {"status_code": 200, "body": body}}), "m")
    assert (reply.output_tokens, reply.cached_tokens, reply.model) == (3, 2, "m")


@pytest.mark.parametrize(
    ("result", "status", "permanent"),
    [
        (answered({"content": "No.", "refusal": "I cannot."}), "refused", True),
        (answered({"content": "No."}, "content_filter"), "refused", True),
        (answered({"content": ""}), "empty", False),
        (answered({"content": ["No."]}), "server_error", False),
        (line({"response": None, "error": {"code": "batch_cancelled", "message": "x"}}), "stopped", False),
        (line({"response": None, "error": {"code": "other", "message": "x"}}), "server_error", False),
        (line({"response": None, "error": None}), "server_error", False),
        (line({"response": {"status_code": 200, "body": {"choices": "none"}}}), "server_error", False),
        (failed(429, message="x"), "rate_limited", False),
        (failed(400, message="x", code="content_policy_violation"), "refused", True),
        (line({"response": {"status_code": 500, "body": "Oops"}}), "server_error", False),
    ],
)
def test_result_without_an_answer_says_what_it_is(result: bytes, status: str, permanent: bool) -> None:
    name, error = read_line(result, "m")
    assert (name, error.status, error.permanent) == ("n", status, permanent)


@pytest.mark.parametrize("result", [b"", b'{"custom_id": "n"', b"[1]", b"1", b'{"response": {}}', b"\xff"])
def test_line_without_a_name_is_nobodys(result: bytes) -> None:
    assert read_line(result, "m") is None


async def pieces(whole: bytes, cuts: Sequence[int]) -> AsyncIterator[bytes]:
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        yield whole[start:end]


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))), st.data())
def test_lines_are_the_same_however_the_bytes_come(lines: list[str], data: st.DataObject) -> None:
    whole = "\n".join(lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))

    async def read() -> list[str]:
        return [one.decode() async for one in split_lines(pieces(whole, cuts))]

    assert asyncio.run(read()) == (lines or [""])
