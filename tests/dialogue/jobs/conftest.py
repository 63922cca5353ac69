import json
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dialogue.jobs.work import HANDLERS, Handler
from tests.llm_server import running


@pytest.fixture(autouse=True)
def handler(settings: Any) -> type[Handler]:
    settings.JOB_HANDLERS = HANDLERS
    Handler.kept.clear()
    return Handler


@pytest.fixture(scope="session")
def llm_url() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture
def asked(llm_url: str) -> Callable[[], Counter[str]]:
    """How often the server has been asked each message since the test began."""

    def everything() -> Counter[str]:
        with urllib.request.urlopen(f"{llm_url.removesuffix('/v1')}/asked") as response:
            return Counter(body["messages"][-1]["content"] for body in json.load(response))

    before = everything()
    return lambda: everything() - before


@pytest.fixture
def priced(tmp_path: Path, settings: Any) -> None:
    """A token that is read costs 0.001, one that is written 0.01."""
    table = '[[models]]\nmodel = "*"\nsince = 2026-01-01\ninput = 1000\noutput = 10000\n'
    settings.PRICES = str(tmp_path / "prices.toml")
    Path(settings.PRICES).write_text(f'version = "test"\ncurrency = "USD"\n{table}', encoding="utf-8")
