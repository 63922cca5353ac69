"""Bots on a real server: through the whole study, over its crashes, and once only."""

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from studies.bots.answers import Person
from studies.bots.walker import Bot, BotStuck
from tests.server import ROOT, Server, serving

INVITE = """
from studies.participation.enrolment import invite
from studies.models import Study
for _ in range({count}):
    person, token = invite(Study.objects.get(key="short"), is_test=True)
    print("person", person.code, token)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("bots")
    with serving(folder) as server:
        load_short_study(server, folder)
        yield server


def load_short_study(server: Server, folder: Path) -> None:
    """The demo with two partners and six turns each, called `short`."""
    text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    for was, becomes in {
        'key = "demo"\ntitle = {en = "Emotional': 'key = "short"\ntitle = {en = "Emotional',
        "min_turns = 10": "min_turns = 6",
        "checkpoints = [5, 10]": "checkpoints = [3, 6]",
        'design = "williams"': 'design = "williams"\narms_per_person = 2',
    }.items():
        assert text.count(was) == 1
        text = text.replace(was, becomes)
    (folder / "short.toml").write_text(text, encoding="utf-8")
    loaded = server.manage("load_study", str(folder / "short.toml"))
    assert loaded.returncode == 0, loaded.stderr


def load_interview(server: Server, folder: Path, key: str = "asked", mode: str = "") -> None:
    """One partner and one turn, and then an interview, in writing where no other mode is named."""
    text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    for was, becomes in {
        'key = "demo"\ntitle = {en = "Emotional': f'key = "{key}"\ntitle = {{en = "Emotional',
        "flags = []": 'flags = ["if_interview"]\ninterview_minutes = "10"',
        "min_turns = 10": "min_turns = 1",
        "checkpoints = [5, 10]": "checkpoints = [1]",
        'design = "williams"': 'design = "random"\narms_per_person = 1',
        '[[steps]]\nkind = "debrief"': f'[[steps]]\nkind = "interview"\n{mode}\n[[steps]]\nkind = "debrief"',
    }.items():
        assert text.count(was) == 1, was
        text = text.replace(was, becomes)
    (folder / f"{key}.toml").write_text(text, encoding="utf-8")
    loaded = server.manage("load_study", str(folder / f"{key}.toml"))
    assert loaded.returncode == 0, loaded.stderr


def load_selection(server: Server, folder: Path) -> None:
    """One partner and one turn, and a selection by hand after the profile, called `chosen`."""
    text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    profile = '[[steps]]\nkind = "questionnaire"\ninstrument = "profile"\ntrack = "participant"\n\n'
    screening = '[[steps]]\nkind = "questionnaire"\ninstrument = "screening"\n\n'
    for was, becomes in {
        'key = "demo"\ntitle = {en = "Emotional': 'key = "chosen"\ntitle = {en = "Emotional',
        'selection = "auto"': 'selection = "manual"',
        "min_turns = 10": "min_turns = 1",
        "checkpoints = [5, 10]": "checkpoints = [1]",
        'design = "williams"': 'design = "random"\narms_per_person = 1',
        profile: "",
        screening: screening + profile,
    }.items():
        assert text.count(was) == 1, was
        text = text.replace(was, becomes)
    (folder / "chosen.toml").write_text(text, encoding="utf-8")
    loaded = server.manage("load_study", str(folder / "chosen.toml"))
    assert loaded.returncode == 0, loaded.stderr


def rows(server: Server, query: str, *values: Any) -> list[tuple]:
    connection = sqlite3.connect(f"file:{server.database}?mode=ro", uri=True)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def run_bots(server: Server, *arguments: str) -> tuple[dict[str, Any], int]:
    done = server.manage("run_bots", *arguments, "--base-url", server.base_url, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.returncode


def invited(server: Server, count: int) -> list[Bot]:
    told = server.manage("shell", "-c", INVITE.format(count=count))
    found = re.findall(r"^person (\S+) (\S+)$", told.stdout, re.MULTILINE)
    assert len(found) == count, told.stderr
    return [
        Bot(Person(code, ("en", "zh")[n % 2], f"7 {n}"), server.base_url, f"/j/{token}/", min_turns=6)
        for n, (code, token) in enumerate(found)
    ]


def test_three_bots_walk_the_demo(server: Server) -> None:
    summary, code = run_bots(server, "demo", "--count", "3", "--seed", "5")
    assert (summary["completed"], summary["conversations"], summary["failed"], code) == (3, 15, [], 0)
    people = rows(
        server,
        "SELECT p.id, p.language, p.is_test, p.status, p.completion_code != '' FROM studies_participation p "
        "JOIN studies_study s ON s.id = p.study_id WHERE s.key = 'demo'",
    )
    assert sorted(language for _, language, *_ in people) == ["en", "zh", "zh"]
    assert {tuple(rest) for _, _, *rest in people} == {(1, "completed", 1)}
    talks = rows(
        server,
        "SELECT c.end_reason, count(*) FROM dialogue_conversation c JOIN studies_armrun r ON r.conversation_id = c.id "
        "JOIN studies_study s ON s.id = r.study_id JOIN dialogue_turn t ON t.conversation_id = c.id "
        "WHERE s.key = 'demo' AND t.state = 'answered' AND t.seen GROUP BY c.id",
    )
    assert len(talks) == 15
    assert {reason for reason, _ in talks} == {"finished"}
    assert {turns for _, turns in talks} <= {10, 11, 12}
    assert sum(turns for _, turns in talks) == summary["turns"]


def test_stand_in_admits_bots_where_researchers_select(server: Server, tmp_path: Path) -> None:
    load_selection(server, tmp_path)
    summary, code = run_bots(server, "chosen", "--count", "2", "--seed", "5")
    assert (summary["completed"], summary["failed"], code) == (2, [], 0)
    decisions = rows(
        server,
        "SELECT d.admitted, d.by_name, p.status, p.is_test FROM studies_selectiondecision d "
        "JOIN studies_participation p ON p.id = d.participation_id",
    )
    assert decisions == [(1, "stand-in", "completed", 1)] * 2


@pytest.mark.parametrize(("track", "asked"), [("participant", 5), ("counsellor", 23)])
def test_bots_answer_the_interview_in_writing(server: Server, tmp_path: Path, track: str, asked: int) -> None:
    load_interview(server, tmp_path)
    summary, code = run_bots(server, "asked", "--count", "2", "--track", track, "--seed", "5")
    assert (summary["completed"], summary["failed"], code) == (2, [], 0)
    of_track = "JOIN studies_rater r ON r.id = s.rater_id JOIN studies_participation p ON p.id = r.participation_id "
    given = rows(
        server,
        "SELECT p.code, count(*), min(length(a.text)) > 0 FROM studies_answer a JOIN studies_response s ON s.id = "
        f"a.response_id {of_track} WHERE s.instrument = 'interview_guide' AND p.track = ? GROUP BY p.code",
        track,
    )
    assert [tuple(rest) for _, *rest in given] == [(asked, 1)] * 2
    missed = rows(
        server,
        "SELECT c.name FROM studies_candidatedimension c JOIN studies_participation p ON p.id = c.participation_id "
        "WHERE p.track = ?",
        track,
    )
    assert sorted(missed) == ([] if track == "participant" else [("Pacing",), ("节奏",)])


def test_stand_in_holds_the_interviews_of_bots(server: Server, tmp_path: Path) -> None:
    load_interview(server, tmp_path, "held", 'mode = "interviewer"\n')
    summary, code = run_bots(server, "held", "--count", "2", "--track", "counsellor", "--seed", "5")
    assert (summary["completed"], summary["failed"], code) == (2, [], 0)
    held = rows(
        server,
        "SELECT i.ended_at IS NOT NULL, count(*), max(n.text) FROM studies_interview i JOIN studies_interviewnote n "
        "ON n.interview_id = i.id JOIN studies_participation p ON p.id = i.participation_id "
        "JOIN studies_study s ON s.id = p.study_id WHERE s.key = 'held' GROUP BY i.id",
    )
    assert [over for over, *_ in held] == [1, 1]
    assert all(notes > 10 and "stand-in" in text for _, notes, text in held)


def test_same_seed_does_not_do_again_what_is_done(server: Server) -> None:
    first, _ = run_bots(server, "short", "--count", "1", "--seed", "9")
    again, code = run_bots(server, "short", "--count", "2", "--seed", "9")
    assert (first["completed"], first["finished_before"]) == (1, 0)
    assert (again["completed"], again["finished_before"], code) == (1, 1, 0)


def test_bots_that_were_killed_go_on_with_the_same_seed(server: Server) -> None:
    before = count_of_turns(server)
    command = [sys.executable, "manage.py", "run_bots", "short", "--count", "2", "--seed", "11"]
    with subprocess.Popen([*command, "--base-url", server.base_url], cwd=ROOT, env=server.env) as bots:
        wait_for_turns(server, before + 4)
        bots.kill()
    summary, code = run_bots(server, "short", "--count", "2", "--seed", "11")
    assert (summary["completed"], summary["failed"], code) == (2, [], 0)


def count_of_turns(server: Server) -> int:
    return int(rows(server, "SELECT count(*) FROM dialogue_turn")[0][0])


def wait_for_turns(server: Server, wanted: int) -> None:
    give_up = time.monotonic() + 120
    while count_of_turns(server) < wanted:
        assert time.monotonic() < give_up, server.log.read_text()[-2000:]
        time.sleep(0.02)


def test_bots_outlive_crashes_of_the_server_and_nothing_is_lost_or_twice(server: Server) -> None:
    bots = invited(server, 3)

    async def walk_over_crashes() -> list[str]:
        before = await asyncio.to_thread(count_of_turns, server)
        walks = asyncio.gather(*(bot.walk() for bot in bots))
        for turns in (4, 20):
            await asyncio.to_thread(wait_for_turns, server, before + turns)
            await asyncio.to_thread(server.kill9)
            await asyncio.to_thread(server.start)
        return await walks

    codes = asyncio.run(walk_over_crashes())
    for bot, completion_code in zip(bots, codes, strict=True):
        person = rows(
            server, "SELECT status, completion_code FROM studies_participation WHERE code = ?", bot.person.code
        )
        assert person == [("completed", completion_code)]
        assert len(bot.talks) == 2
        for talk in bot.talks.values():
            stored = rows(
                server,
                "SELECT t.client_id, t.number, t.text, t.reply, t.state FROM dialogue_turn t "
                "JOIN dialogue_conversation c ON c.id = t.conversation_id WHERE c.code = ? ORDER BY t.id",
                talk.code,
            )
            assert [number for _, number, *_ in stored] == list(range(1, talk.length + 1))
            assert {row[0]: (row[1], row[2]) for row in stored} == talk.acked
            assert [(row[2], row[3]) for row in stored] == talk.turns()
            assert {row[4] for row in stored} == {"answered"}


def test_bot_without_a_valid_link_says_where_it_stands(server: Server) -> None:
    bot = Bot(Person("PNOBODY", "en", "1"), server.base_url, "/j/no-such-token/", min_turns=6)
    with pytest.raises(BotStuck, match=r"^bot PNOBODY at the link: the server answered 404$"):
        asyncio.run(bot.walk())


def test_bot_whose_study_was_stopped_names_the_page(server: Server) -> None:
    [bot] = invited(server, 1)
    stop = f"Participation.objects.filter(code={bot.person.code!r}).update(status='stopped', protocol=study.current())"
    code = f"from studies.models import Participation, Study; study = Study.objects.get(key='short'); {stop}"
    done = server.manage("shell", "-c", code)
    assert done.returncode == 0, done.stderr
    why = rf"^bot {bot.person.code} at the page '.+': there is nothing to answer on this page$"
    with pytest.raises(BotStuck, match=why):
        asyncio.run(bot.walk())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--count", "0"], "--count and --concurrency must be at least 1"),
        (["demo", "--count", "1", "--base-url", "http://127.0.0.1:9"], "No server answers at http://127.0.0.1:9"),
        (["demo", "--count", "1", "--base-url", "file:///etc"], "--base-url: file:///etc is no http address."),
        (["nothing", "--count", "1"], "There is no study 'nothing'."),
    ],
)
def test_bad_input_makes_nobody(server: Server, arguments: list[str], message: str) -> None:
    before = rows(server, "SELECT count(*) FROM studies_participation")
    done = server.manage("run_bots", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert rows(server, "SELECT count(*) FROM studies_participation") == before


IMPORTED = [
    {
        "id": f"c{number}",
        "arm": "amber",
        "language": ("en", "zh")[number % 2],
        "turns": [{"seeker": f"It is about work, {number}.", "supporter": "What happened there?"}],
    }
    for number in range(4)
]
AS_TESTS = """
from studies.models import ArmRun
ArmRun.objects.filter(study__key="short").exclude(external_id="").update(is_test=True)
"""


def test_reviewers_rate_what_a_plan_for_test_data_holds(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "talks.jsonl"
    file.write_text("\n".join(map(json.dumps, IMPORTED)), encoding="utf-8")
    assert server.manage("import_conversations", "short", str(file)).returncode == 0
    assert server.manage("shell", "-c", AS_TESTS).returncode == 0
    planned = server.manage(
        *("plan_reviews", "short", "--name", "bots", "--instruments", "emoharbor_10", "--source", "all"),
        *("--seekers", "imported", "--each", "1", "--include-tests", "--json"),
    )
    assert json.loads(planned.stdout.splitlines()[-1])["conversations"] == 4, planned.stderr

    summary, code = run_bots(server, "short", "--count", "2", "--track", "reviewer", "--seed", "3")

    assert (summary["completed"], summary["failed"], code) == (2, [], 0)
    done = rows(
        server,
        "SELECT v.vignette != '', count(*), min(v.done_at IS NOT NULL) FROM studies_review v "
        "JOIN studies_participation p ON p.id = v.reviewer_id WHERE p.is_test GROUP BY 1 ORDER BY 1",
    )
    assert done == [(0, 4, 1), (1, 8, 1)]
    scores = rows(
        server,
        "SELECT count(*) FROM studies_answer a JOIN studies_response r ON r.id = a.response_id "
        "JOIN studies_rater t ON t.id = r.rater_id WHERE t.kind = 'reviewer' AND r.run_id IS NOT NULL "
        "AND a.value IS NOT NULL",
    )
    assert scores == [(40,)]
