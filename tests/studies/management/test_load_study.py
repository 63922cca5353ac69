"""What `load_study` says of role cards: only what is new, or needs a decision."""

from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command

from studies.models import Card, Study

pytestmark = pytest.mark.django_db


def load() -> list[str]:
    told = StringIO()
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), stdout=told, stderr=StringIO())
    return told.getvalue().splitlines()


def test_cards_are_told_where_some_were_added_or_differ() -> None:
    assert load()[1:] == [f"{Card.objects.count()} role cards added."]
    assert load()[1:] == []
    card = Study.objects.get().cards.first()
    Card.objects.filter(pk=card.pk).update(profile={**card.profile, "age": "99"})
    assert load()[1:] == [
        "1 role card differs from the file and was left unchanged; import_cards replaces them with the file's."
    ]
    Card.objects.filter(pk=card.pk).delete()
    assert load()[1:] == ["1 role card added."]
