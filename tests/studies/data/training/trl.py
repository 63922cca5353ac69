"""What TRL and `datasets` ask of a file, after their documentation, without either: faults in words.

TRL, "Dataset formats and types": a conversational row of type language modeling has `messages`, one of type
preference `prompt`, `chosen` and `rejected`, each a list of messages with `role` and `content`. Other columns may stand
beside, but none by which TRL knows another type or to which a trainer gives a meaning (`margin` of RewardTrainer). A
prompt ends with the user's message: `trl.data_utils.apply_chat_template` would continue an assistant's. `datasets`
infers a column's type from the first lines and cannot cast null, or another type, to it (huggingface/datasets issues
7092, 7222).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TYPES = {"sft": {"messages"}, "preference": {"prompt", "chosen", "rejected"}}
MEANT_OTHERWISE = {
    "messages", "prompt", "chosen", "rejected", "completion", "completions", "label", "labels", "text", "margin",
    "tools", "images", "image", "videos", "chat_template_kwargs", "input_ids", "completion_mask", "assistant_masks",
}  # fmt: skip


def loaded(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def faults(rows: list[dict[str, Any]], kind: str) -> list[str]:
    return [f"row {number}: {fault}" for number, row in enumerate(rows) for fault in faults_of(row, rows[0], kind)]


def faults_of(row: dict[str, Any], first: dict[str, Any], kind: str) -> Iterator[str]:
    if row.keys() & MEANT_OTHERWISE != TYPES[kind]:
        yield f"columns {sorted(row.keys() & MEANT_OTHERWISE)}"
    if shape(row) != shape(first):
        yield "another shape than the first row"
    if None in row.values():
        yield "a null"
    for column in TYPES[kind]:
        yield from faults_of_messages(column, row[column])
    if kind == "preference" and row["prompt"][-1]["role"] != "user":
        yield "the prompt does not end with the user"
    if kind == "sft" and row["messages"][-1]["role"] != "assistant":
        yield "nothing to learn at the end"


def shape(value: Any) -> Any:
    """Names and types, as they would be inferred; an empty list has none."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def faults_of_messages(column: str, messages: Any) -> Iterator[str]:
    if not isinstance(messages, list) or not messages:
        yield f"{column} is no list of messages"
        return
    if any(set(message) != {"role", "content"} or not message["content"].strip() for message in messages):
        yield f"{column} has a message that is not role and content"
    expected = ["assistant"] if column in ("chosen", "rejected") else ["user", "assistant"]
    roles = [message["role"] for message in messages]
    if roles != [expected[place % len(expected)] for place in range(len(roles))]:
        yield f"{column} has the roles {roles}"
