from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from studies.analysis.frames import load
from studies.analysis.rows import Undefined
from studies.analysis.scales import Scale, scales_of
from tests.studies.analysis.benchmark import write_table

ExportOf = Callable[[Any], Path]
TOLD = {"file": "ten.json", "column": "care", "type": "scale", "minimum": 1, "maximum": 5}

UNTOLD = [
    None,
    TOLD | {"file": "other.json"},
    TOLD | {"maximum": ""},
    {"file": "ten.json", "column": "care", "type": "scale", "values": "1 to 5: 1 = Not at all"},  # of an old export
]


def rated(*scores: float, item: str = "care") -> list[dict[str, Any]]:
    return [{"conversation": f"C{number}", "item": item, "score": score} for number, score in enumerate(scores)]


def test_scales_are_those_of_the_codebook_with_levels_that_nobody_gave(export_of: ExportOf) -> None:
    folder = export_of(rated(4, 5))
    write_table(folder, "codebook", [TOLD, TOLD | {"column": "overall", "type": "scale score"}])
    scale = scales_of(folder, load(folder).ratings)["ten", "care"]
    assert scale == Scale(1, 5)
    assert scale.levels().tolist() == [1, 2, 3, 4, 5]


def test_levels_are_at_most_sixty() -> None:
    assert len(Scale(1, 60).levels()) == 60
    for highest in (61, 1e300):
        with pytest.raises(Undefined, match="the scale has more than 60 levels"):
            Scale(1, highest).levels()


def test_scales_may_begin_below_zero(export_of: ExportOf) -> None:
    folder = export_of(rated(0))
    write_table(folder, "codebook", [TOLD | {"minimum": -2, "maximum": 2}])
    assert scales_of(folder, load(folder).ratings)["ten", "care"] == Scale(-2, 2)


@pytest.mark.parametrize("told", UNTOLD)
def test_scales_that_nothing_tells_are_taken_from_the_scores(export_of: ExportOf, told: dict[str, Any] | None) -> None:
    folder = export_of(rated(2, 4))
    if told:
        write_table(folder, "codebook", [told])
    scale = scales_of(folder, load(folder).ratings)["ten", "care"]
    assert (scale.lowest, scale.highest) == (2, 4)
    assert str(scale.note) == "scale taken from the scores, 2 to 4: codebook.csv has none"


def test_scales_that_imported_scores_contradict_are_taken_from_the_scores(tmp_path: Path) -> None:
    usual = {"rater": "P1", "rater_kind": "seeker", "instrument": "ten", "last_turn": ""}
    folder = tmp_path
    write_table(folder, "ratings", [usual | score for score in rated(2, 9)])
    write_table(folder, "codebook", [TOLD])
    scale = scales_of(folder, load(folder).ratings)["ten", "care"]
    assert (scale.lowest, scale.highest) == (2, 9)
    assert str(scale.note) == "scale taken from the scores, 2 to 9: some scores are beyond that of codebook.csv"
