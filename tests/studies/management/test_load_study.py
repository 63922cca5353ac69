"""What `load_study` says of role cards (only what is new, or needs a decision), and the files that it writes."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from studies.design.skeleton import FILES, skeleton
from studies.models import Card, Participation, Study

pytestmark = pytest.mark.django_db


def load() -> list[str]:
    told = StringIO()
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), stdout=told, stderr=StringIO())
    return told.getvalue().splitlines()


def test_cards_are_told_where_some_were_added_or_differ() -> None:
    assert load()[1:] == [f"{Card.objects.count()} role cards added."]
    assert load()[1:] == []
    card = Study.objects.get().cards.first()
    Card.objects.filter(pk=card.pk).update(profile={**card.profile, "age": "99"})
    assert load()[1:] == [
        "1 role card differs from the file and was left unchanged; import_cards replaces them with the file's.",
    ]
    Card.objects.filter(pk=card.pk).delete()
    assert load()[1:] == ["1 role card added."]


def told_by(*arguments: str) -> str:
    out = StringIO()
    call_command("load_study", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("name", FILES)
def test_skeleton_is_printed_or_written_and_nothing_is_loaded(name: str, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    assert told_by("--skeleton", name) == skeleton(name)
    told = told_by("--skeleton", name, "--out", str(file))
    assert told.endswith(f"Then load it, and try it yourself: manage.py load_study {file} --test-link\n")
    assert file.read_text(encoding="utf-8") == skeleton(name)
    assert not Study.objects.exists()


def test_skeleton_names_the_values_to_fill_in(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    summary: dict[str, Any] = json.loads(
        told_by("--skeleton", "minimal", "--out", str(file), "--json").splitlines()[-1]
    )
    assert summary == {"skeleton": "minimal", "out": str(file), "fill_in": ["arms[1].model", "arms[1].base_url"]}


def test_skeleton_leaves_a_file_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(CommandError) as refusal:
        told_by("--skeleton", "minimal", "--out", str(file))
    assert str(refusal.value) == f"{file}: there is such a file, and it was left as it is. Choose another name."
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name a study file. If you have none, write one: load_study --skeleton minimal --out FILE.toml"),
        (["--skeleton", "minimal", "--test-link"], "--test-link: only with a study file, once it is loaded."),
        (["--out", "x.toml"], "--out: only with --skeleton."),
        (
            ["x.toml", "--skeleton", "minimal"],
            "Give a study file or --skeleton, not both. --skeleton writes to the file that --out names.",
        ),
        (
            ["--skeleton", "minimal", "--out", "/no/such/folder/x.toml"],
            "/no/such/folder/x.toml: No such file or directory",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError) as refusal:
        told_by(*arguments)
    assert str(refusal.value) == said


def test_faults_that_remain_in_a_skeleton_are_named_with_their_places(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    told_by("--skeleton", "minimal", "--out", str(file))
    with pytest.raises(CommandError) as refusal:
        told_by(str(file))
    assert str(refusal.value) == f"{file}: arms[1].base_url: is missing\n{file}: arms[1].model: is missing"


def filled_in(folder: Path) -> str:
    file = folder / "study.toml"
    text = skeleton("minimal").replace('base_url = ""', 'base_url = "http://127.0.0.1:9/v1"')
    file.write_text(text.replace('model = ""', 'model = "ours"'), encoding="utf-8")
    return str(file)


def test_filled_in_minimal_skeleton_is_loaded(tmp_path: Path) -> None:
    loaded, *stage = told_by(filled_in(tmp_path)).splitlines()
    assert loaded == "my_study: created, version 1, 1 arm."
    assert stage == ["It is in rehearsal: only bots and test links can start. open_study my_study opens it to people."]


def test_test_link_leads_into_the_study_before_a_drill(tmp_path: Path, client: Client) -> None:
    told = told_by(filled_in(tmp_path), "--test-link", "--base-url", "http://testserver/").splitlines()[-1]
    assert told.startswith("Try it as a participant, as test data: http://testserver/j/")
    page = client.post(told.rpartition("http://testserver")[2], follow=True)
    person = Participation.objects.get()
    assert (page.status_code, person.is_test, person.has_started()) == (200, True, True)


def test_test_link_is_of_the_track_that_talks(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    text = Path(filled_in(tmp_path)).read_text(encoding="utf-8")
    file.write_text(text.replace('kind = "chats"', 'kind = "chats"\ntrack = "counsellor"'), encoding="utf-8")
    summary = json.loads(told_by(str(file), "--test-link", "--json").splitlines()[-1])
    assert summary["test_link"].startswith("http://127.0.0.1:8000/j/")
    assert Participation.objects.get().track == "counsellor"
