"""Raw calls: in the drawer, on their own page, each by its own address; never with a key."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dialogue.models import Call
from studies.board import calls
from studies.board.calls import without_secrets
from tests import factories

pytestmark = pytest.mark.django_db

LONG = "Be kind, and ask. " * 100


@pytest.fixture
def run(study):
    return factories.run_with_turns(study)


def make(run, **fields):
    return Call.objects.create(conversation=run.conversation, **{"purpose": "reply", "status": "ok", **fields})


def conversation(run, query=""):
    return f"{reverse('research-conversation', args=['demo', run.conversation.code])}{query}"


def asked(**fields):
    return {"request": [{"role": "system", "text": LONG}, {"role": "user", "text": "I feel <b>low</b>."}], **fields}


def test_the_drawer_lists_what_was_called_and_nothing_of_what_was_said(desk, run):
    found = make(run, turn=2, model="mirror", total_ms=1234, input_tokens=70, output_tokens=9, cost="0.25", **asked())
    make(run, status="timeout", purpose="thinker", attempt=2, turn=1)

    response = desk.get(conversation(run))

    page = response.content.decode()
    assert [(row.purpose, row.status) for row in response.context["calls"]] == [
        ("thoughts", "took too long"),
        ("reply", "answered"),
    ]
    drawer = page.split('class="card drawer"')[1]
    for words in ("Turn 2", "mirror", "1234 ms", "70 → 9 tokens", "cost 0.25", "attempt 2", f'id="call-{found.pk}"'):
        assert words in drawer
    assert f'data-part="{conversation(run)}calls/{found.pk}/?part=yes"' in drawer
    assert f'href="{conversation(run)}calls/{found.pk}/"' in drawer  # the way without a script
    assert "Be kind" not in page
    assert response.context["call_totals"] == {"number": 2, "failed": 1, "sent": 70, "received": 9, "cost": 0.25}


def test_a_call_has_a_page_and_a_part_of_it_for_the_drawer(desk, run):
    found = make(run, **asked(response="Tell me.", reasoning="They are low.", error="Once more", model_returned="m-1"))

    page = desk.get(f"{conversation(run)}calls/{found.pk}/").content.decode()
    part = desk.get(f"{conversation(run)}calls/{found.pk}/?part=yes").content.decode()

    for text in ("I feel &lt;b&gt;low&lt;/b&gt;.", "Tell me.", "They are low.", "Once more", "m-1", "1800 characters"):
        assert text in page
        assert text in part
    assert ("<h1>" in page, "<h1>" in part) == (True, False)


def test_a_long_text_is_folded_and_a_short_one_is_open(desk, run):
    found = make(run, **asked(response="Tell me."))

    part = desk.get(f"{conversation(run)}calls/{found.pk}/?part=yes").content.decode()

    folded = [f'<details class="verbatim-part" {"open" if is_open else ""}>' for is_open in (False, True)]
    assert [part.count(text) for text in folded] == [1, 2]


def test_no_key_is_shown(desk, run):
    parameters = {
        "temperature": 0,
        "max_tokens": 50,
        "api_key": "sk-1",
        "extra_headers": {"Authorization": "Bearer sk-2"},
        "servers": [{"Secret": "sk-3", "access_token": "sk-4"}],
    }
    found = make(run, parameters=parameters)

    page = desk.get(f"{conversation(run)}calls/{found.pk}/").content.decode()

    assert "sk-" not in page
    assert "max_tokens&quot;: 50" in page
    assert without_secrets(parameters) == {
        "temperature": 0,
        "max_tokens": 50,
        "api_key": "***",
        "extra_headers": "***",
        "servers": [{"Secret": "***", "access_token": "***"}],
    }


@pytest.mark.parametrize(
    ("query", "turns"),
    [
        ({}, [1, 1, 2, None]),
        ({"turn": "1"}, [1, 1]),
        ({"purpose": "judge"}, [None]),
        ({"status": "timeout"}, [1]),
        ({"turn": "2", "status": "timeout"}, []),
        ({"turn": "x"}, []),
    ],
)
def test_calls_are_filtered_by_the_address(query, turns, desk, run):
    make(run, turn=None, purpose="judge")
    make(run, turn=2)
    make(run, turn=1, status="timeout")
    make(run, turn=1, attempt=2)

    page = desk.get(f"{conversation(run)}calls/", query)

    assert [row.call.turn for row in page.context["page"]] == turns
    assert ("No calls here" in page.content.decode()) is not bool(turns)


def test_many_calls_are_on_their_own_page_alone(desk, run, monkeypatch):
    monkeypatch.setattr(calls, "IN_THE_DRAWER", 2)
    for turn in (1, 2, 3):
        make(run, turn=turn)

    response = desk.get(conversation(run))

    assert response.context["calls"] == []
    assert "There are too many for this page." in response.content.decode()
    assert len(desk.get(f"{conversation(run)}calls/").context["page"]) == 3


def test_a_list_of_calls_does_not_read_what_was_said(desk, run, django_assert_max_num_queries):
    for _ in range(5):
        make(run, turn=1, **asked(response="Tell me."))

    with django_assert_max_num_queries(26) as made:  # 10 of them for the audit log
        desk.get(f"{conversation(run)}calls/")

    assert not [query for query in made.captured_queries if '"dialogue_call"."response"' in query["sql"]]


def test_a_call_belongs_to_its_conversation_and_study(desk, study, run):
    other = make(factories.run_with_turns(study))
    stranger = factories.run_with_turns(factories.study("another"))
    strange = make(stranger)

    assert desk.get(f"{conversation(run)}calls/{other.pk}/").status_code == 404
    assert desk.get(f"{conversation(stranger)}calls/{strange.pk}/").status_code == 404
    assert desk.get(f"{conversation(stranger)}calls/").status_code == 404


def test_who_is_no_researcher_sees_no_call(run):
    found = make(run)
    eve = Client()
    eve.force_login(User.objects.create(username="eve"))

    for path in (conversation(run), f"{conversation(run)}calls/", f"{conversation(run)}calls/{found.pk}/?part=yes"):
        assert eve.get(path).status_code == 403
        assert Client().get(path).status_code == 302
