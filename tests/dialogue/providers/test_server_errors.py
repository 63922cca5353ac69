import json
import ssl
from datetime import UTC, datetime
from typing import Any

import pytest

from dialogue.providers.addresses import address_of
from dialogue.providers.server_errors import (
    ServerReport,
    StatusError,
    error_for_connection,
    error_for_report,
    error_for_status,
    find_report,
    hide_key,
    read_report,
    retry_after,
    status_for_code,
)

KEY = "sk-proj-Abc1234567890xyzQ"
URL = "https://models.example/v1"
LONG = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce "
    "the length of the messages.",
    "This model's maximum context length is 4097 tokens, however you requested 5360 tokens (1360 in your prompt; 4000 "
    "for the completion). Please reduce your prompt or completion length.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 tokens "
    "and your request has 2104 input tokens (2000 > 4096 - 2104).",
    "You passed 9001 input tokens and requested 400 output tokens. However, the model's context length is only 8192 "
    "tokens, resulting in a maximum input length of 7792 tokens.",
    "The decoder prompt (length 12345) is longer than the maximum model length of 8192.",
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "prompt too long; exceeded max context length by 4 tokens",
    "the input length exceeds the context length",
    "prompt is too long: 212345 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "Input is too long for requested model.",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens",
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    "Prompt exceeds max length",
    "Prompt 超长",
    "Invalid request: Your request exceeded model token limit: 8192",
    "Total tokens of image and text exceed max message tokens",
    "length of prompt_tokens (65878) must be less than max_seq_len (65536).",
    "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
    "输入长度超过模型最大长度限制",
    "输入内容过长，请缩短后重试",
    "请求的 tokens 超出上下文窗口上限",
    "对话上下文超出模型支持的最大长度",
]
NOT_LONG = [
    "max_tokens is too large: 99999. This model supports at most 4096 completion tokens.",
    "'max_tokens' is too large: 8000. This model's maximum context length is 4096 tokens and your request has 100 "
    "input tokens (8000 > 4096 - 100).",
    "This model's maximum context length is 4097 tokens, however you requested 6000 tokens (1000 in your prompt; 5000 "
    "for the completion).",
    "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
    "Range of max_tokens should be [1, 8192]",
    "max_tokens 超过上限 8192",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    "请求超过频率限制",
    "Your request exceeds the quota of your account.",
    "Unsupported parameter: 'temperature' is not supported with this model.",
    "The model `gpt-9` does not exist or you do not have access to it.",
    "Invalid 'user': string too long. Expected a string with maximum length 64.",
    "Input should be a valid list",
]


@pytest.mark.parametrize("words", LONG)
@pytest.mark.parametrize("status", [400, 422, 500])
def test_text_that_is_too_long_is_told_by_the_servers_words(status: int, words: str) -> None:
    error = error_for_status(status, words)
    assert (error.status, error.permanent) == ("too_long", True)
    assert error.detail == f"This is too long for the model: {words}"


@pytest.mark.parametrize("words", NOT_LONG)
def test_what_can_be_put_right_is_not_too_long(words: str) -> None:
    assert error_for_status(400, words).status == "client_error"


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (400, "context_length_exceeded invalid_request_error", "No."),
        (400, "exceed_context_size_error", "No."),
        (400, "OutofContextError BadRequest", "No."),
        (413, "", "HTTP 413: Payload Too Large"),
        (413, "rate_limit_exceeded tokens", "Request too large for model `m` on tokens per minute (TPM): Limit 6000"),
        (
            429,
            "rate_limit_exceeded",
            "Request too large for gpt-4 on tokens per min (TPM): Limit 30000, Requested 43000.",
        ),
    ],
)
def test_text_that_is_too_long_is_told_by_status_or_code(status: int, code: str, words: str) -> None:
    assert error_for_status(status, words, code=code).status == "too_long"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("429", 429),
        ("503 None", 503),
        ("1302", None),
        ("None None", None),
        ("throttling_error", 429),
        ("Throttling.RateQuota", 429),
        ("limit_requests", 429),
        ("rate_limit_exceeded", 429),
        ("None rate_limit_error", 429),
        ("insufficient_quota", 429),
        ("8 RESOURCE_EXHAUSTED", 429),
        ("server_error", 503),
        ("overloaded_error", 503),
        ("InternalError", 503),
        ("ServiceUnavailable", 503),
        ("api_error", 503),
        ("RequestTimeOut", 408),
        ("Arrearage", 402),
        ("invalid_api_key invalid_request_error", 401),
        ("Model.AccessDenied", 403),
        ("model_not_found invalid_request_error", 404),
        ("BadRequestError", 400),
        ("invalid_parameter_error", 400),
        ("something", None),
    ],
)
def test_code_stands_for_a_status(code: str, status: int | None) -> None:
    assert status_for_code(code) == status


@pytest.mark.parametrize(
    ("code", "status", "permanent"),
    [
        ("429", "rate_limited", False),
        ("throttling_error", "rate_limited", False),
        ("insufficient_quota", "quota_spent", True),
        ("overloaded_error", "server_error", False),
        ("authentication_error", "key_refused", True),
        ("Arrearage", "quota_spent", True),
        ("402", "quota_spent", True),
        ("exceeded_current_quota_error", "quota_spent", True),
        ("DataInspectionFailed", "refused", True),
        ("context_length_exceeded", "too_long", True),
        ("", "server_error", False),
    ],
)
def test_error_in_a_stream_has_its_kind(code: str, status: str, permanent: bool) -> None:
    error = error_for_report(ServerReport("So it is.", code), otherwise=500, hide=KEY, partial="so far")
    assert (error.status, error.permanent) == (status, permanent)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"error": {"message": "No.", "type": "t", "code": None}}, ServerReport("No.", "t")),
        ({"error": {"message": "No.", "code": 429}}, ServerReport("No.", "429")),
        ({"error": {"code": "busy"}}, ServerReport("busy", "busy")),
        ({"error": "No.", "error_type": "overloaded"}, ServerReport("No.", "overloaded")),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "No."}},
            ServerReport("No.", "overloaded_error"),
        ),
        (
            {"object": "error", "message": "No.", "type": "BadRequestError", "code": 400},
            ServerReport("No.", "400 BadRequestError"),
        ),
        ({"code": "InvalidParameter", "message": "No.", "request_id": "r"}, ServerReport("No.", "InvalidParameter")),
        ({"detail": "Not Found"}, ServerReport("Not Found")),
        ({"detail": [{"msg": "x"}]}, ServerReport('[{"msg": "x"}]')),
        ([{"error": {"code": 400, "message": "No.", "status": "INVALID"}}], ServerReport("No.", "400 INVALID")),
        ({"choices": [], "message": "hm"}, None),
        ({"choices": [], "error": None}, None),
        ({"a": 1}, None),
        ([], None),
        ("error", None),
    ],
)
def test_error_is_found_in_a_document(document: Any, told: ServerReport | None) -> None:
    assert find_report(document) == told


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<html><head><title> Bad Gateway </title><body>secret", "HTTP 502, a web page (Bad Gateway)."),
        ("<p>oops", "HTTP 502, a web page."),
        ("upstream failed", "HTTP 502: upstream failed"),
        ('{"a": 1}', 'HTTP 502: {"a": 1}'),
        ("", "HTTP 502: "),
    ],
)
def test_body_that_is_no_error_document_is_told_all_the_same(body: str, message: str) -> None:
    assert read_report(502, body) == ServerReport(message)


@pytest.mark.parametrize(
    ("words", "status", "detail"),
    [
        (
            "Country, region, or territory not supported",
            "region_refused",
            "HTTP 403: Country, region, or territory not supported",
        ),
        ("Invalid API key.", "key_refused", "HTTP 403: Invalid API key."),
        ("Model.AccessDenied", "client_error", "HTTP 403: Model.AccessDenied"),
        ("Your account was flagged.", "client_error", "HTTP 403: Your account was flagged."),
        ("Access denied: your account has an insufficient balance.", "quota_spent", None),
        ("账户已欠费", "quota_spent", None),
        ("The model requires moderation and your input was flagged.", "refused", None),
        ("输入内容包含敏感内容", "refused", None),
    ],
)
def test_what_is_forbidden_keeps_the_servers_reason(words: str, status: str, detail: str | None) -> None:
    error = error_for_status(403, words)
    assert (error.status, error.permanent, error.detail) == (status, True, detail or words)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Bad key {KEY}.", "Bad key ***."),
        (
            "Incorrect API key provided: sk-proj-********xyzQ. See /account",
            "Incorrect API key provided: *** See /account",
        ),
        ("It ends in …xyzQ，请检查", "It ends in ***，请检查"),
        ("a sk- key", "a sk- key"),
    ],
)
def test_key_and_its_ends_are_hidden(text: str, left: str) -> None:
    assert hide_key(text, KEY) == left


def test_short_key_is_hidden_as_a_whole_alone() -> None:
    assert hide_key("ollama is no llama", "ollama") == "*** is no llama"
    assert hide_key("none", "none") == "none"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:30 -0000"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 09:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("body", "base_url", "detail"),
    [
        ('{"detail": "Not Found"}', "https://models.example", ", which probably lacks /v1."),
        ("404 page not found", "https://models.example/", ", which probably lacks /v1."),
        ("<title>404</title>", URL, "."),
    ],
)
def test_address_without_completions_is_told(body: str, base_url: str, detail: str) -> None:
    error = StatusError(404, {}, body).as_provider_error(base_url, hide=KEY)
    assert error.permanent
    assert error.detail == f"models.example has no chat completions at this address (404): check base_url{detail}"


def test_model_that_is_not_there_is_told_in_the_servers_words() -> None:
    body = json.dumps({"error": {"message": "The model `x` does not exist.", "code": "model_not_found"}})
    assert StatusError(404, {}, body).as_provider_error(URL, hide=KEY).detail == "The model `x` does not exist."


def test_certificate_is_found_among_the_causes() -> None:
    fault = ssl.SSLCertVerificationError(1, "certificate verify failed")
    fault.verify_message = "certificate has expired"
    outer = OSError("Connect call failed")
    outer.__cause__ = fault
    error = error_for_connection(outer, URL, hide=KEY)
    assert (error.status, error.permanent) == ("bad_certificate", True)
    assert error.detail.startswith("The certificate of models.example is not valid (certificate has expired): ")


def test_query_is_told_apart() -> None:
    assert address_of(f"{URL}?api-version=1&x=") == (URL, {"api-version": "1", "x": ""})
