"""A study, a researcher's browser, and a server of models."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.test import Client

from studies.models import Study
from tests import factories
from tests.llm_server import running


@pytest.fixture
def study() -> Study:
    return factories.study()


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """The rows of each test have the keys of those before it."""
    caches["own"].clear()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url
