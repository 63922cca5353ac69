"""The replies that were given to the very same words. Pure; kept on disk, so that memory does not grow."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from types import TracebackType
from typing import Self

from studies.data.training.preferences import Candidate
from studies.data.training.talk import WHOLE, About, Exchange, Message, Talk, prompt_before


class Contexts:
    """All conversations that were added, by what stood before each of their replies.

    A context is one seeker in one condition, setup and language, and all that was said up to a message. What is said
    later depends on the replies, so two supporters share one as far as they answered alike: as a rule, to the first
    message.
    """

    def __init__(self) -> None:
        self.rows = sqlite3.connect("")  # a private file that SQLite itself removes
        self.rows.executescript(
            "PRAGMA journal_mode = OFF;"
            "CREATE TABLE about (run INTEGER PRIMARY KEY, about TEXT);"
            "CREATE TABLE reply (run INTEGER, turn INTEGER, context BLOB, arm TEXT, seeker TEXT, supporter TEXT,"
            " opening TEXT, scores TEXT, PRIMARY KEY (run, turn));"
            "CREATE INDEX by_context ON reply (context, arm);"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.rows.close()

    def add(self, talk: Talk, *, by_reply: bool) -> None:
        """Add the replies of a conversation.

        `by_reply`: each reply has its own score; else that of the conversation stands for each.
        """
        self.rows.execute("INSERT INTO about VALUES (?, ?)", [talk.run, json.dumps(asdict(talk.about))])
        self.rows.executemany(
            "INSERT INTO reply VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    talk.run,
                    turn.number,
                    context_of(talk.about, prompt_before(talk.turns[: place + 1])),
                    talk.about.arm,
                    turn.seeker,
                    turn.supporter,
                    turn.opening,
                    json.dumps(dict(talk.scores.get(turn.number if by_reply else WHOLE, {}))),
                )
                for place, turn in enumerate(talk.turns)
            ],
        )

    def count(self) -> int:
        (count,) = self.rows.execute("SELECT COUNT(DISTINCT context) FROM reply").fetchone()
        return int(count)

    def list_shared(self) -> Iterator[list[Candidate]]:
        """Yield the replies to each context that two supporters or more met, in the order in which they came first."""
        replies = self.rows.execute(
            "SELECT context, run, turn, arm, supporter, scores FROM reply JOIN (SELECT context, MIN(run) AS first,"
            " MIN(turn) AS at FROM reply GROUP BY context HAVING COUNT(DISTINCT arm) > 1) USING (context)"
            " ORDER BY first, at, context, run, turn"
        )
        for _context, rows in groupby(replies, key=lambda row: row[0]):
            yield [
                Candidate(run, turn, arm, reply, json.loads(scores)) for _same, run, turn, arm, reply, scores in rows
            ]

    def about(self, run: int) -> About:
        (about,) = self.rows.execute("SELECT about FROM about WHERE run = ?", [run]).fetchone()
        return About(**json.loads(about))

    def prompt(self, candidate: Candidate) -> list[Message]:
        return prompt_before(self.exchanges(candidate))

    def exchanges(self, candidate: Candidate) -> list[Exchange]:
        """Return the turns up to this reply."""
        rows = self.rows.execute(
            "SELECT turn, seeker, supporter, opening FROM reply WHERE run = ? AND turn <= ? ORDER BY turn",
            [candidate.run, candidate.turn],
        )
        return [Exchange(*row) for row in rows]


def context_of(about: About, prompt: list[Message]) -> bytes:
    """Return the hash of a prompt and of the seeker and setting it is about; real and test data never share one."""
    who = [about.seeker, about.condition, about.setup, about.language, about.is_test]
    return hashlib.sha256(json.dumps([who, prompt]).encode()).digest()
