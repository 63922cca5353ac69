"""Who imports whom (docs/developers.md). Read from the source, so that an import inside a function counts too."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PURE = (
    "studies/instruments",
    "studies/design",
    "studies/analysis",
    *(f"studies/allocation/{name}.py" for name in ("orders", "incomplete_blocks", "rule", "levels", "card_choice")),
    "studies/participation/consent.py",
    "studies/selection/draw.py",
    "studies/builder/document.py",
    "studies/questionnaires/document.py",
    "studies/questionnaires/lines.py",
    "studies/questionnaires/checking.py",
    "studies/data/training/talk.py",
    "studies/data/training/filters.py",
    "studies/data/training/scores.py",
    "studies/data/training/split.py",
    "studies/data/training/duplicates.py",
    "studies/data/training/preferences.py",
    "studies/data/training/contexts.py",
    "studies/data/training/rows.py",
    "studies/data/training/options.py",
    "studies/data/training/card.py",
    "studies/data/release/filters.py",
    "studies/data/release/records.py",
    "studies/data/release/card.py",
    "dialogue/providers",
    *(f"dialogue/chat/{name}.py" for name in ("chat_frames", "pacing", "self_identification")),
    "dialogue/judges",
    "dialogue/seekers",
    "dialogue/deidentification",
    "dialogue/documents.py",
    "dialogue/languages.py",
    "dialogue/schema.py",
    "dialogue/safety",
    "dialogue/demonstration",
    "dialogue/prompts.py",
)


CHAT_RULES = tuple(
    f"dialogue.chat.{name}"
    for name in ("state", "signs", "assignments", "messages", "outcomes", "inquiries", "history", "lifecycle")
)

# From the ground up (docs/developers.md): a room imports from those before it alone.
ROOMS = (
    *("instruments", "design", "analysis", "bots", "models", "access", "setup", "allocation", "webhooks"),
    "participation",
    *("workbench", "audit", "accounts", "builder", "questionnaires", "colleagues"),
    *("care", "role_play", "selection", "second_raters", "interviews", "judging", "seeker_profiles", "simulation"),
    *("payments", "replication", "connections"),
    *("data", "board", "life", "steps", "api", "person", "my_data"),
    *("admin", "research_urls", "urls", "routing", "management"),
    "apps",
)


@cache
def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def sources(*places: str) -> list[Path]:
    files = []
    for place in places:
        path = ROOT / place
        files += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [file for file in files if "migrations" not in file.parts]


def named(found: set[str], *modules: str) -> set[str]:
    return {name for name in found for module in modules if name == module or name.startswith(f"{module}.")}


@pytest.mark.parametrize("path", sources("dialogue"), ids=str)
def test_dialogue_knows_nothing_of_studies(path):
    assert named(imports(path), "studies", "emostudy") == set()


@pytest.mark.parametrize("path", sources("studies"), ids=str)
def test_studies_do_not_reach_up_to_the_wiring(path):
    assert named(imports(path), "emostudy") == set()


@pytest.mark.parametrize("path", sources("studies"), ids=str)
def test_rooms_import_downwards(path):
    here = path.relative_to(ROOT).with_suffix("").parts[1]
    rooms = {name.split(".")[1] for name in named(imports(path), "studies") if "." in name}
    above = ROOMS[ROOMS.index(here) + 1 :] if here in ROOMS else ()
    assert rooms & set(above) == set()


def test_every_room_has_its_place():
    folders = {path.parent.name for path in (ROOT / "studies").glob("*/__init__.py")}
    files = {path.stem for path in (ROOT / "studies").glob("*.py")}
    assert (folders | files) - {"__init__", "migrations"} == set(ROOMS)


@pytest.mark.parametrize("path", sources(*PURE), ids=str)
def test_pure_modules_know_no_rows(path):
    rows = (
        "dialogue.models",
        "studies.models",
        "django.db",
        *CHAT_RULES,
        "studies.participation.progress",
        "studies.participation.responses",
    )
    assert named(imports(path), *rows) == set()


def test_analysis_imports_downwards():
    """measures know arrays alone; tables know nothing of how they are shown."""
    above = {"measures": ("frames", "reading", "tables", "reporting", "run", "results"), "tables": ("reporting", "run")}
    for room, rooms in above.items():
        for path in sources(f"studies/analysis/{room}"):
            assert named(imports(path), *(f"studies.analysis.{name}" for name in rooms)) == set(), path


@pytest.mark.parametrize("path", sources("studies/models", "dialogue/models"), ids=str)
def test_rows_know_no_verbs(path):
    verbs = (
        *CHAT_RULES,
        "dialogue.chat.replies",
        "studies.participation.progress",
        "studies.participation.enrolment",
        "studies.steps",
    )
    assert named(imports(path), *verbs) == set()


@pytest.mark.parametrize("path", sources("studies", "dialogue"), ids=str)
def test_heavy_packages_stay_in_their_corners(path):
    inside = path.relative_to(ROOT).as_posix()
    heavy = named(imports(path), "pandas", "pingouin", "scipy", "statsmodels", "krippendorff", "matplotlib")
    assert not heavy or inside.startswith("studies/analysis") or inside == "dialogue/safety/fitting.py"
    assert not named(imports(path), "openai") or inside == "dialogue/providers/openai_client.py"
