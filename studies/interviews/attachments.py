"""Recordings and transcripts of interviews: check, store below var/, read and remove them."""

import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from studies.models import Attachment, Interview, Participation

FOLDER = "interviews"
RECORDING_BOX = "record_interview"  # of the consent form
MEGABYTE = 2**20
LIMITS = {Attachment.Kind.AUDIO: 200 * MEGABYTE, Attachment.Kind.TRANSCRIPT: 5 * MEGABYTE}
HEAD = 64  # bytes, in which each kind of recording says what it is
PIECE = 256 * 1024  # bytes that are read at once
LAYER_3 = 0b01  # in the second byte of an MP3 frame


class FileRefused(Exception):
    """The file is refused; the text says why."""


def is_mp3(head: bytes) -> bool:
    frame = len(head) > 1 and head[0] == 0xFF and head[1] >> 5 == 0b111 and (head[1] >> 1) & 0b11 == LAYER_3
    return head.startswith(b"ID3") or frame


# By the ending of the name: a check of the first bytes, and the type for serving.
AUDIO: Mapping[str, tuple[Callable[[bytes], bool], str]] = {
    ".mp3": (is_mp3, "audio/mpeg"),
    ".m4a": (lambda head: head[4:8] == b"ftyp", "audio/mp4"),
    ".wav": (lambda head: head[:4] == b"RIFF" and head[8:12] == b"WAVE", "audio/wav"),
    ".ogg": (lambda head: head[:4] == b"OggS", "audio/ogg"),
    ".webm": (lambda head: head[:4] == b"\x1a\x45\xdf\xa3" and b"webm" in head, "audio/webm"),
}
TRANSCRIPTS: Mapping[str, Callable[[str], bool]] = {
    ".txt": lambda _text: True,
    ".md": lambda _text: True,
    ".vtt": lambda text: text.startswith("WEBVTT"),
    ".srt": lambda text: "-->" in text,
}


def recording_consent(person: Participation) -> bool | None:
    """Return whether the person agreed to recording in the form that they signed last; None if it has no such box."""
    consent = person.consents.order_by("-signed_at", "-pk").first()
    return consent.boxes.get(RECORDING_BOX) if consent else None


def attach(interview: Interview, file: UploadedFile, *, agreed: bool, added_by: Any = None) -> Attachment:
    """Store a file with its row. Raises FileRefused.

    `agreed`: the researcher says that the person agreed to recording; it counts only if the consent form does not ask.
    """
    kind = kind_of(file)
    if kind == Attachment.Kind.AUDIO:
        refuse_unwanted_recording(interview.participation, agreed=agreed)
    path, sha256 = store_file(file.chunks(PIECE))
    try:
        return Attachment.objects.create(
            interview=interview,
            kind=kind,
            name=PurePath(file.name or "").name[-200:],
            path=path,
            size=file.size,
            sha256=sha256,
            added_by=added_by,
        )
    except BaseException:
        (settings.VAR / path).unlink()
        raise


def kind_of(file: UploadedFile) -> Attachment.Kind:
    ending = PurePath(file.name or "").suffix.lower()
    if ending not in AUDIO and ending not in TRANSCRIPTS:
        raise FileRefused(_("Only these kinds of file can be attached: %(kinds)s.") % {"kinds": kinds()})
    kind = Attachment.Kind.AUDIO if ending in AUDIO else Attachment.Kind.TRANSCRIPT
    if (file.size or 0) > LIMITS[kind]:
        raise FileRefused(_("The file is too large: at most %(most)d MB.") % {"most": LIMITS[kind] // MEGABYTE})
    if not (is_recording(file, ending) if ending in AUDIO else is_transcript(file, ending)):
        raise FileRefused(_("The file is not in %(kind)s format, although its name says so.") % {"kind": ending[1:]})
    return kind


def kinds() -> str:
    return ", ".join(ending[1:] for ending in (*AUDIO, *TRANSCRIPTS))


def is_recording(file: UploadedFile, ending: str) -> bool:
    file.seek(0)
    return AUDIO[ending][0](file.read(HEAD))


def is_transcript(file: UploadedFile, ending: str) -> bool:
    file.seek(0)
    try:
        text = decode_text(file.read())
    except UnicodeDecodeError:
        return False
    return "\0" not in text and TRANSCRIPTS[ending](text)


def decode_text(content: bytes) -> str:
    return content.decode("utf-8-sig").replace("\r\n", "\n")


def refuse_unwanted_recording(person: Participation, *, agreed: bool) -> None:
    consented = recording_consent(person)
    if consented is False:
        raise FileRefused(
            _("%(code)s did not agree to be recorded in the consent form. No recording can be attached.")
            % {"code": person.code}
        )
    if consented is None and not agreed:
        raise FileRefused(
            _("The consent form of %(code)s does not ask about recording. Please confirm that they agreed to it.")
            % {"code": person.code}
        )


def store_file(pieces: Iterable[bytes]) -> tuple[str, str]:
    """Store a file under a random name that only this account can open; return the path below var/ and the SHA-256."""
    folder = settings.VAR / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / secrets.token_hex(16)
    digest = hashlib.sha256()
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            for piece in pieces:
                digest.update(piece)
                out.write(piece)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path.relative_to(settings.VAR).as_posix(), digest.hexdigest()


def file_of(attachment: Attachment) -> Path:
    path: Path = settings.VAR / attachment.path
    return path


def content_type(attachment: Attachment) -> str:
    """Return the type for serving; it is never one that a browser would run."""
    ending = PurePath(attachment.name).suffix.lower()
    return AUDIO[ending][1] if attachment.kind == Attachment.Kind.AUDIO else "text/plain; charset=utf-8"


async def read_pieces(attachment: Attachment) -> AsyncIterator[bytes]:
    """Yield the file in pieces, so that a recording is not read whole into memory."""
    with file_of(attachment).open("rb") as file:
        while piece := await sync_to_async(file.read, thread_sensitive=False)(PIECE):
            yield piece


def transcript_text(attachment: Attachment) -> str:
    """Return the text of a transcript; empty if its file is gone."""
    path = file_of(attachment)
    return decode_text(path.read_bytes()) if path.exists() else ""


def remove(attachment: Attachment) -> None:
    """Remove a file with the passages that quote it.

    The file goes first: a row without a file can be removed again, but a file without a row would be forgotten.
    """
    file_of(attachment).unlink(missing_ok=True)
    attachment.interview.passages.filter(source=f"file:{attachment.pk}").delete()
    attachment.delete()


def remove_files_of(person: Participation) -> int:
    """Remove all files of a person and return how many there were on disk."""
    paths = [file_of(attachment) for attachment in Attachment.objects.filter(interview__participation=person)]
    existing = [path for path in paths if path.exists()]
    for path in existing:
        path.unlink()
    return len(existing)
