"""Pages on which an admin makes a questionnaire without touching a file."""

import json
import re
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from dialogue.languages import LANGUAGES
from studies.design.spec import StepSpec
from studies.instruments.loading import FIXTURES, instrument_ids, load
from studies.models import AuditEntry, Membership, Protocol, StudyDraft
from studies.questionnaires import storage
from studies.setup.storage import load_spec
from tests import factories

pytestmark = pytest.mark.django_db

NEW = "/research/questionnaires/new/"
LIST = "/research/questionnaires/"
SCRIPT = "<script>alert(1)</script>"


def filled(**changes):
    return {
        "kind": "questionnaire",
        "lowest": "1",
        "required": "on",
        "has_score": "on",
        "title_en": "Evening calm",
        "title_zh": "晚间的平静",
        "instruction_en": "How was it last week?",
        "instruction_zh": "上周怎么样？",
        "questions_en": "calm: I felt calm\nI could not rest (R)\nI slept well (yes/no)\nWhat helped? (open)",
        "questions_zh": "我感到平静\n我无法休息\n我睡得好\n什么有帮助？",
        "labels_en": "Never\nSometimes\nOften",
        "labels_zh": "从不\n有时\n经常",
        "source": "Lab (2026)",
        "licence": "Ours",
        "act": "save",
        **changes,
    }


def make(desk, **changes):
    response = desk.post(NEW, filled(**changes))
    assert response.status_code == 302, response.context["form"].errors
    return load(response["Location"].split("/")[3])


def errors_of(response):
    assert response.status_code == 422
    return {name: str(errors[0]) for name, errors in response.context["form"].errors.items()}


def upload(desk, data, name="ours.json"):
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    return desk.post(f"{LIST}upload/", {"file": SimpleUploadedFile(name, content)})


def written(instrument="mini_ipip"):
    return json.loads((FIXTURES / f"{instrument}.json").read_text("utf-8"))


def draft_with(name, owner=None, **more):
    text = f'key = "trial"\n[[steps]]\nkind = "questionnaire"\ninstrument = "{name}"\n'
    return StudyDraft.objects.create(text=text, owner=owner, owner_name="x", **more)


# Making one


def test_a_questionnaire_is_made_and_can_be_chosen_at_once(desk):
    questionnaire = make(desk)
    assert questionnaire.id == "evening_calm"
    assert "evening_calm" in instrument_ids()
    assert (questionnaire.version, questionnaire.title["zh"]) == ("1", "晚间的平静")
    items = [(item.key, item.type, item.reverse, item.minimum, item.maximum) for item in questionnaire.items]
    assert items == [
        ("calm", "scale", False, 1, 3),
        ("q2", "scale", True, 1, 3),
        ("q3", "single", False, None, None),
        ("q4", "text", False, None, None),
    ]
    assert [option.text["zh"] for option in questionnaire.items[0].options] == ["从不", "有时", "经常"]
    assert [(option.value, option.text["en"]) for option in questionnaire.items[2].options] == [
        ("yes", "Yes"),
        ("no", "No"),
    ]
    [score] = questionnaire.scales
    assert (score.key, score.items, score.minimum_answered) == ("total", ("calm", "q2"), 2)
    assert questionnaire.raw["attribution"] == "Lab (2026)"

    desk.post(reverse("research-new-study"), {"begin": "minimal"})
    draft = StudyDraft.objects.get()
    number = page_of_new_step(desk, draft)
    page = desk.get(reverse("research-draft-row", args=[draft.pk, "steps", number])).content.decode()
    assert "Evening calm (evening_calm)" in page


def page_of_new_step(desk, draft):
    rows = reverse("research-draft-section", args=[draft.pk, "steps"])
    sent = desk.post(f"{rows}rows/", {"act": "add", "seen": desk.get(rows).context["seen"]})
    return int(sent["Location"].strip("/").rpartition("/")[2])


def test_a_rating_form_has_the_mean_of_its_scored_questions(desk):
    form = make(
        desk, kind="rating_scale", questions_en="clear: It was clear\nWhy? (open)", questions_zh="清楚\n为什么？"
    )
    assert [(scale.key, scale.items) for scale in form.scales] == [("overall", ("clear",))]
    assert form.item("clear").label == {"en": "It was clear", "zh": "清楚"}
    page = desk.get(f"{LIST}{form.id}/").content.decode()
    assert "Rating form" in page


def test_a_scale_may_begin_at_nought_and_answers_may_be_left_out(desk):
    changes = {"lowest": "0", "required": "", "has_score": "", "questions_en": "Calm", "questions_zh": "平静"}
    questionnaire = make(desk, **changes)
    item = questionnaire.items[0]
    assert (item.minimum, item.maximum, item.required, questionnaire.scales) == (0, 2, False, ())


def test_words_in_one_language_stand_for_all(desk):
    blank = dict.fromkeys(("title_en", "questions_en", "labels_en", "instruction_en"), "")
    questionnaire = make(desk, only="zh", key="calm_zh", **blank)
    assert questionnaire.id == "calm_zh"
    assert set(questionnaire.title.values()) == {"晚间的平静"}
    assert set(questionnaire.items[0].options[2].text.values()) == {"经常"}


@pytest.mark.parametrize("act", ["preview", ""])
def test_the_preview_shows_the_form_in_each_language_and_stores_nothing(desk, act, folder):
    response = desk.post(NEW, filled(act=act))
    assert [one.language for one in response.context["previews"]] == [one.name for one in LANGUAGES]
    english, chinese = (one.html for one in response.context["previews"])
    assert "I felt calm" in english
    assert "我感到平静" in chinese
    assert 'class="choices choices--row"' in english
    assert "Not saved yet." in response.content.decode()
    assert not folder.exists()
    assert not AuditEntry.objects.filter(thing="questionnaire").exists()


def test_script_in_texts_is_shown_as_text_everywhere(desk):
    questions = {"questions_en": f"{SCRIPT}", "questions_zh": f"{SCRIPT}"}
    words = dict.fromkeys(("title_en", "title_zh", "instruction_en", "instruction_zh"), f'Calm"> {SCRIPT}')
    changes = {**words, **questions, "labels_en": f"{SCRIPT}\nB", "labels_zh": f"{SCRIPT}\n乙", "key": "calm"}
    shown = desk.post(NEW, filled(act="preview", **changes))
    assert all(SCRIPT not in one.html for one in shown.context["previews"])
    make(desk, **changes)
    for page in (shown, desk.get(LIST), desk.get(f"{LIST}calm/"), desk.get(f"{LIST}calm/edit/")):
        assert SCRIPT not in page.content.decode()
        assert "&lt;script&gt;" in page.content.decode()
    # In the frame's attribute the page is quoted once more.
    assert "&amp;lt;script&amp;gt;" in desk.get(f"{LIST}calm/").content.decode()


@pytest.mark.parametrize(
    ("changes", "place", "part"),
    [
        ({"title_zh": ""}, "title_zh", "This is missing in 简体中文."),
        ({"title_en": " "}, "title_en", "This is missing in English."),
        ({"title_en": "", "only": "en"}, "title_en", "This is missing in English."),
        ({"instruction_zh": ""}, "instruction_zh", "This is missing in 简体中文."),
        ({"questions_zh": "一"}, "questions_zh", 'Line 2 in English, "I could not rest (R)", has no'),
        ({"questions_en": "", "only": "en"}, "questions_en", "This is missing in English."),
        ({"labels_zh": "从不"}, "labels_zh", 'Line 2 in English, "Sometimes", has no'),
        ({"labels_en": "Never", "labels_zh": "从不"}, "labels_en", "The answer scale needs 2 to 11 labels"),
        ({"labels_en": "", "labels_zh": ""}, "labels_en", "The answer scale needs 2 to 11 labels"),
        ({"labels_en": "A\n" * 12, "labels_zh": "甲\n" * 12}, "labels_en", "The answer scale needs 2 to 11 labels"),
        ({"questions_en": "a: x\na: y", "questions_zh": "一\n二"}, "questions_en", "Lines 1 and 2 have the same key"),
        ({"has_score": ""}, "questions_en", "A question is marked (R), but there is no score"),
        ({"kind": "rating_scale"}, "questions_en", "A question is marked (R), but there is no score"),
        (
            {"kind": "rating_scale", "questions_en": "Why? (open)", "questions_zh": "为什么？"},
            "questions_en",
            "A rating form needs a question on the answer scale.",
        ),
        ({"kind": "quiz"}, "kind", "Select a valid choice."),
        ({"key": "Big Name"}, "key", "Must be at most 60 lower-case letters"),
        ({"key": "mini_ipip"}, "key", "There is an instrument of this id already"),
        ({"key": "crisis_resources"}, "key", "There is an instrument of this id already"),
        ({"key": "upload"}, "key", "There is an instrument of this id already"),
        ({"title_en": "Mini IPIP"}, "key", "There is an instrument of this id already"),
        ({"title_en": "平静"}, "key", "No short name can be made from the title"),
        ({"questions_en": "{{name}}", "questions_zh": "一"}, "__all__", "items[1].en: nothing is known to stand for"),
        ({"questions_en": "step: x", "questions_zh": "一"}, "__all__", "step: is a name that our pages use"),
        ({"title_en": "x" * 201}, "title_en", "Ensure this value has at most 200 characters"),
    ],
)
def test_what_is_wrong_is_said_at_its_box_and_nothing_is_stored(desk, folder, changes, place, part):
    errors = errors_of(desk.post(NEW, filled(**changes)))
    assert errors[place].startswith(part)
    assert len(errors) == 1
    assert not folder.exists()


def test_an_id_is_taken_once(desk, monkeypatch):
    make(desk)
    assert "Another questionnaire has the short name" in errors_of(desk.post(NEW, filled()))["key"]
    monkeypatch.setattr("studies.questionnaires.forms.instrument_ids", lambda: ())  # it was made a moment ago
    response = desk.post(NEW, filled())
    assert response.status_code == 409
    assert "Another questionnaire has the short name" in response.content.decode()
    assert load("evening_calm").version == "1"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pages_speak_the_language_of_the_reader(desk, language):
    desk.post(reverse("research-language"), {"language": language, "next": LIST})
    make(desk)
    title = {"en": "Evening calm", "zh": "晚间的平静"}[language]
    assert f">{title}</a>" in desk.get(LIST).content.decode()
    assert f"<h1>{title}</h1>" in desk.get(f"{LIST}evening_calm/").content.decode()


# All, and one


def test_the_list_says_what_to_do_first_and_shows_what_is_built_in(desk):
    page = desk.get(LIST)
    assert "There is none yet" in page.content.decode()
    assert {line.id for line in page.context["built_in"]} == set(instrument_ids())


@pytest.mark.parametrize("instrument", instrument_ids())
def test_every_built_in_one_has_a_preview_and_its_file(desk, instrument):
    page = desk.get(f"{LIST}{instrument}/")
    assert page.status_code == 200
    assert "research-questionnaire-edit" not in page.content.decode()
    assert json.loads(desk.get(f"{LIST}{instrument}/file.json").content)["id"] == instrument
    assert desk.get(f"{LIST}{instrument}/edit/").status_code == 404
    assert desk.post(f"{LIST}{instrument}/remove/").status_code == 404


def test_an_unknown_one_is_not_found(desk):
    for page in ("", "file.json", "edit/", "remove/"):
        assert desk.get(f"{LIST}nothing/{page}").status_code == 404


def test_a_faulty_file_on_the_server_is_named_and_takes_nothing_down(desk, folder):
    make(desk)
    (folder / "broken.json").write_text("{", "utf-8")
    page = desk.get(LIST)
    assert "broken.json: not valid JSON" in page.content.decode()
    assert [line.id for line in page.context["own"]] == ["evening_calm"]


# Changing, copying, deleting


def test_it_is_changed_as_long_as_no_one_can_have_met_it(desk):
    make(desk)
    page = desk.get(f"{LIST}evening_calm/edit/")
    form = page.context["form"]
    assert form["questions_en"].value() == filled()["questions_en"]
    assert form["questions_zh"].value() == filled()["questions_zh"]

    given = filled(title_en="Morning calm", version="1")
    assert desk.post(f"{LIST}evening_calm/edit/", given).status_code == 302
    changed = load("evening_calm")
    assert (changed.title["en"], changed.version) == ("Morning calm", "2")
    late = desk.post(f"{LIST}evening_calm/edit/", given)
    assert (late.status_code, load("evening_calm").version) == (409, "2")
    assert "someone else has changed" in late.content.decode()


def test_a_study_that_was_opened_fixes_it_and_a_copy_is_a_way_out(desk, study):
    make(desk)
    protocol = study.current()
    steps = [*protocol.design["steps"], {"kind": "questionnaire", "instrument": "evening_calm"}]
    Protocol.objects.filter(pk=protocol.pk).update(design={**protocol.design, "steps": steps})
    factories.person(study)

    assert "Edit" not in re.findall(r">([^<]+)</a>", desk.get(f"{LIST}evening_calm/").content.decode())
    response = desk.post(f"{LIST}evening_calm/edit/", filled(version="1"), follow=True)
    assert "cannot be changed any more" in response.content.decode()
    refused = desk.post(f"{LIST}evening_calm/remove/")
    assert (refused.status_code, study.key in refused.content.decode()) == (409, True)
    assert load("evening_calm").version == "1"

    copied = desk.get(f"{NEW}?copy=evening_calm").context["form"]
    assert copied["labels_zh"].value() == "从不\n有时\n经常"
    assert not copied["key"].value()


def test_a_draft_that_uses_it_keeps_it_from_being_deleted(desk):
    make(desk)
    draft = draft_with("evening_calm")
    assert "draft “trial”" in desk.get(LIST).content.decode()
    assert desk.post(f"{LIST}evening_calm/remove/").status_code == 409
    assert desk.get(f"{LIST}evening_calm/edit/").status_code == 200

    draft.delete()
    assert "No study and no draft uses it." in desk.get(f"{LIST}evening_calm/remove/").content.decode()
    assert "evening_calm" in instrument_ids()
    assert desk.post(f"{LIST}evening_calm/remove/").status_code == 302
    assert "evening_calm" not in instrument_ids()


def test_a_draft_that_is_no_toml_counts_too(desk):
    make(desk)
    StudyDraft.objects.create(text='instrument = "evening_calm', owner_name="x")
    assert desk.post(f"{LIST}evening_calm/remove/").status_code == 409


def test_a_draft_of_an_opened_study_fixes_it(desk):
    make(desk)
    draft_with("evening_calm", study=factories.study(key="opened"))
    assert desk.get(f"{LIST}evening_calm/edit/").status_code == 302


def test_answers_that_are_kept_fix_it(desk, study):
    make(desk)
    factories.answer(factories.person(study), "evening_calm", {"calm": 1.0})
    assert desk.get(f"{LIST}evening_calm/edit/").status_code == 302
    assert desk.post(f"{LIST}evening_calm/remove/").status_code == 409


def test_a_question_marked_as_optional_may_be_left_out(desk):
    questions = {"questions_en": "Calm?\nAnything else? (open) (optional)", "questions_zh": "平静吗？\n还有别的吗？"}
    questionnaire = make(desk, **questions)
    assert [item.required for item in questionnaire.items] == [True, False]
    form = desk.get(f"{LIST}evening_calm/edit/").context["form"]
    assert form["questions_en"].value() == "Calm?\nAnything else? (open) (optional)"
    assert form["required"].value()


# Two at once


def test_of_two_who_save_in_the_same_instant_the_second_overwrites_nothing(desk, monkeypatch):
    make(desk)
    record = storage.record_change

    def wait_for_another(instrument_id):
        monkeypatch.setattr(storage, "record_change", record)
        desk.post(f"{LIST}evening_calm/edit/", filled(version="1", title_en="Theirs"))
        record(instrument_id)

    monkeypatch.setattr(storage, "record_change", wait_for_another)
    late = desk.post(f"{LIST}evening_calm/edit/", filled(version="1", title_en="Ours"))
    assert late.status_code == 409
    assert "someone else has changed this questionnaire" in late.content.decode()
    assert (load("evening_calm").title["en"], load("evening_calm").version) == ("Theirs", "2")


def test_what_was_deleted_meanwhile_is_not_made_again(desk):
    data = written()
    with pytest.raises(storage.ChangedMeanwhile):
        storage.store("mini_ipip", data, replaces="1")
    assert not list(storage.get_folder().glob("*.json"))


# Files


def test_what_is_downloaded_can_be_brought_to_another_server(desk, folder):
    make(desk)
    content = desk.get(f"{LIST}evening_calm/file.json").content
    storage.remove("evening_calm")
    assert upload(desk, content)["Location"] == f"{LIST}evening_calm/"
    assert desk.get(f"{LIST}evening_calm/file.json").content == content
    again = upload(desk, content)
    assert (again.status_code, again.context["faults"]) == (400, ["id: there is an instrument of this id already"])


def test_pages_of_a_study_and_of_its_draft_give_out_the_questionnaires_that_its_file_names(desk):
    make(desk)
    spec = factories.demo_spec()
    steps = (*spec.steps[:2], StepSpec("questionnaire", instrument="evening_calm"), *spec.steps[2:])
    load_spec(replace(spec, key="calm", steps=steps))
    factories.study()
    file = f"{LIST}evening_calm/file.json"
    assert file in desk.get("/research/calm/design/").content.decode()
    assert file in desk.get(f"/research/drafts/{draft_with('evening_calm').pk}/").content.decode()
    assert file not in desk.get("/research/demo/design/").content.decode()


def test_a_file_by_hand_may_say_more_than_the_form(desk):
    assert upload(desk, {**written(), "id": "our_five"}).status_code == 302
    page = desk.get(f"{LIST}our_five/")
    assert (page.context["has_form"], load("our_five").kind) == (False, "questionnaire")
    assert "more than the form can show" in page.content.decode()
    assert desk.get(f"{LIST}our_five/edit/").status_code == 302
    assert not desk.get(f"{NEW}?copy=our_five").context["form"]["title_en"].value()


@pytest.mark.parametrize(
    ("data", "faults"),
    [
        (b"{", ["not valid JSON"]),
        (b"\xff\xfe", ["is not UTF-8: save it as UTF-8"]),
        (b"[]", ["must be an object"]),
        (b"{}", ["items: there is nothing here that a person can answer"]),
        (b" " * 1_000_001, ["is larger than 1 MB"]),
        (b'{"items": ' + b"[" * 100_000, ["is nested too deeply"]),
        (
            {"items": [1], "id": 5},
            ["schema: is missing", "id: must be text", "kind: is missing", "version: is missing"],
        ),
        ({**written(), "id": "Ours"}, ["id: must be at most 60 lower-case letters, digits, _ and -"]),
        ({**written(), "id": "../ours"}, ["id: must be at most 60 lower-case letters, digits, _ and -"]),
        (written(), ["id: there is an instrument of this id already"]),
        ({**written("comprehension_check"), "id": "ours"}, ["kind: must be one of questionnaire, rating_scale"]),
        ({**written(), "id": "ours", "title": {"en": "Only"}}, ["title.zh: is missing"]),
        ({**written(), "id": "ours", "colour": "red"}, ["colour: unknown key"]),
        ({**written(), "id": "ours", "version": "1" * 41}, ["version: must be at most 40 characters"]),
    ],
    ids=lambda _value: "",
)
def test_faults_of_a_file_are_named_by_place_and_nothing_is_stored(desk, folder, data, faults):
    response = upload(desk, data)
    assert response.status_code == 400
    assert len(faults) <= len(response.context["faults"])
    for fault, said in zip(faults, response.context["faults"], strict=False):
        assert said.startswith(fault)
    assert not folder.exists()


def test_an_upload_without_a_file_says_so(desk):
    response = desk.post(f"{LIST}upload/", {})
    assert response.context["faults"] == ["Choose a file first. It must not be empty."]


# From the builder and back


def test_the_builder_saves_leads_to_the_form_and_back(desk):
    desk.post(reverse("research-new-study"), {"begin": "minimal"})
    draft = StudyDraft.objects.get()
    chat = reverse("research-draft-section", args=[draft.pk, "chat"])
    page = desk.get(chat)
    assert page.content.decode().count('name="make"') == 1
    consent = desk.get(reverse("research-draft-section", args=[draft.pk, "consent"]))
    assert 'name="make"' not in consent.content.decode()

    given = {"seen": page.context["seen"], "chat.max_turns": "12", "make": "questionnaire"}
    sent = desk.post(chat, given)
    draft.refresh_from_db()
    assert "max_turns = 12" in draft.text
    form = desk.get(sent["Location"])
    assert form.context["back"] == chat
    assert form.context["form"]["kind"].value() == "rating_scale"
    saved = desk.post(NEW, filled(back=chat), follow=True)
    assert f'href="{chat}">Back to the draft' in saved.content.decode()


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example/", "/research/drafts/1/../../x", "/admin/"])
def test_no_one_is_led_elsewhere(desk, back):
    assert desk.get(NEW, {"back": back}).context["back"] == ""
    assert "?" not in desk.post(NEW, filled(back=back))["Location"]


# Who may


def account(name, **more):
    client = Client()
    client.force_login(User.objects.create(username=name, is_staff=True, **more))
    return client


@pytest.mark.parametrize("role", ["admin", "researcher", "reader", "reviewer", ""])
def test_whoever_may_set_up_studies_may_make_questionnaires(study, role):
    client = account("eve")
    if role:
        Membership.objects.create(study=study, user=User.objects.get(username="eve"), role=role)
    may = role in ("admin", "researcher")
    assert client.get(LIST).status_code == (200 if may else 403)
    assert client.post(NEW, filled()).status_code == (302 if may else 403)
    assert ("evening_calm" in instrument_ids()) == may
    entry = AuditEntry.objects.get(thing="questionnaire")
    assert (entry.act, entry.by_name) == ("changed" if may else "refused", "eve")


def test_names_of_others_studies_are_only_counted(desk, study):
    make(desk)
    other = factories.study(key="other")
    draft_with("evening_calm", study=study)
    draft_with("evening_calm", study=other)
    client = account("eve")
    Membership.objects.create(study=other, user=User.objects.get(username="eve"), role="researcher")
    [line] = client.get(LIST).context["own"]
    assert (len(line.uses.drafts), line.uses.others) == (1, 1)
    assert "1 of colleagues" in client.get(LIST).content.decode()


def test_each_act_is_in_the_audit_log(desk):
    make(desk)
    desk.post(f"{LIST}evening_calm/edit/", filled(title_en="Calm", version="1"))
    desk.post(f"{LIST}evening_calm/remove/")
    upload(desk, {**written(), "id": "our_five"})
    entries = AuditEntry.objects.filter(thing="questionnaire").order_by("number")
    assert [(entry.source, entry.code, entry.by_name) for entry in entries] == [
        ("research-questionnaire-new", "evening_calm", "ada"),
        ("research-questionnaire-edit", "evening_calm", "ada"),
        ("research-questionnaire-remove", "evening_calm", "ada"),
        ("research-questionnaire-upload", "our_five", "ada"),
    ]
