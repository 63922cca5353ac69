"""A researcher's programs: clients with a token of some scopes, for all studies or for one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.test import Client

from studies.connections.tokens import create_token
from studies.models import ApiToken, Study


class Program(Client):
    """A client that sends JSON with its token."""

    def __init__(self, token: str) -> None:
        super().__init__(headers={"Authorization": f"Bearer {token}"})

    def send(self, path: str, body: Any = None) -> Any:
        return self.post(f"/api/v1/{path}", json.dumps(body or {}), content_type="application/json")

    def read(self, path: str, **query: str) -> Any:
        return self.get(f"/api/v1/{path}", query)


@pytest.fixture(autouse=True)
def nobody_counted() -> None:
    """Each test starts with no requests counted."""
    caches["requests"].clear()


@pytest.fixture
def ada() -> User:
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


@pytest.fixture
def program(ada: User) -> Callable[..., Program]:
    def make(*scopes: str, study: Study | None = None) -> Program:
        wanted = scopes or ApiToken.Scope.values
        return Program(create_token(ada, name="a script", scopes=wanted, study=study)[1])

    return make
