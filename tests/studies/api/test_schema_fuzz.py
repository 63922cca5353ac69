"""Whatever is sent to the API: no 500, and no answer that its OpenAPI schema does not describe."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from studies.api.throttles import AddressThrottle, CallerThrottle
from studies.connections.tokens import create_token
from studies.models import Task
from studies.workbench import tasks
from tests import factories
from tests.amounts import choose

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)
KNOWN = {"key": "demo", "name": "ratings", "arm": "amber"}  # what a path names half the time

api = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
api.app = get_wsgi_application()


@pytest.fixture
def token(db: None, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """With a study of some people, conversations, ratings and a task, of which no process is started."""
    settings.VAR = tmp_path
    monkeypatch.setattr(tasks, "spawn", lambda task: None)
    for signal in (request_started, request_finished):  # as Django's own test client does
        signal.disconnect(close_old_connections)
    for throttle in (AddressThrottle, CallerThrottle):
        monkeypatch.setattr(throttle, "rate", None, raising=False)
    study = factories.study()
    factories.rating(person := factories.person(study), factories.run_with_turns(study, person))
    Task.objects.create(study=study, command="judge", arguments=["demo", "standard"])
    ada = User.objects.create(username="ada", is_staff=True, is_superuser=True)
    yield create_token(ada, name="fuzz", scopes=["read", "write", "run", "export"])[1]
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def wanted_paths(token: str) -> dict[str, Any]:
    return {**KNOWN, "number": Task.objects.get().pk}


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "any"])
@api.parametrize()
@settings(
    max_examples=choose(usual=6, full=100),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_the_schema_says(
    case: schemathesis.Case, token: str, wanted_paths: dict[str, Any], is_known: bool
) -> None:
    if is_known:
        case.path_parameters.update({name: wanted_paths[name] for name in case.path_parameters})
    case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)


@api.parametrize()
@settings(max_examples=3, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
def test_every_refusal_of_strangers_is_as_the_schema_says(case: schemathesis.Case, token: str) -> None:
    response = case.call_and_validate(checks=CHECKS)

    assert response.status_code in (401, 400)  # 400: a body that is not read at all
