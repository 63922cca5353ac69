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
def pdfs_are_left_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of an analysis goes into the fonts of its PDFs; tests marked `with_pdfs` have them."""
    if not request.node.get_closest_marker("with_pdfs"):
        monkeypatch.setattr(drawing, "_pdf", lambda _title, _canvas: b"%PDF-")
