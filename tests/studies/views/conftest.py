"""A study, a researcher's browser, and the address of a page."""

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.test import Client

from studies.models import Study
from tests import factories


@pytest.fixture
def study() -> Study:
    return factories.study()


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True))
    return client


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """The rows of each test have the keys of those before it."""
    caches["own"].clear()
