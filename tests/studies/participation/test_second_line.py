"""Which second line a person's conversations get."""

from dataclasses import replace
from typing import Any

import pytest

from studies.design.safety_rules import SafetyRules, SecondLine
from studies.models import Consent, Participation
from studies.participation import chats
from tests import factories

pytestmark = pytest.mark.django_db

LINE = SecondLine(kind="openai_compatible", base_url="http://127.0.0.1:9/v1", model="watch", provider="Watch")


def person(line: SecondLine | None, *providers: list[str], **fields: Any) -> Participation:
    """One in a study with that second line, who has signed a consent with each of these lists of providers."""
    study = factories.study("watched", safety=SafetyRules(second_line=line))
    someone = factories.person(study, **fields)
    for named in providers:
        Consent.objects.create(
            participation=someone,
            instrument="consent_template",
            version="1",
            text_hash="",
            language="en",
            boxes={},
            providers=named,
        )
    return someone


def second_line_of(someone: Participation) -> dict[str, Any]:
    run = chats.get_or_open_run(someone, 1)
    assert run.conversation is not None
    return run.conversation.second_line


@pytest.mark.parametrize("is_test", [False, True])
def test_conversation_keeps_the_settings_of_its_study(is_test: bool) -> None:
    kept = second_line_of(person(LINE, ["Watch"], is_test=is_test))
    assert kept == {
        "kind": "openai_compatible",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "watch",
        "api_key_env": "",
        "provider": "Watch",
        "when_unreachable": "open",
        "seconds": 2.0,
    }


@pytest.mark.parametrize("providers", [(), ([],), (["Lab"],), (["Watch"], ["Lab"])])
def test_provider_that_the_latest_consent_does_not_name_gets_nothing(
    providers: tuple[list[str], ...], caplog: pytest.LogCaptureFixture
) -> None:
    assert second_line_of(person(LINE, *providers)) == {}
    assert "Watch" in caplog.text


def test_scripted_second_line_needs_no_consent() -> None:
    assert second_line_of(person(replace(LINE, kind="scripted")))["kind"] == "scripted"


def test_study_without_a_second_line_has_none() -> None:
    assert second_line_of(person(None)) == {}
