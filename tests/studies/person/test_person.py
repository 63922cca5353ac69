"""The person's way by its pages: each step works, is left once, and harms nothing when it is sent again."""

import re
from dataclasses import replace

import pytest
from django.core import mail
from django.core.management import call_command

from dialogue.models import Conversation, RiskEvent, Turn
from studies.models import Arm, ArmRun, Consent, Participation, Response, Submission
from studies.models.participation import Status
from studies.participation import enrolment, progress
from tests import factories
from tests.answers import AFTER, ELIGIBLE, MOOD, middle, right_answers
from tests.people import Person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_commit_at_once")]


@pytest.fixture(autouse=True)
def demo(db, settings):
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)


def test_whole_study_ends_with_a_code_and_everything_counted():
    person = Person()
    person.go_to("debrief")
    page = person.page()
    person.row.refresh_from_db()
    assert person.row.status == Status.COMPLETED
    assert person.row.completion_code in page.content.decode()
    assert (ArmRun.objects.count(), Turn.objects.count()) == (5, 50)
    assert {run.conversation.end_reason for run in ArmRun.objects.all()} == {"finished"}
    moments = list(Response.objects.filter(is_rating=True).values_list("moment", "turn"))
    assert sorted(moments) == sorted([("checkpoint", 5), ("checkpoint", 10), ("final", 0)] * 5)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_speaks_the_language_that_was_chosen(language):
    person = Person(language=language)
    person.go_to("consent")
    assert f'lang="{"zh-Hans" if language == "zh" else "en"}"' in person.page().content.decode()


def test_code_is_withheld_while_something_is_missing():
    person = Person()
    person.go_to("debrief")
    Response.objects.filter(instrument="emoharbor_10").first().delete()
    page = person.page()
    person.row.refresh_from_db()
    assert (person.row.status, person.row.completion_code) == (Status.ACTIVE, "")
    assert page.status_code == 200


def test_page_sent_twice_is_stored_once():
    person = Person()
    person.go_to("questionnaire")
    step, data = person.step, person.answers()
    person.send(data)
    person.send(data, step=step)
    assert Response.objects.filter(instrument=step.instrument).count() == 1


def test_form_of_an_earlier_step_changes_nothing():
    person = Person()
    person.go_to("consent")
    old = person.step
    person.go_to("training")
    here = person.step
    person.send({"adult": "on"}, step=old)
    assert (person.step, Consent.objects.count()) == (here, 1)


def test_incomplete_form_is_shown_again_with_what_was_answered():
    person = Person()
    person.go_to("rating", run=1)
    answers = middle("emoharbor_10")
    answers.pop("safety")
    page = person.be_refused({**answers, "empathetic": "5"})
    assert Response.objects.filter(instrument="emoharbor_10").count() == 0
    html = page.content.decode()
    assert "data-error-summary" in html
    assert re.search(r'name="empathetic" value="5"[^>]*checked', html)


def test_link_works_again_on_another_device():
    person = Person()
    person.go_to("training")
    person.client.cookies.clear()
    person.client.post(person.link)
    assert person.page().context["step"].kind == "training"


def test_unknown_link_is_not_found_and_no_link_is_told_so():
    person = Person()
    assert person.client.get("/j/nonsense/").status_code == 404
    person.client.cookies.clear()
    assert person.client.get("/study/").status_code == 403


def test_consent_keeps_what_exactly_was_agreed_to():
    person = Person()
    person.go_to("consent")
    page = person.page()
    person.send(person.answers())
    consent = Consent.objects.get()
    assert consent.text_hash == page.context["hash"]
    assert consent.boxes["share_deidentified"] is False
    assert consent.boxes["ai"] is True
    assert consent.language == "en"


def test_consent_needs_every_required_box():
    person = Person()
    person.go_to("consent")
    boxes = person.answers()
    boxes.pop("ai")
    page = person.be_refused(boxes)
    assert 'href="#id_ai"' in page.content.decode()
    assert Consent.objects.count() == 0


class TestScreening:
    def at_screening(self, **changed):
        person = Person()
        person.go_to("screening")
        return person, person.send({**ELIGIBLE, **changed})

    def test_who_is_not_safe_is_thanked_and_shown_help(self):
        person, _ = self.at_screening(suicidal_2w="yes")
        assert person.step.kind == "screened_out"
        assert person.row.status == Status.SCREENED_OUT
        page = person.page().content.decode()
        assert ("988" in page, "Please talk to someone." in page) == (True, True)
        assert page.count("Thank you for telling us.") == 1

    def test_who_does_not_fit_is_thanked(self):
        person, _ = self.at_screening(age="17")
        assert person.step.kind == "screened_out"
        assert person.row.outcome["reasons"] == ["underage"]
        assert "Thank you for your time" in person.page().content.decode()

    def test_who_would_rather_not_say_waits_for_a_person_and_goes_on(self):
        person, _ = self.at_screening(in_crisis="prefer_not")
        assert person.step.kind == "review"
        progress.admit(person.row)
        assert person.step.kind == "consent"

    def test_nobody_is_turned_away_for_a_short_text(self):
        person = Person()
        person.go_to("screening")
        for _ in range(3):
            html = person.be_refused({**ELIGIBLE, "issue_text": "work"}).content.decode()
            assert 'href="#id_issue_text"' in html
            assert "at least 80 characters. There are 4 so far." in html
        assert person.row.status == Status.APPLIED
        assert person.send(ELIGIBLE).status_code == 302
        assert person.step.kind == "consent"

    def test_who_is_to_be_shown_help_need_not_write_more_first(self):
        person, _ = self.at_screening(suicidal_2w="yes", issue_text="work")
        assert person.step.kind == "screened_out"
        assert person.row.outcome["reasons"] == ["safety"]

    def test_page_of_farewell_does_not_open_with_a_note_that_all_went_well(self):
        person, _ = self.at_screening(age="17")
        assert "message--success" not in person.page().content.decode()

    def test_counsellors_answer_the_expert_screening(self):
        person = Person(track="counsellor")
        person.go_to("screening")
        assert "pro_hours" in person.page().context["form"].fields
        person.send({**ELIGIBLE, "pro_hours": "lt100"})
        assert person.step.kind == "screened_out"


def test_third_failed_quiz_goes_to_a_person_and_excludes_nobody():
    person = Person()
    person.go_to("training")
    wrong = {**right_answers(), "c1": "a"}
    for _ in range(2):
        page = person.be_refused(wrong)
        assert page.context["form"].errors == {"c1": ["Every partner is an AI program."]}
    person.send(wrong)
    assert person.step.kind == "review"
    progress.admit(person.row)
    assert person.step.kind == "questionnaire"


def test_failed_quiz_opens_at_a_summary_of_the_wrong_questions_which_are_marked():
    person = Person()
    person.go_to("training")
    html = person.be_refused({**right_answers(), "c1": "a", "c5": "a"}).content.decode()
    summary = html[html.index('id="error-summary"') : html.index("</ul>", html.index('id="error-summary"'))]
    assert "Please read these points again" in summary
    assert re.findall(r'href="#id_(\w+)"', summary) == ["c1", "c5"]
    assert html.index('id="error-summary"') < html.index('id="quiz"')
    assert html.count('id="error-summary"') == 1
    assert re.findall(r'item--wrong"\s+data-item="(\w+)"', html) == ["c1", "c5"]
    assert html.count("“Stop early” ends a chat before the minimum") == 1


def test_changed_answer_says_nothing_of_the_quiz_before_it_is_sent():
    """Or people could try answers by loading the page, without a try that counts."""
    person = Person()
    person.go_to("training")
    person.be_refused({**right_answers(), "c1": "a"})
    person.client.post("/study/draft/", {"step": "training", **right_answers(), "c2": "a"})
    assert list(person.page().context["form"].errors) == ["c1"]


def test_checkpoint_sent_twice_rates_once_and_leaves_the_next_pause_alone():
    person = Person()
    person.go_to("chat", run=1)
    person.page()
    for _ in range(5):
        person.say()
    rating = {**middle("turn_checkpoint"), "checkpoint": "5"}
    person.send(rating)
    for _ in range(5):
        person.say()
    person.send(rating)
    assert person.conversation().status == "paused"
    assert Response.objects.filter(moment="checkpoint").count() == 1


def test_people_get_every_arm_once_in_balanced_order():
    people = [Person() for _ in range(10)]
    for person in people:
        person.go_to("questionnaire", run=1)
    orders = [Participation.objects.get(pk=person.row.pk).order for person in people]
    assert all(len(set(order)) == 5 for order in orders)
    for position in range(5):
        arms = [order[position] for order in orders]
        assert {arms.count(arm) for arm in set(arms)} == {2}


def test_unsafe_in_a_feelings_check_ends_the_study_kindly_and_tells_the_one_on_call():
    person = Person()
    person.go_to("questionnaire", run=1)
    person.send({**MOOD, "want_support": "unsafe"})
    assert person.step.kind == "stopped"
    assert RiskEvent.objects.get().level == 4
    assert mail.outbox[0].to == ["oncall@example.org"]
    assert 'has answered "I do not feel safe"' in mail.outbox[0].body
    assert "last messages" not in mail.outbox[0].body


WROTE, TOLD = "What you wrote made us worry for your safety.", "You told us that you do not feel safe."
NO_TIME, UNDER_A_MINUTE, PAID = "0 minutes", "less than a minute", "You are paid in full"


def test_page_after_an_unsafe_answer_speaks_of_the_answer_and_of_the_time_as_it_was():
    person = Person()
    person.go_to("questionnaire", run=1)
    person.send({**MOOD, "want_support": "unsafe"})
    page = person.page().content.decode()
    said = [words for words in (WROTE, TOLD, NO_TIME, UNDER_A_MINUTE, PAID) if words in page]
    assert said == [TOLD, UNDER_A_MINUTE]


def test_page_after_dangerous_words_speaks_of_the_words_and_of_pay_where_there_is_some():
    usual = factories.demo_spec()
    values = {**usual.consent.values, "pay_rate": {"en": "12 USD", "zh": "12 美元"}}
    factories.study("paying", consent=replace(usual.consent, values=values))
    person = Person("paying")
    person.go_to("chat", run=1)
    person.page()
    person.say("I am going to kill myself tonight")
    page = person.page().content.decode()
    said = [words for words in (WROTE, TOLD, NO_TIME, UNDER_A_MINUTE, PAID) if words in page]
    assert said == [WROTE, UNDER_A_MINUTE, PAID]


@pytest.mark.parametrize(("language", "said", "promised"), [
    ("en", "A member of the team will read your answers within 3 days.", "write to you"),
    ("zh", "研究人员会在 3 天内查看您的回答。", "联系您"),
])  # fmt: skip
def test_nobody_whose_address_we_do_not_know_is_promised_a_letter(language, said, promised):
    person = Person(language=language)
    person.go_to("screening")
    person.send({**ELIGIBLE, "language": language, "attempt_12m": "prefer_not"})
    page = person.page().content.decode()
    assert (person.step.kind, said in page, promised in page) == ("review", True, False)


def test_level_3_holds_the_person_and_release_lets_them_go_on(django_user_model):
    from studies.care import oncall

    person = Person()
    person.go_to("chat", run=1)
    person.page()
    person.say("I want to kill myself")
    assert person.step.kind == "held"
    assert "kill" not in mail.outbox[0].body
    event = RiskEvent.objects.get()
    oncall.release(event, by=django_user_model.objects.create_superuser("r", password="x"))
    assert person.step.kind == "chat"
    assert Turn.objects.get().state == "waiting"


def test_level_4_ends_the_study_and_is_paid():
    person = Person()
    person.go_to("chat", run=1)
    person.page()
    person.say("I am going to kill myself tonight")
    assert person.step.kind == "stopped"
    assert Conversation.objects.get().end_reason == "safety"
    assert person.page().status_code == 200


def test_leaving_keeps_or_deletes_as_the_person_says():
    person = Person()
    person.go_to("rating", run=1)
    assert "Please choose one of the two." in person.be_refused({}, at="/leave/").content.decode()
    assert "Please choose one of the two." not in person.client.get("/leave/").content.decode()
    person.client.post("/leave/", {"choice": "keep"})
    assert person.step.kind == "withdrawn"
    assert Turn.objects.count() == 10

    other = Person()
    other.go_to("rating", run=1)
    page = other.client.post("/leave/", {"choice": "delete"}, follow=True)
    assert "All your data have been deleted" in page.content.decode()
    assert Turn.objects.count() == 10
    assert other.client.get(other.link).status_code == 404


def test_topic_follows_what_the_person_says_between_conversations():
    person = Person()
    person.go_to("between", run=1)
    person.send({"topic_change": "change", "topic": "my sister"})
    person.go_to("between", run=2)
    person.send({"topic_change": "keep"})
    person.go_to("rating", run=3)
    topics = list(ArmRun.objects.order_by("position").values_list("topic", flat=True))
    assert topics == ["work", "my sister", "my sister"]


def test_study_that_keeps_the_topic_asks_for_none():
    factories.study("kept", chat=replace(factories.demo_spec().chat, topic="keep"))
    person = Person("kept")
    person.go_to("between", run=1)
    page = person.page().content.decode()
    assert person.send({"topic_change": "change", "topic": "my sister"}).status_code == 302
    person.go_to("chat", run=2)
    chat_page = person.page().content.decode()
    person.go_to("debrief")

    assert "Please talk about the same matter with the next partner." in page
    assert 'name="topic_change"' not in page
    assert "Save and meet the next partner" not in page
    assert "Please talk about the same matter as before" in chat_page
    assert set(ArmRun.objects.filter(participation=person.row).values_list("topic", flat=True)) == {"work"}
    assert "Your completion code" in person.page().content.decode()


def test_study_that_changes_the_topic_insists_on_a_new_one():
    factories.study("changed", chat=replace(factories.demo_spec().chat, topic="change"))
    person = Person("changed")
    person.go_to("between", run=1)
    assert 'name="topic_change"' not in person.page().content.decode()
    person.be_refused({"topic": ""})
    person.send({"topic": "my sister"})
    person.go_to("between", run=2)
    person.send({"topic": "my rent"})
    person.go_to("rating", run=3)
    topics = ArmRun.objects.filter(participation=person.row).order_by("position").values_list("topic", flat=True)
    assert list(topics) == ["work", "my sister", "my rent"]


def test_feeling_from_before_the_chat_is_asked_about_after_it():
    person = Person()
    person.go_to("rating", run=1)
    person.send(person.answers())
    assert "Sad" in person.page().content.decode()
    assert person.send(AFTER).status_code == 302


def test_part_that_is_over_offers_no_pause_and_ends_no_study():
    person = Person()
    page = person.page().content.decode()
    assert ("Pause and come back" in page, "The study ends for you." in page) == (True, True)
    Participation.objects.update(status="completed")
    page = person.page().content.decode()
    assert ("Pause and come back" in page, "The study ends for you." in page) == (False, False)
    assert "Shows people you can call." in page


def test_stopping_early_says_what_comes_next():
    person = Person()
    person.go_to("chat", run=1)
    page = person.page().content.decode()
    early = page[page.index('data-part="ask-early"') :].partition("</dialog>")[0]
    assert "Next you rate it." in early
    person.row.refresh_from_db()
    plan = [step for step in person.row.plan if step["kind"] != "rating"]
    Participation.objects.update(plan=plan)
    page = person.page().content.decode()
    early = page[page.index('data-part="ask-early"') :].partition("</dialog>")[0]
    assert "You continue with the next step of the study." in early


def test_help_needs_no_link_and_knows_countries(client):
    assert "988" in client.get("/help/?country=US").content.decode()
    assert "12356" in client.get("/help/?country=CN").content.decode()
    assert client.post("/help/").status_code == 405


def test_help_lists_countries_in_the_order_of_the_language_after_the_likely_one_or_the_study_s_own(client):
    def listed(page):
        return re.findall(r'<option value="(\w\w)"', page.content.decode())

    chinese = listed(client.get("/help/", headers={"accept-language": "zh-hans"}))
    assert chinese[:5] == ["CN", "IE", "AU", "AT", "BR"]  # the likely one first
    assert chinese[-4:] == ["MO", "TW", "HK", "ZZ"]
    assert listed(Person().client.get("/help/"))[:5] == ["US", "AU", "AT", "BE", "BR"]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("GB", "GB"), ("AU", "AU"), ("EU", "EU"), ("DE", "DE"), ("BG", "EU"), ("AR", "ZZ"), ("ZZ", "ZZ"), ("", "ZZ")],
)
def test_help_names_the_country_whose_lines_it_shows(asked, shown, client):
    page = client.get("/help/", {"country": asked}).content.decode()
    assert re.findall(r'value="(\w\w)"\s+selected', page) == [shown]


@pytest.mark.parametrize(
    ("browser", "query", "shown"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "", "CN"),
        ("zh-Hant-TW,zh;q=0.9", "", "TW"),
        ("zh-MO,zh;q=0.9", "", "MO"),
        ("zh-Hans", "?study=US", "CN"),
        ("zh-CN,en-US", "?study=HK", "HK"),
        ("en-US,en;q=0.9", "", "US"),
        ("en-AU", "?study=GB", "GB"),
        ("en-NZ,en", "", "NZ"),
        ("en-FJ,en", "", "ZZ"),
        ("en-US", "?country=IE", "IE"),
    ],
)
def test_help_guesses_the_country_of_someone_unknown(browser, query, shown, client):
    page = client.get(f"/help/{query}", headers={"accept-language": browser}).content.decode()
    assert re.findall(r'value="(\w\w)"\s+selected', page) == [shown]


def test_help_is_of_the_study_s_country_before_the_person_has_said_theirs(client):
    study = factories.study("british", country="GB", open_enrolment=True)
    _row, token = enrolment.invite(study, track="participant")
    for address in (f"/j/{token}/", "/open/british/"):
        link = re.search(r'class="help-link"\s+href="([^"]+)"', client.get(address).content.decode())
        assert link[1] == "/help/?study=GB"
        assert 'href="tel:116123"' in client.get(link[1]).content.decode()
    person = Person("british")
    assert re.search(r'class="help-link"\s+href="/help/"', person.page().content.decode())
    assert re.findall(r'value="(\w\w)"\s+selected', person.client.get("/help/").content.decode()) == ["GB"]


@pytest.mark.parametrize(
    ("language", "hours"),
    [
        ("en", "at least 18 hours a day by regulation; many places 24 hours"),
        ("zh-hans", "按规定每日不少于18小时，许多地方24小时"),
    ],
)
def test_help_tells_its_hours_in_the_language_of_the_page(language, hours, client):
    page = client.get("/help/?country=CN", headers={"accept-language": language}).content.decode()

    assert [each for each in re.findall(r'resource__hours">\s*(.*?)\s*</span>', page) if "18" in each] == [hours]


def test_page_costs_few_queries(django_assert_num_queries):
    person = Person()
    person.go_to("questionnaire", run=1)
    with django_assert_num_queries(9):
        person.client.get("/study/")


def test_chat_page_costs_few_queries(django_assert_max_num_queries):
    person = Person()
    person.go_to("chat", run=1)
    ArmRun.objects.all().delete()
    # Some are for the profile, which the demonstration tells the partner, and three for an arm that no one met before.
    with django_assert_max_num_queries(25):
        person.client.get("/study/")
    with django_assert_max_num_queries(9):
        person.client.get("/study/")


def test_arm_that_is_paused_still_answers_those_who_have_drawn_it():
    person = Person()
    person.go_to("chat", run=1)
    ArmRun.objects.all().delete()
    Arm.objects.update(paused=True)
    assert person.page().status_code == 200
    assert ArmRun.objects.get().conversation is not None


def changed_demo(settings, tmp_path, was, becomes):
    text = (settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8")
    assert text.count(was) == 1
    path = tmp_path / "demo.toml"
    path.write_text(text.replace(was, becomes), encoding="utf-8")
    call_command("load_study", str(path), verbosity=0)


def test_manual_selection_waits_until_a_researcher_picks(settings, tmp_path):
    changed_demo(settings, tmp_path, 'selection = "auto"', 'selection = "manual"')
    chosen, other = Person(), Person()
    for person in (chosen, other):
        person.go_to("screening")
        person.send(person.answers())
        assert person.step.kind == "review"
        assert person.page().status_code == 200
    progress.admit(chosen.row)
    progress.decline(other.row)
    assert (chosen.step.kind, other.step.kind) == ("consent", "screened_out")
    assert other.page().status_code == 200


class TestReplyRating:
    @pytest.fixture
    def person(self, settings, tmp_path):
        changed_demo(settings, tmp_path, "max_turns = 30", "max_turns = 30\nrate_each_reply = true")
        person = Person()
        person.go_to("chat", run=1)
        person.page()
        person.say()
        return person

    def rate(self, person, **data):
        return person.client.post("/study/reply-rating/", {"turn": "1", "reply_helpfulness": "4", **data})

    def test_first_rating_of_a_reply_counts(self, person):
        assert self.rate(person).status_code == 200
        assert self.rate(person, reply_helpfulness="1").status_code == 200
        response = Response.objects.get(moment="turn")
        assert (response.turn, response.answers.get().value) == (1, 4.0)

    def test_page_knows_the_ratings_that_are_stored(self, person):
        assert 'data-ratings="{}"' in person.page().text
        self.rate(person)
        assert 'data-ratings="{&quot;1&quot;: 4}"' in person.page().text

    @pytest.mark.parametrize(
        "data", [{"turn": "2"}, {"turn": "x"}, {"reply_helpfulness": "9"}, {"reply_helpfulness": ""}]
    )
    def test_rating_of_nothing_is_refused(self, person, data):
        assert self.rate(person, **data).status_code == 400
        assert not Response.objects.filter(moment="turn").exists()


class TestRolePlay:
    @pytest.fixture
    def counsellor(self):
        counsellor = Person(track="counsellor")
        counsellor.go_to("chat", run=1)
        counsellor.page()
        return counsellor

    def say_it_was(self, counsellor, answer):
        return counsellor.client.post("/study/role/", {"turn": "1", "answer": answer})

    def test_role_goes_on_and_the_answer_is_kept(self, counsellor):
        counsellor.say("I want to kill myself")
        assert self.say_it_was(counsellor, "role").json() == {"next": ""}
        assert RiskEvent.objects.get().role_answer == "role"
        assert counsellor.step.kind == "chat"
        assert mail.outbox == []

    def test_me_is_treated_as_anybody(self, counsellor):
        counsellor.say("I want to kill myself")
        assert self.say_it_was(counsellor, "me").json() == {"next": "/study/"}
        assert counsellor.step.kind == "held"
        assert len(mail.outbox) == 1

    def test_level_4_always_pauses(self, counsellor):
        counsellor.say("I am going to kill myself tonight")
        assert counsellor.step.kind == "held"

    def test_who_plays_no_role_cannot_answer(self):
        person = Person()
        person.go_to("chat", run=1)
        person.page()
        person.say("I want to kill myself")
        assert self.say_it_was(person, "role").status_code == 403
        assert self.say_it_was(person, "me").status_code == 403
        assert (RiskEvent.objects.get().role_answer, Submission.objects.count()) == ("", 0)

    def test_other_answers_are_refused(self, counsellor):
        assert self.say_it_was(counsellor, "perhaps").status_code == 400


def test_person_who_left_before_the_first_visit_sees_a_page():
    person = Person()
    Participation.objects.filter(pk=person.row.pk).update(status="withdrawn", protocol=None, plan=[])
    assert person.page().status_code == 200


def test_study_in_one_language_asks_for_none(settings, tmp_path):
    changed_demo(settings, tmp_path, 'languages = ["en", "zh"]', 'languages = ["zh"]')
    person = Person()
    assert person.step.kind == "screening"
    assert person.row.language == "zh"
    assert 'lang="zh-Hans"' in person.page().content.decode()


OWN_MATTER = {"en": "A personal matter that is on your mind", "zh": "您心里的一件个人的事"}
OWN_VIEW = {"en": "Rate honestly and from your own point of view", "zh": "请从您自己的角度"}
CARD = {"en": "The problem on your role card", "zh": "角色卡上那个人的困扰"}
PROFESSIONAL = {"en": "rate as a professional", "zh": "以专业人员的眼光"}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("track", "matter", "view"), [
    ("participant", OWN_MATTER, OWN_VIEW),
    ("counsellor", CARD, PROFESSIONAL),
])  # fmt: skip
def test_guide_tells_each_track_one_matter_and_one_point_of_view(track, matter, view, language):
    person = Person(track=track, language=language)
    person.go_to("training")
    page = person.page().content.decode()
    told = [words for words in (OWN_MATTER, OWN_VIEW, CARD, PROFESSIONAL) if words[language] in page]
    assert told == [matter, view] or told == [view, matter]


@pytest.mark.parametrize(
    ("topic", "arms", "said"),
    [
        ("keep", None, "Talk about the same matter with every partner."),
        ("change", None, "Talk about a different matter with each partner."),
        ("choose", None, "With the next partner, you can keep the same matter or choose another one."),
        ("choose", 1, ""),
    ],
)
def test_guide_tells_what_may_become_of_the_topic(topic, arms, said):
    usual = factories.demo_spec()
    changes = {"chat": replace(usual.chat, topic=topic), "order": replace(usual.order, arms_per_person=arms)}
    factories.study("guided", **changes)
    person = Person("guided")
    person.go_to("training")
    page = " ".join(person.page().content.decode().split())
    sayings = ("Talk about the same matter", "Talk about a different matter", "With the next partner, you can keep")
    assert [words for words in sayings if words in page] == [words for words in sayings if said.startswith(words)]
    assert said in page


def test_who_switches_the_language_in_mid_chat_has_the_same_partner_in_the_new_one():
    prompts = {"en": "Be kind.", "zh": "请善待对方。"}
    factories.study("spoken", arms=tuple(replace(arm, prompt_text=prompts) for arm in factories.demo_spec().arms))
    person = Person("spoken")
    person.go_to("chat", run=1)
    person.page()
    person.say()
    before = person.conversation().supporter
    person.client.post("/study/language/", {"language": "zh"})
    room, taken = person.conversation(), person.say("我换成中文了")
    assert (room.language, room.earlier_languages, taken.assignment.language) == ("zh", ["en"], "zh")
    assert (before.prompt, room.supporter.prompt) == ("Be kind.", "请善待对方。")
    assert (room.supporter.kind, room.supporter.model) == (before.kind, before.model)
    assert "您是在和 AI 程序而不是真人对话" in person.page().content.decode()


def test_switch_between_conversations_leaves_the_one_before_as_it_was():
    person = Person()
    person.go_to("between", run=1)
    person.client.post("/study/language/", {"language": "zh"})
    person.go_to("chat", run=2)
    person.page()
    assert list(ArmRun.objects.order_by("position").values_list("conversation__language", flat=True)) == ["en", "zh"]
