"""What `replicate` refuses before it walks anything."""

import tomllib
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from studies.management.commands.replicate import own_environment

SHIPPED = settings.FIXTURES / "studies" / "replicate_emoharbor.toml"


def refusal(out: Path, *arguments: str) -> str:
    with pytest.raises(CommandError) as error:
        call_command("replicate", "emoharbor", "--out", str(out), *arguments)
    assert error.value.returncode == 2
    return str(error.value)


def test_folder_with_something_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert refusal(tmp_path) == f"{tmp_path}: is there already. Name a new folder, or remove it first."
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    assert refusal(tmp_path / "out") == f"{tmp_path / 'out'}: is there already. Name a new folder, or remove it first."


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--profiles", "0"), "--profiles must be from 1 to 40."),
        (("--profiles", "41"), "--profiles must be from 1 to 40."),
        (("--bootstrap", "0"), "--bootstrap must be at least 1."),
        (("--concurrency", "0"), "--concurrency must be at least 1."),
        (("--seed", "-1"), "--seed must be at least 0."),
        (("--budget", "-1"), "--budget: '-1' is not an amount. Give a number of 0 or more."),
        (("--budget", "much"), "--budget: 'much' is not an amount. Give a number of 0 or more."),
    ],
)
def test_odd_numbers_are_refused(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    assert refusal(tmp_path / "out", *arguments) == told
    assert list(tmp_path.iterdir()) == []


def test_study_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "out", "--study", str(tmp_path / "no.toml")) == (
        f"{tmp_path / 'no.toml'}: cannot be read: No such file or directory"
    )


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("[seeker]", "seeker: is missing. The walk needs a model that plays seekers (docs/simulation.md)."),
        ("[[judges]]", "judges: are missing. The walk needs at least one (docs/judges.md)."),
    ],
)
def test_study_file_without_what_the_walk_needs_is_refused(tmp_path: Path, section: str, told: str) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    begin = text.index(f"\n{section}") + 1
    end = text.find("\n[", begin) + 1 or len(text)
    (tmp_path / "study.toml").write_text(text[:begin] + text[end:], encoding="utf-8")
    assert refusal(tmp_path / "out", "--study", str(tmp_path / "study.toml")) == f"{tmp_path / 'study.toml'}: {told}"


def test_faults_of_a_study_file_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('key = "x"\n')
    lines = refusal(tmp_path / "out", "--study", str(tmp_path / "study.toml")).splitlines()
    assert f"{tmp_path / 'study.toml'}: arms: no arms" in lines


def test_the_walk_has_a_database_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://someone@elsewhere/theirs")
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere")
    own = own_environment(tmp_path)
    assert own["DATABASE_URL"] == f"sqlite:///{tmp_path / 'var' / 'walk.sqlite3'}"
    assert (own["VAR_DIR"], "REDIS_URL" in own) == (str(tmp_path / "var"), False)


@pytest.mark.parametrize("paper", ["emoharbor", "worst_case"])
def test_shipped_studies_are_scripts_alone(paper: str) -> None:
    path = settings.FIXTURES / "studies" / f"replicate_{paper}.toml"
    study = tomllib.loads(path.read_text(encoding="utf-8"))
    assert {one["kind"] for one in [study["seeker"], *study["arms"], *study["judges"]]} == {"scripted"}
