"""What is installed: exact versions with hashes, under licences that fit, and known faults that are told."""

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from tests.licences import COMPATIBLE, PAGE, build_page, collect_needed, get_packages

ROOT = Path(__file__).resolve().parents[1]
LOCK = (ROOT / "constraints.txt").read_text(encoding="utf-8")
UV = (ROOT / "deploy" / "uv.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("lock", [LOCK, UV], ids=["constraints", "uv"])
def test_every_package_has_an_exact_version_and_hashes(lock):
    blocks = re.split(r"\n(?=[a-zA-Z])", re.sub(r"(?m)^#.*\n", "", lock).strip())
    faulty = [
        block for block in blocks if not re.fullmatch(r"\S+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+", block.strip())
    ]
    assert faulty == []


def test_all_that_is_required_is_locked():
    locked = {package.name for package in get_packages()}
    assert collect_needed(ROOT / "requirements.txt") <= locked


def test_every_licence_can_be_combined_with_ours():
    unfit = [
        (package.name, package.licence)
        for package in get_packages()
        if not set(re.split(r" AND | OR |[()]", package.licence)) - {""} <= COMPATIBLE or not package.licence
    ]
    assert unfit == []


def test_page_of_licences_is_that_of_the_installed_packages():
    assert PAGE.read_text(encoding="utf-8") == build_page()


def install(folder: Path, lock: str) -> subprocess.CompletedProcess[str]:
    (folder / "requirements.txt").write_text("tqdm>=4.70,<5\n")
    (folder / "constraints.txt").write_text(lock)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    command = ["pip", "install", "--system-certs", "--python", folder / "venv"]
    files = ["-r", "requirements.txt", "-c", "constraints.txt"]
    return subprocess.run(
        [sys.executable, "-m", "uv", *command, *files], cwd=folder, capture_output=True, text=True, check=False
    )


def test_package_with_another_hash_is_refused(tmp_path):
    """As deploy/install.sh installs."""
    wrong = re.sub(r"(?<=sha256:)[0-9a-f]{8}", "00000000", LOCK)
    done = install(tmp_path, wrong)
    assert done.returncode != 0
    assert "Hash mismatch for `tqdm" in done.stderr


@pytest.fixture
def audit():
    spec = spec_from_file_location("audit", ROOT / "deploy" / "audit.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_known_fault_fails_the_audit(audit, capsys):
    fault = {"id": "PYSEC-1", "fix_versions": ["2.1"]}
    assert audit.report([{"name": "a", "version": "2.0", "vulns": [fault]}]) == 1
    assert "a 2.0: PYSEC-1, mended in 2.1" in capsys.readouterr().out


def test_package_that_could_not_be_looked_up_is_said_loudly(audit, capsys):
    packages = [{"name": "a", "skip_reason": "not found"}, {"name": "b", "version": "1", "vulns": []}]
    assert audit.report(packages) == 0
    said = capsys.readouterr().out
    assert "1 of 2 packages checked, 0 known faults." in said
    assert "*** SKIPPED: nothing could be looked up about 1 packages: a" in said
