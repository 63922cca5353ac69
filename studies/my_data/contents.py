"""The records that a person reads and downloads as My data: those that `studies/data/holdings.py` shows.

Nothing here names an arm or a model. What would tell how the study works while it runs is named, and not shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from studies.data.holdings import HOLDINGS, Group, Holding, Scope, scope_of
from studies.instruments.definitions import Item
from studies.instruments.instrument_file import ARMS
from studies.instruments.loading import InstrumentError, load
from studies.models import Participation
from studies.participation.consent import form_of
from studies.participation.language import instrument_language
from studies.payments.payees import read_prolific_id
from studies.payments.sealing import ContactKeyError

Record = dict[str, Any]

SHOWN: Mapping[Group, tuple[str | Promise, str | Promise]] = {
    Group.YOU: (
        gettext_lazy("You in this study"),
        gettext_lazy("Your code, when you took part, and what you agreed to."),
    ),
    Group.ANSWERS: (
        gettext_lazy("Your answers"),
        gettext_lazy("Every answer that you gave on a form, and those that you have not sent yet."),
    ),
    Group.CONVERSATIONS: (
        gettext_lazy("Your conversations"),
        gettext_lazy("What you wrote, the replies you got, the times, and the replies that you flagged."),
    ),
    Group.WORK: (
        gettext_lazy("Your other parts"),
        gettext_lazy("Interviews, role cards and other people's conversations that you rated."),
    ),
    Group.TEAM: (
        gettext_lazy("You and the research team"),
        gettext_lazy("Questions and answers, payments, selection, and when a sign of danger was noticed."),
    ),
}
NAMED: Sequence[str | Promise] = (
    gettext_lazy("What the research team or other raters noted or scored about your part, if they did."),
    gettext_lazy("Alarms, notes and reports of the people who look after safety, if there were any."),
    gettext_lazy(
        "Technical records: requests that sent your words to AI services, with their answers; results computed from "
        "your part; and technical numbers of forms that you sent."
    ),
    gettext_lazy("How your conversations were chosen and put in order."),
)
NAMES: Mapping[str, str | Promise] = {
    "amount": gettext_lazy("Amount"),
    "answer": gettext_lazy("The team's answer"),
    "answered_at": gettext_lazy("Answered"),
    "answers": gettext_lazy("Answers"),
    "asked_at": gettext_lazy("When you asked"),
    "booked_at": gettext_lazy("Booked"),
    "boxes": gettext_lazy("Agreed to"),
    "bytes": gettext_lazy("Size in bytes"),
    "chosen": gettext_lazy("Chosen to take part"),
    "code": gettext_lazy("Code"),
    "completion_code": gettext_lazy("Completion code"),
    "continued_at": gettext_lazy("You continued"),
    "conversation": gettext_lazy("Conversation"),
    "country": gettext_lazy("Country"),
    "currency": gettext_lazy("Currency"),
    "decided_at": gettext_lazy("Decided on"),
    "declined_because": gettext_lazy("Given back because"),
    "definition": gettext_lazy("Definition"),
    "done_at": gettext_lazy("Done on"),
    "ended_at": gettext_lazy("Ended"),
    "example": gettext_lazy("Example"),
    "file": gettext_lazy("File"),
    "flagged_at": gettext_lazy("Flagged"),
    "form": gettext_lazy("Form"),
    "given_at": gettext_lazy("Given on"),
    "guide": gettext_lazy("Interview guide"),
    "hash_of_the_text": gettext_lazy("Hash of the text"),
    "invited_at": gettext_lazy("Invited"),
    "kind": gettext_lazy("Kind"),
    "language": gettext_lazy("Language"),
    "last_seen_at": gettext_lazy("Last visit"),
    "mail_sent_at": gettext_lazy("Mail sent"),
    "minutes": gettext_lazy("Minutes"),
    "name": gettext_lazy("Name"),
    "named_at": gettext_lazy("Named"),
    "note": gettext_lazy("Note"),
    "noticed_at": gettext_lazy("A sign of danger was noticed"),
    "page": gettext_lazy("Page"),
    "part": gettext_lazy("Part"),
    "played": gettext_lazy("Behaviours that you ticked as played"),
    "prolific_id": gettext_lazy("Prolific ID"),
    "question": gettext_lazy("Question"),
    "read_at": gettext_lazy("You read it"),
    "reason": gettext_lazy("Reason"),
    "saved_at": gettext_lazy("Saved on"),
    "scores_of_the_example": gettext_lazy("Your scores of the example"),
    "seconds_spent": gettext_lazy("Seconds spent"),
    "signed_at": gettext_lazy("Signed"),
    "started_at": gettext_lazy("Started"),
    "status": gettext_lazy("Where you are"),
    "stepped_out": gettext_lazy("How often you stepped out of the role"),
    "stored_at": gettext_lazy("Stored"),
    "topic": gettext_lazy("Topic"),
    "turn": gettext_lazy("Turn"),
    "verdict": gettext_lazy("Verdict"),
    "version": gettext_lazy("Version"),
    "what": gettext_lazy("What was done"),
    "withdrawn_at": gettext_lazy("Taken back"),
    "your_answer": gettext_lazy("Your answer"),
}
TITLES: Mapping[str, str | Promise] = {
    "participations": gettext_lazy("Your participation"),
    "payees": gettext_lazy("How you are paid"),
    "consents": gettext_lazy("Consent"),
    "receipts": gettext_lazy("Receipts"),
    "answers": gettext_lazy("Answers"),
    "drafts": gettext_lazy("Not sent yet"),
    "conversations": gettext_lazy("Conversations"),
    "turns": gettext_lazy("Messages"),
    "flags": gettext_lazy("Flagged replies"),
    "role_plays": gettext_lazy("Roles that you played"),
    "interviews": gettext_lazy("Interview"),
    "attachments": gettext_lazy("Recordings and transcripts"),
    "candidate_dimensions": gettext_lazy("Dimensions that you found missing"),
    "reviews": gettext_lazy("Conversations that you rated"),
    "verdicts": gettext_lazy("Pairs that you compared"),
    "questions": gettext_lazy("Your questions"),
    "risk_events": gettext_lazy("Signs of danger"),
    "selection_decisions": gettext_lazy("Selection"),
    "ledger": gettext_lazy("Payments"),
}


@dataclass(frozen=True)
class Kind:
    """The records of one kind, as a person may have them."""

    name: str
    title: str | Promise
    records: list[Record]


@dataclass(frozen=True)
class Section:
    """Kinds of records that belong together; those without a record are left out."""

    group: Group
    title: str | Promise
    intro: str | Promise
    kinds: list[Kind]

    def amount(self) -> str:
        """Return the number of records as text for the person; empty where a number would not help them."""
        counts = {kind.name: len(kind.records) for kind in self.kinds}
        if self.group == Group.ANSWERS and counts.get("answers"):
            number = counts["answers"]
            return ngettext("%(number)s answer", "%(number)s answers", number) % {"number": number}
        if self.group == Group.CONVERSATIONS and counts.get("conversations"):
            talks, messages = counts["conversations"], counts.get("turns", 0)
            count = ngettext("%(number)s message", "%(number)s messages", messages) % {"number": messages}
            text = ngettext(
                "%(number)s conversation with %(messages)s", "%(number)s conversations with %(messages)s", talks
            )
            return text % {"number": talks, "messages": count}
        return ""


def get_sections(person: Participation) -> list[Section]:
    """Return what is stored of a person, in the language of the page."""
    scope = scope_of(person)
    return [
        Section(group, title, intro, [kind for kind in get_kinds(person, scope, group) if kind.records])
        for group, (title, intro) in SHOWN.items()
    ]


def get_kinds(person: Participation, scope: Scope, group: Group) -> Iterator[Kind]:
    """Yield the kinds of a group in the order in which they are read."""
    holdings = {holding.name: holding for holding in HOLDINGS if holding.group == group and holding.shown}
    for name in [*(name for name in TITLES if name in holdings), *(name for name in holdings if name not in TITLES)]:
        yield Kind(name, TITLES.get(name, name), read(person, scope, holdings[name]))


def read(person: Participation, scope: Scope, holding: Holding) -> list[Record]:
    """Return the person's own records of one kind, oldest first."""
    records = holding.find_own(scope).order_by("pk")
    if holding.name == "turns":
        records = records.order_by("conversation__run__position", "number")
    rows = records.values_list(*holding.shown.values())
    own = [dict(zip(holding.shown, row, strict=True)) for row in rows]
    if holding.name == "answers":
        arms = get_arm_titles(person)
        return [{**record, **wording(record)} for record in (name_arm(record, arms) for record in own)]
    if holding.name == "payees":
        return [{"prolific_id": read_id(person)} for _record in own]
    if holding.name == "consents":
        return [{**record, "boxes": name_boxes(person, record)} for record in own]
    return own


def read_id(person: Participation) -> str:
    try:
        return read_prolific_id(person)
    except ContactKeyError:
        return _("It is stored, but the server cannot decrypt it at present.")


def name_boxes(person: Participation, record: Record) -> dict[str, bool]:
    """Return which sentences of the consent form were ticked."""
    design = person.design()
    language = record["language"] if record["language"] in design.languages else instrument_language()
    texts = {}
    if design.consent:
        texts = form_of(design, language=language, track=person.track).box_texts()
    return {texts.get(key, key): ticked for key, ticked in record["boxes"].items()}


def get_arm_titles(person: Participation) -> dict[str, str]:
    """Return how the person's version of the study calls each arm to people, by its key."""
    arms = person.protocol.full_spec().arms if person.protocol else ()
    return {arm.key: arm.title.get(instrument_language()) or next(iter(arm.title.values())) for arm in arms}


def name_arm(record: Record, arms: Mapping[str, str]) -> Record:
    """Return an answer that names an arm with the arm's title, which is what the person chose, in place of its key."""
    item = find_item(record["questionnaire"], record["item"])
    is_arm = item is not None and item.options_from == ARMS
    return {**record, "text": arms.get(record["text"], record["text"])} if is_arm else record


def wording(record: Record) -> Record:
    """Return question and answer in words, where the instrument is still here."""
    item = find_item(record["questionnaire"], record["item"])
    answer = record["text"] if record["value"] is None else record["value"]
    answer = record["missing"] if answer in ("", None) else answer
    if item is None:
        return {"asked": record["item"], "given": str(answer)}
    language = instrument_language()
    return {"asked": item.text.get(language, record["item"]), "given": item.words_of(answer, language)}


def find_item(instrument: str, key: str) -> Item | None:
    try:
        return load(instrument).item(key)
    except (InstrumentError, KeyError, OSError):
        return None


def get_document(person: Participation) -> dict[str, Any]:
    """Return everything as one JSON document."""
    design = person.design()
    return {
        "study": design.title[instrument_language()],
        "contact": design.contact,
        "code": person.code,
        "written_at": timezone.now(),
        "data": {
            section.group: {kind.name: kind.records for kind in section.kinds} for section in get_sections(person)
        },
        "also_stored_and_not_shown": [str(text) for text in NAMED],
    }
