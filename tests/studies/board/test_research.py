"""The researchers' pages: who may see them, what they show, what they do."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dialogue.models import RiskEvent
from dialogue.models.conversation import Status as ConversationStatus
from studies.board.people import safety_questions
from studies.care.alarms import raise_alarm
from studies.data.holdings import HOLDINGS, Fate
from studies.design import spec, study_file
from studies.design.contrast_spec import ContrastSpec
from studies.design.spec import OrderSpec
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import load
from studies.models import Alarm, Consent, Participation, Task
from studies.participation.responses import rater_for, store_response
from studies.participation.step_kinds import KINDS
from studies.workbench import labels
from studies.workbench.labels import ORDERS, SELECTIONS, TOPICS
from tests import factories

pytestmark = pytest.mark.django_db

STUDY_PAGES = [
    *("study", "people", "conversations", "quality", "risks", "analysis", "export", "design", "tasks", "study-file")
]


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def researcher():
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


@pytest.fixture
def desk(researcher):
    client = Client()
    client.force_login(researcher)
    return client


def address(name, *args):
    return reverse(f"research-{name}", args=["demo", *args])


def in_review(study, **fields):
    return factories.person(study, status="in_review", **fields)


# Who may see them


@pytest.mark.parametrize("name", STUDY_PAGES)
def test_a_page_sends_strangers_to_the_sign_in(name, study):
    response = Client().get(address(name))

    assert response.status_code == 302
    assert response["Location"] == f"/research/sign-in/?next={address(name)}"


@pytest.mark.parametrize("name", STUDY_PAGES)
def test_a_page_refuses_who_is_no_researcher(name, study):
    client = Client()
    client.force_login(User.objects.create(username="eve"))

    assert client.get(address(name)).status_code == 403


@pytest.mark.parametrize("name", STUDY_PAGES)
def test_a_page_of_a_study_that_is_not_there_is_404(name, desk):
    assert desk.get(reverse(f"research-{name}", args=["nowhere"])).status_code == 404


@pytest.mark.parametrize("name", STUDY_PAGES)
def test_a_page_only_shows(name, desk, study):
    assert desk.get(address(name)).status_code == 200
    assert desk.post(address(name)).status_code == 405


@pytest.mark.parametrize(
    "path", ["demo/invite/", "demo/risks/1/release/", "demo/risks/1/end/", "demo/tasks/start/export/"]
)
def test_an_act_is_not_done_by_looking_nor_by_a_stranger(path, desk, study):
    assert desk.get(f"/research/{path}").status_code == 405
    assert Client().post(f"/research/{path}").status_code == 403
    assert not Participation.objects.exists()
    assert not Task.objects.exists()


def test_studies_are_hidden_from_strangers(study):
    assert Client().get("/research/")["Location"] == "/research/sign-in/?next=/research/"


def test_studies_tells_how_to_load_the_first_one(desk):
    assert "load_study fixtures/studies/demo.toml" in desk.get("/research/").content.decode()


def test_a_page_that_is_not_there_speaks_to_researchers(desk, study):
    said = "The study, person, conversation or file at this address is not here"
    gone = desk.get(address("person", "P2222222"))

    assert (gone.status_code, said in gone.content.decode()) == (404, True)
    stranger, person = Client().get("/research/demo/nothing/"), desk.get("/nothing/")
    for other in (stranger, person):
        assert (other.status_code, "Part of the link may be missing." in other.content.decode()) == (404, True)


# The language


@pytest.mark.parametrize("page", ["/research/", "/research/demo/people/?status=held"])
def test_a_page_can_be_read_in_the_other_language(page, desk, study):
    assert re.search(r'lang="zh-Hans"\s+type="submit">中文</button>', desk.get(page).content.decode())

    response = desk.post("/language/", {"language": "zh", "next": page})

    assert response["Location"] == page
    chinese = desk.get(page).content.decode()
    assert '<html lang="zh-Hans">' in chinese
    assert re.search(r'lang="en"\s+type="submit">English</button>', chinese)


def test_the_language_is_chosen_before_signing_in_and_outlives_signing_out(desk, study):
    client = Client()
    client.post("/language/", {"language": "zh", "next": "/research/sign-in/"})
    assert "登录" in client.get("/research/sign-in/").content.decode()
    client.force_login(User.objects.get())
    assert '<html lang="zh-Hans">' in client.get("/research/").content.decode()
    client.post("/research/sign-out/")
    assert '<html lang="zh-Hans">' in client.get("/research/sign-in/").content.decode()


def test_the_language_of_a_browser_that_walks_a_study_too_is_changed(desk, study):
    session = desk.session
    session["language"] = "zh"
    session.save()
    desk.post("/language/", {"language": "en", "next": "/research/"})
    assert '<html lang="en">' in desk.get("/research/").content.decode()


@pytest.mark.parametrize("sent", [{"language": "fr", "next": "//evil.example/"}, {}])
def test_odd_words_for_a_language_change_nothing(sent, desk, study):
    response = desk.post("/language/", sent)
    assert (response["Location"], "django_language" in response.cookies) == ("/research/", False)
    assert desk.get("/language/").status_code == 405


def test_after_a_form_the_language_leads_back_to_the_study(desk, study):
    page = desk.post(address("invite"), {"count": 0, "track": "participant"}).content.decode()
    assert f'<input type="hidden" name="next" value="{address("study")}">' in " ".join(page.split())


# Lists


def fill(study, count):
    for _ in range(count):
        run = factories.run_with_turns(study, factories.person(study))
        RiskEvent.objects.create(conversation=run.conversation, source="message", level=3)


@pytest.mark.parametrize("count", [1, 3])
# 8 of the conversations' are for the first entry of the audit log.
@pytest.mark.parametrize(("name", "queries"), [("people", 10), ("conversations", 24), ("risks", 16), ("study", 58)])
def test_a_list_asks_the_database_as_often_for_many_rows_as_for_one(
    name, queries, count, desk, study, django_assert_num_queries
):
    fill(study, count)

    with django_assert_num_queries(queries):
        desk.get(address(name))


@pytest.mark.parametrize("count", [1, 3])
def test_studies_asks_the_database_as_often_for_many_as_for_one(count, desk, django_assert_num_queries):
    for number in range(count):
        factories.study(f"study-{number}")

    with django_assert_num_queries(5):
        desk.get("/research/")


@pytest.mark.parametrize(("key", "warned"), [("demo", False), ("another", True)])
def test_every_study_but_the_demonstration_says_that_it_is_not_ready(key, warned, desk):
    factories.study(key)

    page = desk.get(f"/research/{key}/").content.decode()

    assert ("Not ready for real participants yet." in page) is warned


def test_overview_counts_people_steps_and_arms(desk, study):
    plan = [{"kind": "consent", "key": "consent"}, {"kind": "chat", "key": "run1.chat", "run": 1}]
    person = factories.person(study, plan=plan, position=1)
    factories.person(study, status="completed")
    run = factories.run_with_turns(study, person, status=ConversationStatus.OPEN)
    factories.add_turn(run.conversation, 3, text="Hello?", state="failed")

    shown = desk.get(address("study")).context

    assert {row.status: row.people for row in shown["statuses"] if row.people} == {"active": 1, "completed": 1}
    assert {stage.label: (stage.reached, stage.here) for stage in shown["funnel"].stages} == {
        "Invited or came by the open link": (2, 0), "Consent": (1, 0), "Conversation 1": (1, 1), "Completed": (1, 0)
    }  # fmt: skip
    amber = shown["arms"].rows[0].count
    assert (amber.arm, amber.runs, amber.closed, amber.turns, amber.failed) == ("amber", 1, 0, 2, 1)
    assert [row.key for row in shown["arms"].rows] == ["amber", "birch", "cedar", "delta", "ember"]
    assert shown["completed_percent"] == 50
    assert shown["stuck"].failed_turns == 1


def test_overview_tells_of_alarms_that_could_not_be_sent(desk, study):
    person = factories.person(study)
    event = RiskEvent.objects.create(subject=person.code, source="answer", level=4)
    [alarm] = raise_alarm(event)
    Alarm.objects.filter(pk=alarm.pk).update(fault={"code": "refused", "values": {}})

    shown = desk.get(address("study")).context["stuck"]

    assert (shown.unsent_alarms, shown.open_risks, bool(shown)) == (1, 1, True)


@pytest.mark.parametrize(("test", "count"), [("", 2), ("no", 1), ("yes", 1)])
def test_overview_parts_people_from_test_data(test, count, desk, study):
    factories.person(study)
    factories.person(study, is_test=True)

    assert desk.get(address("study"), {"test": test}).context["people"] == count


def test_invitations_show_each_link_once(desk, study):
    response = desk.post(address("invite"), {"count": 2, "track": "counsellor"}, follow=True)

    links = response.context["links"]
    assert [track for _code, track, _url in links] == ["counsellor"] * 2
    assert Participation.objects.filter(track="counsellor", status="invited").count() == 2
    path = links[0][2].removeprefix("http://testserver")
    assert Client().post(path)["Location"] == "/study/"
    assert path not in desk.get(address("study")).content.decode()


@pytest.mark.parametrize(("sent", "is_test"), [({}, False), ({"test": "on"}, True)])
def test_invitations_for_trying_out_are_test_data(sent, is_test, desk, study):
    assert desk.post(address("invite"), {"count": 1, "track": "participant", **sent}).status_code == 302
    assert Participation.objects.get().is_test is is_test


def test_only_test_links_are_offered_in_rehearsal_and_called_so(desk, study):
    assert desk.get(address("study")).context["form"].initial == {"test": False}
    type(study).objects.update(stage="rehearsal")
    page = desk.get(address("study"))
    assert page.context["form"].initial == {"test": True}
    assert "In rehearsal only test links can be made." in page.content.decode()
    sent = {"count": 1, "track": "participant", "test": "on"}
    made = desk.post(address("invite"), sent, follow=True).content.decode()
    assert "New test links" in made
    assert "These are test links" in made


def test_empty_list_of_people_says_how_to_invite(desk, study):
    page = desk.get(address("people")).content.decode()
    assert "<h2>No one yet</h2>" in page
    assert "Make links on the Board under Invite people" in page


def test_invitations_come_as_csv(desk, study):
    response = desk.post(address("invite"), {"count": 1, "track": "participant", "as": "csv"})

    header, row, end = response.content.decode().split("\r\n")
    assert header == "code,track,url"
    assert row.startswith(f"{Participation.objects.get().code},participant,http://testserver/j/")
    assert end == ""


@pytest.mark.parametrize("sent", [{"count": 0, "track": "participant"}, {"count": 1, "track": "king"}, {}])
def test_invitations_refuse_odd_values(sent, desk, study):
    assert desk.post(address("invite"), sent).status_code == 400
    assert not Participation.objects.exists()


# Design


def test_design_is_told_in_words(desk, study):
    page = desk.get(address("design"))

    spec = study.current().spec()
    assert [what for what, _instrument, _track in page.context["steps"]] == [
        KINDS[step.kind].label for step in spec.steps
    ]
    assert page.context["words"] == {
        "selection": SELECTIONS[spec.selection],
        "topic": TOPICS[spec.chat.topic],
        "order": ORDERS[spec.order.design],
        "strata": "",
    }


def test_design_lists_what_counsellors_alone_answer(desk, study):
    page = " ".join(desk.get(address("design")).content.decode().split())
    assert "<dd> worst_case_4, role_fidelity, de_roling </dd>" in page


def test_design_names_the_models_whose_key_is_not_set(desk, study, monkeypatch):
    monkeypatch.setenv("BIRCH_KEY", "secret")
    remote = {"kind": "openai_compatible", "base_url": "https://models.example.org/v1", "model": "m"}
    protocol = study.current()
    protocol.arms.filter(key="amber").update(**remote, api_key_env="AMBER_KEY")
    protocol.arms.filter(key="birch").update(**remote, api_key_env="BIRCH_KEY")
    protocol.judges.update(**remote, api_key_env="JUDGE_KEY")
    page = desk.get(address("design"))
    assert page.context["unset_keys"] == [("arm amber", "AMBER_KEY"), ("judge demo", "JUDGE_KEY")]
    assert page.content.decode().count("not set</span>") == 2
    assert "secret" not in page.content.decode()


def test_design_names_the_primary_contrasts_where_some_are_declared(desk, study):
    assert "Primary contrasts" not in desk.get(address("design")).content.decode()
    contrast = ContrastSpec(arms=("amber", "birch"), item="*", instrument="emoharbor_10", seekers="person")
    factories.study(primary=(contrast,))

    page = desk.get(address("design")).content.decode()

    assert "amber – birch: <code>emoharbor_10 *</code>" in page


def test_every_choice_of_a_study_file_has_its_word():
    assert (set(SELECTIONS), set(TOPICS)) == (set(study_file.SELECTIONS), set(spec.TOPICS))


# People


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["active", "held", "completed"]),
        ({"status": "held"}, ["held"]),
        ({"track": "counsellor"}, ["completed"]),
        ({"test": "yes"}, ["held"]),
        ({"sort": "status"}, ["active", "completed", "held"]),
        ({"sort": "-status"}, ["held", "completed", "active"]),
        ({"sort": "nonsense"}, ["active", "held", "completed"]),
    ],
)
def test_people_are_filtered_and_sorted_by_the_address(query, expected, desk, study):
    factories.person(study, status="completed", track="counsellor")
    factories.person(study, status="held", is_test=True)
    factories.person(study)

    rows = desk.get(address("people"), query).context["people"]

    assert [row.person.status for row in rows] == expected


def test_people_whom_no_filter_lets_through_are_a_click_away(desk, study):
    factories.person(study)

    page = desk.get(address("people"), {"status": "held", "sort": "code", "page": "2"})

    assert page.context["people"] == []
    assert page.context["unfiltered"] == "?sort=code"
    assert "No matching people" in page.content.decode()
    assert "manage.py invite" not in page.content.decode()


def test_people_of_a_study_without_any_are_invited_first(desk, study):
    page = desk.get(address("people")).content.decode()

    assert "manage.py invite" in page
    assert "Clear the filters" not in page


def test_person_is_told_of_in_the_language_of_the_page(desk, study):
    person = factories.person(study, track="reviewer")
    run = factories.run_with_turns(study, person)
    type(run).objects.update(topic="work")

    page = desk.get(address("person", person.code), headers={"accept-language": "zh-hans"}).content.decode()

    assert [word in page for word in ("评审者", "工作或求职", "已结束", "正常结束")] == [True, True, True, True]
    assert [word in page for word in ("Reviewer", "closed", "finished")] == [False, False, False]


def test_people_tell_the_step_and_the_arms_done(desk, study):
    person = factories.person(study, plan=[{"kind": "debrief", "key": "debrief"}])
    factories.run_with_turns(study, person)
    factories.run_with_turns(study, person, status=ConversationStatus.OPEN)

    [row] = desk.get(address("people")).context["people"]

    assert (row.step, row.person.arms_done, row.status) == ("Debrief", 1, "Active")


@pytest.mark.parametrize("page", ["person", "risk", "study", "life", "design"])
def test_chinese_page_has_no_space_between_its_sentences(page, desk, study):
    person = factories.person(study, language="zh", country="CN")
    event = RiskEvent.objects.create(subject=person.code, level=3, source="answer")
    RiskEvent.objects.create(subject=person.code, level=4, source="answer")
    place = {"person": [person.code], "risk": [event.pk]}.get(page, [])
    shown = desk.get(address(page, *place), headers={"accept-language": "zh-hans"}).content.decode()
    paragraphs = [re.sub(r"<[^<>]*>", "", inner) for inner in re.findall(r"<p\b[^>]*>(.*?)</p>", shown, re.DOTALL)]
    assert any("。" in paragraph for paragraph in paragraphs)
    assert [one for one in paragraphs if re.search(r"[，。：；？！]\s+\S", one)] == []
    if place:
        assert ("中国大陆" in shown, "中文" in shown) == (True, True)


def test_person_keeps_answers_about_safety_behind_a_door(desk, study):
    person = in_review(study, outcome={"kind": "review_by_person", "reasons": ["safety_unknown"], "flags": []})
    declined = AnswerValue("suicidal_2w", missing_reason="prefer_not")  # as the form reads it
    wrote = AnswerValue("issue_text", text="I do not want to wake up any more.")
    store_response(rater_for(person), load("screening"), [wrote, declined, AnswerValue("treatment", text="no")])

    page = desk.get(address("person", person.code))

    assert [answer for _question, answer in page.context["safety"]] == ["Prefer not to say", wrote.text]
    details = page.content.decode().split("<details>")[1].split("</details>")[0]
    assert "for the person on call only" in details
    assert "Prefer not to say" in details
    assert page.content.decode().count("Prefer not to say") == 1


def test_reasons_of_the_screening_are_told_in_words(desk, study):
    reasons = ["safety_unknown", "of our own"]
    person = in_review(study, outcome={"kind": "review_by_person", "reasons": reasons, "flags": ["no_support_person"]})

    page = desk.get(address("person", person.code))

    assert page.context["reasons"] == [
        ("did not answer a question about safety", "safety_unknown"),
        ("of our own", "of our own"),
    ]
    assert page.context["flags"] == [("no one to call if upset", "no_support_person")]
    assert "did not answer a question about safety" in page.content.decode()


def test_every_reason_of_the_screening_has_words():
    rules = load("screening").raw["rules"]
    assert {rule["reason"] for rule in rules if rule["outcome"] != "ask_again"} == set(labels.REASONS)


def test_safety_questions_are_those_whose_answer_is_followed_by_help():
    rules = [
        {"if": {"q": "a"}, "outcome": "exclude_with_care", "show": ["crisis_resources"]},
        {"if": {"q": ["a", "b"]}, "outcome": "review_by_person", "show": ["crisis_resources"]},
        {"if": {"q": "c"}, "outcome": "review_by_person"},
        {"if": {"q": "d"}, "outcome": "exclude", "show": ["crisis_resources"]},
    ]

    assert safety_questions(rules) == ["a", "b"]


def test_person_tells_what_happened_in_order(desk, study):
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    factories.rating(person, run)

    timeline = desk.get(address("person", person.code)).context["timeline"]

    assert [moment.what for moment in timeline] == [
        "Invited",
        "Conversation 1 starts",
        "Conversation 1 ends (finished)",
        "Conversation 1: Ten dimensions of personalised emotional support (at the end)",
    ]


@pytest.mark.parametrize(
    ("strata", "told"),
    [
        ({"language": {"level": "en"}}, "Arms drawn"),
        (
            {"language": {"level": "en"}, "severity": {"level": None}, "openness": {"level": None}},
            "Arms drawn. Not balanced by these factors, because they were unknown: severity, openness",
        ),
    ],
)
def test_person_tells_which_strata_were_unknown_at_the_draw(strata, told, desk, study):
    person = factories.person(study)
    factories.draw(person, strata=strata)

    timeline = desk.get(address("person", person.code)).context["timeline"]

    assert [moment.what for moment in timeline] == ["Invited", told]


def test_design_tells_strata_and_lease(desk):
    order = OrderSpec(strata=("language", "neuroticism"), lease_hours=48)
    page = desk.get(reverse("research-design", args=[factories.study("balanced", order=order).key]))

    text = " ".join(page.content.decode().split())
    assert "<dt>Balanced within strata of</dt> <dd> language, neuroticism </dd>" in text
    assert "<dt>Place kept without a sign of life</dt> <dd> 48 hours </dd>" in text


def test_board_and_design_tell_the_places_and_when_enough_have_completed(desk):
    study = factories.study("counted", order=OrderSpec(participants=3))
    people = [factories.person(study, status=status) for status in ("completed", "active", "invited", "withdrawn")]
    factories.person(study, status="completed", track="counsellor")
    design = desk.get(reverse("research-design", args=["counted"]))
    board = desk.get(reverse("research-study", args=["counted"]))

    assert "<dt>Participants wanted</dt> <dd> 3 </dd>" in " ".join(design.content.decode().split())
    assert board.context["places"] == {"wanted": 3, "completed": 1, "taken": 2}
    assert (board.context["completed"], "1 of 3 participants; 2 places taken" in board.text) == (2, True)
    assert "All participants you want have completed: close the study" not in board.content.decode()

    Participation.objects.filter(pk__in=[person.pk for person in people[1:3]]).update(status="completed")
    assert "All participants you want have completed: close the study" in desk.get(board.request["PATH_INFO"]).text


@pytest.mark.parametrize(
    ("page", "sentences"),
    [
        ("en", ("I am at least 18 years old.", "(Optional) Short, altered quotes from my chats may be published.")),
        ("zh-hans", ("我已年满 18 周岁。", "（选填）可发表经改写的聊天短引文。")),
    ],
)
def test_person_shows_the_sentences_of_the_consent_form_in_the_language_of_the_page(page, sentences, desk, study):
    person = factories.person(study)
    boxes = {"adult": True, "publish_quotes": False, "of_an_old_form": True}
    Consent.objects.create(
        participation=person, instrument="consent_template", version="1", text_hash="x", language="en", boxes=boxes
    )
    desk.cookies["django_language"] = page

    shown = desk.get(address("person", person.code)).content.decode()

    rows = dict(re.findall(r'<li title="(\w+)">(.*?)</li>', shown, re.S))
    assert {key: row.split("·")[1].strip() for key, row in rows.items()} == {
        "adult": sentences[0],
        "publish_quotes": sentences[1],
        "of_an_old_form": "of_an_old_form",
    }
    assert {key: ticked.split("·")[0].strip() in ("Yes", "是") for key, ticked in rows.items()} == boxes


def test_person_of_another_study_is_not_found(desk, study):
    stranger = factories.person(factories.study("another"))

    for name in ("person", "admit", "decline", "erase"):
        assert desk.get(address(name, stranger.code)).status_code == 404


@pytest.mark.parametrize(("act", "status"), [("admit", "applied"), ("decline", "screened_out")])
def test_a_decision_is_asked_for_and_made_once(act, status, desk, study):
    plan = [{"kind": "screening", "key": "screening"}, {"kind": "consent", "key": "consent"}]
    person = in_review(study, plan=plan, position=1)
    page = address(act, person.code)

    assert desk.get(page).status_code == 200
    person.refresh_from_db()
    assert person.status == "in_review"

    assert desk.post(page)["Location"] == address("person", person.code)
    assert desk.post(page)["Location"] == address("person", person.code)
    person.refresh_from_db()
    assert (person.status, person.position) == (status, 1)
    assert desk.put(page).status_code == 405
    assert Client().post(page).status_code == 403


def test_erase_needs_the_code(desk, study):
    person = factories.person(study)
    factories.run_with_turns(study, person)

    assert desk.get(address("erase", person.code)).status_code == 200
    assert desk.post(address("erase", person.code), {"code": "P000"}).status_code == 400
    assert person.runs.count() == 1


def test_whoever_erases_a_person_in_danger_reads_first_that_the_sign_stays_on_the_desk(desk, study, researcher):
    person = factories.person(study)
    warning = "This person may be in danger"
    assert warning not in desk.get(address("erase", person.code)).content.decode()
    event = RiskEvent.objects.create(subject=person.code, source="answer", level=3)
    assert warning in desk.get(address("erase", person.code)).content.decode()

    done = desk.post(address("erase", person.code), {"code": person.code}).content.decode()

    assert "This person may still be in danger" in done
    shown = desk.get(reverse("research-risk", args=[study.key, event.pk])).content.decode()
    assert event.acts.get().by_name == researcher.username
    assert "erased by the team" in shown


def test_erase_shows_what_was_removed_and_does_no_harm_twice(desk, study):
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    factories.rating(person, run)
    sent = {"code": f" {person.code} "}

    first = desk.post(address("erase", person.code), sent).context["removed"].rows
    again = desk.post(address("erase", person.code), sent).context["removed"].rows

    assert (first["conversations"], first["turns"], first["answers"]) == (1, 2, 10)
    assert set(again.values()) == {0}
    person.refresh_from_db()
    assert person.status == "withdrawn"


def test_erase_names_what_was_removed_in_words(desk, study):
    person = factories.person(study)
    factories.rating(person, factories.run_with_turns(study, person))

    rows = dict(desk.post(address("erase", person.code), {"code": person.code}).context["rows"])

    assert (rows["forms sent"], rows["turns"], rows["arms met"]) == (1, 2, 1)
    assert "raters" not in rows


def test_every_kind_that_an_erasure_removes_has_a_word():
    removed = {holding.name for holding in HOLDINGS if holding.erased == Fate.DELETED}
    assert removed | {"interview_files"} == set(labels.HOLDINGS)


# Risks


# Design


def test_design_file_reads_back_as_the_same_study(desk, study, tmp_path, settings):
    from studies.design.reading import read_study
    from studies.instruments.loading import instrument_ids
    from studies.participation.consent import template_ids

    response = desk.get(address("study-file"))
    file = tmp_path / "study.toml"
    file.write_bytes(response.content)

    known = [*instrument_ids(), *template_ids()]
    assert response["Content-Disposition"] == 'attachment; filename="demo-v1.toml"'
    assert read_study(file, instruments=known, prompt_folder=settings.FIXTURES / "prompts") == study.current().spec()


def test_design_marks_what_is_a_demonstration(desk, study):
    page = desk.get(address("design")).content.decode()

    assert page.count('<span class="ribbon">demonstration</span>') == 1 + 5 + 1  # the head, the arms, the judge
    assert Task.objects.count() == 0
