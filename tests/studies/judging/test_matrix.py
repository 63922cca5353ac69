"""Judge × strategy × instrument: what is done, missing and failed, what it has cost; and the start from there."""

from decimal import Decimal

import pytest
from django.urls import reverse

from dialogue.models import Call, Job, JobItem
from studies.judging.matrix import get_matrix
from studies.judging.planning import get_configuration
from studies.workbench.paid_work import budget_among
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.study("demo")


@pytest.fixture
def desk(client, django_user_model):
    client.force_login(
        django_user_model.objects.create_user("researcher", password="x", is_staff=True, is_superuser=True)
    )
    return client


def matrix_of(study):
    return get_matrix(study, study.current().spec().judges)


def cells(study):
    return {
        (row.judge, row.strategy): [(cell.done, cell.missing, cell.failed) for cell in row.cells]
        for row in matrix_of(study).rows
    }


def test_a_study_without_conversations_has_rows_and_nothing_to_rate(study):
    matrix = matrix_of(study)
    assert (matrix.instruments, matrix.conversations) == ([], 0)
    assert [row.strategy for row in matrix.rows] == ["standard", "user_aware", "state_aware"]


def test_final_ratings_are_done_missing_or_failed(study):
    runs = [factories.run_with_turns(study, factories.person(study)) for _ in range(3)]
    judge = factories.judge(study)
    factories.rating(judge, runs[0])
    factories.rating(factories.judge(study, "demo~warm"), runs[1])  # a variant is another rater
    job = Job.objects.create(kind="judge", scope="demo", title="demo (standard)", plan={}, spent=Decimal("1.5"))
    item = {"job": job, "role": "judge", "configuration": get_configuration(judge, "abc")}
    for run, moment, state in [(1, "final", "failed"), (2, "final", "waiting"), (2, "checkpoint", "failed")]:
        payload = {"run": runs[run].pk, "instrument": "emoharbor_10", "moment": moment}
        JobItem.objects.create(**item, subject=f"{run} {moment}", state=state, payload=payload)
    Job.objects.create(kind="judge", scope="demo", title="demo (standard)", plan={}, budget=Decimal(4))

    assert matrix_of(study).instruments == ["emoharbor_10"]
    assert cells(study) == {
        ("demo", "standard"): [(1, 2, 1)], ("demo", "user_aware"): [(0, 3, 0)], ("demo", "state_aware"): [(0, 3, 0)]
    }  # fmt: skip
    first = matrix_of(study).rows[0]
    assert (first.cost, first.budget) == ("1.50", "4.00")


def test_open_conversations_and_those_of_people_who_withdrew_are_not_missing(study):
    factories.run_with_turns(study, factories.person(study, status="withdrawn"))
    factories.run_with_turns(study, factories.person(study), status="open")
    assert matrix_of(study).conversations == 0


@pytest.mark.parametrize(("sent", "argument"), [("", None), ("2.5", Decimal("2.5"))])
def test_a_start_asks_first_with_the_budget(sent, argument, study, desk):
    page = desk.post(reverse("research-start-judge", args=["demo"]), {"work": "demo standard", "budget": sent})
    assert page["Location"].startswith("/research/demo/confirm/?work=")
    asked = desk.get(page["Location"])
    assert asked.context["back"] == "/research/demo/judges/"
    assert [name for name, _amount in asked.context["budgets"]] == (["Budget of this run"] if argument else [])
    assert not study.tasks.exists()


@pytest.mark.parametrize(
    "sent", [{"work": "demo odd"}, {"work": "x standard"}, {}, {"work": "demo standard", "budget": "x"}]
)
def test_odd_starts_are_refused(sent, study, desk):
    assert desk.post(reverse("research-start-judge", args=["demo"]), sent).status_code == 404


@pytest.mark.parametrize(
    ("arguments", "budget"),
    [(["demo"], None), (["demo", "--budget=3"], Decimal(3)), (["demo", "--budget", "4"], Decimal(4))],
)
def test_a_budget_is_one_word_or_two(arguments, budget):
    assert budget_among(arguments) == budget


def test_the_page_shows_the_matrix_and_asks_as_often_for_many_as_for_one(study, desk, django_assert_max_num_queries):
    for _ in range(3):
        factories.run_with_turns(study, factories.person(study))
    with django_assert_max_num_queries(16):
        matrix_of(study)
    assert "Estimate and start" in desk.get(reverse("research-judges", args=["demo"])).content.decode()


def test_answer_without_a_readable_score_is_told(study, desk):
    judge = factories.judge(study)
    for scored in (True, False):
        response = factories.rating(judge, factories.run_with_turns(study, factories.person(study)))
        if not scored:
            response.answers.update(value=None, missing_reason="unparseable")
    assert [cell.unscored for row in matrix_of(study).rows for cell in row.cells] == [1, 0, 0]
    page = desk.get(reverse("research-judges", args=["demo"])).content.decode()
    assert page.count("1 of them without a readable score") == 1


def test_cost_without_a_price_is_unknown_and_not_nothing(study, desk):
    factories.run_with_turns(study, factories.person(study))
    job = Job.objects.create(kind="judge", scope="demo", title="demo (standard)", plan={})
    item = JobItem.objects.create(job=job, role="judge", configuration="1-a", subject="a", payload={})
    Call.objects.create(purpose="judge", kind="openai_compatible", item=item, status="ok", cost=None)
    assert [row.cost for row in matrix_of(study).rows] == ["", "0.00", "0.00"]
    page = desk.get(reverse("research-judges", args=["demo"])).content.decode()
    assert page.count("unknown: no price") == 1


def test_what_is_set_aside_for_a_call_is_no_cost(study):
    factories.run_with_turns(study, factories.person(study))
    spent = {"kind": "judge", "scope": "demo", "title": "demo (standard)", "plan": {}, "spent": Decimal("1.5")}
    job = Job.objects.create(**spent)
    item = JobItem.objects.create(job=job, role="judge", configuration="1-a", subject="a", payload={})
    Call.objects.create(purpose="judge", kind="openai_compatible", item=item, cost=Decimal(1))
    assert matrix_of(study).rows[0].cost == "0.50"


def test_judge_that_was_taken_out_of_the_study_file_keeps_its_ratings_here(study, desk):
    run = factories.run_with_turns(study, factories.person(study))
    factories.rating(factories.judge(study, "former"), run)
    factories.rating(factories.judge(study, "former~warm"), run)
    row = matrix_of(study).rows[-1]
    assert (row.judge, row.strategy, row.cells[0].done, row.gone) == ("former", "standard", 1, True)
    page = desk.get(reverse("research-judges", args=["demo"])).content.decode()
    assert page.count("no longer in the study file") == 1
    assert 'value="former standard"' not in page
