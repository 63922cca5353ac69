import asyncio
import gc
import json
import ssl
import urllib.request
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import encode_basic_auth, web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from dialogue.providers.base import Message, ModelSettings, ProviderError, Reply
from dialogue.providers.completions import whole_reply
from dialogue.providers.openai_client import close_clients, get_client
from dialogue.providers.openai_compatible import OpenAICompatible

KEY = "sk-test-secret-123"
ASK = [Message("system", "Be kind."), Message("user", "I feel tired.")]
ECHO = "You say: I feel tired. What weighs on you most in it?"


def model(llm_url: str, name: str, **settings: Any) -> OpenAICompatible:
    return OpenAICompatible(ModelSettings("openai_compatible", model=name, base_url=llm_url, **settings), api_key=KEY)


async def failure(llm_url: str, name: str, **settings: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await model(llm_url, name, **settings).reply(ASK)
    return caught.value


def bodies(llm_url: str, name: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(llm_url.replace("/v1", "/asked")) as answer:
        return [body for body in json.load(answer) if body["model"] == name]


@asynccontextmanager
async def serving(
    answer: Any, path: str = "/v1", ssl: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """A server that answers so to whoever asks for a completion; its base URL."""
    app = web.Application()
    app.router.add_post(f"{path}/chat/completions", answer)
    server = TestServer(app, scheme="https" if ssl else "http", host=host)
    await server.start_server(ssl=ssl)
    try:
        yield str(server.make_url(path or "/"))
    finally:
        await server.close()


@asynccontextmanager
async def streaming(*chunks: dict[str, Any]) -> AsyncIterator[str]:
    """A server that streams these chunks to whoever asks; its base URL."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

    async with serving(answer) as url:
        yield url


def completion(text: str) -> web.Response:
    """An answer in one piece."""
    return web.json_response({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def texts(*pieces: str) -> list[dict[str, Any]]:
    return [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]


# Whole answers.


async def test_reply_streams_its_pieces(llm_url: str) -> None:
    pieces: list[str] = []
    reply = await model(llm_url, "echo", temperature=0.5, max_tokens=99, extra={"seed": 7}).reply(ASK, pieces.append)
    assert reply == Reply(
        text=ECHO,
        model="echo",
        finish_reason="stop",
        first_token_ms=reply.first_token_ms,
        total_ms=reply.total_ms,
        input_tokens=5,
        output_tokens=12,
    )
    assert "".join(pieces) == ECHO
    assert len(pieces) == 12
    assert reply.first_token_ms is not None
    assert 0 <= reply.first_token_ms <= reply.total_ms
    assert bodies(llm_url, "echo")[-1] == {
        "model": "echo",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "I feel tired."}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 99,
        "seed": 7,
    }


async def test_request_leaves_out_what_is_not_set(llm_url: str) -> None:
    settings = {"gap_timeout": 5, "total_timeout": 9, "requests_per_minute": 60, "tokens_per_minute": 1000}
    await model(llm_url, "say:bare", extra=settings).reply(ASK)
    assert set(bodies(llm_url, "say:bare")[-1]) == {"model", "messages", "stream", "stream_options"}


async def test_reply_needs_no_listener(llm_url: str) -> None:
    reply = await model(llm_url, "say:" + quote("你好，\n世界 \u2028 ok")).reply(ASK)
    assert reply.text == "你好，\n世界 \u2028 ok"


async def test_reasoning_is_kept_apart(llm_url: str) -> None:
    pieces: list[str] = []
    reply = await model(llm_url, "reasoning").reply(ASK, pieces.append)
    assert (reply.text, reply.reasoning) == (ECHO, "First I think.")
    assert "".join(pieces) == ECHO


@pytest.mark.parametrize(
    "pieces",
    [
        ["<think>First I think.</think>", "\n\nI hear ", "you."],
        ["\n<th", "ink>First ", "I think.</", "think", ">", "\n", "\nI hear ", "you."],
        list("<think>First I think.</think>\n\nI hear you."),
    ],
)
async def test_thought_within_the_text_is_kept_apart(pieces: list[str]) -> None:
    taken: list[str] = []
    async with streaming(*texts(*pieces)) as url:
        reply = await model(url, "m").reply(ASK, taken.append)
    assert (reply.text, reply.reasoning) == ("I hear you.", "First I think.")
    assert "".join(taken) == "I hear you."


@pytest.mark.parametrize(
    ("pieces", "taken"),
    [
        (["a\0b\0", "\0c"], ["ab", "c"]),
        (["a\ud83d", "\ude00b"], ["a", "\U0001f600b"]),
        (["a\ud83d", "", "\ude00"], ["a", "\U0001f600"]),
        (["\ud83d\ude00"], ["\U0001f600"]),
        (["a\ud83d", "b"], ["a", "\ufffdb"]),
        (["a\ude00", "b"], ["a\ufffd", "b"]),
        (["\ud83d", "\ud83d", "\ude00"], ["\ufffd", "\U0001f600"]),
        (["a", "b\ud83d"], ["a", "b", "\ufffd"]),
        (["\ud83d"], ["\ufffd"]),
    ],
)
async def test_text_holds_nothing_that_no_database_takes(pieces: list[str], taken: list[str]) -> None:
    heard: list[str] = []
    thought = {"choices": [{"delta": {"reasoning": "x\0\ud83d"}}], "model": "m\0\ud800"}
    async with streaming(thought, *texts(*pieces)) as url:
        reply = await model(url, "m").reply(ASK, heard.append)
    assert heard == taken
    assert (reply.text, reply.reasoning, reply.model) == ("".join(taken), "x\ufffd", "m\ufffd")
    assert whole_reply({"choices": [{"message": {"content": "".join(pieces)}}]}, "m").text == reply.text


async def test_text_after_another_beginning_is_left_as_it_is() -> None:
    taken: list[str] = []
    async with streaming(*texts("<", "b> <think>a</think>")) as url:
        reply = await model(url, "m").reply(ASK, taken.append)
    assert (reply.text, reply.reasoning) == ("<b> <think>a</think>", "")
    assert "".join(taken) == reply.text


async def test_answer_that_might_have_been_a_tag_is_handed_on_at_the_end() -> None:
    taken: list[str] = []
    async with streaming(*texts("<", "th")) as url:
        reply = await model(url, "m").reply(ASK, taken.append)
    assert (reply.text, taken) == ("<th", ["<th"])


async def test_thought_that_is_cut_off_is_no_answer() -> None:
    taken: list[str] = []
    end = {"choices": [{"delta": {}, "finish_reason": "length"}]}
    async with streaming(*texts("<think>On ", "and on"), end) as url:
        with pytest.raises(ProviderError) as caught:
            await model(url, "m").reply(ASK, taken.append)
    assert (caught.value.status, caught.value.detail) == ("empty", "No text came (finish reason: length).")
    assert taken == []


@pytest.mark.parametrize(
    ("usage", "cached", "reasoning"),
    [
        ({"prompt_tokens": 9}, None, None),
        ({"prompt_tokens_details": {"cached_tokens": 7}}, 7, None),
        ({"prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 5}, 0, None),
        ({"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 6}, 64, None),
        ({"completion_tokens_details": {"reasoning_tokens": 30}}, None, 30),
        ({"prompt_tokens_details": None, "completion_tokens_details": None}, None, None),
        ({"prompt_tokens_details": [1], "completion_tokens_details": {"reasoning_tokens": "7"}}, None, None),
    ],
)
async def test_tokens_are_told_by_class(usage: dict[str, Any], cached: int | None, reasoning: int | None) -> None:
    async with streaming(*texts("Hi."), {"choices": [], "usage": usage}) as url:
        reply = await model(url, "m").reply(ASK)
    assert (reply.cached_tokens, reply.reasoning_tokens) == (cached, reasoning)


@pytest.mark.parametrize(
    ("told", "kept"), [(12, 12), (12.0, 12), ("12", None), (-1, None), (2**40, None), (True, None), ([12], None)]
)
async def test_number_of_tokens_is_one_or_not_known(told: Any, kept: int | None) -> None:
    usage = {"prompt_tokens": told, "completion_tokens": told}
    async with streaming(*texts("Hi."), {"choices": [], "usage": usage}) as url:
        reply = await model(url, "m").reply(ASK)
    assert (reply.input_tokens, reply.output_tokens) == (kept, kept)


async def test_answer_cut_by_length_is_a_reply(llm_url: str) -> None:
    reply = await model(llm_url, "length").reply(ASK)
    assert (reply.text, reply.finish_reason) == (ECHO, "length")


async def test_server_without_stream_options_is_asked_again_without_them(llm_url: str) -> None:
    reply = await model(llm_url, "nooptions").reply(ASK)
    assert (reply.text, reply.input_tokens, reply.output_tokens) == (ECHO, None, None)
    assert ["stream_options" in body for body in bodies(llm_url, "nooptions")] == [True, False]


async def test_judge_prompt_is_answered_with_scores(llm_url: str) -> None:
    prompt = "<items>\nkey: warmth\nscale: 1-5\nkey: depth\nscale: 3-3\n</items>"
    reply = await model(llm_url, "echo").reply([Message("user", prompt)])
    answer = json.loads(reply.text.removeprefix("<output>").removesuffix("</output>"))
    assert set(answer["evaluation"]) == {"warmth", "depth"}
    assert answer["evaluation"]["depth"] == 3


# What can go wrong.


@pytest.mark.parametrize(
    ("name", "status", "permanent", "wait"),
    [
        ("status-400", "client_error", True, None),
        ("status-401", "key_refused", True, None),
        ("status-403", "client_error", True, None),
        ("status-404", "client_error", True, None),
        ("status-422", "client_error", True, None),
        ("status-408", "timeout", False, None),
        ("status-429", "rate_limited", False, 0.0),
        ("status-429-7", "rate_limited", False, 7.0),
        ("quota", "quota_spent", True, None),
        ("status-500", "server_error", False, None),
        ("status-503-2", "server_error", False, 2.0),
        ("filter", "refused", True, None),
        ("refusal", "refused", True, None),
        ("empty", "empty", False, None),
        ("break", "network", False, None),
        ("hangup", "network", False, None),
        ("badjson", "network", False, None),
        ("streamerror", "server_error", False, None),
    ],
)
async def test_failure_has_its_status(
    llm_url: str, name: str, status: str, permanent: bool, wait: float | None
) -> None:
    error = await failure(llm_url, name)
    assert (error.status, error.permanent, error.retry_after) == (status, permanent, wait)


@pytest.mark.parametrize(
    ("name", "partial"),
    [("break", "You "), ("badjson", ECHO), ("streamerror", ECHO), ("filter", ECHO), ("status-500", "")],
)
async def test_failure_keeps_what_had_come(llm_url: str, name: str, partial: str) -> None:
    assert (await failure(llm_url, name)).partial == partial


async def test_failure_says_what_the_server_said(llm_url: str) -> None:
    assert "Asked to answer 500." in (await failure(llm_url, "status-500")).detail
    assert (await failure(llm_url, "streamerror")).detail == "Overloaded."
    assert (await failure(llm_url, "refusal")).detail == "I cannot answer that."


async def test_keep_alive_comments_are_signs_of_life(llm_url: str) -> None:
    error = await failure(llm_url, "stall", extra={"gap_timeout": 0.3, "total_timeout": 1.0})
    told = (error.status, error.permanent, error.detail)
    assert told == ("timeout", False, "The answer was not complete after 1 s.")


async def test_silence_ends_the_call() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b": wait\n\n")
        await asyncio.sleep(60)
        return response

    async with serving(answer) as url:
        error = await failure(url, "m", extra={"gap_timeout": 0.2})
    assert (error.status, error.permanent, error.detail) == ("timeout", False, "Nothing came for 0.2 s.")


async def test_each_piece_begins_the_wait_for_the_next(llm_url: str) -> None:
    reply = await model(llm_url, "slow", extra={"gap_timeout": 0.8}).reply(ASK)
    assert reply.text == ECHO
    assert reply.total_ms > 800


async def test_whole_answer_has_a_limit_of_its_own(llm_url: str) -> None:
    error = await failure(llm_url, "slow", extra={"gap_timeout": 30, "total_timeout": 0.9})
    assert (error.status, error.detail) == ("timeout", "The answer was not complete after 0.9 s.")
    assert error.partial != ""
    assert ECHO.startswith(error.partial)


async def test_server_that_is_not_there_is_a_network_failure() -> None:
    error = await failure("http://127.0.0.1:9", "echo")
    assert (error.status, error.permanent) == ("network", False)


@pytest.mark.parametrize("base_url", ["models.example", "ftp://models.example", "http://", "http://a:b/v1"])
async def test_base_url_that_is_none_is_a_permanent_failure(base_url: str) -> None:
    error = await failure(base_url, "echo")
    assert (error.status, error.permanent, error.detail) == ("wrong_address", True, f"{base_url} is no web address.")


async def test_flaky_model_recovers(llm_url: str) -> None:
    flaky = model(llm_url, "flaky-2-status-429")
    statuses = []
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            await flaky.reply(ASK)
        statuses.append(caught.value.status)
    assert statuses == ["rate_limited", "rate_limited"]
    assert (await flaky.reply(ASK)).text == ECHO


@pytest.mark.parametrize("raised", [KeyError("stop"), TimeoutError("mine")])
async def test_what_the_listener_raises_comes_through(llm_url: str, raised: Exception) -> None:
    def stop(piece: str) -> None:
        raise raised

    with pytest.raises(type(raised)) as caught:
        await model(llm_url, "echo").reply(ASK, stop)
    assert caught.value is raised


async def test_cancelled_reply_is_cancelled(llm_url: str) -> None:
    began = asyncio.Event()
    task = asyncio.create_task(model(llm_url, "slow").reply(ASK, lambda piece: began.set()))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("name", ["leak", "status-401"])
async def test_key_appears_nowhere(llm_url: str, name: str) -> None:
    error = await failure(llm_url, name)
    assert KEY not in f"{error!r} {error.detail} {error.partial} {model(llm_url, name)!r}"
    assert error.__cause__ is None
    assert error.__suppress_context__


@pytest.mark.parametrize(
    ("status", "location", "where"),
    [
        (307, "http://elsewhere.example/v1/chat/completions?token=s", "http://elsewhere.example/v1"),
        (302, "/login?next=x", "http://127.0.0.1:{port}/login"),
        (308, "https://127.0.0.1/v1/chat/completions", "https://127.0.0.1/v1"),
    ],
)
async def test_no_redirect_is_followed(status: int, location: str, where: str) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=status, headers={"Location": location})

    async with serving(answer) as url:
        error = await failure(url, "m")
    port = url.rpartition(":")[2].partition("/")[0]
    assert asked == ["/v1/chat/completions"]
    assert (error.status, error.permanent) == ("wrong_address", True)
    assert error.detail == (
        f"127.0.0.1 redirects to {where.format(port=port)}, and nothing was sent there: set base_url to the right "
        "address yourself."
    )


@pytest.mark.parametrize(
    ("body", "content_type", "detail"),
    [
        ("<!DOCTYPE html><title>Home</title>", "text/html", "a web page"),
        ('{"status": "ok"}', "application/json", "JSON that is no completion"),
        ("[]", "text/event-stream", "JSON that is no completion"),
        ("Ollama is running", "text/plain", "a text that is no completion"),
    ],
)
@pytest.mark.parametrize(("path", "advice"), [("", ", which probably lacks /v1"), ("/v1", "")])
async def test_address_that_answers_otherwise_is_a_permanent_failure(
    body: str, content_type: str, detail: str, path: str, advice: str
) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=body, content_type=content_type)

    async with serving(answer, path) as url:
        error = await failure(url, "m")
    assert (error.status, error.permanent) == ("wrong_address", True)
    assert error.detail == f"127.0.0.1 answers with {detail} in place of a model's reply: check base_url{advice}."


async def test_answer_that_comes_whole_is_a_reply() -> None:
    async def answer(_request: web.Request) -> web.Response:
        choice = {"message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}
        return web.json_response({"model": "m", "choices": [choice], "usage": {"prompt_tokens": 3}})

    heard: list[str] = []
    async with serving(answer) as url:
        reply = await model(url, "m").reply(ASK, heard.append)
    assert (reply.text, reply.input_tokens, heard) == ("Whole.", 3, ["Whole."])


async def test_error_in_an_answer_that_comes_whole_is_told() -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response({"error": "Unexpected endpoint or method. (POST /chat/completions)"})

    async with serving(answer) as url:
        error = await failure(url, "m")
    assert (error.status, error.permanent) == ("client_error", True)
    assert error.detail == "Unexpected endpoint or method. (POST /chat/completions)"


@pytest.mark.parametrize(
    ("path", "end", "query"),
    [
        ("/v1", "", ""),
        ("/v1", "/", ""),
        ("/v1", "/#part", ""),
        ("", "", ""),
        ("/v1", "?api-version=2026-01-01", "?api-version=2026-01-01"),
        ("/v1", "/?api-version=2026-01-01", "?api-version=2026-01-01"),
    ],
)
async def test_address_keeps_its_path_and_its_query(path: str, end: str, query: str) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path_qs)
        return web.Response(text='data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}')

    async with serving(answer, path) as url:
        assert (await model(url.removesuffix("/") + end, "m").reply(ASK)).text == "Hi."
    assert asked == [f"{path}/chat/completions{query}"]


async def test_certificate_that_does_not_verify_is_told_with_its_host(tmp_path: Path) -> None:
    async def answer(_request: web.Request) -> web.Response:
        raise AssertionError("nothing may be asked")

    async with serving(answer, ssl=self_signed(tmp_path)) as url:
        error = await failure(url, "m")
    assert (error.status, error.permanent) == ("bad_certificate", True)
    assert error.detail == (
        "The certificate of 127.0.0.1 is not valid (self-signed certificate): check the host in base_url, or let "
        "SSL_CERT_FILE name the certificate of your own authority."
    )


def self_signed(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "models.test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, SHA256())
    )
    plain = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "both.pem").write_bytes(key.private_bytes(*plain) + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


# Clients.


async def test_proxy_is_not_used_for_this_machine(llm_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert (await model(llm_url, "echo").reply(ASK)).text == ECHO


async def test_proxy_is_used_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    error = await failure("http://models.example/v1", "echo")
    assert (error.status, "127.0.0.1" in error.detail) == ("network", True)


@pytest.mark.filterwarnings("ignore:BasicAuth is deprecated", "ignore:The 'proxy_auth' parameter")  # openai 3.54
async def test_proxy_of_the_environment_is_told_its_password_and_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        told = b'data: {"choices":[{"delta":{"content":"By proxy."},"finish_reason":"stop"}]}\n\n'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(told), told))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as proxy:
        address = f"http://ann:p%40ss@127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, address)
        assert (await model("http://models.example/v1", "echo").reply(ASK)).text == "By proxy."
    assert asked[0].startswith(b"POST http://models.example/v1/chat/completions ")
    assert b"Proxy-Authorization: " + encode_basic_auth("ann", "p@ss").encode() in asked[0]


async def test_proxy_is_not_used_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "inside.example,127.0.0.2")

    async def answer(_request: web.Request) -> web.Response:
        return completion("Without proxy.")

    async with serving(answer, host="127.0.0.2") as url:
        assert (await model(url, "m").reply(ASK)).text == "Without proxy."


async def test_proxy_of_a_kind_that_is_not_known_is_a_permanent_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:9")
    error = await failure("http://models.example/v1", "echo")
    assert (error.status, error.permanent) == ("client_error", True)


async def test_key_of_two_lines_is_a_permanent_failure_that_does_not_tell_it(llm_url: str) -> None:
    settings = ModelSettings("openai_compatible", model="echo", base_url=llm_url)
    with pytest.raises(ProviderError) as caught:
        await OpenAICompatible(settings, api_key="sk-one\nsk-two").reply(ASK)
    assert (caught.value.status, caught.value.permanent) == ("client_error", True)
    assert "sk-" not in caught.value.detail


async def test_passwords_of_netrc_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine models.invalid login ann password secret")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert (await failure("http://models.invalid/v1", "echo")).status == "network"


async def test_address_with_a_password_is_refused_without_telling_it() -> None:
    error = await failure("http://ann:secret@models.example/v1", "echo")
    assert (error.status, error.permanent) == ("wrong_address", True)
    assert "secret" not in error.detail


async def test_nothing_that_the_environment_holds_for_openai_is_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-openai")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-openai")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-of-another")
    asked: list[web.Request] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request)
        return completion("Hi.")

    async with serving(answer) as url:
        await model(url, "m").reply(ASK)
    assert asked[0].headers["Authorization"] == f"Bearer {KEY}"
    assert [value for value in asked[0].headers.values() if "-of-" in value] == []
    assert {"X-Stainless-OS", "X-Stainless-Arch", "X-Stainless-Runtime-Version"} & set(asked[0].headers) == set()


async def test_connection_is_shared_by_calls_to_a_server_with_a_key() -> None:
    connections: list[Any] = []

    async def answer(request: web.Request) -> web.Response:
        connections.append(request.transport)
        return completion("Hi.")

    async with serving(answer) as url:
        settings = ModelSettings("openai_compatible", model="m", base_url=url)
        for key in (KEY, KEY, "another", KEY):
            await OpenAICompatible(settings, api_key=key).reply(ASK)
        await close_clients()
        await OpenAICompatible(settings, api_key=KEY).reply(ASK)
    first, second, another, third, anew = connections
    assert first is second is third
    assert len({first, another, anew}) == 3


async def test_as_many_calls_are_under_way_as_there_are_callers() -> None:
    all_here = asyncio.Event()
    callers = 150
    here = 0

    async def answer(_request: web.Request) -> web.Response:
        nonlocal here
        here += 1
        if here == callers:
            all_here.set()
        await all_here.wait()
        return completion("Hi.")

    async with serving(answer) as url:
        replies = await asyncio.gather(*[model(url, "m").reply(ASK) for _ in range(callers)])
    assert [reply.text for reply in replies] == ["Hi."] * callers


@pytest.mark.parametrize("end", ["cancelled", "stopped by its listener"])
async def test_stream_that_is_ended_here_ends_at_the_server(end: str) -> None:
    left = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b'data: {"choices":[{"delta":{"content":"on and "}}]}\n\n')
                await asyncio.sleep(0.01)
        finally:
            left.set()

    began = asyncio.Event()

    def listen(_piece: str) -> None:
        began.set()
        if end != "cancelled":
            raise KeyError("stop")

    async with serving(answer) as url:
        task = asyncio.create_task(model(url, "m").reply(ASK, listen))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError if end == "cancelled" else KeyError):
            await task
        await asyncio.wait_for(left.wait(), 10)


async def test_answer_may_be_compressed() -> None:
    async def answer(_request: web.Request) -> web.Response:
        response = completion("Hi.")
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async with serving(answer) as url:
        assert (await model(url, "m").reply(ASK)).text == "Hi."


def test_clients_end_with_their_loop(llm_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A connection of one loop fails in another, and one that is left open is warned of."""

    async def ask() -> Any:
        assert (await model(llm_url, "echo").reply(ASK)).text == ECHO
        return weakref.ref(await get_client(llm_url, KEY))

    clients = [asyncio.run(ask()), asyncio.run(ask())]
    gc.collect()
    assert [client() for client in clients] == [None, None]
    assert caplog.records == []
