"""What the walks measured is said in the last lines of the run."""

from collections.abc import Callable
from typing import Any

import pytest

TOLD = pytest.StashKey[list[str]]()


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    return request.config.stash.setdefault(TOLD, []).append


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for line in config.stash.get(TOLD, []):
        terminalreporter.write_line(line)
