"""From the link to the correlation with a judge, with models behind a real HTTP server that streams and fails."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm_server import running
from tests.server import ROOT, Server, serving

PEOPLE = 4
STRATEGIES = ("standard", "user_aware", "state_aware")
ARMS = """
[[arms]]
key = "steady"
title = "Answers at once"
kind = "openai_compatible"
base_url = "{url}"
model = "echo"
provider = "Test Lab"
prompt = "supporter"
temperature = 0.7

[[arms]]
key = "shaky"
title = "Fails once for each message, then answers"
kind = "openai_compatible"
base_url = "{url}"
model = "flaky-1-status-500"
provider = "Test Lab"
prompt = "supporter"

[[judges]]
key = "remote"
title = "A judge over HTTP"
kind = "openai_compatible"
base_url = "{url}"
model = "echo"
provider = "Test Lab"

[[judges]]
key = "stranger"
title = "A judge whom no consent names"
kind = "openai_compatible"
base_url = "{url}"
model = "echo"
provider = "Someone Else"
"""


def study_file(folder: Path, url: str) -> Path:
    """The demo's steps and texts with other arms, so few turns that a test may wait for them."""
    text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    head = text[: text.index("[[arms]]")]
    changes = {
        'key = "demo"\ntitle = {': 'key = "chain"\ntitle = {',
        "min_turns = 10": "min_turns = 4",
        "checkpoints = [5, 10]": "checkpoints = [2, 4]",
        "providers = []": 'providers = ["Test Lab"]',
    }
    for was, becomes in changes.items():
        assert head.count(was) == 1, was
        head = head.replace(was, becomes)
    path = folder / "chain.toml"
    path.write_text(head + ARMS.format(url=url), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A served study that four bots have walked, and its export."""
    folder = tmp_path_factory.mktemp("chain")
    with running() as url, serving(folder) as server:
        done(server, "load_study", str(study_file(folder, url)))
        done(server, "run_bots", "chain", "--count", str(PEOPLE), "--concurrency", "4", "--base-url", server.base_url)
        for strategy in STRATEGIES:
            done(server, "judge", "chain", "--judge", "remote", "--strategy", strategy, "--concurrency", "8")
        done(server, "export", "chain", "--out", str(folder / "export"), "--include-tests")
        done(server, "analyse", str(folder / "export"), "--out", str(folder / "results"), "--bootstrap", "200")
        yield server, folder


def done(server: Server, *arguments: str) -> dict:
    result = server.manage(*arguments, "--json")
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_conversation_is_there_once_with_its_replies(chain: tuple[Server, Path]) -> None:
    _, folder = chain
    conversations = rows(folder / "export" / "conversations.csv")
    assert len(conversations) == PEOPLE * 2
    assert {row["end_reason"] for row in conversations} == {"finished"}
    turns = rows(folder / "export" / "turns.csv")
    for conversation in conversations:
        own = [row for row in turns if row["conversation"] == conversation["conversation"]]
        assert len(own) == 2 * int(conversation["turns"])
        assert all(row["text"] for row in own)


def test_failed_attempts_are_in_the_ledger_and_cost_no_turn(chain: tuple[Server, Path]) -> None:
    _, folder = chain
    arm_of = {row["conversation"]: row["arm"] for row in rows(folder / "export" / "conversations.csv")}
    replies = [row for row in rows(folder / "export" / "calls.csv") if row["purpose"] == "reply"]
    by_arm = {arm: {row["status"] for row in replies if arm_of[row["conversation"]] == arm} for arm in arm_of.values()}
    assert by_arm == {"steady": {"ok"}, "shaky": {"ok", "server_error"}}


def test_people_and_judges_answered_the_same_items(chain: tuple[Server, Path]) -> None:
    _, folder = chain
    ratings = [row for row in rows(folder / "export" / "ratings.csv") if row["moment"] == "final"]
    people = {row["item"] for row in ratings if row["rater_kind"] == "seeker"}
    judges = {row["item"] for row in ratings if row["rater_kind"] == "judge"}
    assert people == judges
    assert len(people) == 10
    assert {row["strategy"] for row in ratings if row["rater_kind"] == "judge"} == set(STRATEGIES)


def test_agreement_has_a_row_for_each_strategy_and_item(chain: tuple[Server, Path]) -> None:
    _, folder = chain
    agreement = rows(folder / "results" / "agreement.csv")
    assert {(row["strategy"], row["item"]) for row in agreement} == {
        (strategy, item) for strategy in STRATEGIES for item in {row["item"] for row in agreement}
    }
    assert {row["n"] for row in agreement} == {str(PEOPLE * 2)}
    assert (folder / "results" / "report.html").stat().st_size > 10_000


def test_second_run_of_a_judge_pays_nothing_twice(chain: tuple[Server, Path]) -> None:
    server, _ = chain
    summary = done(server, "judge", "chain", "--judge", "remote", "--strategy", "standard")
    assert (summary["done"], summary["skipped_existing"]) == (0, PEOPLE * 2)


def test_nothing_goes_to_a_provider_that_the_consent_does_not_name(chain: tuple[Server, Path]) -> None:
    server, _ = chain
    summary = done(server, "judge", "chain", "--judge", "stranger", "--strategy", "standard")
    assert (summary["done"], summary["not_sent"]) == (0, PEOPLE * 2)


def test_erased_person_is_nowhere_in_the_next_export(chain: tuple[Server, Path]) -> None:
    server, folder = chain
    gone = rows(folder / "export" / "participants.csv")[0]["participant"]
    conversations = [
        row["conversation"] for row in rows(folder / "export" / "conversations.csv") if row["participant"] == gone
    ]
    assert len(conversations) == 2
    done(server, "erase", "chain", gone)
    done(server, "export", "chain", "--out", str(folder / "after"), "--include-tests")
    text = "".join(path.read_text(encoding="utf-8") for path in (folder / "after").glob("*.csv"))
    assert not [code for code in conversations if code in text]
    assert [row["status"] for row in rows(folder / "after" / "participants.csv") if row["participant"] == gone] == [
        "withdrawn"
    ]
