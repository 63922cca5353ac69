"""The list of conversations: what the address asks for, in its order, and the way through it."""

import pytest
from django.urls import reverse

from dialogue.models import Conversation
from dialogue.models.conversation import Status
from studies.board.conversations import parse_points
from studies.models import Answer, ArmRun
from studies.workbench.labels import with_sign
from tests import factories

pytestmark = pytest.mark.django_db

MOST_QUERIES = 25  # of a list, however many rows it has, and 8 for the audit log
LIST = "/research/demo/conversations/"


def page_of(run, query=""):
    return f"{reverse('research-conversation', args=['demo', run.conversation.code])}{query}"


def shown(desk, **query):
    """The profiles of the rows: each conversation of these tests has its own."""
    return [row.run.profile for row in desk.get(LIST, query).context["page"]]


@pytest.fixture
def four(study):
    """Four conversations, newest last, that differ in everything that can be asked for."""
    made = [
        ("p1", {"arm": "amber"}, "person", "finished"),
        ("p2", {"arm": "birch", "condition": "average"}, "simulated", "cap"),
        ("p3", {"arm": "birch", "condition": "worst_case", "valid": False}, "simulated", "walked_out"),
        ("p4", {"arm": "amber", "is_test": True}, "imported", "finished"),
    ]
    runs = []
    for profile, fields, kind, end in made:
        run = factories.run_with_turns(study, profile=profile, end_reason=end, **fields)
        Conversation.objects.filter(pk=run.conversation_id).update(seeker_kind=kind)
        runs.append(run)
    return runs


@pytest.mark.parametrize(
    ("query", "profiles"),
    [
        ({}, ["p4", "p3", "p2", "p1"]),
        ({"arm": "birch"}, ["p3", "p2"]),
        ({"kind": "imported"}, ["p4"]),
        ({"condition": "worst_case"}, ["p3"]),
        ({"end": "finished"}, ["p4", "p1"]),
        ({"end": "finished", "arm": "amber", "kind": "person"}, ["p1"]),
        ({"profile": "p2"}, ["p2"]),
        ({"valid": "no"}, ["p3"]),
        ({"valid": "yes"}, ["p4", "p2", "p1"]),
        ({"test": "yes"}, ["p4"]),
        ({"test": "all"}, ["p4", "p3", "p2", "p1"]),
        ({"sort": "profile"}, ["p1", "p2", "p3", "p4"]),
        ({"sort": "-arm", "valid": "yes"}, ["p2", "p1", "p4"]),
        ({"status": "open"}, []),
    ],
)
def test_the_address_says_which_conversations_and_in_which_order(query, profiles, desk, four):
    assert shown(desk, **query) == profiles


def test_sorting_by_turns_counts_them(desk, study):
    factories.run_with_turns(study, profile="two")
    factories.run_with_turns(study, profile="one", turns=[("Hello", "Hello.")])
    open_one = factories.run_with_turns(study, profile="failed", status=Status.OPEN)
    factories.add_turn(open_one.conversation, 3, text="Hello?", state="failed")

    assert shown(desk, sort="turns")[0] == "one"
    assert shown(desk, sort="-failed")[0] == "failed"
    [row] = [row for row in desk.get(LIST).context["page"] if row.run.profile == "failed"]
    assert (row.run.turns, row.run.failed, row.words["status"]) == (2, 1, "open")


def test_columns_and_filters_that_tell_nothing_apart_are_left_out(desk, study):
    factories.run_with_turns(study, arm="amber")

    context = desk.get(LIST).context

    assert {"condition", "profile"}.isdisjoint(choice.name for choice in context["choices"])
    assert "Condition" not in [heading.column.label for heading in context["headings"]]


# Judges far from people


@pytest.fixture
def judged(study):
    """By profile, how far the judge `demo standard` is: 2 above, 1 above, 3 below; `alone` has no person's score."""
    judge, other = factories.judge(study), factories.judge(study, strategy="user_aware")
    for profile, scores in {"two": (2, 4), "one": (2, 3), "three": (4, 1)}.items():
        run = factories.run_with_turns(study, factories.person(study), profile=profile)
        factories.rating(run.participation, run, scores[0])
        factories.rating(judge, run, scores[1])
        if profile == "one":
            factories.rating(other, run, 5)
    factories.rating(judge, factories.run_with_turns(study, profile="alone"), 5)
    return judge


@pytest.mark.parametrize(
    ("query", "profiles"),
    [
        ({"judge": "demo standard"}, ["three", "two"]),  # 1.5 points where nothing else is said
        ({"judge": "demo standard", "far": "1"}, ["three", "two", "one"]),
        ({"judge": "demo standard", "far": "2.5"}, ["three"]),
        ({"judge": "demo user_aware"}, ["one"]),
        ({"judge": "any"}, ["three", "one", "two"]),  # of two that are equally far the newer one
        ({"judge": "any", "sort": "profile"}, ["one", "three", "two"]),
        ({"judge": "any", "sort": "-profile"}, ["two", "three", "one"]),
        ({"judge": "any", "profile": "two"}, ["two"]),
        ({"far": "2.5", "sort": "profile"}, ["alone", "one", "three", "two"]),  # no judge is named
    ],
)
def test_far_from_people_finds_and_sorts_by_distance(query, profiles, desk, judged):
    assert shown(desk, **query) == profiles


def test_far_from_people_tells_the_distance_and_the_judge(desk, judged):
    rows = desk.get(LIST, {"judge": "any", "far": "3"}).context["page"]

    assert {(row.run.profile, row.distance, row.judge) for row in rows} == {
        ("three", "−3", "demo standard"),
        ("one", "+3", "demo user_aware"),
    }


def test_a_score_that_could_not_be_read_is_no_distance(desk, judged, study):
    Answer.objects.filter(response__rater=judged).exclude(item="safety").update(
        value=None, missing_reason="unparseable"
    )
    Answer.objects.filter(response__rater=judged, item="safety", response__run__profile="two").update(value=2)

    assert shown(desk, judge="demo standard", far="0.5") == ["three", "one"]


@pytest.mark.parametrize("far", ["x", "-1", "nan", "inf"])
def test_what_is_no_number_of_points_is_said(far, desk, judged):
    page = desk.get(LIST, {"judge": "any", "far": far})

    assert page.context["runs"].fault == f"“{far}” is not a number of points. Enter a number such as 1.5."
    assert list(page.context["page"]) == []


def test_a_judge_that_is_not_there_is_said(desk, judged):
    assert (
        "No judge “gone” has rated conversations in this study." in desk.get(LIST, {"judge": "gone"}).content.decode()
    )


@pytest.mark.parametrize(("text", "points"), [("", 1.5), ("0", 0), (" 2 ", 2), ("1e1", 10), ("1,5", None)])
def test_points_are_read_and_never_guessed(text, points):
    assert parse_points(text) == points


@pytest.mark.parametrize(
    ("number", "text"), [(1.5, "+1.5"), (-2, "−2"), (0, "0"), (-0.001, "0"), (1 / 3, "+0.33"), (-10, "−10")]
)
def test_a_difference_has_its_sign(number, text):
    assert with_sign(number) == text


# Nothing to show


def test_an_empty_list_says_why_and_what_to_do(desk, study):
    assert "run_bots demo" in desk.get(LIST).content.decode()

    factories.run_with_turns(study)
    filtered = desk.get(LIST, {"arm": "nowhere", "sort": "arm"}).content.decode()
    assert "No matching conversations" in filtered
    assert 'href="?sort=arm"' in filtered
    assert "manage.py judge demo" in desk.get(LIST, {"judge": "any"}).content.decode()


# The way through it


def test_a_row_leads_to_its_conversation_and_keeps_the_filters(desk, four):
    page = desk.get(LIST, {"arm": "birch", "test": "all", "far": "2", "sort": "profile"}).content.decode()

    assert f'href="{page_of(four[1], "?arm=birch&amp;sort=profile")}"' in page


@pytest.mark.parametrize(
    ("query", "place", "all_of_them", "previous", "following"),
    [
        ({}, 2, 4, "p4", "p2"),
        ({"arm": "birch"}, 1, 2, "", "p2"),
        ({"sort": "profile"}, 3, 4, "p2", "p4"),
        ({"valid": "no"}, 1, 1, "", ""),
    ],
)
def test_a_conversation_knows_its_neighbours_in_the_list(query, place, all_of_them, previous, following, desk, four):
    profiles = {run.conversation.code: run.profile for run in four} | {"": ""}

    beside = desk.get(page_of(four[2]), query).context["neighbours"]

    assert (beside.place, beside.all) == (place, all_of_them)
    assert (profiles[beside.previous], profiles[beside.next]) == (previous, following)


def test_neighbours_go_by_distance_where_the_list_did(desk, judged):
    two = ArmRun.objects.get(profile="two")
    query = {"judge": "demo standard", "far": "1", "a": "demo standard", "b": "demo user_aware", "turn": "2"}

    page = desk.get(page_of(two), query)

    beside = page.context["neighbours"]
    assert ArmRun.objects.get(conversation__code=beside.previous).profile == "three"
    kept = "?judge=demo+standard&amp;far=1&amp;a=demo+standard&amp;b=demo+user_aware"
    assert f'{beside.next}/{kept}"' in page.content.decode()


def test_a_conversation_that_the_list_does_not_have_shows_no_neighbours(desk, four):
    assert desk.get(page_of(four[0]), {"arm": "birch"}).context["neighbours"] is None


# Many of them


@pytest.mark.parametrize("query", [{}, {"sort": "-turns"}, {"judge": "any", "far": "0"}])
@pytest.mark.parametrize("count", [1, 4])
def test_the_list_asks_the_database_as_often_for_many_rows(count, query, desk, study, django_assert_max_num_queries):
    judge = factories.judge(study)
    for _ in range(count):
        run = factories.run_with_turns(study, factories.person(study))
        factories.rating(run.participation, run, 2)
        factories.rating(judge, run, 4)

    with django_assert_max_num_queries(MOST_QUERIES):
        assert len(desk.get(LIST, query).context["page"]) == count


def test_a_page_counts_the_turns_of_its_own_rows_only(desk, study, monkeypatch, django_assert_max_num_queries):
    monkeypatch.setattr("studies.workbench.lists.ROWS_PER_PAGE", 2)
    for _ in range(5):
        factories.run_with_turns(study)

    with django_assert_max_num_queries(MOST_QUERIES) as asked:
        page = desk.get(LIST, {"page": "2"}).context["page"]

    assert (page.start_index(), page.end_index(), page.paginator.count) == (3, 4, 5)
    [counting] = [query["sql"] for query in asked.captured_queries if "dialogue_turn" in query["sql"]]
    assert "IN (" in counting
