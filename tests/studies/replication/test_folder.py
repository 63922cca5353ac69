"""The folder of a walk: which of its parts are done, who walks in it, and how it gets its name."""

import os
from pathlib import Path

import pytest

from studies.management.commands.replicate import put_in_place
from studies.replication.finished_parts import FinishedParts
from studies.replication.folder_lock import FolderInUse, lock_folder
from studies.replication.walks import Part

JUDGE = Part("judge", ("judge", "study", "--judge", "one"), asks=True)
OTHER = Part("judge", ("judge", "study", "--judge", "two"), asks=True)


def test_finished_part_is_known_to_the_next_command_on_the_same_terms(tmp_path: Path) -> None:
    assert JUDGE not in FinishedParts(tmp_path, ("hash", 6))
    FinishedParts(tmp_path, ("hash", 6)).add(JUDGE)
    again = FinishedParts(tmp_path, ("hash", 6))
    assert (JUDGE in again, OTHER in again) == (True, False)
    assert JUDGE not in FinishedParts(tmp_path, ("hash", 7))
    assert JUDGE not in FinishedParts(tmp_path, ("other", 6))


def test_one_process_walks_in_a_folder(tmp_path: Path) -> None:
    lock = lock_folder(tmp_path)
    with pytest.raises(FolderInUse) as other:
        lock_folder(tmp_path)
    assert other.value.process == str(os.getpid())
    os.close(lock)
    os.close(lock_folder(tmp_path))


def test_results_get_their_name_also_after_a_command_that_was_cut_there(tmp_path: Path) -> None:
    folder = tmp_path / ".out"
    for part in ("ready/results", "results"):
        (folder / part).mkdir(parents=True)
    (folder / "ready" / "results" / "arms.csv").write_text("half", encoding="utf-8")
    (folder / "results" / "arms.csv").write_text("whole", encoding="utf-8")
    put_in_place(folder, tmp_path / "out")
    assert (tmp_path / "out" / "results" / "arms.csv").read_text(encoding="utf-8") == "whole"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["results"]
