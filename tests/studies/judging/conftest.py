from collections.abc import Iterator

import pytest

from tests.llm_server import running


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url
