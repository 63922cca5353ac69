"""The rules that hold for questionnaires made on this site, beside those of the form of an instrument file. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dialogue.documents import Fault, check_size, place_of
from dialogue.documents import translate as _
from dialogue.languages import CODES
from dialogue.schema import LONGEST_SLUG, SLUG
from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import BEFORE, COMMENT
from studies.instruments.loading import (
    LARGEST_FILE,
    PAIRWISE,
    RATING_SCALE,
    InstrumentError,
    build_questionnaire,
    instrument_ids,
    is_taken,
    parse_object,
)
from studies.instruments.wording import placeholders
from studies.questionnaires.document import QUESTIONNAIRE

KINDS = (QUESTIONNAIRE, RATING_SCALE, PAIRWISE, "interview")  # other kinds have rules that only their own pages know
ITEM_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
# Fields of the page on which the questions stand, and words in the addresses of our pages.
NO_KEYS = {"act", "checkpoint", "choice", "conversation", "csrfmiddlewaretoken", "follow_up", "idempotency"} | {
    *("language", "next", "part", "seconds", "step", "turn", COMMENT)
}
NO_IDS = ("new", "upload")


def check_id(instrument_id: str) -> str:
    """Return why a questionnaire cannot have this id; empty where it can, or where a file of this site has it."""
    if not SLUG.fullmatch(instrument_id) or len(instrument_id) > LONGEST_SLUG:
        return _("must be at most %(limit)s lower-case letters, digits, _ and -", limit=LONGEST_SLUG)
    if is_taken(instrument_id) or instrument_id in NO_IDS:
        return _("there is an instrument of this id already")
    return ""


def read_upload(content: bytes, file_name: str) -> tuple[Questionnaire, Mapping[str, Any]]:
    """Return a questionnaire from a file that someone brings, and its data. Raise DocumentError."""
    check_size(content, file_name, limit=LARGEST_FILE)
    data = parse_object(content, file_name)
    written = data.get("id")
    questionnaire = check_data(data, written.strip() if isinstance(written, str) else "", file_name)
    if questionnaire.id in instrument_ids():
        raise InstrumentError(file_name, [Fault("id", _("there is an instrument of this id already"))])
    return questionnaire, data


def check_data(data: Mapping[str, Any], instrument_id: str, file_name: str) -> Questionnaire:
    """Return the questionnaire that the data of a file describe. Raise InstrumentError."""
    questionnaire = build_questionnaire(data, instrument_id, file_name)
    if faults := list(find_faults(questionnaire)):
        raise InstrumentError(file_name, faults)
    return questionnaire


def find_faults(questionnaire: Questionnaire) -> Iterator[Fault]:
    """Return what a questionnaire of this site cannot have."""
    if wrong := check_id(questionnaire.id):
        yield Fault("id", wrong)
    if questionnaire.kind not in KINDS:
        yield Fault("kind", _("must be one of %(kinds)s", kinds=", ".join(KINDS)))
    if len(questionnaire.version) > 40:
        yield Fault("version", _("must be at most %(limit)s characters", limit=40))
    keys = {item.key for item in questionnaire.items}
    for key in keys:
        if not ITEM_KEY.fullmatch(key):
            message = _("must be at most %(limit)s letters, digits and _, beginning with a letter", limit=60)
            yield Fault(key, message)
        elif key in NO_KEYS:
            yield Fault(key, _("is a name that our pages use: choose another key"))
    for place, text in walk_texts(questionnaire.raw):
        for name in placeholders(text):
            if name.removeprefix(BEFORE) not in keys or not name.startswith(BEFORE):
                message = _("nothing is known to stand for {{%(name)s}}: leave out the double brackets", name=name)
                yield Fault(place, message)


def walk_texts(node: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str, str]]:
    """Return every text in a language, with its place."""
    if isinstance(node, str):
        if place and place[-1] in CODES:
            yield place_of(place), node
    elif isinstance(node, Mapping):
        for key, member in node.items():
            yield from walk_texts(member, (*place, key))
    elif isinstance(node, list | tuple):
        for number, member in enumerate(node):
            yield from walk_texts(member, (*place, number))
