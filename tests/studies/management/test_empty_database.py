import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_command_before_the_database_is_set_up_says_what_to_do(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"} | {"VAR_DIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "export", "demo", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "make run" in done.stderr
    assert not (tmp_path / "out").exists()
