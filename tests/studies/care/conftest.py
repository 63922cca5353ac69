from collections.abc import Iterator

import pytest
from django.core.management import call_command

from tests.people import Person
from tests.studies.care.servers import Box, Hook, mail_server, webhook_server


@pytest.fixture
def box(settings) -> Iterator[Box]:
    """A mail server that this process sends to."""
    box = Box()
    with mail_server(box) as port:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
        yield box


@pytest.fixture
def hook() -> Iterator[Hook]:
    hook = Hook()
    with webhook_server(hook):
        yield hook


@pytest.fixture
def person(settings) -> Person:
    """Someone in their first conversation of the demonstration."""
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)
    person = Person()
    person.go_to("chat", run=1)
    person.page()
    return person
