"""The Analysis page of a study under way: what it shows, and what it hides while the study is blind to its arms."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from studies.analysis.notes import CODES, Note
from studies.board import live
from studies.models import Task, Unblinding
from studies.participation.unblinding import is_blinded, unblinding_of
from studies.workbench import tasks
from studies.workbench.labels import raters_name
from tests import factories

pytestmark = pytest.mark.django_db

ARMS = ("amber", "birch")
MEANS = {"amber": 2.345, "birch": 4.321}


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR = tmp_path
    return tmp_path


@pytest.fixture
def hearts():
    """A study with one real person."""
    study = factories.study("hearts")
    factories.person(study)
    return study


def address(name, *args):
    return reverse(f"research-{name}", args=["hearts", *args])


def estimates(arm, **fields):
    usual = {"raters": "seeker", "instrument": "emoharbor_10", "moment": "final", "item": "safety", "n": 12}
    return {**usual, "arm": arm, "mean": MEANS[arm], "low": 1.5, "high": 4.5, **fields}


def reliability(**fields):
    usual = {"raters": "reviewer", "instrument": "emoharbor_10", "moment": "final", "item": "safety", "n": 9, "k": 2}
    icc = {"icc_1_1": 0.61, "icc_1_1_low": 0.4, "icc_1_1_high": 0.75, "icc_1_k": 0.76, "alpha_ordinal": None}
    return {**usual, **icc, "cronbach": None, CODES: [Note("scores_alike").on("alpha_ordinal").as_json()], **fields}


def covered(statistic, estimate, **fields):
    usual = {"judge": "demo", "strategy": "standard", "arm_a": "*", "instrument": "emoharbor_10", "item": "safety"}
    return {**usual, "moment": "final", "n": 40, "statistic": statistic, "estimate": estimate, **fields}


def results_json(**changes):
    of = {"judge": "demo", "strategy": "standard", "human": "seeker", "instrument": "emoharbor_10", "moment": "final"}
    r = {"item": "safety", "n": 24, "pearson": 0.62, "pearson_low": 0.4, "pearson_high": 0.8}
    return {
        "demonstration": False,
        "counts": {"ratings": 48, "conversations": 30},
        "limits": [
            "There are only 4 independent clusters, so the intervals may be too narrow.",
            "Conversations without any score are spread unevenly: 5 of 20 with birch, 0 of 20 with amber.",
        ],
        "exclusions": {"ratings_without_score": {"unparseable": 3, "no reason given": 1}, "excluded_participants": 2},
        "tables": {
            "agreement": [of | r],
            "arms": [estimates(arm) for arm in ARMS],
            "reliability": [reliability(), reliability(moment="checkpoint")],
            "quality": [
                {"statistic": "pasted", "flagged": "true"},
                {"statistic": "pasted", "flagged": "false"},
                {"statistic": "irv", "flagged": ""},
            ],
            "sensitivity": [
                covered("missing_share", 0.25),
                covered("missing_share", 0.5, arm_a="amber"),
                covered("no_final_rating", 0.2, judge="", item="", n=30),
            ],
        },
        **changes,
    }


def analysed(study, found=None, state="done", **fields):
    task = Task.objects.create(study=study, command="analyse", state=state, ended_at=timezone.now(), **fields)
    task.folder = f"tasks/{study.key}/{task.pk}"
    task.save()
    folder = tasks.folder_of(task) / "report"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(found or results_json()), encoding="utf-8")
    (folder / "report.html").write_text("amber 2.35", encoding="utf-8")
    (folder / "arms.csv").write_text("arm,mean\namber,2.35\n", encoding="utf-8")
    export = tasks.folder_of(task) / "export"
    export.mkdir()
    (export / "codebook.csv").write_text("file,column\n", encoding="utf-8")
    return task


def text_of(page):
    return " ".join(page.content.decode().split())


# While it is blind


def test_a_blinded_page_tells_no_arm_from_another(desk, hearts):
    task = analysed(hearts)

    text = text_of(desk.get(address("analysis")))

    assert "Blinded." in text
    for hidden in (*ARMS, "2.35", "2,35", "4.32", address("report", task.pk), "report/arms.csv"):
        assert hidden not in text
    assert "<strong>A</strong> 12 rated conversations" in text
    assert "<strong>B</strong> 12 rated conversations" in text


def test_a_cell_without_r_says_why_and_nothing_about_other_numbers(desk, hearts):
    found = results_json()
    notes = [Note("human_scores_alike").on("pearson", "p", "kendall"), Note("under_three_arms").on("system_r")]
    codes = [note.as_json() for note in notes]
    found["tables"]["agreement"][0] |= {"pearson": None, CODES: codes, "strategy": "user_aware"}
    analysed(hearts, found)
    text = text_of(desk.get(address("analysis")))
    assert '<td class="heat--none" title="the human scores do not vary">' in text
    assert "user-aware" in text
    assert raters_name("judge:user_aware:evaluator") == "judge (user-aware, as an outside evaluator)"
    with translation.override("zh-hans"):
        assert raters_name("judge:user_aware:evaluator") == "评审模型（用户感知，以局外评估者身份）"
    desk.cookies.load({"django_language": "zh-hans"})
    assert '<td class="heat--none" title="人的评分没有变化">' in text_of(desk.get(address("analysis")))


def test_results_that_went_with_someones_data_are_said_to_be_removed(desk, hearts):
    task = analysed(hearts)
    assert "The earlier results were removed" not in text_of(desk.get(address("analysis")))
    (tasks.folder_of(task) / "report" / "results.json").unlink()
    assert "The earlier results were removed" in text_of(desk.get(address("analysis")))


def test_a_blinded_page_shows_the_rest_of_the_report(desk, hearts):
    analysed(hearts)

    page = desk.get(address("analysis"))

    text = text_of(page)
    assert '<td class="heat--3"> 0.62 <small>0.40 … 0.80</small> <small>n = 24</small> </td>' in text
    assert '<th scope="col" title="safety">Safety</th>' in text
    assert "0.61 <small>0.40 … 0.75</small>" in text  # ICC(1,1)
    assert "100 %" in text  # all of the conversations that the participant scored
    assert "the answer could not be read 3, no reason stored 1" in text
    assert "2 people left out by two coders" in text
    assert "Text was pasted into a message: 1" in text
    assert "only 4 independent clusters" in text
    assert "1 more note, hidden because it names an arm." in text
    assert "6 of 30 closed conversations have no final rating by their own people." in text
    assert [each.scored for each in page.context["results"].coverage if each.raters == "demo standard"] == [30]


@pytest.mark.parametrize("name", ["report/report.html", "report/results.json", "report/arms.csv"])
def test_a_blinded_study_gives_no_report_out(name, desk, hearts):
    task = analysed(hearts)

    for response in (desk.get(address("file", task.pk, name)), desk.get(address("report", task.pk))):
        assert response.status_code == 403
        assert "amber" not in response.content.decode()
        assert address("unblind") in response.content.decode()


def test_an_export_is_given_out_all_the_same(desk, hearts):
    task = analysed(hearts)
    assert desk.get(address("file", task.pk, "export/codebook.csv")).status_code == 200


def test_letters_do_not_follow_the_names():
    orders = {
        tuple(sorted(arms, key=arms.get))
        for study in ("a", "b", "c", "d", "e", "f")
        for arms in [{arm.conversations: arm.letter for arm in live.blind_arms(rows_of_three(), study)}]
    }
    assert len(orders) > 1
    assert list(live.blind_arms(rows_of_three(), "a")) == list(live.blind_arms(reversed(rows_of_three()), "a"))


def rows_of_three():
    return [{"arm": arm, "n": n} for n, arm in enumerate(("amber", "birch", "cedar"), 1)]


def test_letters_go_on_after_z():
    assert [live.letter(place) for place in (0, 25, 26, 51, 52)] == ["A", "Z", "AA", "AZ", "BA"]


def test_who_is_blinded():
    demo, rehearsal, invited, real = map(factories.study, ("demo", "rehearsal", "invited", "real"))
    factories.person(demo)
    factories.person(rehearsal, is_test=True)
    factories.person(invited, status="invited")
    factories.person(real)
    assert [is_blinded(study) for study in (demo, rehearsal, invited, real)] == [False, False, False, True]


# Unblinding

SURE = {"when": "over", "reason": "All have finished.", "key": "hearts"}


def test_unblinding_asks_first_and_says_who_is_under_way(desk, hearts):
    text = text_of(desk.get(address("unblind")))
    assert "1 person is still in the study." in text
    assert "Type hearts to confirm" in text
    assert is_blinded(hearts)


def test_unblinding_shows_the_arms_and_is_in_the_log(desk, hearts):
    task = analysed(hearts)

    response = desk.post(address("unblind"), SURE)

    assert response["Location"] == address("analysis")
    [kept] = Unblinding.objects.all()
    assert (kept.by_name, kept.study, kept.when, kept.reason) == ("ada", hearts, "over", "All have finished.")
    text = text_of(desk.get(address("analysis")))
    assert "Unblinded by ada, " in text
    assert "5 of 20 with birch" in text
    assert "2.35 <small>1.50 … 4.50</small> <small>n = 12</small>" in text.replace("2.34", "2.35")
    assert address("file", task.pk, "report/arms.csv") in text
    assert desk.get(address("report", task.pk)).status_code == 200
    assert desk.get(address("file", task.pk, "report/arms.csv")).status_code == 200


@pytest.mark.parametrize("wrong", [{"key": "heart"}, {"reason": "  "}, {"when": "whenever"}, {"key": ""}])
def test_unblinding_needs_a_reason_and_the_studys_key(wrong, desk, hearts):
    response = desk.post(address("unblind"), {**SURE, **wrong})
    assert response.status_code == 422
    assert is_blinded(hearts)
    assert not Unblinding.objects.exists()


def test_unblinding_twice_is_once(desk, hearts):
    desk.post(address("unblind"), SURE)
    desk.post(address("unblind"), {**SURE, "reason": "Again."})
    assert unblinding_of(hearts).reason == "All have finished."


def test_unblinding_outlives_the_account(desk, hearts):
    desk.post(address("unblind"), SURE)
    User.objects.filter(username="ada").delete()
    assert not is_blinded(hearts)
    assert unblinding_of(hearts).by_name == "ada"


def test_unblinding_is_of_one_study(desk, hearts):
    other = factories.study("other")
    factories.person(other)
    desk.post(address("unblind"), SURE)
    assert is_blinded(other)


def test_unblinding_is_for_researchers(hearts):
    stranger, person = Client(), Client()
    person.force_login(User.objects.create(username="bob"))
    assert stranger.post(address("unblind"), SURE).status_code == 403
    assert person.post(address("unblind"), SURE).status_code == 403
    assert is_blinded(hearts)


# What is shown, and how far it is


def test_last_results_stay_while_new_ones_are_made(desk, hearts):
    analysed(hearts, arguments=["--include-tests"])
    Task.objects.create(study=hearts, command="analyse", done=3, total=19, message="agreement")

    page = desk.get(address("analysis"))

    text = text_of(page)
    assert "0.62" in text
    assert "The analysis is running. The results below stay until the new ones are ready." in text
    assert 'value="3" max="19"' in text
    assert page.context["analyse_form"].initial == {"include_tests": True}


def test_results_tell_their_age(desk, hearts):
    task = analysed(hearts)
    Task.objects.filter(pk=task.pk).update(ended_at=timezone.now() - timedelta(hours=2, minutes=5))
    assert "2 hours, 5 minutes old" in text_of(desk.get(address("analysis")))


def test_completion_counts_real_people_who_have_begun(hearts):
    for status in ("completed", "completed", "withdrawn", "held", "invited"):
        factories.person(hearts, status=status)
    factories.person(hearts, status="completed", is_test=True)
    assert live.completion(hearts) == live.Completion("no", begun=5, under_way=2, completed=2, ended=1)


def test_coverage_adds_the_arms_up():
    rows = [estimates("amber", n=4), estimates("birch", n=5), estimates("birch", n=2, raters="judge:standard")]
    rows += [estimates("birch", n=6, item="care"), estimates("birch", n=2, raters="reviewer")]
    found = list(live.coverage(rows))
    assert [(each.raters, each.item, each.scored, each.of, each.percent()) for each in found] == [
        ("participant", "safety", 9, 9, 100),
        ("participant", "care", 6, 9, 67),
        ("reviewer", "safety", 2, 2, 100),
    ]


def test_sentences_that_name_an_arm_are_found_by_whole_words():
    said = ["best with amber-2.", "an amber light", "ambers"]
    assert live.limits_without_arms(said, {"amber"}) == ["ambers"]
    assert live.limits_without_arms(said, {"amber-2"}) == ["an amber light", "ambers"]
    assert live.limits_without_arms(said, {""}) == said


def test_limits_are_in_the_language_of_the_page_and_hidden_by_the_arms_of_the_english_ones():
    results = {"limits": ["few people", "best with amber"], "limits_zh": ["人数少", "amber最好"]}
    with translation.override("zh-hans"):
        assert live.limits_of(results, set()) == ["人数少", "amber最好"]
        assert live.limits_of(results, {"amber"}) == ["人数少"]
        assert live.limits_of({"limits": ["few people"]}, {"amber"}) == ["few people"]
    assert live.limits_of(results, {"amber"}) == ["few people"]


def test_results_of_an_earlier_version_are_shown_as_far_as_they_go(desk, hearts):
    analysed(hearts, {"demonstration": False, "counts": {}, "limits": [], "tables": {"agreement": []}})
    assert desk.get(address("analysis")).status_code == 200


@pytest.mark.parametrize("people", [1, 3])
def test_page_asks_the_database_as_often_for_many_as_for_one(people, desk, hearts, django_assert_num_queries):
    for _person in range(people):
        factories.person(hearts)
        analysed(hearts)
    desk.get(address("analysis"))  # the content type is kept from now on
    with django_assert_num_queries(27):  # 5 of them for the audit log
        desk.get(address("analysis"))
