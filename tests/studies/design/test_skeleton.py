"""Study files to start from: every key explained, and loaded as any other once the marked values are filled in."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from studies.design.contradictions import needed_placeholders
from studies.design.reading import read_study
from studies.design.skeleton import COLUMNS, FILES, MARK, TEMPLATES, marked_places, skeleton
from studies.design.spec import StudySpec
from tests.studies.design.test_reading import FORM, KNOWN, PROMPTS, faults_of, read
from tests.studies.design.test_reference import KEYS

FILLINGS = dict.fromkeys(("contact", "oncall_email", "contact_email"), "us@example.org") | {
    "base_url": "http://127.0.0.1:9/v1"
}
OF_MINIMAL = {"arms", "chat", "steps", "consent"}


def filling_for(key: str) -> str:
    return FILLINGS.get(key, "filled")


def filled_in(text: str) -> str:
    """Return the file with a value wherever one is marked."""
    return re.sub(rf'^(\w+) = ".*?"(?=  {MARK})', lambda key: f'{key[1]} = "{filling_for(key[1])}"', text, flags=re.M)


def switched_on(text: str) -> str:
    """Return the file with all keys and sections that are switched off."""
    return re.sub(r"^#(?=[\w\[])", "", text, flags=re.M)


def expected(name: str, folder: Path) -> StudySpec:
    """Return the study that the template says, with the same values filled in."""
    document: dict[str, Any] = tomllib.loads((TEMPLATES / FILES[name]).read_text(encoding="utf-8"))
    if name == "minimal":
        document["arms"][0] |= {"model": filling_for("model"), "base_url": filling_for("base_url")}
        return read(folder, document)
    document |= {key: filling_for(key) for key in ("contact", "oncall_email")}
    implied = {"deadline", "min_turns", "model_providers", "n_arms", "checkpoint_every"}
    needed = needed_placeholders(FORM, ("if_cross_border", "if_interview"))
    document["consent"] |= {key: filling_for(key) for key in needed if key not in implied}
    return read(folder, document)


@pytest.mark.parametrize("name", FILES)
def test_filled_in_skeleton_is_the_study_of_its_template(name: str, tmp_path: Path) -> None:
    file = tmp_path / "filled.toml"
    file.write_text(filled_in(skeleton(name)), encoding="utf-8")
    spec = read_study(file, instruments=KNOWN, prompt_folder=PROMPTS)
    assert spec == expected(name, tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_all_that_a_skeleton_lacks_is_marked_and_told(name: str, tmp_path: Path) -> None:
    text = skeleton(name)
    assert text.count(f'"  {MARK}') == len(marked_places(text)) > 1
    assert sorted(fault.partition(": ")[0] for fault in faults_of(tmp_path, text)) == sorted(marked_places(text))


@pytest.mark.parametrize("name", FILES)
def test_every_key_stands_in_the_first_table_of_its_section(name: str) -> None:
    sections: dict[str, list[str]] = {}
    table = ""
    for line in switched_on(skeleton(name)).splitlines():
        if header := re.fullmatch(r"\[\[?([a-z_.]+)\]\]?", line):
            table = header[1] if header[1] not in sections else f"{header[1]} again"
        elif key := re.match(r"(\w+) = ", line):
            sections.setdefault(table, []).append(key[1])
    wanted: dict[str, list[str]] = {}
    for place, _field in KEYS:
        path = ".".join(part for part in place[:-1] if isinstance(part, str))
        if name != "minimal" or path in OF_MINIMAL or not path:
            wanted.setdefault(path, []).append(str(place[-1]))
    found = {path: [key for key in keys if key in wanted.get(path, keys)] for path, keys in sections.items()}
    assert {path: sorted(keys) for path, keys in found.items() if not path.endswith(" again")} == {
        path: sorted(keys) for path, keys in wanted.items()
    }


@pytest.mark.parametrize("name", FILES)
def test_every_key_is_explained_as_the_reference_explains_it(name: str) -> None:
    comments = " ".join(re.findall(r"^# (.*)$", skeleton(name), flags=re.M))
    for place, field in KEYS:
        words = re.sub(r"\(?\[[^\]]+\]\([^)]+\)\)?", "LINK", field.info.description).partition("LINK")[0].strip()
        if name != "minimal" or place[0] in OF_MINIMAL or len(place) == 1:
            assert words in comments, place


@pytest.mark.parametrize("name", FILES)
def test_comments_are_wrapped(name: str) -> None:
    assert [line for line in skeleton(name).splitlines() if line.startswith("# ") and len(line) > COLUMNS] == []


@pytest.mark.parametrize("name", FILES)
def test_switched_off_lines_are_toml(name: str) -> None:
    assert set(tomllib.loads(skeleton(name))) < set(tomllib.loads(switched_on(skeleton(name))))


def test_remarks_of_a_template_are_kept() -> None:
    text = skeleton("worst_case")
    assert "# No checkpoints: they would break the role.\n[chat]\n" in text
    assert "\nmax_tokens = 4000  # its reasoning counts too\n" in skeleton("emoharbor")
    assert text.startswith(
        "# The counsellors' study of When Seekers Are Hard to Help (arXiv:2605.28228) as a template:"
    )


def test_minimal_study_has_one_arm_consent_one_conversation_and_one_rating(tmp_path: Path) -> None:
    spec = expected("minimal", tmp_path)
    assert [step.kind for step in spec.steps] == ["consent", "chats", "debrief"]
    assert (len(spec.arms), spec.judges, spec.seeker, spec.open_enrolment) == (1, (), None, False)
    assert spec.chat.final_instruments == ("emoharbor_10",)


def test_skeleton_of_emoharbor_promises_no_pay_and_watches_the_mood() -> None:
    lines = skeleton("emoharbor").splitlines()
    assert "worse_by = 3" in lines
    assert not [line for line in lines if line.startswith("hourly_pay")]
