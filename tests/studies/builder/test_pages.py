"""The pages of the builder: a study is set up, checked, loaded, changed and loaded again without touching a file."""

import json
import tomllib
from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import translation

from studies.builder.document import StudyDocument
from studies.builder.drafts import check_draft, load_draft
from studies.builder.sections import get_sections
from studies.design.reading import INSTRUMENTS
from studies.design.spec import RolePlaySpec
from studies.life.stages import freeze_version
from studies.models import Amendment, Participation, Study, StudyDraft
from studies.setup.storage import load_spec
from tests import factories
from tests.amounts import choose
from tests.factories import person

pytestmark = pytest.mark.django_db


def start_draft(desk, value="demo", **more):
    desk.post(reverse("research-new-study"), {"begin": value, **more})
    return StudyDraft.objects.latest("pk")


def address(draft, slug="", number=None):
    if number is not None:
        return reverse("research-draft-row", args=[draft.pk, slug, number])
    return (
        reverse("research-draft-section", args=[draft.pk, slug]) if slug else reverse("research-draft", args=[draft.pk])
    )


def posted(page):
    """What a browser would send back of the page's form if no one changed anything."""
    found = {}
    for one in page.context["fields"]:
        if one.kind == "truth":
            found |= {one.name: "yes"} if one.is_ticked else {}
        elif one.kind in ("choice", "several"):
            found[one.name] = [choice.value for choice in one.choices if choice.is_chosen]
        else:
            found |= {part.name: part.value for part in one.parts}
            found |= {f"{one.name}.none": "yes"} if one.is_none else {}
    return {**found, "seen": page.context["seen"]}


def rows_seen(desk, draft, slug):
    """What the page of a list would send back with a press of one of its buttons."""
    return (desk.get(address(draft, slug)).context or {}).get("seen", "")


def faults_of(page):
    return {each.place: (each.address, each.message) for _section, faults in page.context["groups"] for each in faults}


def values(draft):
    draft.refresh_from_db()
    return tomllib.loads(draft.text)


def test_page_offers_templates_studies_and_drafts(desk, study):
    draft = start_draft(desk)
    page = desk.get(reverse("research-new-study"))
    assert [one.value for one in page.context["templates"]] == ["minimal", "emoharbor", "worst_case_experts", "demo"]
    assert [one.value for one in page.context["copies"]] == [f"copy:{study.key}"]
    assert page.context["drafts"] == [("my_demo", draft)]


@pytest.mark.parametrize("name", ["minimal", "emoharbor", "worst_case_experts", "demo"])
def test_every_page_of_every_template_opens_and_saves_without_a_change(desk, name):
    draft = start_draft(desk, name)
    before = draft.text
    for section in desk.get(address(draft)).context["sections"]:
        page = desk.get(address(draft, section[0].slug))
        assert page.status_code == 200
        pages = [page] if "fields" in page.context else []
        pages += [desk.get(address(draft, section[0].slug, row.number)) for row in page.context.get("rows") or ()]
        for shown in pages:
            assert desk.post(shown.request["PATH_INFO"], posted(shown)).status_code == 302
    draft.refresh_from_db()
    assert (draft.text, draft.revision) == (before, 1)


def test_study_is_set_up_and_loaded_without_a_file(desk):
    draft = start_draft(desk)
    for slug, changes in {
        "basics": {"key": "lab_study", "title.en": "Talks", "title.zh": "谈话", "gone_after_days": "14"},
        "chat": {"chat.min_turns": "3", "chat.checkpoints": "2"},
        "order": {"order.arms_per_person": "2"},
    }.items():
        page = desk.get(address(draft, slug))
        assert desk.post(address(draft, slug), {**posted(page), **changes}).status_code == 302

    asked = desk.get(reverse("research-draft-load", args=[draft.pk]))
    assert asked.context["effect"] == "created"
    assert not Study.objects.filter(key="lab_study").exists()

    told = desk.post(reverse("research-draft-load", args=[draft.pk]), follow=True)

    assert "The study is loaded, version 1." in told.content.decode()
    spec = Study.objects.get(key="lab_study").current().spec()
    assert (spec.chat.min_turns, spec.chat.checkpoints, spec.order.arms_per_person) == (3, (2,), 2)
    assert (dict(spec.title), spec.gone_after_days) == ({"en": "Talks", "zh": "谈话"}, 14)


def fill_consent(desk, draft):
    page = desk.get(address(draft, "consent"))
    given = posted(page)
    for one in page.context["fields"]:
        if one.faults and one.may_be_none:
            given[f"{one.name}.none"] = "yes"
        elif one.faults:
            given |= {part.name: "lab@example.org" if one.key == "contact_email" else "7" for part in one.parts}
    desk.post(address(draft, "consent"), given)


def test_consent_values_stand_beside_their_sentences(desk):
    page = desk.get(address(start_draft(desk, "emoharbor"), "consent"))
    sentences = {one.key: one.meaning for one in page.context["fields"]}
    assert sentences["duration_total"] == "It takes about ＿＿＿."
    assert sentences["pi_name"] == "Principal investigator: ＿＿＿."
    assert "n_arms" not in sentences
    none = {one.key for one in page.context["fields"] if one.may_be_none}
    assert "funder" in none
    assert "pi_name" not in none


def test_there_is_none_is_an_empty_text_and_no_fault(desk):
    draft = start_draft(desk, "emoharbor")
    page = desk.get(address(draft, "consent"))
    desk.post(address(draft, "consent"), {**posted(page), "consent.funder.none": "yes"})
    assert values(draft)["consent"]["funder"] == ""
    again = {one.key: one for one in desk.get(address(draft, "consent")).context["fields"]}
    assert (again["funder"].is_none, again["funder"].faults) == (True, ())


def test_faults_that_most_drafts_have_are_told_in_the_language_of_the_page(desk):
    draft = start_draft(desk, "emoharbor")
    with translation.override("zh-hans"):
        faults = check_draft(draft).faults
    assert faults["contact"] == ["缺失"]
    assert faults["consent.pi_name"] == ["尚未填写，而知情同意书需要这一项"]
    assert '""' not in faults["consent.funder"][0]


def test_faults_lead_to_their_fields(desk):
    draft = start_draft(desk)
    arm = desk.get(address(draft, "arms", 1))
    desk.post(address(draft, "arms", 1), {**posted(arm), "arms[2].temperature": "warm", "arms[2].kind": ""})
    faults = faults_of(desk.get(address(draft)))
    where, said = faults["arms[2].temperature"]
    assert said == "must be a number"
    assert where == f"{address(draft, 'arms', 1)}#arms[2].temperature"
    shown = {one.key: one for one in desk.get(where.partition("#")[0]).context["fields"]}
    assert (shown["temperature"].value, shown["temperature"].faults) == ("warm", ("must be a number",))
    assert shown["kind"].faults == ("is missing",)


def test_unreadable_parameters_come_again_as_typed_and_the_rest_is_saved(desk):
    draft = start_draft(desk)
    page = desk.get(address(draft, "arms", 0))
    again = desk.post(address(draft, "arms", 0), {**posted(page), "arms[1].extra": "top_p: 1", "arms[1].group": "open"})
    assert again.status_code == 400
    extra = next(one for one in again.context["fields"] if one.key == "extra")
    assert extra.parts[0].value == "top_p: 1"
    assert extra.faults[0].startswith("Write one line for each parameter")
    (said,) = map(str, again.context["messages"])
    assert said.startswith(f"Not saved: {extra.short_title} (extra). Correct the marked fields below")
    assert "arms[1]" not in said
    assert "not all is saved" in again.content.decode()
    arm = values(draft)["arms"][0]
    assert (arm["group"], arm.get("extra")) == ("open", None)


def test_opening_is_written_in_each_language(desk):
    draft = start_draft(desk)
    page = desk.get(address(draft, "chat"))
    typed = {"chat.opening.en": "Hello, what brings you here today?", "chat.opening.zh": "您好，今天想聊什么？"}
    desk.post(address(draft, "chat"), {**posted(page), **typed})
    assert values(draft)["chat"]["opening"] == {"en": typed["chat.opening.en"], "zh": typed["chat.opening.zh"]}
    assert check_draft(draft).faults == {}


def test_companies_that_nothing_uses_are_remarked_before_loading(desk):
    draft = start_draft(desk)
    fill_consent(desk, draft)
    draft.refresh_from_db()
    document = StudyDocument(draft.text)
    given = document.get(("consent", "providers")) or []
    document.set(("consent", "providers"), [*given, "Nobody Inc."])
    StudyDraft.objects.filter(pk=draft.pk).update(text=document.text)
    page = desk.get(reverse("research-draft-load", args=[draft.pk]))
    assert "Nobody Inc." in page.context["remarks"][0]
    assert page.context["remarks"][0] in page.content.decode()


def test_provider_fills_in_what_its_models_have_in_common(desk):
    draft = start_draft(desk)
    desk.post(
        reverse("research-draft-rows", args=[draft.pk, "arms"]),
        {"act": "add", "preset": "openai", "seen": rows_seen(desk, draft, "arms")},
    )
    assert values(draft)["arms"][-1] == {
        "kind": "openai_compatible",
        "base_url": "https://api.openai.com/v1",
        "model": "gpt-4o",
        "api_key_env": "OPENAI_API_KEY",
        "provider": "OpenAI",
    }


def rows(desk, draft, act, slug="arms"):
    draft.refresh_from_db()
    sent = {"act": act, "seen": rows_seen(desk, draft, slug)}
    return desk.post(reverse("research-draft-rows", args=[draft.pk, slug]), sent)


def test_arms_are_copied_moved_and_removed(desk):
    draft = start_draft(desk)
    keys = [arm["key"] for arm in values(draft)["arms"]]
    rows(desk, draft, "copy:0")
    rows(desk, draft, "down:0")
    rows(desk, draft, "remove:2")
    first, second, _third, *rest = keys
    assert [arm["key"] for arm in values(draft)["arms"]] == [second, first, *rest, f"{first}_copy"]


def test_table_is_moved_to_where_it_was_dropped(desk):
    draft = start_draft(desk)
    address_of_rows = reverse("research-draft-rows", args=[draft.pk, "arms"])
    keys = [arm["key"] for arm in values(draft)["arms"]]

    def drop(number, place):
        draft.refresh_from_db()
        seen = rows_seen(desk, draft, "arms")
        return desk.post(address_of_rows, {"act": f"to:{number}", "place": place, "seen": seen})

    drop(0, len(keys) - 1)
    assert [arm["key"] for arm in values(draft)["arms"]] == [*keys[1:], keys[0]]
    drop(len(keys) - 1, 0)
    assert [arm["key"] for arm in values(draft)["arms"]] == keys
    for place in (len(keys), -1, "", "x"):
        assert drop(0, place).status_code == 404
    assert [arm["key"] for arm in values(draft)["arms"]] == keys


def test_steps_are_named_as_people_know_them(desk):
    page = desk.get(address(start_draft(desk, "emoharbor"), "steps"))
    assert [(row.name, row.about) for row in page.context["rows"]][:3] == [
        ("Questionnaire", "Eligibility screening"),
        ("Questionnaire", "About you"),
        ("Consent", ""),
    ]


def test_change_can_be_undone_to_the_beginning(desk):
    draft = start_draft(desk)
    before = draft.text
    rows(desk, draft, "remove:0")
    rows(desk, draft, "up:1", "steps")
    for _number in range(2):
        desk.post(reverse("research-draft-undo", args=[draft.pk]))
    draft.refresh_from_db()
    assert draft.text == before
    told = desk.post(reverse("research-draft-undo", args=[draft.pk]), follow=True)
    assert "There is nothing to undo." in told.content.decode()


def test_change_of_another_section_meanwhile_is_no_conflict(desk):
    draft = start_draft(desk)
    page = desk.get(address(draft, "chat"))
    rows(desk, draft, "remove:0")
    desk.post(address(draft, "chat"), {**posted(page), "chat.min_turns": "7"})
    assert values(draft)["chat"]["min_turns"] == 7


def test_change_of_the_same_section_meanwhile_shows_both(desk):
    draft = start_draft(desk)
    page = desk.get(address(draft, "chat"))
    desk.post(address(draft, "chat"), {**posted(page), "chat.min_turns": "4", "chat.max_turns": "44"})

    told = desk.post(address(draft, "chat"), {**posted(page), "chat.min_turns": "7", "chat.opening.en": "Hello."})

    assert (told.status_code, values(draft)["chat"]["min_turns"]) == (409, 4)
    assert "this section was changed elsewhere while you were writing" in told.content.decode()
    shown = {one.key: one for one in told.context["fields"]}
    assert (shown["min_turns"].value, [part.value for part in shown["min_turns"].meanwhile]) == (7, ["4"])
    assert (shown["max_turns"].value, shown["max_turns"].meanwhile) == (44, ())  # not touched here: as it is saved
    assert [part.value for part in shown["opening"].parts] == ["Hello.", ""]
    assert shown["opening"].meanwhile == ()  # no one else changed it

    desk.post(address(draft, "chat"), posted(told))
    chat = values(draft)["chat"]
    assert (chat["min_turns"], chat["max_turns"], chat["opening"]["en"]) == (7, 44, "Hello.")


def test_text_typed_into_a_field_that_is_gone_is_shown(desk):
    draft = start_draft(desk, "emoharbor")
    page = desk.get(address(draft, "consent"))
    values_now = StudyDocument(draft.text)
    values_now.set(("consent", "instrument"), None)
    StudyDraft.objects.update(text=values_now.text)
    told = desk.post(address(draft, "consent"), {**posted(page), "consent.pi_name.en": "Ada Byron"})
    assert ("consent.pi_name.en", "Ada Byron") in [(part.name, part.value) for part in told.context["lost"]]
    assert "Ada Byron" in told.content.decode()


def test_text_in_a_language_that_was_added_meanwhile_stays(desk):
    draft = start_draft(desk, "minimal")
    document = StudyDocument(draft.text)
    document.set(("languages",), ["en"])
    document.set(("consent", "pi_name"), {"en": "Ada", "zh": "艾达"})
    StudyDraft.objects.update(text=document.text)
    page = desk.get(address(draft, "consent"))
    document.set(("languages",), ["en", "zh"])
    StudyDraft.objects.update(text=document.text)
    desk.post(address(draft, "consent"), {**posted(page), "consent.pi_name.en": "Ada Byron"})
    assert values(draft)["consent"]["pi_name"] == {"en": "Ada Byron", "zh": "艾达"}


def test_buttons_of_an_older_list_change_nothing(desk):
    draft = start_draft(desk)
    sent = {"act": "remove:0", "seen": rows_seen(desk, draft, "arms")}
    place = reverse("research-draft-rows", args=[draft.pk, "arms"])
    desk.post(place, sent)
    keys = [arm["key"] for arm in values(draft)["arms"]]
    told = desk.post(place, sent, follow=True)
    assert "this list was changed elsewhere" in told.content.decode()
    assert [arm["key"] for arm in values(draft)["arms"]] == keys


def test_text_and_sections_are_two_views_of_one_draft(desk):
    draft = start_draft(desk)
    where = reverse("research-draft-text", args=[draft.pk])
    text = desk.get(where).context["text"].replace("min_turns = 10", "min_turns = 6  # ours")
    desk.post(where, {"text": text})
    page = desk.get(address(draft, "chat"))
    assert next(one for one in page.context["fields"] if one.key == "min_turns").value == 6
    desk.post(address(draft, "chat"), {**posted(page), "chat.max_turns": "12"})
    assert "min_turns = 6  # ours" in desk.get(where).context["text"]


def test_text_that_is_no_toml_is_shown_again_and_not_stored(desk):
    draft = start_draft(desk)
    again = desk.post(reverse("research-draft-text", args=[draft.pk]), {"text": "key = \n"})
    assert again.status_code == 400
    assert again.context["text"] == "key = \n"
    assert "line 1" in again.context["unsaved"][0]
    assert StudyDraft.objects.get(pk=draft.pk).text == draft.text


def test_uploaded_file_keeps_its_comments_and_says_what_is_wrong(desk):
    file = SimpleUploadedFile("s.toml", b'# Ours.\nkey = "up"\nlanguage = "en"\n')
    draft = start_draft(desk, "upload", file=file)
    assert draft.text.startswith("# Ours.\n")
    assert {"language", "title", "consent"} <= set(faults_of(desk.get(address(draft))))


@pytest.mark.parametrize("content", [b"key = ", b"\xff\xfe", b'a = "' + b"x" * 1_000_001 + b'"'])
def test_upload_that_cannot_be_read_makes_no_draft(desk, content):
    page = desk.post(reverse("research-new-study"), {"begin": "upload", "file": SimpleUploadedFile("s.toml", content)})
    assert (page.status_code, StudyDraft.objects.count()) == (400, 0)
    assert page.context["faults"][0].startswith("s.toml is not a study file that can be read.")
    assert len(page.context["faults"]) == 2


def test_questionnaire_among_the_study_files_is_sent_to_its_own_page(desk):
    file = SimpleUploadedFile("sleep.json", b'{"schema": "instrument/1"}')
    page = desk.post(reverse("research-new-study"), {"begin": "upload", "file": file})
    assert page.context["faults"][-1] == "If this is the file of a questionnaire, upload it under Questionnaires."


@pytest.mark.parametrize("value", ["", "copy:nothing", "../demo"])
def test_unknown_beginning_makes_no_draft(desk, value):
    page = desk.post(reverse("research-new-study"), {"begin": value})
    assert (page.status_code, StudyDraft.objects.count()) == (400, 0)
    assert page.context["faults"] == ["Choose what to begin with."]


def test_upload_without_a_file_says_so(desk):
    page = desk.post(reverse("research-new-study"), {"begin": "upload"})
    assert page.context["faults"] == ["Choose a study file first. It must not be empty."]


def test_studies_lead_to_drafts_that_are_not_loaded(desk):
    assert "not loaded yet" not in desk.get(reverse("research-studies")).content.decode()
    start_draft(desk)
    assert "Continue with 1 draft that is not loaded yet" in desk.get(reverse("research-studies")).content.decode()


def test_prompt_of_ones_own_is_written_and_used(desk):
    draft = start_draft(desk)
    beside = reverse("research-draft-beside", args=[draft.pk])
    desk.post(beside, {"name": "warm.txt", "text": "Be warm. {profile}"})
    arm = desk.get(address(draft, "arms", 0))
    desk.post(address(draft, "arms", 0), {**posted(arm), "arms[1].prompt": "warm.txt"})
    fill_consent(desk, draft)
    desk.post(reverse("research-draft-load", args=[draft.pk]))
    [first, *_others] = Study.objects.get(key="my_demo").current().spec().arms
    assert first.prompt_text == {"": "Be warm. {profile}"}

    copied = start_draft(desk, "copy:my_demo")
    assert copied.files == {"warm.txt": "Be warm. {profile}"}
    desk.post(beside, {"name": "warm.txt", "act": "remove"})
    assert StudyDraft.objects.get(pk=draft.pk).files == {}


@pytest.mark.parametrize("name", ["../x.txt", "/etc/x.txt", "a/b/c.txt", "x.toml", "", "a" * 200 + ".txt", "x .txt"])
def test_file_of_another_name_is_refused(desk, name):
    draft = start_draft(desk)
    told = desk.post(reverse("research-draft-beside", args=[draft.pk]), {"name": name, "text": "x"}, follow=True)
    assert "A file needs a name" in told.content.decode()
    assert StudyDraft.objects.get(pk=draft.pk).files == {}


def test_design_is_edited_in_the_draft_that_it_was_loaded_from(desk):
    draft = start_draft(desk)
    fill_consent(desk, draft)
    desk.post(reverse("research-draft-load", args=[draft.pk]))
    edit = reverse("research-edit-design", args=["my_demo"])
    assert desk.post(edit)["Location"] == address(draft)

    study = Study.objects.get(key="my_demo")
    person(study)
    page = desk.get(address(draft, "chat"))
    desk.post(address(draft, "chat"), {**posted(page), "chat.min_turns": "5"})
    asked = desk.get(reverse("research-draft-load", args=[draft.pk]))
    assert asked.context["effect"] == "new version"
    desk.post(reverse("research-draft-load", args=[draft.pk]))
    assert [one.spec().chat.min_turns for one in study.protocols.order_by("version")] == [10, 5]
    assert Participation.objects.get().protocol.version == 1


def test_draft_of_an_opened_study_asks_why_and_shows_what_changes(desk):
    draft = start_draft(desk)
    fill_consent(desk, draft)
    load = reverse("research-draft-load", args=[draft.pk])
    desk.post(load)
    study = Study.objects.get(key="my_demo")
    Study.objects.update(stage="open")
    freeze_version(study.current())
    page = desk.get(address(draft, "chat"))
    desk.post(address(draft, "chat"), {**posted(page), "chat.min_turns": "5"})
    asked = desk.get(load).content.decode()
    assert "<code>min_turns = 10</code>" in asked
    assert "<code>min_turns = 5</code>" in asked
    assert desk.post(load, {"reason": " "}).status_code == 422
    assert study.protocols.count() == 1
    messages_after(desk, draft, "basics", languages=["zh"])
    reader = factories.person(study, language="en")
    reader.consents.create(instrument="consent_template", version="1", text_hash="x", language="en", boxes={})
    refused = desk.post(load, {"reason": "Ten turns tire people.", "asks_again": "on"})
    assert "would be asked for their consent in a language that is not theirs" in refused.content.decode()
    Participation.objects.update(language="zh")
    desk.post(load, {"reason": "Ten turns tire people.", "asks_again": "on"})
    kept = Amendment.objects.get()
    assert (kept.number, kept.reason, kept.asks_again, kept.by_name) == (1, "Ten turns tire people.", True, "ada")


def test_design_that_came_from_a_file_gets_a_draft(desk, study):
    desk.post(reverse("research-edit-design", args=[study.key]))
    draft = StudyDraft.objects.get()
    assert draft.study == study
    page = desk.get(reverse("research-draft-load", args=[draft.pk]))
    assert page.context["effect"] == "unchanged"


def test_copy_brings_the_role_cards_that_came_from_a_file_or_were_changed(desk, study, tmp_path):
    demo = json.loads((INSTRUMENTS / "seeker_profiles_demo.json").read_text(encoding="utf-8"))
    own = {**demo["profiles"][0], "id": "own01"}
    (tmp_path / "ours.json").write_text(json.dumps({"profiles": [own]}), encoding="utf-8")
    cards = RolePlaySpec(("seeker_profiles_demo", "ours"))
    source = load_spec(replace(factories.demo_spec(), key="acting", role_play=cards), folder=tmp_path).protocol.study

    draft = start_draft(desk, "copy:acting")
    assert check_draft(draft).spec.role_play.cards == ("seeker_profiles_demo", "ours")
    loaded = load_draft(draft).protocol.study
    assert content_of(loaded) == content_of(source)

    desk.post(reverse("research-edit-design", args=["acting"]))
    edited = source.drafts.get()
    assert (check_draft(edited).spec.role_play.cards, list(edited.files)) == (cards.cards, ["ours.json"])

    source.cards.filter(key="own01").update(intensities={"resistance": 3})
    changed = source.cards.exclude(key="own01").first()
    source.cards.filter(pk=changed.pk).update(language="en" if changed.language == "zh" else "zh")
    second = start_draft(desk, "copy:acting")
    assert (check_draft(second).spec.role_play.cards, list(second.files)) == (("ours",), ["ours.json"])
    again = StudyDocument(second.text)
    again.set(("key",), "acting_again")
    second.text = again.text
    assert content_of(load_draft(second).protocol.study) == content_of(source)


def content_of(study):
    """Return the role cards of a study by key, without behaviours that do not show."""
    return {
        card.key: (card.language, card.profile, {key: shown for key, shown in card.intensities.items() if shown})
        for card in study.cards.all()
    }


def test_draft_with_the_key_of_another_study_is_warned_of(desk, study):
    draft = start_draft(desk, f"copy:{study.key}")
    page = desk.get(address(draft, "basics"))
    desk.post(address(draft, "basics"), {**posted(page), "key": study.key, "gone_after_days": "3"})
    asked = desk.get(reverse("research-draft-load", args=[draft.pk]))
    assert asked.context["is_own"] is False
    assert "belongs to a study that this draft does not come from" in asked.content.decode()


def test_removed_draft_leaves_its_study(desk, study):
    desk.post(reverse("research-edit-design", args=[study.key]))
    remove = reverse("research-draft-remove", args=[StudyDraft.objects.get().pk])
    assert desk.get(remove).status_code == 200
    assert StudyDraft.objects.count() == 1
    desk.post(remove)
    assert (StudyDraft.objects.count(), Study.objects.filter(pk=study.pk).count()) == (0, 1)


def test_download_is_the_file_under_a_plain_name(desk):
    draft = start_draft(desk)
    draft.text = draft.text.replace('key = "my_demo"', 'key = "a\\"; b"')
    draft.save()
    answer = desk.get(reverse("research-draft-file", args=[draft.pk]))
    assert answer.content.decode() == draft.text
    assert answer["Content-Disposition"] == 'attachment; filename="ab.toml"'


def test_section_that_is_emptied_goes(desk):
    draft = start_draft(desk)
    page = desk.get(address(draft, "safety.second_line"))
    desk.post(address(draft, "safety.second_line"), {**posted(page), "safety.second_line.kind": "scripted"})
    assert values(draft)["safety"]["second_line"] == {"kind": "scripted"}
    page = desk.get(address(draft, "safety.second_line"))
    desk.post(address(draft, "safety.second_line"), {**posted(page), "safety.second_line.kind": ""})
    assert "second_line" not in values(draft).get("safety", {})


@pytest.mark.parametrize("slug", ["nothing", "steps.kind", "line 3"])
def test_unknown_section_is_not_found(desk, slug):
    assert desk.get(address(start_draft(desk), slug)).status_code == 404


def test_row_that_is_not_there_is_not_found(desk):
    draft = start_draft(desk)
    assert desk.get(address(draft, "arms", 99)).status_code == 404
    assert rows(desk, draft, "remove:99").status_code == 404
    assert rows(desk, draft, "remove:-1").status_code == 404


def test_what_was_typed_into_a_row_that_someone_removed_is_shown_beside_the_list(desk):
    draft = start_draft(desk)
    last = len(values(draft)["arms"]) - 1
    page = desk.get(address(draft, "arms", last))
    rows(desk, draft, f"remove:{last}")

    told = desk.post(address(draft, "arms", last), {**posted(page), f"arms[{last + 1}].title": "Typed for long"})

    assert told.status_code == 409
    assert "this entry was removed elsewhere" in told.content.decode()
    assert (f"arms[{last + 1}].title", "Typed for long") in [(part.name, part.value) for part in told.context["lost"]]
    assert len(values(draft)["arms"]) == last


def test_strangers_see_no_draft(desk):
    draft = start_draft(desk)
    for where in (address(draft), reverse("research-new-study"), address(draft, "arms")):
        assert Client().get(where).status_code == 302
        assert "/sign-in/" in Client().get(where)["Location"]


# Files of wrong kinds of values, under the pages of every section; in short each under one page of three.
BREAKING = (
    "",
    'arms = "a"\nchat = 3\nsteps = {kind = "x"}\n',
    "arms = [1, 2]\nsteps = [[]]\n",
    'arms = [{key = "a"}, 7]\nlanguages = [["en"], 1]\ntitle = 5\n',
    'languages = "en"\nkey = []\n[consent]\ninstrument = ["x"]\nflags = 3\n[prompts]\njudge = {a = 1}\n',
    'chat.min_turns = "x"\nsafety.oncall = "no one"\nsafety.second_line = []\nprompts = "p"\n',
    '[[steps]]\nkind = 3\ninstrument = ["a"]\n[[steps]]\n[[arms]]\nextra = "x"\ntitle = [1]\n',
)


@pytest.mark.parametrize("number", range(len(BREAKING)))
def test_no_file_breaks_a_page(desk, number):
    draft = start_draft(desk)
    step = choose(usual=3, full=1)
    for section in list(get_sections())[number % step :: step]:
        draft.text, draft.revision = BREAKING[number], 1
        draft.save()
        page = desk.get(address(draft, section.slug))
        assert page.status_code in (200, 302)
        if page.status_code == 200 and "fields" in page.context:
            assert desk.post(address(draft, section.slug), posted(page)).status_code in (302, 400)
        for act in ("add", "up:0", "down:0", "copy:0", "remove:0"):
            assert rows(desk, draft, act, section.slug).status_code in (302, 404)
        assert desk.get(address(draft, section.slug, 0)).status_code in (200, 302, 404)
    assert desk.get(address(draft)).status_code == 200


def test_day_of_retention_that_is_over_is_a_fault_of_its_field(desk):
    draft = start_draft(desk)
    page = desk.get(address(draft, "retention"))
    desk.post(address(draft, "retention"), {**posted(page), "retention.keep_until": "2020-12-31"})
    faults = faults_of(desk.get(address(draft)))
    assert faults["retention.keep_until"][1].startswith("is over already")
    assert desk.post(reverse("research-draft-load", args=[draft.pk])).status_code == 302
    assert not Study.objects.filter(key="my_demo").exists()


def shuffle(value):
    """The value as a database may give it back: with the keys of its tables in another order."""
    if isinstance(value, dict):
        return {key: shuffle(value[key]) for key in sorted(value, key=lambda key: (len(key), key), reverse=True)}
    return [shuffle(member) for member in value] if isinstance(value, list) else value


def test_one_changed_number_is_one_changed_line(desk):
    study = load_spec(replace(factories.demo_spec(), key="lab_study")).protocol.study
    desk.post(reverse("research-edit-design", args=[study.key]))
    draft = StudyDraft.objects.latest("pk")
    page = desk.get(address(draft, "chat"))
    desk.post(address(draft, "chat"), {**posted(page), "chat.max_turns": "41"})
    protocol = study.current()
    protocol.design = shuffle(protocol.design)
    protocol.save()

    lines = desk.get(reverse("research-draft-load", args=[draft.pk])).context["lines"]

    changed = [(line.before, line.after) for line in lines if line.kind not in ("same", "gap")]
    assert changed == [(f"max_turns = {factories.demo_spec().chat.max_turns}", "max_turns = 41")]


SECRET = "sk-proj-0123456789abcdef"


def all_versions(draft):
    draft.refresh_from_db()
    return json.dumps([draft.text, draft.files, draft.earlier])


@pytest.mark.parametrize(
    ("slug", "number", "name"),
    [
        ("arms", 0, "arms[1].api_key_env"),
        ("seeker", None, "seeker.api_key_env"),
        ("safety.second_line", None, "safety.second_line.api_key_env"),
    ],
)
def test_key_in_the_place_of_a_variable_is_neither_stored_nor_shown(desk, slug, number, name):
    draft = start_draft(desk)
    page = desk.get(address(draft, slug, number))
    told = desk.post(address(draft, slug, number), {**posted(page), name: SECRET})
    assert told.status_code == 400
    (field,) = [one for one in told.context["fields"] if one.name == name]
    assert field.faults[-1].startswith("This is not the name of a variable")
    assert SECRET not in told.content.decode() + all_versions(draft)


def test_key_in_the_text_of_the_file_is_not_stored(desk):
    draft = start_draft(desk)
    document = StudyDocument(draft.text)
    document.set(("arms", 0, "api_key_env"), SECRET)
    told = desk.post(reverse("research-draft-text", args=[draft.pk]), {"text": document.text})
    assert told.status_code == 400
    assert told.context["unsaved"][0].startswith("arms[1].api_key_env: This is not the name of a variable")
    upload = SimpleUploadedFile("study.toml", document.text.encode())
    assert desk.post(reverse("research-new-study"), {"begin": "upload", "file": upload}).status_code == 400
    assert SECRET not in all_versions(draft)


def test_key_in_an_earlier_version_goes_with_the_next_change(desk):
    draft = start_draft(desk)
    document = StudyDocument(draft.text)
    document.set(("arms", 0, "api_key_env"), SECRET)
    draft.change(text=document.text)  # as drafts were stored before this was refused
    draft.save()
    page = desk.get(address(draft, "arms", 0))
    desk.post(address(draft, "arms", 0), {**posted(page), "arms[1].api_key_env": "OPENAI_API_KEY"})
    assert values(draft)["arms"][0]["api_key_env"] == "OPENAI_API_KEY"
    assert SECRET not in all_versions(draft)
    assert len(draft.earlier) == 2


def fill_arm(desk, draft, **arm):
    document = StudyDocument(draft.text)
    for key, value in arm.items():
        document.set(("arms", 0, key), value)
    StudyDraft.objects.update(text=document.text)


def choose_preset(desk, draft, preset, **typed):
    page = desk.get(address(draft, "arms", 0))
    sent = {**posted(page), **typed, "preset": preset}
    told = desk.post(address(draft, "arms", 0), sent, follow=True)
    return values(draft)["arms"][0], [str(message) for message in told.context["messages"]]


DEEPSEEK = {"title": "DeepSeek", "group": "open", "kind": "openai_compatible", "model": "deepseek-chat"}
AT_DEEPSEEK = {"base_url": "https://api.deepseek.com/v1", "api_key_env": "DEEPSEEK_API_KEY", "provider": "DeepSeek"}


def test_provider_takes_the_words_about_the_earlier_model_with_it(desk):
    draft = start_draft(desk)
    fill_arm(desk, draft, **DEEPSEEK, **AT_DEEPSEEK)
    arm, said = choose_preset(desk, draft, "openai")
    assert (arm["model"], arm["provider"], arm["api_key_env"]) == ("gpt-4o", "OpenAI", "OPENAI_API_KEY")
    assert not {"title", "group"} & arm.keys()
    assert "Removed, because it described the earlier model: its name for people, its group. " in " ".join(said)


@pytest.mark.parametrize(("preset", "left"), [("scripted", set()), ("vllm", {"model", "base_url", "provider"})])
def test_provider_leaves_no_setting_of_the_earlier_one(desk, preset, left):
    draft = start_draft(desk)
    fill_arm(desk, draft, **DEEPSEEK, **AT_DEEPSEEK)
    arm, _said = choose_preset(desk, draft, preset)
    assert {"model", "base_url", "api_key_env", "provider", "title", "group"} & arm.keys() == left
    assert "DeepSeek" not in json.dumps(arm)


def test_name_that_is_typed_with_the_provider_stays(desk):
    draft = start_draft(desk)
    fill_arm(desk, draft, **DEEPSEEK, **AT_DEEPSEEK)
    arm, said = choose_preset(desk, draft, "openai", **{"arms[1].title.en": "GPT-4o", "arms[1].title.zh": "GPT-4o"})
    assert arm["title"] == "GPT-4o"
    assert "its name for people" not in " ".join(said)


def two_languages(desk):
    """A draft in two languages whose consent form is not filled in."""
    draft = start_draft(desk, "emoharbor")
    assert values(draft)["languages"] == ["zh", "en"]
    return draft


def left_in_consent(draft):
    return {place: said for place, said in check_draft(draft).faults.items() if place.startswith("consent.")}


def test_text_in_one_of_two_languages_is_one_thing_to_do(desk):
    draft = two_languages(desk)
    before = left_in_consent(draft)
    assert before["consent.funder"] == ["is not filled in. Write it, or tick “There is none”."]
    assert before["consent.pi_name"] == ["is not filled in, and the consent form needs it"]
    page = desk.get(address(draft, "consent"))
    sent = {**posted(page), "consent.funder.en": "the Lab", "consent.pi_name.en": "Ada"}
    desk.post(address(draft, "consent"), sent)
    draft.refresh_from_db()
    after = left_in_consent(draft)
    assert sum(map(len, after.values())) == sum(map(len, before.values()))
    assert (after["consent.funder.zh"], after["consent.pi_name.zh"]) == (
        ["is missing in 简体中文"],
        ["is missing in 简体中文"],
    )
    assert not {"consent.funder", "consent.pi_name"} & after.keys()


def test_there_is_none_over_a_text_drops_nothing(desk):
    draft = two_languages(desk)
    page = desk.get(address(draft, "consent"))
    sent = {**posted(page), "consent.funder.en": "the Lab", "consent.funder.none": "yes", "consent.pi_name.en": "Ada"}
    told = desk.post(address(draft, "consent"), sent)
    assert told.status_code == 400
    shown = {one.key: one for one in told.context["fields"]}
    assert [part.value for part in shown["funder"].parts] == ["", "the Lab"]
    assert shown["funder"].faults[-1].startswith("“There is none” was ticked, but there is a text.")
    assert values(draft)["consent"]["pi_name"] == {"en": "Ada"}
    desk.post(address(draft, "consent"), posted(told))
    assert values(draft)["consent"]["funder"] == {"en": "the Lab"}


def messages_after(desk, draft, slug, **typed):
    page = desk.get(address(draft, slug))
    told = desk.post(address(draft, slug), {**posted(page), **typed}, follow=True)
    return [str(message) for message in told.context["messages"]]


def test_one_message_says_what_became_of_a_page(desk):
    draft = start_draft(desk)
    assert messages_after(desk, draft, "basics", **{"title.en": "Talks"}) == ["Saved."]
    assert messages_after(desk, draft, "basics") == ["Nothing has changed."]
    said = messages_after(desk, draft, "basics", contact="me")
    assert said == ["Saved as a draft. 1 field still has a mistake."]


def test_rota_makes_the_one_address_for_alarms_unnecessary(desk):
    draft = start_draft(desk)
    document = StudyDocument(draft.text)
    document.set(("oncall_email",), None)
    StudyDraft.objects.update(text=document.text)
    draft.refresh_from_db()
    assert check_draft(draft).faults["oncall_email"] == ["is missing"]
    document.set(("safety", "oncall"), [{"name": "Ada", "email": "ada@lab.university"}])
    StudyDraft.objects.update(text=document.text)
    draft.refresh_from_db()
    assert check_draft(draft).faults == {}
    document.set(("oncall_email",), "me")
    StudyDraft.objects.update(text=document.text)
    draft.refresh_from_db()
    assert list(check_draft(draft).faults) == ["oncall_email"]


def test_what_is_left_is_told_in_words_with_the_key_beside(desk):
    draft = start_draft(desk)
    document = StudyDocument(draft.text)
    document.set(("contact",), "me")
    document.set(("arms", 1, "base_url"), "nowhere")
    document.set(("title",), {"en": "Talks"})
    document.set(("consent", "pi_name"), {"en": "Ada"})
    StudyDraft.objects.update(text=document.text)
    page = desk.get(address(draft))
    labels = {each.place: each.label for _section, faults in page.context["groups"] for each in faults}
    key = document.get(("arms", 1, "key"))
    assert labels["contact"] == "The address for questions about the study"
    assert labels["arms[2].base_url"].startswith(f"{key} · ")
    assert labels["title.zh"] == "The title that people read · 简体中文"
    assert labels["consent.pi_name.zh"] == "Principal investigator: ＿＿＿ · 简体中文"
    assert '<code class="builder-field__key">arms[2].base_url</code>' in page.content.decode()


def test_boxes_have_words_with_the_key_beneath(desk):
    draft = start_draft(desk, "emoharbor")
    fields = {one.key: one for one in desk.get(address(draft, "basics")).context["fields"]}
    assert [choice.label for choice in fields["languages"].choices] == ["English", "简体中文"]
    flags = {one.key: one for one in desk.get(address(draft, "consent")).context["fields"]}["flags"].choices
    words = {choice.key: choice.label for choice in flags}
    assert words["if_profit"] == "About commercial profit from the data: …"
    assert words["if_cross_border"].startswith("I agree that my chat texts are sent to")
    assert "" not in words


def test_a_language_that_a_draft_gets_later_has_no_texts_until_they_are_translated(desk):
    draft = start_draft(desk, "minimal")
    desk.post(
        address(draft, "consent"),
        {**posted(desk.get(address(draft, "consent"))), "consent.pi_name": "Dr. Lee", "consent.min_age": "18"},
    )

    told = messages_after(desk, draft, "basics", languages=["en", "zh"])

    draft.refresh_from_db()
    lacking = [place for place in check_draft(draft).faults if place.endswith(".zh")]
    assert {"title.zh", "consent.pi_name.zh"} <= set(lacking)
    assert not {"consent.min_age.zh", "consent.contact_email.zh"} & set(lacking)
    assert told[-1] == f"{len(lacking)} texts are missing in 简体中文: the page “Draft” names each."
    [title] = [one for one in desk.get(address(draft, "basics")).context["fields"] if one.key == "title"]
    assert [part.value for part in title.parts] == ["A conversation", ""]
    outline = desk.get(address(draft)).content.decode()
    assert f'href="{address(draft, "basics")}#title"' in outline
    assert f'href="{address(draft, "consent")}#consent.pi_name"' in outline
    assert outline.count("is missing in 简体中文") == len(lacking)


def test_a_draft_that_changes_its_language_keeps_the_texts_of_the_earlier_one(desk):
    draft = start_draft(desk, "minimal")
    messages_after(desk, draft, "basics", languages=["zh"])
    [title] = [one for one in desk.get(address(draft, "basics")).context["fields"] if one.key == "title"]
    assert [part.value for part in title.parts] == [""]
    messages_after(desk, draft, "basics", languages=["en"])
    [title] = [one for one in desk.get(address(draft, "basics")).context["fields"] if one.key == "title"]
    assert [part.value for part in title.parts] == ["A conversation"]


def test_a_new_step_comes_before_the_debrief(desk):
    draft = start_draft(desk)
    rows = f"{address(draft, 'steps')}rows/"
    added = desk.post(rows, {"act": "add", "seen": rows_seen(desk, draft, "steps")})
    draft.refresh_from_db()
    kinds = [row["kind"] for row in StudyDocument(draft.text).get(("steps",))]
    assert kinds[-2:] == ["questionnaire", "debrief"]
    assert added["Location"] == address(draft, "steps", len(kinds) - 2)
