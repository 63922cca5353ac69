"""The preview of a draft: each step of both tracks as people would see it, and nothing of it is kept."""

import pytest
from django.urls import reverse

from studies.builder.document import StudyDocument
from studies.models import Participation, Study, StudyDraft
from studies.participation.step_kinds import KINDS
from tests.studies.builder.test_pages import fill_consent, start_draft

pytestmark = pytest.mark.django_db


def page(desk, draft, name="research-draft-preview", **asked):
    return desk.get(reverse(name, args=[draft.pk]), asked)


def step(desk, draft, **asked):
    return page(desk, draft, "research-draft-preview-step", **asked)


@pytest.fixture
def draft(desk):
    draft = start_draft(desk)
    fill_consent(desk, draft)
    return draft


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("track", ["participant", "counsellor"])
def test_each_step_is_shown_and_nothing_is_kept(track, language, desk, draft):
    steps = page(desk, draft, track=track, language=language).context["steps"]
    assert len(steps) > 8
    alone = {"Blinding question"}  # it asks about conversations that were had
    for one in steps:
        if one.label in alone:
            continue
        shown = step(desk, draft, track=track, language=language, step=one.number)
        assert shown.status_code == 200, one.label
        assert f'lang="{"zh-Hans" if language == "zh" else "en"}"' in shown.content.decode(), one.label
        assert shown["X-Frame-Options"] == "SAMEORIGIN"
    assert not Study.objects.exists()
    assert not Participation.objects.exists()


def test_consent_shows_the_values_of_the_draft(desk, draft):
    document = StudyDocument(draft.text)
    document.set(("consent", "pi_name"), {"en": "Doctor Marker", "zh": "标记博士"})
    StudyDraft.objects.filter(pk=draft.pk).update(text=document.text)
    steps = page(desk, draft, track="participant", language="en").context["steps"]
    number = page(desk, draft, language="en", of="consent").context["number"]
    assert steps[number].label == "Consent"
    assert "Doctor Marker" in step(desk, draft, track="participant", language="en", step=number).content.decode()


def test_conversation_is_described_and_does_not_ask_for_scripts(desk, draft):
    document = StudyDocument(draft.text)
    document.set(("chat", "opening"), {"en": "What is on your mind?", "zh": "想聊什么？"})
    StudyDraft.objects.filter(pk=draft.pk).update(text=document.text)
    steps = page(desk, draft, track="participant", language="en").context["steps"]
    [number] = [one.number for one in steps if one.label == KINDS["chat"].label]
    shown = step(desk, draft, track="participant", language="en", step=number).content.decode()
    assert "Here people write with their partner." in shown
    assert "What is on your mind?" in shown
    assert "noscript" not in shown


def test_draft_that_lacks_values_and_models_is_shown_with_marks(desk):
    draft = start_draft(desk, "emoharbor")
    shown = page(desk, draft)
    assert shown.context["is_complete"] is False
    assert shown.context["steps"]
    number = next(one.number for one in shown.context["steps"] if one.label == "Consent")
    assert step(desk, draft, step=number).status_code == 200


WRONG = ({"step": "999"}, {"step": "9999999"}, {"step": "-1"}, {"track": "x", "language": "y"}, {"of": "x"})


@pytest.mark.parametrize("asked", WRONG)
def test_what_there_is_not_breaks_nothing(asked, desk, draft):
    assert page(desk, draft, **asked).status_code == 200
    assert step(desk, draft, **asked).status_code in (200, 404)


def test_draft_that_is_no_study_at_all_says_so(desk):
    draft = start_draft(desk, "minimal")
    StudyDraft.objects.filter(pk=draft.pk).update(text="languages = 5\n")
    assert "The draft lacks too much to be shown." in page(desk, draft).content.decode()
    assert step(desk, draft).status_code == 404


def test_draft_whose_questionnaire_is_missing_shows_the_rest_and_names_it(desk, draft):
    document = StudyDocument(draft.text)
    number = document.add_row(("steps",), {"kind": "questionnaire", "instrument": "gone"})
    document.set(("chat", "final_instruments"), ["gone_too", "emoharbor_10"])
    document.set(("title",), {"en": "Talks"})
    StudyDraft.objects.filter(pk=draft.pk).update(text=document.text)

    shown = page(desk, draft, language="zh")

    labels = [one.label for one in shown.context["steps"]]
    assert {"Consent", "Debrief"} <= set(labels)
    text = shown.content.decode()
    assert "unknown instrument &quot;gone&quot;" in text
    assert "unknown instrument &quot;gone_too&quot;" in text
    assert reverse("research-draft-row", args=[draft.pk, "steps", number]) in text
    for one in shown.context["steps"]:
        if one.label != "Blinding question":
            assert step(desk, draft, language="zh", step=one.number).status_code == 200, one.label


def test_draft_whose_only_final_rating_is_missing_is_shown_with_another(desk, draft):
    document = StudyDocument(draft.text)
    document.set(("chat", "final_instruments"), ["gone"])
    StudyDraft.objects.filter(pk=draft.pk).update(text=document.text)
    shown = page(desk, draft)
    assert "emoharbor_10" in [one.about for one in shown.context["steps"]]
    assert [fault.place for fault in shown.context["left_out"]] == ["chat.final_instruments[1]"]


def test_of_a_dozen_steps_only_those_with_a_fault_are_left_out(desk, draft):
    document = StudyDocument(draft.text)
    before = [one.about for one in page(desk, draft).context["steps"]].count("mini_ipip")
    for number in range(12):
        document.add_row(("steps",), {"kind": "questionnaire", "instrument": "gone" if number % 2 else "mini_ipip"})
    document.set(("steps", 3, "mode"), "nonsense")
    document.set(("steps", 3, "track"), "nonsense")
    StudyDraft.objects.filter(pk=draft.pk).update(text=document.text)
    after = [one.about for one in page(desk, draft).context["steps"]]
    assert after.count("mini_ipip") == before + 6
    assert "gone" not in after
