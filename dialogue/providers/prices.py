"""Prices of calls: a table that the lab maintains, and estimates before a call. Pure but for reading the file."""

import difflib
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NamedTuple

from dialogue.providers.base import Message

SMALLEST = Decimal("0.000001")  # as the ledger keeps costs
MILLION = 1_000_000
USUAL_OUTPUT = 4096  # tokens that are set aside where the model's settings name no `max_tokens`
LONGEST_VERSION = 40  # characters
TABLE_KEYS = ("version", "currency", "models")
MODEL_KEYS = ("model", "base_url", "since", "input", "cached_input", "output", "batch_input", "batch_output")
CURRENCY = re.compile(r"[A-Z]{3}")

LATIN_CHARACTERS = 4.0  # to a token, about
WIDE_CHARACTERS = 1.5
TOKENS_AROUND_A_MESSAGE = 4


class PriceFileError(Exception):
    """Every fault of a price file; as text one line for each, `FILE: key.path: what is wrong`."""

    def __init__(self, path: Path, faults: Sequence[str]) -> None:
        super().__init__("\n".join(f"{path}: {fault}" for fault in faults))
        self.path = path
        self.faults = list(faults)


class BatchPrice(NamedTuple):
    input: Decimal
    output: Decimal


@dataclass(frozen=True)
class Price:
    """A price in `currency` per million tokens, from the table of this `version`. `batch`: the price in a batch, if it
    differs."""

    input: Decimal
    cached_input: Decimal
    output: Decimal
    version: str
    currency: str
    batch: BatchPrice | None = None

    def in_batch(self) -> "Price":
        """Return the price in a batch, without a discount for cached input, because nothing guarantees one."""
        if self.batch is None:
            return self
        return replace(self, input=self.batch.input, cached_input=self.batch.input, output=self.batch.output)

    def cost(
        self, input_tokens: int | None, output_tokens: int | None, cached_tokens: int | None = 0
    ) -> Decimal | None:
        """Return the cost; `None` if tokens are not known, unless they cost nothing. `cached_tokens` are part of
        `input_tokens`."""
        if not (self.input or self.cached_input or self.output):
            return Decimal(0).quantize(SMALLEST)
        if input_tokens is None or output_tokens is None:
            return None
        cached = min(cached_tokens or 0, input_tokens)
        total = (input_tokens - cached) * self.input + cached * self.cached_input + output_tokens * self.output
        return (total / MILLION).quantize(SMALLEST, ROUND_HALF_UP)

    def reserve(self, input_tokens: int, max_tokens: int | None) -> Decimal:
        """Return the amount to set aside before the call.

        It assumes nothing cached, or the dearer of the two, and as much output as the model may write; USUAL_OUTPUT
        without a limit.
        """
        output_tokens = USUAL_OUTPUT if max_tokens is None else max_tokens
        total = input_tokens * max(self.input, self.cached_input) + output_tokens * self.output
        return (total / MILLION).quantize(SMALLEST, ROUND_CEILING)


# The price of scripted models. The table knows models by name, not by kind, so callers use this for scripted ones.
FREE = Price(input=Decimal(0), cached_input=Decimal(0), output=Decimal(0), version="free", currency="")


@dataclass(frozen=True)
class Entry:
    """A price from a day on. `model` is a name, or the beginning of names and `*`; `base_url` "" is any."""

    model: str
    base_url: str
    since: date
    price: Price

    def is_for(self, model: str, base_url: str) -> bool:
        if self.base_url and self.base_url != base_url.rstrip("/"):
            return False
        return model.startswith(self.model[:-1]) if self.is_prefix() else model == self.model

    def is_prefix(self) -> bool:
        return self.model.endswith("*")

    def rank(self) -> tuple[bool, bool, int, date]:
        """Return a sort key that is higher for an entry closer to the model."""
        return bool(self.base_url), not self.is_prefix(), len(self.model), self.since


@dataclass(frozen=True)
class Prices:
    version: str
    currency: str
    entries: tuple[Entry, ...]

    def price_of(self, model: str, base_url: str, on: date) -> Price | None:
        """Return the price of a model; `None` if the table has none yet.

        Entries for this very server come before those for any, then the whole name before the longest beginning, then
        the newest that is not after `on`.
        """
        fitting = [entry for entry in self.entries if entry.since <= on and entry.is_for(model, base_url)]
        return max(fitting, key=Entry.rank).price if fitting else None


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Estimate tokens roughly, for limits and budgets: 4 characters to a token, and 4 tokens around each message.

    Chinese, Japanese and Korean count 1.5 characters to a token. Real tokenizers may differ by a third; the reply tells
    the actual number.
    """
    return math.ceil(sum(TOKENS_AROUND_A_MESSAGE + _tokens(message.text) for message in messages))


def _tokens(text: str) -> float:
    wide = (len(text.encode()) - len(text)) / 2  # three bytes each in UTF-8; a letter with an accent counts half
    return (len(text) - wide) / LATIN_CHARACTERS + wide / WIDE_CHARACTERS


def format_amount(amount: Decimal) -> str:
    """Return an amount with two decimals or two significant digits, at most six decimals: 12.50, 0.0012."""
    amount = round(amount, 6) + 0  # SQLite adds decimals as floats, so a sum of 0 may have a rest of either sign
    digits = min(max(2, 1 - amount.adjusted()), 6) if amount else 2
    return f"{amount:.{digits}f}"


# Reading the file.


def load_prices(path: Path | str) -> Prices:
    """Read a price file. Raises PriceFileError with every fault."""
    path = Path(path)
    document = _document(path)
    faults = [f"{key}: unknown key{_suggestion(key, TABLE_KEYS)}" for key in document if key not in TABLE_KEYS]
    version, currency = _version(document, faults), _currency(document, faults)
    entries = tuple(_entries(document, version, currency, faults))
    if faults:
        raise PriceFileError(path, faults)
    return Prices(version, currency, entries)


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        raise PriceFileError(path, [f"cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise PriceFileError(path, ["is not UTF-8: save it so"]) from error
    except tomllib.TOMLDecodeError as error:
        raise PriceFileError(path, [f"not valid TOML: {error}"]) from error
    except (ValueError, RecursionError) as error:
        raise PriceFileError(path, ["not valid TOML: a number is too long, or tables are nested too deeply"]) from error


def _version(document: Mapping[str, Any], faults: list[str]) -> str:
    version = document.get("version")
    if isinstance(version, date):
        return version.isoformat()
    version = _text(document, "version", "version", faults)
    if len(version) > LONGEST_VERSION:
        faults.append(f"version: must be at most {LONGEST_VERSION} characters")
    return version


def _currency(document: Mapping[str, Any], faults: list[str]) -> str:
    currency = _text(document, "currency", "currency", faults)
    if currency and not CURRENCY.fullmatch(currency):
        faults.append("currency: must be three capital letters, as in ISO 4217")
    return currency


def _entries(document: Mapping[str, Any], version: str, currency: str, faults: list[str]) -> list[Entry]:
    tables = document.get("models", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        faults.append("models: must be tables, each under [[models]]")
        return []
    entries: list[Entry] = []
    for number, table in enumerate(tables, 1):
        entry = _entry(table, f"models.{number}", version, currency, faults)
        same = [index for index, other in enumerate(entries, 1) if _is_same(entry, other)]
        if same:
            faults.append(f"models.{number}: has the model, base_url and since of models.{same[0]}")
        entries.append(entry)
    return entries


def _is_same(one: Entry, other: Entry) -> bool:
    return (one.model, one.base_url, one.since) == (other.model, other.base_url, other.since)


def _entry(table: Mapping[str, Any], path: str, version: str, currency: str, faults: list[str]) -> Entry:
    for key in table:
        if key not in MODEL_KEYS:
            faults.append(f"{path}.{key}: unknown key{_suggestion(key, MODEL_KEYS)}")
    price_of_input = _amount(table, "input", path, faults)
    cached = _amount(table, "cached_input", path, faults) if "cached_input" in table else price_of_input
    output = _amount(table, "output", path, faults)
    batch = _batch_price(table, path, faults)
    return Entry(
        model=_model(table, path, faults),
        base_url=_text(table, "base_url", f"{path}.base_url", faults).rstrip("/") if "base_url" in table else "",
        since=_since(table, path, faults),
        price=Price(price_of_input, cached, output, version, currency, batch),
    )


def _batch_price(table: Mapping[str, Any], path: str, faults: list[str]) -> BatchPrice | None:
    if "batch_input" not in table and "batch_output" not in table:
        return None
    return BatchPrice(_amount(table, "batch_input", path, faults), _amount(table, "batch_output", path, faults))


def _model(table: Mapping[str, Any], path: str, faults: list[str]) -> str:
    model = _text(table, "model", f"{path}.model", faults)
    if "*" in model[:-1]:
        faults.append(f"{path}.model: may have a * at its end only")
    return model


def _since(table: Mapping[str, Any], path: str, faults: list[str]) -> date:
    since = table.get("since")
    try:
        return date.fromisoformat(str(since))
    except ValueError:
        faults.append(f"{path}.since: {'is missing' if since is None else 'must be a day, as 2026-01-31'}")
        return date.min


def _amount(table: Mapping[str, Any], key: str, path: str, faults: list[str]) -> Decimal:
    value = table.get(key)
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and Decimal(value).is_finite() and value >= 0:
        return Decimal(value)
    wrong = "is missing" if value is None else "must be a number from 0 on, for a million tokens"
    faults.append(f"{path}.{key}: {wrong}")
    return Decimal(0)


def _text(table: Mapping[str, Any], key: str, path: str, faults: list[str]) -> str:
    value = table.get(key, "")
    if isinstance(value, str) and value.strip():
        return value.strip()
    faults.append(f"{path}: {'must be text' if value and not isinstance(value, str) else 'is missing'}")
    return ""


def _suggestion(key: str, choices: Sequence[str]) -> str:
    nearest = difflib.get_close_matches(key, choices, n=1)
    return f'; did you mean "{nearest[0]}"?' if nearest else ""
