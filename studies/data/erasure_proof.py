"""Look for a person's own words after an erasure: in the whole database, and in every file below var/.

Words are looked for as bytes, in SQLite's file and its log too, so that what an erasure left in a free page is found.
What other people said as well is not looked for.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from studies.data.exports.removal import is_of_database, name_of
from studies.data.exports.word_search import contains_word, find_apart
from studies.data.holdings import HOLDINGS, Holding, Scope

SHORTEST = 15  # bytes, five Chinese characters: shorter texts are said by many
PIECE = 40  # characters: longer ones may be cut where a page of the database ends
MOST = 200  # pieces


@dataclass
class Proof:
    """The extent of a search, and the places where something was found."""

    pieces: int = 0
    files: int = 0
    bytes: int = 0
    tables: int = 0
    found: list[str] = field(default_factory=list)


def collect_words(scope: Scope) -> list[str]:
    """Return pieces of the person's own words that no one else has said, before they are erased; the longest first."""
    texts: set[str] = set()
    for holding in HOLDINGS:
        for name in holding.words:
            texts |= {text for text in texts_in(holding, scope, name) if len(text.encode()) >= SHORTEST}
    return cut_ends(sorted(texts, key=lambda text: (-len(text), text)))


def texts_in(holding: Holding, scope: Scope, name: str) -> Iterator[str]:
    own = holding.find_own(scope)
    everyone = holding.model._default_manager.exclude(pk__in=own.order_by().values("pk"))
    for value in own.values_list(name, flat=True):
        if not value or (isinstance(value, str) and everyone.filter(**{name: value}).exists()):
            continue
        yield from strings_in(value)


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings_in(member)


def cut_ends(texts: Collection[str]) -> list[str]:
    """Return the beginning and the end of each text, once."""
    pieces = [piece for text in texts for piece in (text[:PIECE], text[-PIECE:])]
    return list(dict.fromkeys(pieces))[:MOST]


def search_for(pieces: Collection[str]) -> Proof:
    """Look for these pieces in every table and every file."""
    proof = Proof(len(pieces))
    if pieces:
        search_tables(pieces, proof)
        search_files(pieces, proof)
    return proof


def search_tables(pieces: Collection[str], proof: Proof) -> None:
    """Look into PostgreSQL's tables by queries. SQLite's file is looked at as a file."""
    if connection.vendor != "postgresql":
        return
    # A row as text has these two signs doubled.
    forms = list({form for piece in pieces for form in (piece, piece.replace("\\", "\\\\").replace('"', '""'))})
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            proof.tables += 1
            where = " OR ".join(["strpos(whole::text, %s) > 0"] * len(forms))
            quoted = connection.ops.quote_name(table)
            cursor.execute(f"SELECT 1 FROM {quoted} AS whole WHERE {where} LIMIT 1", forms)  # noqa: S608
            if cursor.fetchone():
                proof.found.append(f"table {table}")


def search_files(pieces: Collection[str], proof: Proof) -> None:
    forms = [form.encode() for piece in pieces for form in {piece, json.dumps(piece)[1:-1]}]
    paths = list(places())
    proof.files += len(paths)
    proof.bytes += sum(path.stat().st_size for path in paths)
    of_database = [path for path in paths if is_of_database(path)]
    matches = find_apart(of_database, forms) if of_database else []
    matches += [path for path in paths if path not in of_database and contains_word(path, forms)]
    proof.found += map(name_of, sorted(matches))


def places() -> Iterator[Path]:
    """Yield SQLite's files, every file below var/, and the file of recorded answers in use."""
    files = [path for path in settings.VAR.rglob("*") if path.is_file() and not path.is_symlink()]
    if connection.vendor == "sqlite":
        name = Path(connection.settings_dict["NAME"])
        files += [path for path in name.parent.glob(f"{name.name}*") if path.is_file()]
    if settings.REPLAY:
        files.append(Path(settings.REPLAY))
    yield from sorted({path.resolve() for path in files})
