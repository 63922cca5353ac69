from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.studies.analysis.builders import Ratings, six_people, write_export


@pytest.fixture
def export_of(tmp_path: Path) -> Callable[[Ratings], Path]:
    return partial(write_export, tmp_path / "export")


@pytest.fixture
def small_study() -> list[dict[str, Any]]:
    return six_people()


@pytest.fixture(autouse=True)
def no_figures(figures_are_left_out: None) -> None:
    """All tests of the analysis."""
