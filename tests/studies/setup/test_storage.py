"""A study file into the database: refused whole, changed while a draft, a new version once people are under way."""

import json

import pytest
from django.core.management import CommandError, call_command

from studies.models import Arm, Protocol, Study
from studies.participation import enrolment

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo(settings):
    return (settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8")


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        call_command("load_study", str(path), verbosity=0)
        return Study.objects.get().current()

    return load


def test_loading_twice_changes_nothing(demo, load):
    first = load(demo)
    assert load(demo) == first
    assert (Protocol.objects.count(), Arm.objects.count()) == (1, 5)


def test_stored_study_says_the_same_as_its_file(demo, load, settings):
    from studies.design.reading import read_study
    from studies.instruments.loading import instrument_ids
    from studies.participation.consent import template_ids

    path = settings.FIXTURES / "studies" / "demo.toml"
    known = [*instrument_ids(), *template_ids()]
    spec = read_study(path, instruments=known, prompt_folder=settings.FIXTURES / "prompts")
    assert load(demo).spec() == spec


@pytest.mark.parametrize("key", ["judges", "quality"])
def test_study_may_be_called_as_a_part_of_an_address_that_stands_elsewhere(key, demo, load):
    assert load(demo.replace('key = "demo"', f'key = "{key}"', 1)).study.key == key


@pytest.mark.parametrize("key", ["sign-in", "sign-out", "planning"])
def test_study_may_not_be_called_as_an_address_of_the_server(key, demo, load):
    spoiled = demo.replace('key = "demo"', f'key = "{key}"', 1)
    with pytest.raises(CommandError, match=f'study.toml: key: "{key}" is a word of the server'):
        load(spoiled)
    assert not Study.objects.exists()


def test_models_whose_key_is_not_set_are_named_and_the_study_is_loaded(demo, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JUDGE_KEY", "secret")
    remote = 'kind = "openai_compatible"\nbase_url = "https://models.example.org/v1"\nprovider = "Lab"'
    text = demo.replace("providers = []", 'providers = ["Lab"]', 1)
    arm = f'\n[[arms]]\nkey = "far"\ntitle = "Far"\n{remote}\nmodel = "m"\napi_key_env = "FAR_KEY"\n'
    judge = f'\n[[judges]]\nkey = "far"\n{remote}\nmodel = "m"\napi_key_env = "JUDGE_KEY"\n'
    path = tmp_path / "study.toml"
    path.write_text(text + arm + judge, encoding="utf-8")
    call_command("load_study", str(path), "--json")
    told = capsys.readouterr()
    assert told.err == (
        "Warning: arm far cannot be asked yet: the variable FAR_KEY is not set here. "
        "Set it for the server and for commands, and start the server again.\n"
    )
    assert json.loads(told.out.splitlines()[-1])["unset_keys"] == [{"model": "arm far", "variable": "FAR_KEY"}]
    assert Study.objects.get(key="demo").current().arms.filter(key="far").exists()


def test_second_line_whose_key_is_not_set_is_named(demo, tmp_path, capsys):
    text = demo.replace("providers = []", 'providers = ["Lab"]', 1)
    line = '\n[safety.second_line]\nkind = "openai_moderation"\nprovider = "Lab"\napi_key_env = "WATCH_KEY"\n'
    path = tmp_path / "study.toml"
    path.write_text(text + line, encoding="utf-8")
    call_command("load_study", str(path), "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["unset_keys"] == [
        {"model": "second line", "variable": "WATCH_KEY"}
    ]


def test_evaluator_whose_key_is_not_set_is_named(demo, tmp_path, capsys):
    model = 'kind = "openai_compatible"\nbase_url = "https://models.example.org/v1"\nmodel = "m"'
    path = tmp_path / "study.toml"
    path.write_text(f'{demo}\n[evaluator]\n{model}\napi_key_env = "RATER_KEY"\n', encoding="utf-8")
    call_command("load_study", str(path), "--json")
    told = capsys.readouterr()
    assert told.err == (
        "Warning: evaluator cannot be asked yet: the variable RATER_KEY is not set here. Set it for the server and for "
        "commands, and start the server again.\n"
    )
    assert json.loads(told.out.splitlines()[-1])["unset_keys"] == [{"model": "evaluator", "variable": "RATER_KEY"}]


def test_stored_study_declares_what_its_file_declares(demo, load, tmp_path):
    from studies.design.writing import dump_study

    declared = """
[[primary]]
arms = ["birch", "amber"]
item = "*"
[[primary]]
strategies = ["standard", "state_aware"]
item = "empathetic"
"""
    first = load(demo + declared)
    assert [contrast.pair() for contrast in first.spec().primary] == [
        ("amber", "birch"), ("standard", "state_aware")
    ]  # fmt: skip
    assert load(dump_study(first.spec())) == first
    assert Protocol.objects.get().spec() == first.spec()


def test_draft_changes_in_place(demo, load):
    load(demo)
    changed = load(demo.replace("min_turns = 10", "min_turns = 8"))
    assert (changed.version, changed.spec().chat.min_turns) == (1, 8)


def test_people_under_way_keep_the_version_they_started_with(demo, load):
    before = load(demo)
    person, _ = enrolment.invite(before.study)
    enrolment.start(person)
    after = load(demo.replace("min_turns = 10", "min_turns = 8"))
    later, _ = enrolment.invite(before.study)
    enrolment.start(later)
    assert (person.protocol.version, person.protocol.spec().chat.min_turns) == (1, 10)
    assert (later.protocol, later.protocol.version) == (after, 2)


def test_invitation_alone_does_not_freeze_a_version(demo, load):
    before = load(demo)
    enrolment.invite(before.study)
    assert load(demo.replace("min_turns = 10", "min_turns = 8")).version == 1


def test_faulty_file_is_refused_whole_with_every_fault(demo, load):
    load(demo)
    faulty = demo.replace("min_turns = 10", "min_turns = 50").replace('design = "williams"', 'design = "wiliams"')
    with pytest.raises(CommandError) as refusal:
        load(faulty)
    assert refusal.value.returncode == 2
    lines = str(refusal.value).splitlines()
    assert len(lines) == 2
    assert all("study.toml: " in line for line in lines)
    assert Study.objects.get(key="demo").current().spec().chat.min_turns == 10


def test_missing_file_is_one_plain_line(tmp_path):
    with pytest.raises(CommandError) as refusal:
        call_command("load_study", str(tmp_path / "none.toml"))
    assert refusal.value.returncode == 2
    assert "\n" not in str(refusal.value)


def test_invite_writes_links_that_are_stored_hashed(demo, load, tmp_path):
    load(demo)
    path = tmp_path / "links.csv"
    call_command("invite", "demo", "--count", "3", "--track", "counsellor", "--csv", str(path), verbosity=0)
    rows = path.read_text().splitlines()
    assert rows[0] == "code,track,url"
    people = {person.code: person for person in Study.objects.get().participations.all()}
    assert len(rows) == 4
    for row in rows[1:]:
        code, track, url = row.split(",")
        token = url.split("/j/")[1].rstrip("/")
        assert track == people[code].track == "counsellor"
        assert token not in people[code].token_hash
        assert enrolment.person_by_token(token) == people[code]


@pytest.mark.parametrize("arguments", [["none", "--count", "1"], ["demo", "--count", "0"]])
def test_invite_refuses_bad_input(demo, load, arguments):
    load(demo)
    with pytest.raises(CommandError) as refusal:
        call_command("invite", *arguments)
    assert refusal.value.returncode == 2
    assert Study.objects.get().participations.count() == 0


def test_invite_keeps_links_that_nobody_could_have_again_and_shows_them_to_nobody_else(demo, load, tmp_path):
    load(demo)
    path = tmp_path / "links.csv"
    call_command("invite", "demo", "--count", "1", "--csv", str(path), verbosity=0)
    before = path.read_bytes()
    assert path.stat().st_mode & 0o077 == 0
    assert before.startswith(b"code,track,url\r\n")
    for taken in (path, tmp_path):
        with pytest.raises(CommandError, match="already exists") as refusal:
            call_command("invite", "demo", "--count", "1", "--csv", str(taken), verbosity=0)
        assert refusal.value.returncode == 2
    assert path.read_bytes() == before
    assert Study.objects.get().participations.count() == 1


def test_invite_on_a_full_disk_leaves_neither_people_nor_links(demo, load, tmp_path, monkeypatch):
    load(demo)
    path = tmp_path / "links.csv"

    class Full:
        def __init__(self, file):
            self.file = file

        def writerows(self, rows):
            self.file.write("code,track,url")
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("studies.management.commands.invite.csv.writer", Full)
    with pytest.raises(CommandError, match=r"links\.csv: No space left on device$") as refusal:
        call_command("invite", "demo", "--count", "2", "--csv", str(path), verbosity=0)
    assert refusal.value.returncode == 2
    assert not path.exists()
    assert Study.objects.get().participations.count() == 0


def test_second_start_keeps_what_an_admin_changed_in_the_demo():
    from studies.management.commands.start import load_demo_once

    load_demo_once()
    Arm.objects.filter(key="amber").update(paused=True)
    load_demo_once()
    assert Arm.objects.get(key="amber").paused
    assert Protocol.objects.count() == 1


def test_researcher_password_is_made_once_and_only_ours_to_read(settings, tmp_path, django_user_model):
    from studies.management.commands.start import researcher_password

    settings.VAR = tmp_path
    password = researcher_password()
    assert researcher_password() == password
    assert django_user_model.objects.get().check_password(password)
    assert (tmp_path / "researcher_password").stat().st_mode & 0o077 == 0
