from pathlib import Path

import pytest

from studies.instruments.loading import SITE


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this site, which the first questionnaire makes."""
    folder = tmp_path / "instruments"
    monkeypatch.setattr(SITE, "folder", folder)
    SITE.forget()
    return folder
