"""Records of My data as a person reads them: each value with its name, in the language of the page."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.translation import gettext as _

from dialogue.languages import CODES, get_language
from dialogue.models import RiskEvent
from dialogue.templatetags.languages import colon, in_brackets, listed
from studies.instruments.loading import InstrumentError, load
from studies.models import LedgerEntry, Participation, Receipt
from studies.my_data.contents import NAMES, Kind, Record
from studies.participation.counts import status_label
from studies.participation.language import instrument_language


def name_language(code: str) -> str:
    """Return what a language calls itself."""
    return get_language(code).name if code in CODES else code


CHOICES: Mapping[tuple[str, str], Any] = {
    ("participations", "part"): lambda code: Participation.Track(code).label,
    ("participations", "status"): status_label,
    ("receipts", "what"): lambda code: Receipt.Kind(code).label,
    ("ledger", "kind"): lambda code: LedgerEntry.Kind(code).label,
    ("risk_events", "your_answer"): lambda code: RiskEvent.SafeAnswer(code).label,
    **{(kind, "language"): name_language for kind in ("participations", "consents", "conversations")},
}
PLAIN = ("answers", "turns")  # kinds whose pages have a form of their own


def describe(kind: Kind) -> list[list[tuple[str, str]]]:
    """Return each record as names and values; what is empty is left out."""
    return [list(describe_record(kind.name, record)) for record in kind.records]


def describe_record(kind: str, record: Record) -> Iterator[tuple[str, str]]:
    for name, value in record.items():
        if value not in (None, "", [], {}):
            label = CHOICES.get((kind, name))
            yield str(NAMES.get(name, name)), write_value(label(value) if label else value)


def write_value(value: Any) -> str:
    """Return a value as people read it."""
    if isinstance(value, datetime):
        return write_moment(value)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, dict):
        return "\n".join(f"{name}{colon()}{write_value(member)}" for name, member in value.items())
    if isinstance(value, list):
        return listed(map(write_value, value))
    return str(value)


def write_moment(value: datetime) -> str:
    """Return a moment in the zone at hand, which it names; moments.js writes it in the reader's own."""
    local = timezone.localtime(value)
    words = f"{date_format(local, 'DATETIME_FORMAT')}{in_brackets(local.tzname())}"
    return format_html('<time datetime="{}" data-moment>{}</time>', value.isoformat(), words)


def name_questionnaire(record: Record) -> str:
    """Return the title of the questionnaire that an answer belongs to; its code where it is no longer here."""
    try:
        title = load(record["questionnaire"]).title
    except (InstrumentError, KeyError, OSError):
        return str(record["questionnaire"])
    return title.get(instrument_language(), record["questionnaire"])


def group_answers(kind: Kind) -> list[tuple[str, Record, list[Record]]]:
    """Return answers form by form: the form's title, its first answer, which says when it was, and all of them."""
    by_form: dict[tuple[Any, ...], list[Record]] = {}
    for record in kind.records:
        place = tuple(record[name] for name in ("questionnaire", "moment", "turn", "conversation", "answered_at"))
        by_form.setdefault(place, []).append(record)
    forms = [records for _place, records in sorted(by_form.items(), key=lambda pair: pair[0][-1])]
    return [(name_questionnaire(records[0]), records[0], records) for records in forms]


def group_messages(kind: Kind) -> list[tuple[int, list[Record]]]:
    """Return messages conversation by conversation."""
    by_conversation: dict[int, list[Record]] = {}
    for record in kind.records:
        by_conversation.setdefault(record["conversation"], []).append(record)
    return sorted(by_conversation.items())
