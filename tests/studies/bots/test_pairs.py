"""Artificial reviewers compare what artificial people talked about, all of it and once."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.server import ROOT, Server, serving

PAIRS = 15  # more than a bot would look at one page
TALKS = f"""
from dialogue.models import Conversation, Turn
from studies.participation.enrolment import invite
from studies.models import ArmRun, Study
study = Study.objects.get(key="demo")
for _ in range({PAIRS} // 3):
    person, _token = invite(study, is_test=True)
    for position, arm in enumerate(("amber", "birch", "cedar"), 1):
        talk = Conversation.objects.create(status="closed", end_reason="finished", language="en")
        Turn.objects.create(conversation=talk, number=1, client_id="1", text="Hello.", reply=arm * 3, state="answered")
        ArmRun.objects.create(
            study=study, protocol=study.current(), participation=person, conversation=talk, arm=arm, position=position,
            is_test=True,
        )
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("pairs")
    study = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    assert study.count("[chat]") == 1
    step = '[[steps]]\nkind = "pairs"\ntrack = "reviewer"\n\n[chat]'
    (folder / "demo.toml").write_text(study.replace("[chat]", step), encoding="utf-8")
    with serving(folder) as server:
        for command in (("load_study", str(folder / "demo.toml")), ("shell", "-c", TALKS)):
            done = server.manage(*command)
            assert done.returncode == 0, done.stderr
        yield server


def test_bots_compare_every_pair_and_come_to_the_end(server: Server) -> None:
    drawing = ("--instrument", "pairwise_support", "--between", "arms", "--count", str(PAIRS), "--each", "2")
    planned = server.manage("plan_pairs", "demo", "--name", "tried", *drawing, "--include-tests")
    assert planned.returncode == 0, planned.stderr

    done = server.manage(
        "run_bots",
        "demo",
        "--track",
        "reviewer",
        "--count",
        "4",
        "--seed",
        "2",
        "--base-url",
        server.base_url,
        "--json",
    )

    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["completed"], summary["failed"], done.returncode) == (4, [], 0)
    connection = sqlite3.connect(f"file:{server.database}?mode=ro", uri=True)
    verdicts = connection.execute(
        "SELECT c.pair_id, v.question, v.verdict FROM studies_verdict v "
        "JOIN studies_comparison c ON c.id = v.comparison_id"
    ).fetchall()
    connection.close()
    assert set(Counter((pair, question) for pair, question, _ in verdicts).values()) == {2}
    assert len(verdicts) == PAIRS * 5 * 2
    assert {verdict for _, _, verdict in verdicts} == {"a", "b", "tie"}
