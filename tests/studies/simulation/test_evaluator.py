"""The model of `[evaluator]`, which rates in the place of simulated seekers (EmoHarbor, Section 4.1)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from dialogue.models import Call, Job
from dialogue.prompts import Prompts
from dialogue.seekers.prompts import NAMES
from studies.data.exports.columns import Filter
from studies.data.exports.designs import describe_design
from studies.data.exports.tables import CALLS, CONVERSATIONS, calls_of, conversations
from studies.design.spec import ArmSpec
from studies.models import Answer, Study
from studies.simulation.setup import Setup
from tests import factories
from tests.llm_server import running
from tests.studies.management.test_benchmark import benchmark
from tests.studies.simulation.test_simulate import model_at, profiles, simulate

# Transactions are real: the runner works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

EARLIER = "955aa5590474ed065f8e686a80de878980e24e840ef42fdf1806395ac147e01d"  # of a setup before there was [evaluator]
NOWHERE = "http://127.0.0.1:9/v1"  # no one listens


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture
def prices(settings: Any, tmp_path: Path) -> None:
    """An answer of `threes` costs a unit a million tokens, one of `echo` nothing."""
    path = tmp_path / "prices.toml"
    entry = '[[models]]\nmodel = "{}"\nsince = "2026-01-01"\ninput = {}\noutput = {}\n'
    entries = entry.format("echo", 0, 0) + entry.format("threes", 0, 1)
    path.write_text(f'version = "1"\ncurrency = "EUR"\n{entries}', encoding="utf-8")
    settings.PRICES = str(path)


def study(base_url: str, *, evaluator: str = "threes", **settings: Any) -> Study:
    rating = replace(model_at(base_url, evaluator, "evaluator"), provider="Rater Ltd", **settings)
    arm, seeker = model_at(base_url, "echo", "one"), model_at(base_url, "echo")
    return factories.study(arms=(arm,), seeker=seeker, evaluator=rating)


def held(folder: Path) -> tuple[str | Path, ...]:
    return "--profiles", profiles(folder, "en01"), "--max-turns", "2"


def plain() -> Setup:
    seeker = ArmSpec("openai_compatible", "m", "http://x/v1", key="seeker", title={})
    return Setup(seeker=seeker, condition="average", prompts=Prompts({name: {"": "Words."} for name in NAMES}))


def test_setup_without_an_evaluator_is_the_one_that_it_was_before_there_was_such_a_table() -> None:
    assert plain().hash() == EARLIER
    plan = plain().as_plan()
    assert Setup.from_plan(plan) == plain()
    del plan["evaluator"]
    assert Setup.from_plan(plan) == plain()


def test_evaluator_is_part_of_what_a_conversation_was_held_with_but_for_the_name_of_its_key() -> None:
    rating = ArmSpec("openai_compatible", "n", "http://y/v1", key="evaluator", title={})
    setup = replace(plain(), evaluator=rating)
    assert Setup.from_plan(setup.as_plan()) == setup
    changed = [replace(rating, **change) for change in ({"model": "o"}, {"temperature": 0.3}, {"max_tokens": 9})]
    hashes = [replace(plain(), evaluator=each).hash() for each in (None, rating, *changed)]
    assert len(set(hashes)) == 5
    assert replace(plain(), evaluator=replace(rating, api_key_env="OTHER")).hash() == setup.hash()


@pytest.mark.parametrize(("own", "sent"), [({}, 0.0), ({"temperature": 0.4, "max_tokens": 77}, 0.4)])
def test_ratings_are_asked_of_the_evaluator_and_all_else_of_the_seeker(
    own: dict[str, Any], sent: float, server: str, tmp_path: Path
) -> None:
    study(server, **own)
    summary, code = simulate(*held(tmp_path))
    assert (summary["done"], code) == (1, 0)
    asked = Counter(Call.objects.values_list("purpose", "model", "provider"))
    assert asked == {
        ("seeker", "echo", "ACME"): 2,
        ("reply", "echo", "ACME"): 2,
        ("thinker", "echo", "ACME"): 2,
        ("evaluator", "threes", "Rater Ltd"): 1,
    }
    [call] = Call.objects.filter(purpose="evaluator")
    assert {name: call.parameters.get(name) for name in ("temperature", "max_tokens")} == {
        "temperature": sent,
        "max_tokens": own.get("max_tokens"),
    }
    assert set(Answer.objects.values_list("response__rater__kind", "response__rater__code", "value")) == {
        ("simulated_seeker", "seeker", 3)
    }


def test_script_can_be_the_evaluator(tmp_path: Path) -> None:
    scripted = ArmSpec("scripted", key="evaluator", title={})
    factories.study(evaluator=scripted)
    summary, code = simulate(*held(tmp_path), "--arms", "amber")
    assert (summary["done"], code) == (1, 0)
    assert Call.objects.get(purpose="evaluator").model == "seeker_evaluator"
    assert not Call.objects.filter(purpose="judge").exists()


def test_benchmark_asks_it_in_both_conditions(server: str, tmp_path: Path) -> None:
    study(server)
    summary, code = benchmark(*held(tmp_path))
    assert (summary["held"], code) == (2, 0)
    asked = Call.objects.filter(purpose="evaluator").values_list("conversation__run__condition", "model")
    assert set(asked) == {("average", "threes"), ("worst_case", "threes")}
    assert not Call.objects.filter(purpose="judge").exists()


def test_another_evaluator_rates_the_same_conversation_without_its_being_paid_again(
    server: str, tmp_path: Path
) -> None:
    """The words of a conversation are asked for as before, so the ledger has them; only the ratings are new."""
    here = study(server)
    simulate(*held(tmp_path))
    before = Call.objects.count()
    study(server, evaluator="echo")
    summary, code = simulate(*held(tmp_path))
    assert (summary["done"], summary["set_aside"], code) == (1, 1, 0)
    [new] = Call.objects.order_by("pk")[before:]
    assert (new.purpose, new.model) == ("evaluator", "echo")
    names = [column.name for column in CONVERSATIONS]
    rows = [dict(zip(names, row, strict=True)) for row in conversations(here, Filter())]
    assert [row["valid"] for row in rows] == [False, True]
    assert len({row["configuration"] for row in rows}) == 2


def test_stop_names_the_evaluator(server: str, tmp_path: Path) -> None:
    study(server, evaluator="status-404")
    simulate("--profiles", profiles(tmp_path, "en01", "en02", "en03"), "--max-turns", "1", "--concurrency", "1")
    assert Job.objects.get().reason["values"]["model"] == "evaluator (status-404)"


@pytest.mark.parametrize("command", [["benchmark", "demo"], ["simulate", "demo", "--seeker", "average"]])
def test_key_that_is_not_set_is_named_before_anybody_is_asked(command: list[str]) -> None:
    rating = replace(model_at(NOWHERE, "m", "evaluator"), api_key_env="NO_KEY")
    factories.study(evaluator=rating)
    with pytest.raises(CommandError, match="evaluator: The environment variable NO_KEY is not set"):
        call_command(*command)
    assert not Job.objects.exists()
    told = benchmark("--estimate")[0]["estimate"]
    assert (told["cost"], told["evaluator_cost"], told["unset_keys"]) == (None, None, ["NO_KEY"])


def test_budget_needs_the_price_of_the_evaluator(server: str, prices: None, tmp_path: Path) -> None:
    study(server, evaluator="say:x")
    with pytest.raises(CommandError, match="has no price for 'say:x'"):
        simulate(*held(tmp_path), "--budget", "1")


def test_its_part_of_the_cost_is_estimated_apart(
    server: str, prices: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study(server)
    told = simulate(*held(tmp_path), "--estimate")[0]["estimate"]
    assert told["cost"] == told["evaluator_cost"] == 0.0002  # 200 tokens of an answer are assumed
    call_command("simulate", "demo", "--seeker", "average", *map(str, held(tmp_path)), "--estimate")
    assert "Of this, the evaluator: 0.00020 EUR" in capsys.readouterr().out.splitlines()
    factories.study(evaluator=None)
    assert "evaluator_cost" not in simulate(*held(tmp_path), "--estimate")[0]["estimate"]


def test_page_of_a_new_run_shows_its_part_of_the_cost(server: str, prices: None, client: Client) -> None:
    study(server)
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    asked = {"arms": ["one"], "conditions": ["average"], "replicates": "1", "max_turns": "2", "concurrency": "4"}
    page = client.post(reverse("research-benchmark-new", args=["demo"]), asked)
    words = " ".join(page.content.decode().split())
    assert page.context["amount"] == page.context["of_evaluator"]["amount"]
    assert f"<dt>Of this, for the evaluator</dt> <dd> {page.context['amount']} EUR </dd>" in words
    assert "Tokens of an answer, rating of a simulated seeker: 200, assumed" in words


def test_export_names_it_in_the_design_and_in_the_calls(server: str, tmp_path: Path) -> None:
    here = study(server, extra={"api_key": "hush"})
    simulate(*held(tmp_path))
    design = describe_design(here.current())["study"]
    named = {name: design["evaluator"][name] for name in ("key", "model", "provider", "base_url", "extra")}
    assert named == {
        "key": "evaluator",
        "model": "threes",
        "provider": "Rater Ltd",
        "base_url": server,
        "extra": {"api_key": "(left out)"},
    }
    assert asdict(here.current().spec().evaluator)["key"] == "evaluator"
    columns = [column.name for column in CALLS]
    assert {"purpose", "model"} < set(columns)
    assert set(calls_of(here, Filter()).filter(purpose="evaluator").values_list("model", flat=True)) == {"threes"}
