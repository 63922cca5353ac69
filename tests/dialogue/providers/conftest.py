from collections.abc import AsyncIterator, Iterator

import pytest

from dialogue.providers.openai_client import close_clients
from tests.llm_server import running


@pytest.fixture(scope="session")
def llm_url() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture(autouse=True)
async def closed_clients() -> AsyncIterator[None]:
    yield
    await close_clients()
