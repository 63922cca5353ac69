"""What deploy/browser.sh installs on a machine that lacks one thing or the other."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHINESE_FONT = "/usr/share/fonts/NotoSansCJK.ttc: Noto Sans CJK SC"


def program(folder: Path, name: str, says: str = "") -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("browser", "font", "installed"),
    [
        (True, True, ""),
        (True, False, "fontconfig fonts-noto-cjk"),
        (False, True, "chromium"),
        (False, False, "chromium fontconfig fonts-noto-cjk"),
    ],
)
def test_browser_and_fonts_are_looked_for_apart(tmp_path: Path, browser: bool, font: bool, installed: str) -> None:
    program(tmp_path, "id", "echo 0")
    program(tmp_path, "fc-list", f"echo '{CHINESE_FONT}'" if font else "")
    program(tmp_path, "apt-get", 'for word in "$@"; do last="$last $word"; done; echo "$last" >> asked')
    if browser:
        program(tmp_path, "chromium")
    subprocess.run(
        ["/bin/sh", str(ROOT / "deploy" / "browser.sh")], cwd=tmp_path, env={"PATH": str(tmp_path)}, check=True
    )
    asked = (tmp_path / "asked").read_text().splitlines() if (tmp_path / "asked").exists() else []
    assert "".join(line.rpartition("--no-install-recommends ")[2] for line in asked if "install" in line) == installed


def test_what_is_missing_is_said_where_nothing_may_be_installed(tmp_path: Path) -> None:
    program(tmp_path, "id", "echo 1000")
    told = subprocess.run(
        ["/bin/sh", str(ROOT / "deploy" / "browser.sh")],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.partition(":")[0] for line in told.stdout.splitlines()] == [
        "*** No Chromium here",
        "*** No Chinese font here",
    ]
