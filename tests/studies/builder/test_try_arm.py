"""A talk with an arm of a draft, against a real server: what it shows, and that nothing is kept but the calls."""

import pytest
from django.urls import reverse

from dialogue.models import Call, Conversation
from studies.builder.document import StudyDocument
from studies.models import Participation, StudyDraft
from tests.llm_server import running
from tests.studies.builder.test_pages import start_draft

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def url():
    with running() as url:
        yield url


def draft_with(desk, **arm) -> StudyDraft:
    """A draft that lacks much else."""
    draft = start_draft(desk, "minimal")
    document = StudyDocument(draft.text)
    for key, value in {"key": "mine", "kind": "openai_compatible", **arm}.items():
        document.set(("arms", 0, key), value)
    draft.text = document.text
    draft.save()
    return draft


def send(desk, draft, text, page=None):
    said = page.context["turns_json"] if page else "[]"
    return desk.post(reverse("research-draft-try", args=[draft.pk, 0]), {"text": text, "said": said, "language": "en"})


def test_talk_goes_on_and_counts_as_nothing(desk, url):
    draft = draft_with(desk, base_url=url, model="echo")
    first = send(desk, draft, "I feel low.")
    second = send(desk, draft, "And tired.", first)
    assert [message for message, _reply in second.context["turns"]] == ["I feel low.", "And tired."]
    assert all(reply for _message, reply in second.context["turns"])
    text = second.content.decode()
    assert "First piece" in text
    assert second.context["words"].tokens
    calls = list(Call.objects.order_by("pk"))
    assert [call.purpose for call in calls] == ["check", "check"]
    sent = [message["text"] for message in calls[1].request if message["role"] != "system"]
    assert sent == ["I feel low.", second.context["turns"][0][1], "And tired."]
    assert not Conversation.objects.exists()
    assert not Participation.objects.exists()


def test_failure_is_shown_as_the_server_says_it_and_the_message_stays(desk, url):
    draft = draft_with(desk, base_url=url, model="status-418")
    page = send(desk, draft, "I feel low.")
    assert "418" in page.context["words"].detail
    assert page.context["words"].detail in page.content.decode()
    assert page.context["turns"] == []
    assert page.context["text"] == "I feel low."


def test_unset_key_is_told_before_anything_is_asked(desk, url, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    draft = draft_with(desk, base_url=url, model="echo", api_key_env="NO_SUCH_KEY")
    page = send(desk, draft, "I feel low.")
    assert "NO_SUCH_KEY" in page.content.decode()
    assert not Call.objects.exists()


def test_arm_that_lacks_its_address_says_so(desk):
    draft = draft_with(desk, model="echo", base_url="")
    page = desk.get(reverse("research-draft-try", args=[draft.pk, 0]))
    assert "This arm cannot be tried yet:" in page.content.decode()
    assert "base_url" in page.content.decode()


@pytest.mark.parametrize("said", ["{", '{"a": 1}', "[1]", '[["a"]]', "[[1, 2]]", "x" * 30000])
def test_what_the_page_did_not_keep_itself_is_no_talk(said, desk, url):
    draft = draft_with(desk, base_url=url, model="echo")
    address = reverse("research-draft-try", args=[draft.pk, 0])
    page = desk.post(address, {"text": "Hello", "said": said, "language": "en"})
    assert page.status_code == 200
    assert len(page.context["turns"]) == 1


def test_arms_that_are_not_there_are_not_found(desk):
    draft = start_draft(desk, "minimal")
    assert desk.get(reverse("research-draft-try", args=[draft.pk, 99])).status_code == 404
    assert desk.get(reverse("research-draft-try", args=[draft.pk + 9, 0])).status_code == 404
