"""Work that asks models: its quote before the start, and its outcome."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command

from dialogue.providers.prices import load_prices
from studies.models import Study

PAID = ("judge", "benchmark", "build_profiles", "run_bots")
PAIRS = "pairs"  # in the place of a strategy among the arguments of `judge`
ITEMS = ("conversations", "judgements", "profiles")
BEFORE = ("skipped_existing", "made_before")
BUDGET = "--budget"


def command_lines(study_key: str, command: str, arguments: Sequence[str]) -> dict[str, list[str]]:
    """Return the commands of manage.py that a task consists of, each as its words, by what each is about: the strategy
    of a judge."""
    if command != "judge":
        return {command: [command, study_key, *arguments]}
    key, *rest = arguments
    options = [word for word in rest if word.startswith("--")]
    return {strategy: judge_line(study_key, key, strategy, options) for strategy in rest if strategy not in options}


def judge_line(study_key: str, key: str, strategy: str, options: Sequence[str]) -> list[str]:
    if strategy == PAIRS:
        return ["judge_pairs", study_key, "--judge", key]
    return ["judge", study_key, "--judge", key, "--strategy", strategy, *options]


@dataclass
class Quote:
    """The expected cost of a piece of work. `cost`: None if the price table does not know it; `refusals`: why it could
    not start at all."""

    items: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = Decimal(0)
    currency: str = ""
    unpriced: list[str] = field(default_factory=list)
    unset_keys: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def add(self, estimate: Mapping[str, Any]) -> None:
        self.items.update({name: estimate[name] or 0 for name in ITEMS})
        for name in ("calls", "input_tokens", "output_tokens"):
            setattr(self, name, getattr(self, name) + estimate[name])
        self.currency = estimate["currency"]
        self.unpriced += [model for model in estimate["unpriced"] if model not in self.unpriced]
        self.unset_keys += [variable for variable in estimate["unset_keys"] if variable not in self.unset_keys]
        if self.cost is not None:
            self.cost = None if estimate["cost"] is None else self.cost + Decimal(str(estimate["cost"]))


def quote(study: Study, command: str, arguments: Sequence[str]) -> Quote:
    """Ask the commands themselves for their estimates. This asks no model and stores nothing."""
    total = Quote()
    for line in command_lines(study.key, command, arguments).values():
        try:
            total.add(summary_of([*line, "--estimate"])["estimate"])
        except CommandError as refusal:
            total.refusals += [reason for reason in [str(refusal)] if reason not in total.refusals]
    return total


def summary_of(line: Sequence[str]) -> dict[str, Any]:
    out = StringIO()
    call_command(*line, "--json", stdout=out, stderr=StringIO(), verbosity=0)
    return parse_summary(out.getvalue())


def parse_summary(printed: str) -> dict[str, Any]:
    """Return the JSON in the last line; empty if a command ended before it."""
    lines = printed.splitlines()
    return json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}


def budget_among(arguments: Sequence[str]) -> Decimal | None:
    """Return the budget, given as one word or as two; None if there is none."""
    joined = [word.partition("=")[2] for word in arguments if word.startswith(f"{BUDGET}=")]
    apart = [arguments[arguments.index(BUDGET) + 1]] if BUDGET in arguments else []
    return Decimal([*joined, *apart][0]) if joined or apart else None


# Outcomes


def outcome_of(summaries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts and the cost of a task whose commands have told these summaries, as its row keeps them."""
    parts = [part for summary in summaries for part in parts_of(summary)]
    reasons: Counter[str] = Counter()
    details: dict[str, str] = {}
    for part in parts:
        reasons.update(part["failed_reasons"])
        details |= part.get("failed_details", {})
    return {
        "done": sum(part["done"] for part in parts),
        "before": sum(part.get(name, 0) for part in parts for name in BEFORE),
        "failed": sum(part["failed"] for part in parts),
        "set_aside": sum(part["quarantined"] for part in parts),
        "not_sent": sum(part.get("not_sent", 0) for part in parts),
        "refused": sum(len(part.get("refused_profiles", ())) for part in parts),
        "left": sum(part["left"] for part in parts),
        "reasons": dict(reasons),
        "details": details,
        "unscored": sum(part["done"] - part["valid"] if "valid" in part else part.get("unrated", 0) for part in parts),
        "cost": None if any(part["unpriced"] for part in parts) else str(sum(Decimal(str(p["cost"])) for p in parts)),
        "currency": load_prices(settings.PRICES).currency,
    }


def parts_of(summary: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a summary for each job; a benchmark has several."""
    yield from summary.get("parts", [summary] if "done" in summary else [])
