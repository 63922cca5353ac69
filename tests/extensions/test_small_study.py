"""A step kind, a strategy, an instrument and a kind of model from outside carry a study from the chat to the report."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.extensions import breathing, outsider, parrot
from tests.server import ROOT, Server, serving

PEOPLE = 2
PATIENCE = 900  # seconds for one command on a busy machine
ITEMS = {"calm", "room"}
STUDY = """
[[arms]]
key = "grey"
title = "A grey parrot"
kind = "parrot"
model = "Grey"

[[arms]]
key = "green"
title = "A green parrot"
kind = "parrot"
model = "Green"

[[judges]]
key = "demo"
title = "A script"
kind = "scripted"
model = "judge"

[[primary]]
strategies = ["standard", "outsider"]
item = "calm"
"""


def study_file(folder: Path) -> Path:
    """Return the demo study with everything from outside, and so few turns that a test may wait for them."""
    text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    head = text[: text.index("[[arms]]")]
    changes = {
        'key = "demo"\ntitle = {': 'key = "quiet"\ntitle = {',
        "min_turns = 10": "min_turns = 2",
        'checkpoints = [5, 10]\ncheckpoint_instrument = "turn_checkpoint"': "checkpoints = []",
        'final_instruments = ["emoharbor_10"]': 'final_instruments = ["quiet_two"]',
        '[[steps]]\nkind = "chats"': f'[[steps]]\nkind = "{breathing.NAME}"\n\n[[steps]]\nkind = "chats"',
    }
    for was, becomes in changes.items():
        assert head.count(was) == 1, was
        head = head.replace(was, becomes)
    path = folder / "quiet.toml"
    path.write_text(head + STUDY, encoding="utf-8")
    return path


def done(server: Server, *arguments: str) -> dict[str, Any]:
    result = server.manage(*arguments, "--json", timeout=PATIENCE)
    assert result.returncode == 0, result.stderr[-3000:]
    summary: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return summary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with the export and the results of a study that bots have walked."""
    place = tmp_path_factory.mktemp("quiet")
    with serving(place, DJANGO_SETTINGS_MODULE="tests.extensions.settings") as server:
        done(server, "load_study", str(study_file(place)))
        done(server, "run_bots", "quiet", "--count", str(PEOPLE), "--concurrency", "2", "--base-url", server.base_url)
        for strategy in ("standard", outsider.NAME):
            assert done(server, "judge", "quiet", "--judge", "demo", "--strategy", strategy)["done"] == PEOPLE * 2
        varied = done(server, "judge", "quiet", "--judge", "demo", "--strategy", outsider.NAME, "--without", "concern")
        assert varied["done"] == PEOPLE * 2
        done(server, "export", "quiet", "--out", str(place / "export"), "--include-tests")
        done(server, "analyse", str(place / "export"), "--out", str(place / "results"), "--bootstrap", "20")
        yield place


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_people_walk_through_the_step_and_talk_with_the_model(folder: Path) -> None:
    people = rows(folder / "export" / "participants.csv")
    assert [row["status"] for row in people] == ["completed"] * PEOPLE
    turns = rows(folder / "export" / "turns.csv")
    heard = {row["text"].partition(":")[0] for row in turns if row["role"] == "supporter"}
    assert heard == {"You said"}
    models = {row["model"] for row in rows(folder / "export" / "calls.csv") if row["purpose"] == "reply"}
    assert models == {"Grey", "Green"}
    [version] = json.loads((folder / "export" / "study.json").read_text(encoding="utf-8"))
    assert {arm["kind"] for arm in version["study"]["arms"]} == {parrot.NAME}


def test_people_and_judges_answer_the_instrument(folder: Path) -> None:
    ratings = rows(folder / "export" / "ratings.csv")
    assert {row["item"] for row in ratings} == ITEMS
    given = {(row["rater_kind"], row["strategy"]) for row in ratings if row["score"]}
    assert given == {("seeker", ""), ("judge", "standard"), ("judge", outsider.NAME)}
    codebook = rows(folder / "export" / "codebook.csv")
    described = {row["column"]: row["label_zh"] for row in codebook if row["file"] == "quiet_two.json"}
    assert described.items() >= {"calm": "平静", "room": "空间"}.items()


def test_judge_is_asked_with_the_prompt_of_the_strategy(folder: Path) -> None:
    versions = {row["prompt_version"].partition("~")[0] for row in rows(folder / "export" / "calls.csv")}
    assert "outsider.en/3" in versions or "outsider.zh/3" in versions
    assert any(version.startswith("judge.") for version in versions)


def test_results_compare_the_strategy_with_the_others(folder: Path) -> None:
    agreement = rows(folder / "results" / "agreement.csv")
    assert {(row["strategy"], row["item"]) for row in agreement} >= {
        (strategy, item) for strategy in ("standard", outsider.NAME) for item in ITEMS
    }
    compared = {(row["strategy_a"], row["strategy_b"]) for row in rows(folder / "results" / "strategy_tests.csv")}
    assert compared == {(outsider.NAME, "standard"), (outsider.NAME, f"{outsider.NAME}~without_concern")}
    declared = rows(folder / "results" / "primary.csv")
    assert [(row["a"], row["b"], row["item"]) for row in declared] == [("standard", outsider.NAME, "calm")]
    report = (folder / "results" / "report.html").read_text(encoding="utf-8")
    assert "Calm" in report
