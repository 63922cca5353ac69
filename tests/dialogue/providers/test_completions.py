import json
from typing import Any

import pytest

from dialogue.providers.base import ProviderError
from dialogue.providers.completions import BROKE_OFF, CompletionReader, Piece, UnreadableError, read_event, whole_reply
from dialogue.providers.event_stream import Event

URL = "https://models.example/v1"


def content(delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": delta}}]}


@pytest.mark.parametrize(
    ("data", "piece"),
    [
        (b"", None),
        (b" ", None),
        (b"[DONE]", Piece(done=True)),
        (b"[DONE] ", Piece(done=True)),
        (b'{"choices":[{"delta":{"role":"assistant","content":""}}]}', Piece()),
        (b'{"choices":[{"delta":{"content":null}}]}', Piece()),
        (b'{"choices":[{"delta":\n{"content":"Hi "}}]}', Piece(text="Hi ")),
        (b'{"choices":[{"delta":{"reasoning_content":"hm"}}]}', Piece(reasoning="hm")),
        (b'{"choices":[{"delta":{"reasoning":"hm","content":"a"}}]}', Piece(text="a", reasoning="hm")),
        (b'{"choices":[{"delta":{"refusal":"No."}}]}', Piece(refusal="No.")),
        (b'{"model":"m","choices":[{"delta":{},"finish_reason":"stop"}]}', Piece(finish_reason="stop", model="m")),
        (b'{"choices":[{"finish_reason":"length"}]}', Piece(finish_reason="length")),
        (b'{"choices":[],"usage":{"prompt_tokens":3}}', Piece(usage={"prompt_tokens": 3})),
        (b'{"usage":{"prompt_tokens":3}}', Piece(usage={"prompt_tokens": 3})),
        (b'{"choices":null,"usage":null}', Piece()),
        (b'{"error":null,"choices":[{"delta":{"content":"a"}}]}', Piece(text="a")),
        (b'{"seed":NaN,"choices":[{"delta":{"content":"\\ud83d"}}]}', Piece(text="\ud83d")),
    ],
)
def test_event_is_read(data: bytes, piece: Piece | None) -> None:
    assert read_event(Event(data)) == piece


@pytest.mark.parametrize(
    ("parts", "piece"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], Piece(text="ab")),
        ([{"text": "a"}], Piece(text="a")),
        ([{"type": "output_text", "text": "a"}], Piece(text="a")),
        ([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "a"}], Piece(text="a", reasoning="hm")),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}], Piece(reasoning="hm")),
        ([{"type": "refusal", "refusal": "No."}], Piece(refusal="No.")),
        ([{"type": "image_url", "image_url": None}], Piece()),
        ([], Piece()),
    ],
)
def test_content_may_be_a_list_of_parts(parts: list[Any], piece: Piece) -> None:
    assert read_event(Event(json.dumps(content(parts)).encode())) == piece


def test_whole_answer_may_be_a_list_of_parts() -> None:
    message = {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Good."}]}
    reply = whole_reply({"choices": [{"message": message}]}, "m")
    assert (reply.text, reply.reasoning) == ("Good.", "hm")


UNKNOWN = "The stream holds a chunk of an unknown form."


@pytest.mark.parametrize(
    ("data", "status", "permanent", "detail"),
    [
        (b'{"choices":[{"del', "network", False, "The stream holds broken JSON."),
        (b"hello", "network", False, "The stream holds broken JSON."),
        (b"[1]", "network", False, "The stream holds JSON that is no object."),
        (b'{"choices":[null]}', "network", False, UNKNOWN),
        (b'{"choices":[{"delta":{"content":[1]}}]}', "network", False, UNKNOWN),
        (b'{"choices":[{"delta":{"content":{"a":1}}}]}', "network", False, UNKNOWN),
        (b'{"choices":{"a":1}}', "network", False, UNKNOWN),
        (b'{"choices":[],"usage":7}', "network", False, UNKNOWN),
        (b'{"a":' * 100_000, "network", False, "The stream holds broken JSON."),
        (b'{"error":{"message":"B\\u0000us\\ud800y.","code":503}}', "server_error", False, "Bus\ufffdy."),
        (b'{"error":{"message":"Slow down.","code":"429"}}', "rate_limited", False, "Slow down."),
        (b'{"error":{"message":"Long.","code":400}}', "client_error", True, "Long."),
        (b'{"error":{"message":"No.","code":"content_filter"}}', "refused", True, "No."),
        (b'{"error":"gone"}', "server_error", False, "gone"),
        (b'{"object":"error","message":"Gone.","code":404}', "client_error", True, "Gone."),
    ],
)
def test_event_tells_a_failure(data: bytes, status: str, permanent: bool, detail: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read_event(Event(data))
    error = caught.value.as_provider_error(URL, hide="sk-1", partial="so far")
    assert (error.status, error.permanent, error.detail, error.partial) == (status, permanent, detail, "so far")


def test_event_called_error_is_one_whatever_it_holds() -> None:
    with pytest.raises(UnreadableError) as caught:
        read_event(Event(b'{"request_id":"7"}', b"error"))
    assert caught.value.as_provider_error(URL, hide="", partial="").status == "server_error"


def read(body: bytes, size: int) -> list[Piece]:
    taken: list[Piece] = []
    reader = CompletionReader(taken.append)
    for start in range(0, len(body), size):
        reader.read(body[start : start + size])
    reader.end()
    return taken


BODIES = {
    "a stream": b': x\n\ndata: {"choices":[{"delta":{"content":"a"}}]}\r\n\r\ndata: [DONE]',
    "after blank lines": b'\r\n\n data: x\ndata: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n',
    "after a mark": b'\xef\xbb\xbfdata: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n',
    "in one piece": b' {"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}',
    "in one piece, after a mark": b'\xef\xbb\xbf{"choices":[{"message":{"content":"a"}}]}\n',
}


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize("name", BODIES)
def test_body_is_read_whatever_it_is(name: str, size: int) -> None:
    assert [piece.text for piece in read(BODIES[name], size) if piece.text] == ["a"]


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    ("body", "status", "permanent", "detail"),
    [
        (b"", "network", False, "The stream broke off."),
        (b": wait\n\n", "network", False, "The stream broke off."),
        (b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', "network", False, "The stream broke off."),
        (b'{"error":{"message":"Slow.","code":"429"}}', "rate_limited", False, "Slow."),
        (b'{"error":"no such endpoint"}', "client_error", True, "no such endpoint"),
        (b'{"choices":[1]}', "network", False, UNKNOWN),
    ],
)
def test_body_tells_a_failure(body: bytes, size: int, status: str, permanent: bool, detail: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(body, size)
    error = caught.value.as_provider_error(URL, hide="sk-1", partial="")
    assert (error.status, error.permanent, error.detail) == (status, permanent, detail)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"\n<html>", "a web page"),
        (b'{"choices":[]}', "JSON that is no completion"),
        (b'{"status": up}', "JSON that is no completion"),
        (b'{"a":1}\n{"a":2}', "JSON that is no completion"),
        (b"It works!", "a text that is no completion"),
    ],
)
def test_body_that_is_no_completion_is_said_to_be_none(body: bytes, what: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(body, 3)
    error = caught.value.as_provider_error(URL, hide="sk-1", partial="")
    assert isinstance(error, ProviderError)
    assert (error.status, error.permanent) == ("wrong_address", True)
    assert error.detail == f"models.example answers with {what} in place of a model's reply: check base_url."


@pytest.mark.parametrize("length", range(1, len('{"choices":[{"message":{"content":"好 [1]"}}]}'.encode())))
def test_document_that_was_cut_off_is_asked_for_again(length: int) -> None:
    document = '{"choices":[{"message":{"content":"好 [1]"}}]}'.encode()
    with pytest.raises(UnreadableError) as caught:
        read(document[:length], 3)
    error = caught.value.as_provider_error(URL, hide="sk-1", partial="")
    assert (error.status, error.permanent, error.detail) == ("network", False, BROKE_OFF)
