"""The command behind the planners."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from studies.models import Rater
from studies.models.response import RaterKind
from tests import factories


@pytest.fixture
def rated(db):
    """Twelve people with two conversations each, and a judge whose scores go some way with theirs."""
    study = factories.study("hearts")
    judge = Rater.objects.create(study=study, kind=RaterKind.JUDGE, code="demo", strategy="standard")
    for number in range(12):
        person = factories.person(study)
        for place in range(2):
            run = factories.run_with_turns(study, person)
            score = 1 + (number * 2 + place) % 5
            factories.rating(person, run, score)
            factories.rating(judge, run, min(5, score + number % 3))
    return study


def run(*arguments, capsys=None):
    call_command("plan", *arguments)
    return capsys.readouterr().out if capsys else None


def test_precision_prints_a_table_and_writes_the_same_as_json(rated, tmp_path, capsys):
    file = tmp_path / "new" / "plan.json"

    told = run("precision", "hearts", "--item", "safety", "--bootstrap", "200", "--out", str(file), capsys=capsys)

    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["of"] == {
        "judge": "demo",
        "strategy": "standard",
        "human": "seeker",
        "instrument": "emoharbor_10",
        "moment": "final",
        "item": "safety",
    }
    assert (found["n"], found["clusters"], found["demonstration"]) == (24, 12, True)
    lines = told.splitlines()
    assert lines[0] == "demo · standard · seeker · emoharbor_10 · final · safety"
    assert lines[1].startswith(f"r {found['now']['r']:.3f}, ")
    assert [line.split()[0] for line in lines[2:8]] == ["more", "+0%", "+10%", "+25%", "+50%", "+100%"]
    assert "Reliability of a single rating: 0.80 (assumed)" in lines


def test_precision_ends_with_its_json(rated, capsys):
    told = run("precision", "hearts", "--bootstrap", "200", "--json", capsys=capsys)
    assert json.loads(told.splitlines()[-1])["schema"] == "emostudy-precision/1"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nobody",), "There is no study 'nobody'. There are: hearts."),
        (("hearts", "--item", "warmth"), "no judge and person were compared with item warmth"),
        (("hearts", "--bootstrap", "0"), "bootstrap must be at least 1"),
    ],
)
def test_precision_refuses_what_it_cannot_plan(arguments, why, rated, tmp_path):
    with pytest.raises(CommandError, match=why) as refusal:
        run("precision", *arguments, "--out", str(tmp_path / "plan.json"))
    assert refusal.value.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_precision_leaves_test_data_out_unless_told(rated):
    rated.participations.update(is_test=True)
    rated.runs.update(is_test=True)
    with pytest.raises(CommandError):
        run("precision", "hearts")
    run("precision", "hearts", "--include-tests", "--bootstrap", "200")


def test_sample_size_prints_what_it_takes(capsys):
    arguments = ("--per-person", "5", "--within", ".2", "--dropout", ".15")
    told = run("sample-size", "correlation", *arguments, capsys=capsys)
    assert told.splitlines()[:7] == [
        "needed: 85", "exact: 84", "design effect: 1.8", "people: 31", "invited: 37", "conversations: 155",
        "ratings: 155",
    ]  # fmt: skip
    assert told.splitlines()[7].split() == ["value", "needed", "people", "conversations"]


def test_sample_size_writes_what_was_asked_and_found(tmp_path, capsys):
    file = tmp_path / "size.json"
    told = run("sample-size", "paired", "--d", "0.5", "--json", "--out", str(file), capsys=capsys)
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found == json.loads(told.splitlines()[-1])
    assert (found["wish"]["question"], found["need"]["needed"]) == ("paired", 34)


def test_sample_size_simulates_two_judges(tmp_path, capsys):
    file, arguments = tmp_path / "chance.json", ("--r", ".5", "--r2", ".4", "--people", "183", "--dropout", ".1")
    told = run("sample-size", "dependent", *arguments, "--out", str(file), capsys=capsys).splitlines()
    found = json.loads(file.read_text(encoding="utf-8"))["chance"]
    asked = found["asked"]
    assert told[0] == f"power: {asked['power']:.3f} ({asked['low']:.3f} to {asked['high']:.3f} in 2000 studies)"
    assert told[1:7] == [
        "people: 183", "conversations: 183", "independent: 183", "invited: 204", "design effect: 1", "least: 0.09872"
    ]  # fmt: skip
    assert told[7].split() == ["people", "conversations", "independent", "power", "low", "high"]
    assert len(told) == 13


def test_sample_size_simulates_pairs_of_models(capsys):
    arguments = ("--models", "3", "--people", "20", "--studies", "200", "--seed", "4")
    told = run("sample-size", "discrimination", *arguments, "--json", capsys=capsys)
    found = json.loads(told.splitlines()[-1])
    assert (found["wish"]["seed"], found["chance"]["studies"], found["chance"]["design_effect"]) == (4, 200, None)
    assert [pair["steps"] for pair in found["chance"]["pairs"]] == [1, 2]


def test_sample_size_names_every_fault():
    with pytest.raises(CommandError) as refusal:
        run("sample-size", "icc", "--icc", "1.5", "--raters", "1")
    assert refusal.value.returncode == 2
    assert str(refusal.value).splitlines() == [
        "icc: 1.5 does not lie between 0 and 0.99",
        "raters: 1 does not lie between 2 and 100",
    ]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="file"):
        run("sample-size", "paired", "--out", str(tmp_path / "file" / "size.json"))
