from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from studies.analysis.reporting import drawing
from tests.studies.analysis.builders import Ratings, six_people, write_export


@pytest.fixture
def export_of(tmp_path: Path) -> Callable[[Ratings], Path]:
    return partial(write_export, tmp_path / "export")


@pytest.fixture
def small_study() -> list[dict[str, Any]]:
    return six_people()


@pytest.fixture(autouse=True)
def figures_are_left_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thirds of an analysis go into drawing its figures; tests marked `with_figures` have them."""
    if not request.node.get_closest_marker("with_figures"):
        monkeypatch.setattr(drawing, "_svg", lambda *_given: '<svg xmlns="http://www.w3.org/2000/svg"></svg>')
        monkeypatch.setattr(drawing, "_pdf", lambda *_given: b"%PDF-")
