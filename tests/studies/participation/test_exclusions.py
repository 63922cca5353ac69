"""Who is left out: the rule of two coders, the page on which they decide, and the table that tells of it."""

import csv

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from studies.analysis.tables.quality import FLAGS as ANALYSED_FLAGS
from studies.board import quality_indices
from studies.board.quality import FLAGS, INDICES, OF_CONVERSATION
from studies.board.quality_indices import OfPerson
from studies.data.erasure import erase
from studies.data.exports.columns import Filter
from studies.data.exports.files import export
from studies.models import Decision
from studies.participation.exclusions import decide, disagreements, withdraw_decision
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db

LONG = "My sister has not called since May and I cannot sleep"


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def ada():
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


@pytest.fixture
def bo():
    return User.objects.create(username="bo", is_staff=True, is_superuser=True)


@pytest.fixture
def person(study):
    return factories.person(study)


@pytest.fixture
def run(study, person):
    return factories.run_with_turns(study, person)


def leave_out(subject, coder, reason="careless"):
    decide(subject=subject, coder=coder, keep=False, reason=reason)


def keep(subject, coder, reason="fine"):
    decide(subject=subject, coder=coder, keep=True, reason=reason)


def is_out(subject):
    subject.refresh_from_db()
    return subject.excluded if hasattr(subject, "excluded") else not subject.valid


# The rule


@pytest.mark.parametrize("subject", ["person", "run"])
def test_two_coders_who_agree_leave_out(subject, request, ada, bo):
    subject = request.getfixturevalue(subject)

    leave_out(subject, ada)
    assert not is_out(subject)
    leave_out(subject, bo)
    assert is_out(subject)


@pytest.mark.parametrize("subject", ["person", "run"])
def test_the_same_coder_twice_is_one(subject, request, ada):
    subject = request.getfixturevalue(subject)

    leave_out(subject, ada)
    leave_out(subject, ada, "really")

    assert not is_out(subject)
    assert Decision.objects.get().reason == "really"


@pytest.mark.parametrize("subject", ["person", "run"])
@pytest.mark.parametrize("how", ["changes", "takes back"])
def test_what_was_left_out_is_restored_when_one(how, subject, request, ada, bo):
    subject = request.getfixturevalue(subject)
    leave_out(subject, ada)
    leave_out(subject, bo)

    if how == "changes":
        keep(subject, bo)
    else:
        withdraw_decision(subject=subject, coder=bo)

    assert not is_out(subject)
    leave_out(subject, bo)
    assert is_out(subject)


def test_a_person_is_left_out_with_both_reasons(person, ada, bo):
    leave_out(person, ada, "never answered in words")
    leave_out(person, bo, "same score everywhere")

    person.refresh_from_db()
    assert person.exclusion_reason == "never answered in words; same score everywhere"
    keep(person, ada)
    person.refresh_from_db()
    assert person.exclusion_reason == ""


def test_reasons_are_cut_where_they_would_not_fit(person, ada, bo):
    leave_out(person, ada, "a" * 400)
    leave_out(person, bo, "b" * 400)

    person.refresh_from_db()
    assert person.exclusion_reason == "a" * 200


@pytest.mark.parametrize("word", [keep, leave_out])
def test_a_single_coder_changes_nothing(word, person, run, ada):
    person.excluded, person.exclusion_reason, run.valid = True, "left out before there were coders", False
    person.save()
    run.save()

    for subject in (person, run):
        word(subject, ada)
        assert is_out(subject)
        withdraw_decision(subject=subject, coder=ada)
        assert is_out(subject)
    assert person.exclusion_reason == "left out before there were coders"


def test_where_coders_differ_is_listed_until_one_changes(study, person, run, ada, bo):
    for subject in (person, run):
        leave_out(subject, ada)
        keep(subject, bo)
    test = factories.person(study, is_test=True)
    leave_out(test, ada)
    keep(test, bo)

    assert disagreements(study, test="no") == [person, run]
    assert disagreements(study, test="yes") == [test]
    assert not is_out(person)
    leave_out(run, bo)
    keep(person, ada)
    assert disagreements(study, test="no") == []
    assert (is_out(person), is_out(run)) == (False, True)


def test_a_third_coder_who_differs_brings_back(person, ada, bo):
    leave_out(person, ada)
    leave_out(person, bo)
    keep(person, User.objects.create(username="cy", is_staff=True, is_superuser=True))

    assert not is_out(person)


def test_pay_does_not_depend_on_it(study, ada, bo):
    walker = Person()
    walker.go_to("debrief")
    for subject in (walker.row, *walker.row.runs.all()):
        leave_out(subject, ada)
        leave_out(subject, bo)

    page = walker.page().content.decode()

    walker.row.refresh_from_db()
    assert (walker.row.excluded, walker.row.status) == (True, "completed")
    assert len(walker.row.completion_code) == 10
    assert walker.row.completion_code in page
    code = walker.row.completion_code
    keep(walker.row, ada)
    walker.row.refresh_from_db()
    assert walker.row.completion_code == code


def test_erasing_a_person_takes_the_decisions(person, run, ada, bo):
    leave_out(person, ada, "wrote of their sister Ann")
    keep(run, bo)

    removed = erase(person)

    assert removed.rows["decisions"] == 2
    assert not Decision.objects.exists()


# The page


def address(name="quality", *args):
    return reverse(f"research-{name}", args=["demo", *args])


def desk_of(user):
    client = Client()
    client.force_login(user)
    return client


def send(user, person, word, reason="because", conversation=""):
    sent = {"word": word, "reason": reason, "conversation": conversation}
    return desk_of(user).post(address("quality-decision", person.code), sent)


def text(response):
    return " ".join(response.content.decode().split())


def test_pages_are_for_researchers(study, person):
    for path in (address(), address("quality-person", person.code)):
        assert Client().get(path)["Location"] == f"/research/sign-in/?next={path}"
    for name in ("quality-decision", "quality-undo"):
        assert (
            desk_of(User.objects.create(username=name, is_staff=True, is_superuser=True))
            .get(address(name, person.code))
            .status_code
            == 405
        )
        assert Client().post(address(name, person.code)).status_code == 403
    assert not Decision.objects.exists()


def test_page_lists_people_most_flags_first(study, ada):
    careful, careless = factories.person(study), factories.person(study)
    for number, (who, scores) in enumerate(((careful, {"safety": 2.0}), (careless, {}))):
        for arm in ("amber", "birch", "cedar"):
            run = factories.run_with_turns(study, who, turns=[(LONG, "Yes.")], arm=arm)
            run.conversation.min_turns = number
            run.conversation.save()
            factories.rating(who, run, 3.0, **scores)

    page = desk_of(ada).get(address() + "?test=no")

    assert [row.person for row in page.context["page"]] == [careless, careful]
    first, second = page.context["page"]
    assert [flag.statistic for flag in first.flags] == ["straight_arms"]
    assert (first.all_flags, second.all_flags) == (1, 0)
    assert (first.values["longstring"], second.values["longstring"]) == (10.0, 7.0)
    upwards = desk_of(ada).get(address() + "?test=no&sort=longstring").context["page"]
    assert [row.person for row in upwards] == [careful, careless]
    assert "amber" not in text(page)


def test_page_shows_conversations_with_flags_and_transcripts(study, person, ada):
    run = factories.run_with_turns(study, person, turns=[("no", "Tell me more."), ("ok", "Yes?")])
    run.conversation.min_turns = 5
    run.conversation.save()

    page = text(desk_of(ada).get(address() + "?test=no"))

    assert "Ended with fewer turns than the study asks for; Half of the messages have fewer than 4 words" in page
    assert address("conversation", run.conversation.code) in page


def test_page_keeps_test_data_apart(study, ada):
    real, test = factories.person(study), factories.person(study, is_test=True)

    shown = {
        which: {row.person for row in desk_of(ada).get(f"{address()}?test={which}").context["page"]}
        for which in ("yes", "no")
    }

    assert shown == {"yes": {test}, "no": {real}}


def test_every_flag_and_index_has_its_words(study):
    assert set(FLAGS) == set(ANALYSED_FLAGS)
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    factories.rating(person, run)
    found = quality_indices.indices(study, Filter())
    assert {index.statistic for index in found if index.conversation} <= set(OF_CONVERSATION)
    assert {index.statistic for index in found if not index.conversation} <= set(INDICES)
    assert {"longstring", "straight_arms"} <= {index.statistic for index in found}


def test_indices_of_one_person_are_those_among_all(study):
    people = [factories.person(study) for _ in range(2)]
    for who, score in zip(people, (2.0, 3.0), strict=True):
        factories.rating(who, factories.run_with_turns(study, who), score, safety=5.0)
    judge, run = factories.judge(study), people[0].runs.get()
    factories.rating(judge, run)

    everybody = quality_indices.indices(study, Filter(include_tests=True))
    one = quality_indices.indices(study, OfPerson(person=people[0]))

    assert one == [index for index in everybody if index.person == people[0].code]
    assert len(one) > 5


def test_person_page_takes_a_decision_with_its_reason(study, person, run, ada):
    code = run.conversation.code

    response = send(ada, person, "leave_out", "two words a turn", code)

    assert response["Location"] == address("quality-person", person.code)
    decision = Decision.objects.get()
    assert (decision.run, decision.coder, decision.keep, decision.reason) == (run, ada, False, "two words a turn")
    assert "two words a turn" in text(desk_of(ada).get(response["Location"]))


@pytest.mark.parametrize(
    ("word", "reason"), [("keep", " "), ("", "because"), ("perhaps", "because"), ("keep", "x" * 501)]
)
def test_person_page_wants_a_word_and_a_reason(word, reason, person, run, ada):
    response = send(ada, person, word, reason, run.conversation.code)

    assert response.status_code == 422
    assert 'class="errorlist"' in text(response)
    assert not Decision.objects.exists()


def test_person_page_knows_only_their_conversations(study, person, ada):
    foreign = factories.run_with_turns(study, factories.person(study))

    assert send(ada, person, "keep", conversation=foreign.conversation.code).status_code == 404
    assert not Decision.objects.exists()


def test_the_others_word_is_hidden_until_one_has_decided(person, run, ada, bo):
    send(ada, person, "leave_out", "answers everything with three")
    page = desk_of(bo).get(address("quality-person", person.code))
    assert "answers everything" not in text(page)
    assert "One coder has decided" in text(page)
    assert "You see what others decided once you have decided." in text(page)

    send(bo, person, "keep", "reads well")

    for coder in (ada, bo):
        shown = text(desk_of(coder).get(address("quality-person", person.code)))
        assert "answers everything with three" in shown
        assert "reads well" in shown
        assert "The coders disagree" in shown
    assert "Nothing is left out here until one of them changes" in text(desk_of(ada).get(address() + "?test=no"))


def test_undo_takes_ones_own_word_back(person, ada, bo):
    for coder in (ada, bo):
        send(coder, person, "leave_out")
    assert is_out(person)

    desk_of(bo).post(address("quality-undo", person.code), {"conversation": ""})

    assert not is_out(person)
    assert Decision.objects.get().coder == ada


@pytest.mark.parametrize("count", [1, 3])
def test_page_asks_the_database_as_often_for_many_people_as_for_one(count, study, ada, bo, django_assert_num_queries):
    for _ in range(count):
        who = factories.person(study)
        run = factories.run_with_turns(study, who)
        factories.rating(who, run)
        for coder in (ada, bo):
            leave_out(run, coder)
    desk = desk_of(ada)

    with django_assert_num_queries(25):
        desk.get(address() + "?test=no")


# The table


def exported(study, tmp_path, name="decisions", **only):
    export(study, tmp_path / "out", only=Filter(**only), on_file=lambda name, rows: None)
    path = tmp_path / "out" / f"{name}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) if path.exists() else None


def test_decisions_are_exported_with_numbers_for_coders(study, person, run, ada, bo, tmp_path):
    leave_out(person, bo, "=careless")
    leave_out(run, ada)
    keep(run, bo)
    leave_out(factories.person(study, is_test=True), ada)

    rows = exported(study, tmp_path)

    code = run.conversation.code
    assert [list(row.values())[:5] for row in rows] == [
        [person.code, "", "c1", "leave_out", "'=careless"],
        [person.code, code, "c2", "leave_out", "careless"],
        [person.code, code, "c1", "keep", "fine"],
    ]
    assert list(rows[0]) == ["participant", "conversation", "coder", "decision", "reason", "decided_at", "redacted"]
    assert "ada" not in str(rows)
    assert len(exported(study, tmp_path, include_tests=True)) == 4


def test_no_decision_is_no_file(study, person, tmp_path):
    assert exported(study, tmp_path) is None


def test_conversations_tell_how_many_turns_were_asked_for(study, person, run, tmp_path):
    [row] = exported(study, tmp_path, "conversations")

    assert row["min_turns"] == str(run.conversation.min_turns)
