"""Who has begun and does not come back: when they count as gone, what that ends, and how they come in again."""

import csv
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from dialogue.chat import lifecycle, messages, state
from dialogue.models import RiskEvent, Turn
from studies.allocation.card_blocks import shown_rows
from studies.care import oncall, sending
from studies.data import erasure
from studies.design.spec import OrderSpec
from studies.models import Draft, Participation
from studies.models.participation import Status
from studies.participation import enrolment, progress, timeouts
from studies.participation.unblinding import is_blinded, unblind
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db

DAYS = 30
END = [{"kind": "debrief", "key": "debrief"}]
GONE = "We have not heard from you for more than 30 days"


def ago(days):
    return timezone.now() - timedelta(days=days)


@pytest.fixture
def hearts():
    return factories.study("hearts", gone_after_days=DAYS)


@pytest.fixture
def ada():
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


@pytest.fixture
def desk(ada):
    client = Client()
    client.force_login(ada)
    return client


def seen(study, days, **fields):
    """One who began long before, and was there last so many days ago."""
    return factories.person(study, **{"started_at": ago(200), "last_seen_at": ago(days), **fields})


def status_of(person):
    return Participation.objects.values_list("status", flat=True).get(pk=person.pk)


def looked_at(person):
    timeouts.time_out_absent(person.study)
    return status_of(person)


def silent_for(person, days=DAYS + 1):
    """As if all that a walking person did were so long ago."""
    long_ago = ago(days)
    Participation.objects.filter(pk=person.row.pk).update(started_at=long_ago, last_seen_at=long_ago)
    Turn.objects.filter(conversation__run__participation=person.row).update(created_at=long_ago)
    Draft.objects.filter(participation=person.row).update(saved_at=long_ago)


def address(name, person):
    return reverse(f"research-{name}", args=[person.study.key, person.code])


def text_of(page):
    return " ".join(page.content.decode().split())


# When


@pytest.mark.parametrize(("days", "status"), [(29, "active"), (31, "timed_out")])
def test_who_was_last_seen_too_long_ago_is_gone(days, status, hearts):
    assert looked_at(seen(hearts, days)) == status


def test_who_never_came_back_after_the_first_visit_is_counted_from_it(hearts):
    assert looked_at(factories.person(hearts, started_at=ago(31))) == "timed_out"
    assert looked_at(factories.person(hearts, started_at=ago(29))) == "active"


def test_a_study_without_such_days_waits_for_ever():
    assert looked_at(seen(factories.study("patient", gone_after_days=None), 5000)) == "active"


def test_each_persons_own_version_of_the_study_decides(hearts):
    thirty = seen(hearts, 10)
    factories.load_study(replace(hearts.current().spec(), gone_after_days=7))
    seven = seen(hearts, 10)
    assert hearts.protocols.count() == 2
    assert (looked_at(thirty), looked_at(seven)) == ("active", "timed_out")


@pytest.mark.parametrize("status", [status for status in Status if status not in ("applied", "active")])
def test_who_waits_for_us_or_is_over_or_has_not_begun_stays_as_they_are(status, hearts):
    assert looked_at(seen(hearts, 100, status=status)) == status


@pytest.mark.parametrize("fields", [{"status": "applied"}, {"is_test": True}, {"track": "reviewer"}])
def test_it_is_the_same_for_all_who_are_awaited(fields, hearts):
    assert looked_at(seen(hearts, 31, **fields)) == "timed_out"


def test_who_was_paused_by_the_team_is_not_gone(hearts):
    assert looked_at(seen(hearts, 31, paused_at=ago(20))) == "active"


def test_another_studys_people_are_left_alone(hearts):
    other = seen(factories.study("other", gone_after_days=DAYS), 31)
    timeouts.time_out_absent(hearts)
    assert status_of(other) == "active"


def test_a_message_is_a_sign_of_life(hearts):
    talking, silent = seen(hearts, 31), seen(hearts, 31)
    for person, days in ((talking, 29), (silent, 31)):
        run = factories.run_with_turns(hearts, person, status="open")
        Turn.objects.filter(conversation=run.conversation).update(created_at=ago(days))
    assert (looked_at(talking), looked_at(silent)) == ("active", "timed_out")


def test_an_answer_that_was_begun_is_a_sign_of_life(hearts):
    person = seen(hearts, 31)
    Draft.objects.create(participation=person, step="screening", answers={"a": "1"})
    assert looked_at(person) == "active"


def test_who_waits_for_the_interviewer_is_not_gone_until_as_long_after_the_interview(hearts):
    waiting, talked, alone = (seen(hearts, 100) for _ in range(3))
    factories.interviewed(waiting)
    interview = factories.interview(talked, ended_at=ago(29))
    factories.interviewed(alone, mode="self")
    assert [looked_at(person) for person in (waiting, talked, alone)] == ["active", "active", "timed_out"]
    interview.ended_at = ago(31)
    interview.save()
    assert looked_at(talked) == "timed_out"


def test_the_days_count_anew_for_who_was_held_or_in_review(hearts, ada):
    held, reviewed = seen(hearts, 100, status="held"), seen(hearts, 100, status="in_review", plan=END)
    oncall.release(RiskEvent.objects.create(subject=held.code, level=3, source="message"), by=ada)
    progress.admit(reviewed)
    assert (looked_at(held), looked_at(reviewed)) == ("applied", "applied")  # as neither has signed a consent form
    Participation.objects.update(awaited_since=ago(31))
    assert (looked_at(held), looked_at(reviewed)) == ("timed_out", "timed_out")


# What it ends


def test_their_part_ends_as_where_a_person_leaves():
    factories.study("hearts", gone_after_days=DAYS)
    person = Person("hearts")
    person.go_to("chat", run=2)
    person.page()
    person.say()
    Draft.objects.create(participation=person.row, step="x", answers={"a": "1"})
    first, second = (run.conversation for run in person.row.runs.order_by("position"))
    silent_for(person)

    timeouts.time_out_absent(person.row.study)

    person.row.refresh_from_db()
    for conversation in (first, second):
        conversation.refresh_from_db()
    assert (person.row.status, person.row.completion_code) == ("timed_out", "")
    assert timezone.now() - person.row.ended_at < timedelta(minutes=1)
    assert person.row.consents.exists()
    assert not person.row.drafts.exists()
    assert (first.end_reason, second.end_reason, second.status) == ("finished", "withdrawn", "closed")
    assert Turn.objects.filter(conversation=second).count() == 1


def test_the_socket_of_an_open_page_is_refused():
    factories.study("hearts", gone_after_days=DAYS)
    person = Person("hearts")
    person.go_to("chat", run=1)
    person.page()
    silent_for(person)
    timeouts.time_out_absent(person.row.study)
    room = person.row.runs.get().conversation_id
    with pytest.raises(state.ChatRefused) as refused:
        messages.take_seeker_turn(room, client_id="late", text="Are you there?", owner="test")
    assert refused.value.code == "closed"


def test_ending_is_done_once(hearts):
    person = seen(hearts, 31)
    timeouts.time_out_absent(hearts)
    Participation.objects.update(ended_at=ago(1))
    was = Participation.objects.get(pk=person.pk).ended_at
    timeouts.time_out_absent(hearts)
    assert Participation.objects.get(pk=person.pk).ended_at == was


def test_who_has_come_back_since_they_were_found_silent_is_kept(hearts):
    person = seen(hearts, 1)
    timeouts.time_out(hearts, [person.pk], timezone.now())
    assert status_of(person) == "active"


@pytest.mark.parametrize(("days", "queries"), [(None, 1), (DAYS, 2)])
def test_looking_costs_little_and_writes_nothing_where_nobody_is_due(days, queries):
    study = factories.study("hearts", gone_after_days=days)
    for _ in range(3):
        seen(study, 3)
    with CaptureQueriesContext(connection) as asked:
        timeouts.time_out_absent(study)
    assert len(asked) == queries
    assert all(query["sql"].startswith("SELECT") for query in asked)


def test_a_closed_study_is_no_longer_blind_when_the_last_one_is_gone(hearts, ada, desk):
    seen(hearts, 31)
    factories.close(hearts)
    assert is_blinded(hearts)
    text = text_of(desk.get(reverse("research-analysis", args=["hearts"])))
    assert "No one is still in the study. The results by arm are shown." in text
    assert not is_blinded(hearts)


@pytest.mark.parametrize("name", ["study", "people", "close", "analysis", "export", "design", "unblind"])
def test_researchers_pages_show_nobody_under_way_who_is_gone(name, hearts, desk):
    person = seen(hearts, 31)
    assert desk.get(reverse(f"research-{name}", args=["hearts"])).status_code == 200
    assert status_of(person) == "timed_out"


def test_the_person_page_tells_when_it_was(hearts, desk):
    text = text_of(desk.get(address("person", seen(hearts, 31))))
    assert "Timed out" in text
    assert "Ended: Timed out" in text


def test_the_api_counts_them_among_those_who_are_gone(hearts, desk):
    seen(hearts, 31)
    found = desk.get(reverse("api-progress", args=["hearts"])).json()["statuses"]
    assert {"status": "timed_out", "people": 1} in found


def test_an_export_tells_of_them(hearts, tmp_path):
    person = seen(hearts, 31)
    call_command("export", "hearts", "--out", str(tmp_path / "out"), verbosity=0, stdout=StringIO())
    with (tmp_path / "out" / "participants.csv").open(newline="", encoding="utf-8") as file:
        [row] = csv.DictReader(file)
    assert (row["participant"], row["status"]) == (person.code, "timed_out")
    assert row["ended_at"]


# Rows of the block plan


def shared(**changes):
    order = OrderSpec("blocks", None, 1, counsellors=5, raters_per_arm=3)
    return factories.study("shared", order=order, gone_after_days=DAYS, **changes)


def counsellor(study):
    plan = [{"kind": "debrief", "key": "before"}, {"kind": "chats", "key": "chats"}]
    fields = {"track": "counsellor", "plan": plan, "order": [], "started_at": ago(1)}
    person = factories.person(study, **fields)
    progress.advance(person, done=person.steps()[0])
    return person


def test_the_row_of_who_is_gone_is_given_again():
    study = shared()
    people = [counsellor(study) for _ in range(5)]
    Participation.objects.filter(pk=people[2].pk).update(started_at=ago(31))

    late = counsellor(study)

    people[2].refresh_from_db()
    assert (late.order_index, people[2].order_index) == (2, None)
    assert late.order == people[2].order
    assert [row.holder for row in shown_rows(study.current(), is_test=False)][2] == late


def test_who_is_gone_keeps_the_row_while_others_are_free():
    study = shared()
    first = counsellor(study)
    Participation.objects.filter(pk=first.pk).update(started_at=ago(31))
    assert counsellor(study).order_index == 1


# Coming back


def gone_from(kind="questionnaire", **changes):
    factories.study("hearts", gone_after_days=DAYS, **changes)
    person = Person("hearts")
    person.go_to(kind)
    silent_for(person)
    return person


def test_who_comes_back_by_their_link_is_told_kindly():
    person = gone_from()
    page = Client().post(person.link, follow=True)
    text = text_of(page)
    assert page.status_code == 200
    assert page.context["step"].kind == "timed_out"
    assert "The time for this study is over. Thank you" in text
    assert GONE in text
    assert "kept as agreed" in text
    assert page.context["contact"] in text
    assert person.row.code in text
    assert page.context["resources"]
    assert "completion-code" not in text
    person.row.refresh_from_db()
    assert (person.row.status, person.row.completion_code) == ("timed_out", "")


def test_in_chinese_the_page_is_in_chinese():
    factories.study("hearts", gone_after_days=DAYS)
    person = Person("hearts", language="zh")
    person.go_to("consent")
    silent_for(person)
    page = person.page()
    assert 'lang="zh-Hans"' in page.content.decode()
    assert page.context["step"].kind == "timed_out"


def test_a_form_that_comes_too_late_is_not_taken_and_not_said_to_be_saved():
    person = gone_from("training")
    page = person.client.post("/study/", {"step": "training", **person.answers()}, follow=True)
    text = text_of(page)
    assert GONE in text
    assert "already saved" not in text


def test_a_draft_that_comes_too_late_is_let_go():
    person = gone_from()
    person.client.post("/study/draft/", {"step": person.step.key, "x": "1"})
    assert status_of(person.row) == "timed_out"
    assert not person.row.drafts.exists()


def test_they_can_still_have_everything_deleted():
    person = gone_from()
    person.page()
    assert person.client.post("/leave/", {"choice": "delete"}).status_code == 302
    assert status_of(person.row) == "withdrawn"
    assert not person.row.consents.exists()


def test_the_open_door_leads_them_in_as_somebody_new():
    factories.study("hearts", gone_after_days=DAYS, open_enrolment=True)
    client = Client()
    link = client.post("/open/hearts/", follow=True).context["link"]
    client.get("/study/")
    Participation.objects.update(started_at=ago(31), last_seen_at=ago(31))
    assert client.post("/open/hearts/", {"act": "continue"}, follow=True).context["link"] != link
    assert sorted(Participation.objects.values_list("status", flat=True)) == ["invited", "timed_out"]


def test_who_comes_in_time_goes_on():
    factories.study("hearts", gone_after_days=DAYS)
    person = Person("hearts")
    person.go_to("questionnaire")
    silent_for(person, DAYS - 1)
    assert person.page().context["step"].kind == "questionnaire"
    assert looked_at(person.row) == "active"


def test_the_page_for_a_break_says_by_when_to_come_back():
    factories.study("hearts", gone_after_days=DAYS)
    factories.study("patient", gone_after_days=None)
    words = "Please come back within 30 days"
    assert words in text_of(Person("hearts").client.get("/pause/"))
    assert words not in text_of(Person("patient").client.get("/pause/"))
    held = Person("hearts")
    Participation.objects.filter(pk=held.row.pk).update(status="held")
    assert words not in text_of(held.client.get("/pause/"))


# Let back


def test_a_researcher_lets_them_go_on_after_asking_once_more(hearts, desk):
    person = seen(hearts, 31)
    timeouts.time_out_absent(hearts)
    assert address("let-back", person) in text_of(desk.get(address("person", person)))
    assert f"Let {person.code} continue?" in text_of(desk.get(address("let-back", person)))
    assert status_of(person) == "timed_out"

    page = desk.post(address("let-back", person), follow=True)

    assert page.redirect_chain == [(address("person", person), 302)]
    assert f"{person.code} can continue." in text_of(page)
    assert "Could continue from here" in text_of(page)
    assert address("let-back", person) not in text_of(page)
    person.refresh_from_db()
    assert (person.status, person.ended_at, person.active_seconds) == ("applied", None, 0)
    assert looked_at(person) == "applied"
    Participation.objects.update(awaited_since=ago(31))
    assert looked_at(person) == "timed_out"


def test_who_had_signed_is_active_again_and_stands_where_they_were(desk):
    person = gone_from("questionnaire")
    step = person.step
    timeouts.time_out_absent(person.row.study)
    desk.post(address("let-back", person.row))
    assert person.step == step
    assert status_of(person.row) == "active"
    assert person.page().context["step"] == step


def test_a_conversation_stays_ended_and_the_person_goes_on_after_it(desk):
    factories.study("hearts", gone_after_days=DAYS)
    person = Person("hearts")
    person.go_to("chat", run=1)
    person.page()
    person.say()
    silent_for(person)
    timeouts.time_out_absent(person.row.study)
    desk.post(address("let-back", person.row))
    person.page()
    assert person.step.kind == "rating"
    assert person.row.runs.get().conversation.end_reason == "withdrawn"
    person.go_to("debrief")
    person.page()
    assert status_of(person.row) == "completed"


def test_a_conversation_in_which_nothing_was_said_begins_after_all(desk):
    factories.study("hearts", gone_after_days=DAYS)
    person = Person("hearts")
    person.go_to("chat", run=1)
    person.page()
    silent_for(person)
    timeouts.time_out_absent(person.row.study)
    desk.post(address("let-back", person.row))
    person.page()
    assert person.step.kind == "chat"
    person.say()
    assert person.conversation().answered_turns() == 1


def test_a_conversation_that_the_person_ended_at_once_stays_ended(desk):
    factories.study("hearts", gone_after_days=DAYS)
    person = Person("hearts")
    person.go_to("chat", run=1)
    person.page()
    lifecycle.end(person.conversation().pk, early=True)
    silent_for(person)
    timeouts.time_out_absent(person.row.study)
    desk.post(address("let-back", person.row))
    assert person.conversation().end_reason == "early"


def refused(desk, person, reason):
    page = text_of(desk.get(address("person", person)))
    desk.get(address("let-back", person))
    desk.post(address("let-back", person))
    assert status_of(person) == "timed_out"
    return reason in page and address("let-back", person) not in page


def test_nobody_is_let_back_whose_row_is_somebody_elses(desk):
    study = shared()
    people = [counsellor(study) for _ in range(5)]
    Participation.objects.filter(pk__in=[people[0].pk, people[1].pk]).update(started_at=ago(31))
    counsellor(study)
    assert refused(desk, people[0], "Someone else now has their row of the block plan.")
    desk.post(address("let-back", people[1]))
    people[1].refresh_from_db()
    assert people[1].order_index == 1
    assert people[1].status == "applied"


def test_nobody_is_let_back_into_results_that_are_open(hearts, ada, desk):
    person = seen(hearts, 31)
    factories.close(hearts)
    timeouts.time_out_absent(hearts)
    assert refused(desk, person, "The study is closed and its results by arm have been shown.")
    assert not is_blinded(hearts)


def test_nor_where_they_were_unblinded(hearts, ada, desk):
    person, _late = seen(hearts, 31), seen(hearts, 1)
    factories.close(hearts)
    unblind(hearts, ada, when="earlier", reason="A sign of harm.")
    assert refused(desk, person, "The study is closed and its results by arm have been shown.")


def test_in_a_closed_study_that_is_still_blind_they_may_finish_like_the_others(hearts, ada, desk):
    person, _late = seen(hearts, 31), seen(hearts, 1)
    factories.close(hearts)
    timeouts.time_out_absent(hearts)
    assert "Its results by arm are shown when they have finished too" in text_of(desk.get(address("let-back", person)))
    desk.post(address("let-back", person))
    assert status_of(person) == "applied"


def test_a_rehearsal_goes_on_in_a_closed_study(hearts, ada, desk):
    person = seen(hearts, 31, is_test=True)
    seen(hearts, 1, status="completed")
    factories.close(hearts)
    timeouts.time_out_absent(hearts)
    desk.post(address("let-back", person))
    assert status_of(person) == "applied"
    assert not is_blinded(hearts)


@pytest.mark.parametrize("status", [status for status in Status if status != "timed_out"])
def test_letting_back_is_for_those_who_timed_out(status, hearts, desk):
    person = seen(hearts, 1, status=status)
    assert desk.get(address("let-back", person)).status_code == 302
    desk.post(address("let-back", person))
    assert status_of(person) == status


def test_letting_back_is_for_researchers(hearts):
    person = seen(hearts, 31)
    timeouts.time_out_absent(hearts)
    other = Client()
    other.force_login(User.objects.create(username="bob"))
    assert Client().post(address("let-back", person)).status_code == 403
    assert other.post(address("let-back", person)).status_code == 403
    assert status_of(person) == "timed_out"


def test_erasing_forgets_when_they_were_awaited(hearts):
    person = seen(hearts, 1)
    timeouts.restart_timeout(person)
    erasure.erase(person)
    person.refresh_from_db()
    assert person.awaited_since is None


# Who says after their end that a grave sentence was their own


@pytest.mark.parametrize("status", ["completed", "withdrawn", "timed_out"])
def test_whose_part_is_over_stays_so_and_the_one_on_call_is_told(status, ada, mailoutbox):
    hearts = factories.study("hearts")
    person = seen(hearts, 1, status=status, track="counsellor", plan=END)
    run = factories.run_with_turns(hearts, person)
    run.conversation.role_play = True
    run.conversation.save(update_fields=["role_play"])
    event = RiskEvent.objects.create(
        conversation=run.conversation, subject=person.code, turn=1, level=3, source="message"
    )
    factories.close(hearts)
    client = Client()
    session = client.session
    enrolment.bind_session(session, person)
    session.save()
    client.cookies["emostudy_session"] = session.session_key

    answer = client.post("/study/role/", {"turn": "1", "answer": "me"})

    sending.send_due()
    event.refresh_from_db()
    assert answer.json() == {"next": "/study/"}
    assert (event.role_answer, event.released_at) == ("me", None)
    assert len(mailoutbox) == 1
    assert not is_blinded(hearts)
    oncall.release(event, by=ada)
    assert status_of(person) == status
    assert client.get("/study/").context["resources"]
