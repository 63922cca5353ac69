from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.core.management.base import CommandParser

from dialogue.languages import CODES
from dialogue.providers.base import KEY_UNLISTED, KEY_UNSET, ProviderError
from dialogue.providers.prices import PriceFileError, Prices, format_amount, load_prices
from dialogue.providers.registry import get_recording
from studies.management.command import Command as Base
from studies.management.command import Progress
from studies.setup.model_checks import ROLES, Candidate, ModelCheck, candidates, check_models, estimate_checks
from studies.workbench.labels import one_or_more
from studies.workbench.model_check_words import Words, describe_check

KEY_STATES = {KEY_UNSET: "not set", KEY_UNLISTED: "not allowed here"}


class Command(Base):
    help = (
        "Asks each model of a study one short question, and tells which ones answer: arms, judges, the seeker's model "
        "(which also writes profiles), the evaluator and the second line of the risk screen. No conversation and no "
        "rating comes of it. It starts at once, because a question and its answer are about 60 tokens; --estimate only "
        "shows the cost. Exit code 0 only if all answer."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument(
            "--only", default=",".join(ROLES), metavar="ROLES", help=f"some of {','.join(ROLES)}, with commas"
        )
        parser.add_argument("--language", choices=CODES, help="of the question (default: the study's first)")
        parser.add_argument("--estimate", action="store_true", help="only show the expected cost; asks no model")

    def work(self, *, study: str, only: str, language: str | None, estimate: bool, **_options: Any) -> dict[str, Any]:
        protocol = self.protocol(study)
        spec, prices = protocol.spec(), self.prices()
        models = candidates(spec, self.roles(only))
        if not models:
            self.refuse(f"--only: {study} has no model of this kind.")
        language = language or spec.languages[0]
        expected = self.say_estimate(models, language, prices)
        summary = {"study": study, "version": protocol.version, "currency": prices.currency, "estimate": expected}
        if estimate:
            self.say("Nothing was asked and nothing stored.")
            return summary
        self.say_recording()
        checks = self.ask(study, models, language)
        for one in checks:
            self.say("\n".join(lines_about(one, describe_check(one.as_json(), prices.currency))))
        silent = [f"{one.role} {one.key}".strip() for one in checks if not one.answers]
        self.say(f"{len(checks) - len(silent)} of {len(checks)} models answer.")
        return {**summary, "models": [one.as_json() for one in checks], "failed": silent}

    def roles(self, only: str) -> list[str]:
        names = [name.strip() for name in only.split(",")]
        if unknown := [name for name in names if name not in ROLES]:
            self.refuse(f"--only: {', '.join(map(repr, unknown))} is not one of {', '.join(ROLES)}.")
        return [ROLES[name] for name in names]

    def prices(self) -> Prices:
        try:
            return load_prices(settings.PRICES)
        except PriceFileError as error:
            self.refuse(str(error))

    def say_estimate(self, models: Sequence[Candidate], language: str, prices: Prices) -> dict[str, Any]:
        expected = estimate_checks(models, language, prices)
        amount = f"{format_amount(expected.cost)} {expected.currency}".strip()
        unpriced = ", ".join(expected.unpriced)
        self.say(
            f"{expected.calls} short {one_or_more(expected.calls, 'question', 'questions')}: "
            f"about {expected.input_tokens} input and {expected.output_tokens} output tokens"
            + (f"; the price table has no price for {unpriced}." if unpriced else f", {amount}.")
        )
        summary = asdict(expected)
        return summary | {"cost": None if unpriced else str(expected.cost), "unpriced": list(expected.unpriced)}

    def say_recording(self) -> None:
        if not settings.REPLAY:
            return
        try:
            get_recording()
        except ProviderError as fault:
            self.refuse(f"REPLAY: {fault.detail}")
        self.stderr.write(f"No model is asked: answers come from {settings.REPLAY} (REPLAY).")

    def ask(self, study: str, models: Sequence[Candidate], language: str) -> list[ModelCheck]:
        progress: Progress

        async def tell() -> None:
            await database_sync_to_async(progress.step)()

        with self.progress(len(models), "models") as progress:
            return check_models(study, models, language, tell=tell)


def lines_about(one: ModelCheck, words: Words) -> Iterator[str]:
    """Yield the lines about a model: first whether it answers, then how it was asked and what came back."""
    yield f"{one.role} {one.key}".strip() + f": {words.state}"
    place = " at ".join(filter(None, (one.model, one.base_url)))
    state = KEY_STATES.get(one.status, "set")
    key = f"key in {one.variable} ({state})" if one.variable else "no key"
    yield f"  {', '.join(filter(None, (place, key)))}"
    if one.text:
        yield f"  “{one.text}”"
    if words.detail:
        yield f"  {words.detail}"
    if words.advice:
        yield f"  {words.advice}"
    facts = {
        "first piece after": words.first,
        "whole after": words.total,
        "tokens": words.tokens,
        "price": words.price or ("unknown" if words.total else ""),
    }
    if any(facts.values()):
        yield "  " + ", ".join(f"{name} {fact}" for name, fact in facts.items() if fact)
