"""Expected events by the HTML standard, section 9.2.6, and by its examples."""

import pytest

from dialogue.providers.event_stream import Event, EventStream

STREAMS = {
    "one event": (b"data: a\n\n", [b"a"]),
    "one space is dropped": (b"data:  a\n\n", [b" a"]),
    "no space": (b"data:a\n\n", [b"a"]),
    "several lines of data": (b"data: YHOO\ndata: +2\ndata: 10\n\n", [b"YHOO\n+2\n10"]),
    "CRLF": (b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [b"a\nb", b"c"]),
    "CR alone": (b"data: a\rdata: b\r\rdata: c\r\r", [b"a\nb", b"c"]),
    "all line ends": (b"data: a\r\ndata: b\rdata: c\n\r\n", [b"a\nb\nc"]),
    "empty data": (b"data\n\ndata\ndata\n\ndata:\n\n", [b"", b"\n", b""]),
    "comments": (b": keep-alive\n\n:\n\ndata: a\n: between\ndata: b\n\n", [b"a\nb"]),
    "other fields": (b"id: 7\nretry: 10\nnonsense\ndata: a\n\n", [b"a"]),
    "no blank line at the end": (b"data: a\n\ndata: b\n", [b"a", b"b"]),
    "no line end at the end": (b"data: a\n\ndata: b", [b"a", b"b"]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    "half a byte order mark": (b"\xef\xbbdata: a\n\n", []),
    "other separators": ("data: a\u2028b\x0bc\x85\n\n".encode(), ["a\u2028b\x0bc\x85".encode()]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("name", STREAMS)
def test_stream_is_read_however_it_is_cut(name: str, size: int) -> None:
    content, data = STREAMS[name]
    stream = EventStream()
    found: list[Event] = []
    for start in range(0, len(content), size):
        found += stream.take(content[start : start + size])
    assert [event.data for event in [*found, *stream.end()]] == data


def test_event_is_told_as_soon_as_it_is_whole() -> None:
    stream = EventStream()
    assert stream.take(b"data: a\n") == []
    assert stream.take(b"\r") == [Event(b"a")]
    assert stream.take(b"\ndata: b\n\n") == [Event(b"b")]  # the rest of a CRLF is no blank line


def test_event_has_its_name_alone() -> None:
    stream = EventStream()
    assert stream.take(b"event: error\ndata: a\n\nevent: x\n\ndata: b\n\n") == [Event(b"a", b"error"), Event(b"b")]


@pytest.mark.parametrize(
    ("content", "is_stream"),
    [
        (b"data: a\n\n", True),
        (b": comment\n", True),
        (b"event: x\n", True),
        (b"Ollama is running", False),
        (b"", False),
    ],
)
def test_other_text_is_no_stream(content: bytes, is_stream: bool) -> None:
    stream = EventStream()
    stream.take(content)
    stream.end()
    assert stream.has_fields == is_stream
