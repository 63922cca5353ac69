"""A JSONL file of finished conversations, one a line, into a study."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from django.db import transaction

from dialogue.languages import CODES
from dialogue.models import Conversation, Turn
from dialogue.models.conversation import EndReason, SeekerKind, Status, TurnState
from studies.data.exports.tables import CONDITIONS
from studies.data.imports.faults import Faults, text_fault
from studies.data.imports.languages import language_of
from studies.models import ArmRun, Study

TEXTS = {  # by key: the column that keeps it
    "id": "external_id",
    "arm": "arm",
    "condition": "condition",
    "participant": "external_participant",
    "profile": "profile",
}
CHOICES = {"condition": ("", *CONDITIONS), "language": CODES, "end_reason": EndReason.values}
KEYS = (*TEXTS, "language", "end_reason", "opening", "turns", "messages")
ROLES = {"user": "seeker", "seeker": "seeker", "assistant": "supporter", "supporter": "supporter", "system": "system"}
AT_ONCE = 500  # conversations written together


@dataclass(frozen=True)
class ImportedTurn:
    seeker: str
    supporter: str
    emotion: str = ""
    answered: bool = True  # False where the file ends with the seeker's words and no reply


@dataclass(frozen=True)
class ImportedConversation:
    id: str
    arm: str
    condition: str
    participant: str
    profile: str
    language: str
    end_reason: str
    opening: str  # what the supporter said before the first turn
    turns: tuple[ImportedTurn, ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Outcome:
    """The outcome of an import.

    `turns` counts those of the conversations that were added, `empty_turns` those of them without any text.
    """

    added: int
    already_there: int
    turns: int
    empty_turns: int


def import_conversations(study: Study, path: Path, *, on_done: Callable[[int], None] = lambda count: None) -> Outcome:
    """Add what is not there yet. Raises ImportRefused with every fault of the file, and then nothing was changed."""
    faults = Faults(str(path))
    conversations = read_conversations(path, language=study.current().spec().languages[0], faults=faults)
    with transaction.atomic():
        Study.objects.select_for_update().get(pk=study.pk)  # one import at a time: two would add the same ids
        new = list(get_new(study, conversations, faults))
        faults.refuse_any()
        for start in range(0, len(new), AT_ONCE):
            add(study, new[start : start + AT_ONCE])
            on_done(len(new[start : start + AT_ONCE]))
    turns = [turn for conversation in new for turn in conversation.turns]
    empty = sum(not turn.seeker.strip() and not turn.supporter.strip() for turn in turns)
    return Outcome(len(new), len(conversations) - len(new), len(turns), empty)


def read_conversations(path: Path, *, language: str, faults: Faults) -> list[ImportedConversation]:
    """Return the conversations of the lines without a fault.

    `language` is that of a conversation which neither says its own nor has any words.
    """
    conversations = []
    first_line: dict[str, int] = {}
    for number, node in _objects(path, faults):
        conversation = _Line(node, number, faults).conversation(language)
        if conversation is None:
            continue
        if conversation.id in first_line:
            faults.add(number, f"id: {conversation.id!r} is on line {first_line[conversation.id]} already")
        first_line.setdefault(conversation.id, number)
        conversations.append(conversation)
    return conversations


def _objects(path: Path, faults: Faults) -> Iterator[tuple[int, Mapping[str, Any]]]:
    # Bytes are split at \n alone; a text file would also be split at a lone \r, and str.splitlines at U+2028.
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                node = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as error:
                faults.add(number, f"is not UTF-8 ({error.reason} at byte {error.start})")
            except (json.JSONDecodeError, RecursionError) as error:
                faults.add(number, f"is not JSON: {error}")
            except ValueError:
                faults.add(number, "is not JSON: a number is too long")
            else:
                if isinstance(node, dict):
                    yield number, node
                else:
                    faults.add(number, "is no JSON object")


class _Line:
    """A reader of one conversation; whatever is wrong with it becomes a fault, and reading goes on."""

    def __init__(self, node: Mapping[str, Any], number: int, faults: Faults) -> None:
        self.node, self.number, self.faults = node, number, faults
        self.sound = True

    def fault(self, key: str, what: str) -> None:
        self.sound = False
        self.faults.add(self.number, f"{key}: {what}")

    def conversation(self, language: str) -> ImportedConversation | None:
        for key in sorted(self.node.keys() - set(KEYS)):
            self.fault(key, f"unknown key; known are {', '.join(KEYS)}")
        texts = {key: self.column_text(key, column) for key, column in TEXTS.items()}
        if self.node.get("id") in (None, ""):
            self.fault("id", "is missing")
        turns = tuple(self.turns())
        conversation = ImportedConversation(
            **texts,
            language=self.text("language", self.node.get("language"))
            or language_of(words_of(turns), otherwise=language),
            end_reason=self.text("end_reason", self.node.get("end_reason")) or EndReason.FINISHED.value,
            opening=self.text("opening", self.node.get("opening")),
            turns=turns,
            line=self.number,
        )
        for key, choices in CHOICES.items():
            if getattr(conversation, key) not in choices:
                self.fault(key, f"{getattr(conversation, key)!r} is not one of {', '.join(filter(None, choices))}")
        return conversation if self.sound else None

    def column_text(self, key: str, column: str) -> str:
        return self.text(key, self.node.get(key), ArmRun._meta.get_field(column).max_length)

    def text(self, key: str, value: Any, limit: int | None = None) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fault(key, f"must be text, not {json.dumps(value, ensure_ascii=False)[:40]}")
            return ""
        if wrong := text_fault(value, limit):
            self.fault(key, wrong)
        return value

    def turns(self) -> Iterable[ImportedTurn]:
        keys = [key for key in ("turns", "messages") if key in self.node]
        if len(keys) != 1:
            self.fault("turns", 'one of "turns" and "messages" is needed' + (", not both" if keys else ""))
            return ()
        if keys == ["turns"]:
            nodes = self.members("turns")
            return [self.turn(node, path, is_last=node is nodes[-1][1]) for path, node in nodes]
        return pair_messages(self.message(node, path) for path, node in self.members("messages"))

    def members(self, key: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Return each object of a list, with its path."""
        nodes = self.node[key]
        if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
            self.fault(key, "must be a list of objects")
            return []
        return [(f"{key}.{number}", node) for number, node in enumerate(nodes, 1)]

    def turn(self, node: Mapping[str, Any], path: str, *, is_last: bool) -> ImportedTurn:
        self.refuse_unknown(node, path, ("seeker", "supporter", "emotion"))
        seeker = self.needed_text(node, path, "seeker")
        answered = "supporter" not in node or node["supporter"] is not None
        if not answered and not is_last:
            self.fault(f"{path}.supporter", 'null, no reply, is for the last turn alone; an empty reply is ""')
        supporter = self.needed_text(node, path, "supporter") if answered else ""
        emotion = node.get("emotion")
        if isinstance(emotion, int | float) and not isinstance(emotion, bool):
            emotion = str(emotion)
        limit = Turn._meta.get_field("emotion").max_length
        return ImportedTurn(seeker, supporter, self.text(f"{path}.emotion", emotion, limit), answered)

    def message(self, node: Mapping[str, Any], path: str) -> tuple[str, str]:
        self.refuse_unknown(node, path, ("role", "content"))
        role = node.get("role")
        if str(role) not in ROLES:
            self.fault(f"{path}.role", f"{role!r} is not one of {', '.join(ROLES)}")
        return ROLES.get(str(role), ""), self.needed_text(node, path, "content")

    def needed_text(self, node: Mapping[str, Any], path: str, key: str) -> str:
        if node.get(key) is None:
            self.fault(f"{path}.{key}", 'is missing; an empty one is ""')
        return self.text(f"{path}.{key}", node.get(key))

    def refuse_unknown(self, node: Mapping[str, Any], path: str, keys: Sequence[str]) -> None:
        for key in sorted(node.keys() - set(keys)):
            self.fault(f"{path}.{key}", f"unknown key; known are {', '.join(keys)}")


def pair_messages(messages: Iterable[tuple[str, str]]) -> list[ImportedTurn]:
    """Return messages as turns: those of one role in a row are one, and what the system is told is left out."""
    turns: list[ImportedTurn] = []
    spoken = ((role, content) for role, content in messages if role != "system")
    for role, group in groupby(spoken, lambda message: message[0]):
        words = "\n".join(content for _role, content in group)
        if role == "seeker":
            turns.append(ImportedTurn(words, "", answered=False))
        elif turns:
            turns[-1] = replace(turns[-1], supporter=words, answered=True)
        else:
            turns.append(ImportedTurn("", words))
    return turns


def words_of(turns: Iterable[ImportedTurn]) -> Iterator[str]:
    for turn in turns:
        yield from (turn.seeker, turn.supporter)


def get_new(
    study: Study, conversations: Iterable[ImportedConversation], faults: Faults
) -> Iterator[ImportedConversation]:
    existing = already_imported(study)
    held_here = set(study.runs.filter(external_id="").values_list("conversation__code", flat=True))
    for conversation in conversations:
        if conversation.id in held_here:
            faults.add(conversation.line, f"id: {conversation.id!r} is a conversation that was held in this study")
        elif conversation.id not in existing:
            yield conversation
        elif existing[conversation.id] != conversation:
            faults.add(conversation.line, f"id: {conversation.id!r} is in the study already, with other content")


def already_imported(study: Study) -> dict[str, ImportedConversation]:
    """Return the imported conversations by the ids that their files gave them."""
    runs = study.runs.exclude(external_id="")
    turns: dict[int, list[ImportedTurn]] = {}
    rows = Turn.objects.filter(conversation__run__in=runs).order_by("conversation", "number")
    for conversation, seeker, supporter, emotion, state in rows.values_list(
        "conversation", "text", "reply", "emotion", "state"
    ).iterator():
        turn = ImportedTurn(seeker, supporter, emotion, answered=state == TurnState.ANSWERED)
        turns.setdefault(conversation, []).append(turn)
    columns = (*TEXTS.values(), "conversation__language", "conversation__end_reason", "conversation__opening")
    return {
        texts[0]: ImportedConversation(*texts, turns=tuple(turns.get(conversation, ())))
        for conversation, *texts in runs.values_list("conversation", *columns)
    }


def add(study: Study, conversations: Sequence[ImportedConversation]) -> None:
    rows = Conversation.objects.bulk_create(
        Conversation(
            seeker_kind=SeekerKind.IMPORTED,
            language=conversation.language,
            status=Status.CLOSED,
            end_reason=conversation.end_reason,
            opening=conversation.opening,
        )
        for conversation in conversations
    )
    Turn.objects.bulk_create(
        turn_row(row, number, turn)
        for row, conversation in zip(rows, conversations, strict=True)
        for number, turn in enumerate(conversation.turns, 1)
    )
    protocol = study.current()
    ArmRun.objects.bulk_create(
        ArmRun(
            study=study,
            protocol=protocol,
            conversation=row,
            **{column: getattr(conversation, key) for key, column in TEXTS.items()},
        )
        for row, conversation in zip(rows, conversations, strict=True)
    )


def turn_row(conversation: Conversation, number: int, turn: ImportedTurn) -> Turn:
    return Turn(
        conversation=conversation,
        number=number,
        client_id=str(number),
        text=turn.seeker,
        reply=turn.supporter,
        emotion=turn.emotion,
        state=TurnState.ANSWERED if turn.answered else TurnState.HELD,  # as a simulated seeker's last words
    )
