"""Files of an export that `load` leaves to the tables, looked through before the first of them: a fault that the last
table finds would cost the time of all others."""

from collections.abc import Callable
from pathlib import Path

from studies.analysis.design import read_design
from studies.analysis.frames import read_calls, read_pairs, read_profiles, read_states
from studies.analysis.reading import numbers, read_table, refuse_repeated
from studies.analysis.tables.order import read_positions


def check(folder: Path) -> None:
    """Check the files of an export; raise AnalysisError as the tables would."""
    for name, look in LOOKS.items():
        if (folder / name).is_file():
            look(folder / name)


def _conversations(path: Path) -> None:
    read_positions(path)
    numbers(path, read_table(path, (), ("holds",))["holds"])


LOOKS: dict[str, Callable[[Path], object]] = {
    "participants.csv": lambda path: refuse_repeated(path, read_table(path, ("participant",))["participant"]),
    "conversations.csv": _conversations,
    "turns.csv": lambda path: read_table(path, ("conversation", "turn", "role")),
    "answers.csv": lambda path: numbers(path, read_table(path, ("participant",), ("value",))["value"]),
    "scales.csv": lambda path: numbers(path, read_table(path, ("participant", "scale", "score"))["score"]),
    "states.csv": read_states,
    "pairs.csv": read_pairs,
    "calls.csv": read_calls,
    "profiles.csv": read_profiles,
    "study.json": read_design,
}
