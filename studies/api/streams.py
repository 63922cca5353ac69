"""Answers that are sent while they are made: tables as CSV, and whole exports as ZIP."""

import csv
import io
import zipfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.request import Request

from studies.workbench.csv_cells import format_cell

ROWS_AT_ONCE = 500
BYTES_AT_ONCE = 1 << 18


class Stream(StreamingHttpResponse):
    """A file that is sent piece by piece. `at_end` is called when the last is sent, or when the caller has gone."""

    def __init__(self, content: Any, *, at_end: Callable[[], Any] | None = None, **options: Any) -> None:
        super().__init__(content, **options)
        self.at_end = at_end

    def close(self) -> None:
        super().close()
        if self.at_end:
            self.at_end()


def stream(
    request: Request,
    pieces: Iterator[Any],
    *,
    name: str,
    content_type: str,
    at_end: Callable[[], Any] | None = None,
) -> Stream:
    """Return a file that is sent piece by piece."""
    is_async = hasattr(request, "scope")  # under ASGI Django would gather synchronous pieces before the first byte
    headers = {"Content-Disposition": content_disposition_header(True, name) or ""}
    content = stream_pieces(pieces) if is_async else pieces
    return Stream(content, at_end=at_end, content_type=content_type, headers=headers)


async def stream_pieces(pieces: Iterator[Any]) -> AsyncIterator[Any]:
    """Yield the pieces as a thread of their own makes them: the one that stores messages has no time for a file."""
    with ThreadPoolExecutor(1, thread_name_prefix="stream") as thread:
        in_thread = partial(sync_to_async, thread_sensitive=False, executor=thread)
        try:
            while piece := await in_thread(next)(pieces, ""):
                yield piece
        finally:
            await in_thread(lambda: connection.close())()  # the thread's own


def csv_pieces(rows: Iterator[Iterable[Any]]) -> Iterator[str]:
    while some := list(islice(rows, ROWS_AT_ONCE)):
        text = io.StringIO(newline="")
        csv.writer(text).writerows([format_cell(value) for value in row] for row in some)
        yield text.getvalue()


class Outbox(io.RawIOBase):
    """A buffer for a ZIP file: it only goes forward, and is emptied as it is sent."""

    def __init__(self) -> None:
        self.held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.held += data
        return len(data)

    def take(self) -> bytes:
        data, self.held = bytes(self.held), bytearray()
        return data


def zip_pieces(folder: "TemporaryDirectory[str]") -> Iterator[bytes]:
    """Yield a ZIP of the files in a folder, and remove the folder at the end."""
    outbox = Outbox()
    with folder, zipfile.ZipFile(outbox, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(Path(folder.name).iterdir()):
            with path.open("rb") as source, archive.open(path.name, "w", force_zip64=True) as target:
                while block := source.read(BYTES_AT_ONCE):
                    target.write(block)
                    if piece := outbox.take():
                        yield piece
        archive.close()
        yield outbox.take()
