"""Items that tell people what to answer: asked and kept like all others, and no score anywhere."""

import csv
import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from studies.board import quality_indices
from studies.bots.answers import Person as Bot
from studies.bots.answers import answer
from studies.bots.page_reader import read_page
from studies.data.exports.codebook import build_codebook
from studies.data.exports.columns import Filter
from studies.data.exports.judgements import get_people_scores
from studies.data.exports.tables import TABLES
from studies.data.imports.faults import ImportRefused
from studies.data.imports.ratings import import_ratings
from studies.instruments.forms import REASON, form_for
from studies.instruments.loading import SITE, load
from studies.interviews.materials import ratings_of
from studies.interviews.step import dimensions
from studies.judging.items import judged_items
from studies.models import Answer, ReviewItem, ReviewPlan
from studies.participation.judge_gap import judge_gaps
from studies.second_raters.review_work import answers_in
from studies.workbench.rating_tables import Scores
from tests import factories
from tests.people import Person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("figures_are_left_out")]

REAL = Filter()
BY_NAME = {table.name: table for table in TABLES}
RATED = ["one", "two", "three"]
WORDS = {"en": "To show that you are reading, choose 4 here.", "zh": "为表明您在认真阅读，此题请选择 4。"}


def described(id: str, kind: str, body: str, keys: list[str]) -> str:
    """An instrument of these items, and `reading`, which tells people to choose 4."""
    words = {"en": "How was it?", "zh": "怎么样？"}
    items = [{"id": key, **words, "question": words} for key in keys]
    items.append({"id": "reading", "instructed": 4, **WORDS, "question": WORDS})
    head = {"schema": "instrument/1", "id": id, "kind": kind, "version": "1.0.0", "title": words}
    return json.dumps({**head, "response_scale": {"min": 1, "max": 5}, body: items})


@pytest.fixture(autouse=True)
def own_instruments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Beside those that come with emostudy, `own_days` about oneself and `own_scale` about conversations."""
    (tmp_path / "own_days.json").write_text(described("own_days", "questionnaire", "items", ["tired"]), "utf-8")
    (tmp_path / "own_scale.json").write_text(described("own_scale", "rating_scale", "dimensions", RATED), "utf-8")
    monkeypatch.setattr(SITE, "folder", tmp_path)
    SITE.forget()
    yield
    monkeypatch.undo()
    SITE.forget()


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def person(study):
    return factories.person(study)


@pytest.fixture
def run(study, person):
    return factories.run_with_turns(study, person)


def rate(who, run, score=2.0, reading=4.0):
    return factories.answer(
        who, "own_scale", {**dict.fromkeys(RATED, score), "reading": reading}, run=run, moment="final"
    )


def rows_of(table, study):
    names = [column.name for column in BY_NAME[table].columns]
    return [dict(zip(names, row, strict=True)) for row in BY_NAME[table].rows(study, REAL)]


# Asked


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_is_asked_and_kept_like_any_other_item_but_not_why(language):
    given = dict.fromkeys([*RATED, "reading"], "3")
    form = form_for(load("own_scale"), language=language, reasons=True, data=given)

    assert form.is_valid()
    assert form.fields["reading"].label == WORDS[language]
    assert {key for key in form.fields if key.startswith(REASON)} == {REASON + key for key in RATED}
    assert [(one.item, one.value) for one in form.cleaned_answers()] == [(key, 3) for key in given]


def test_it_must_be_answered_where_the_others_must():
    form = form_for(load("own_days"), language="en", data={"tired": "3"})

    assert list(form.errors) == ["reading"]


@pytest.mark.usefixtures("on_commit_at_once")
def test_a_person_meets_it_on_the_pages_of_a_study(settings, tmp_path):
    demo = (settings.FIXTURES / "studies" / "demo.toml").read_text("utf-8")
    usual, scale = 'instrument = "mini_ipip"', 'final_instruments = ["emoharbor_10"]'
    assert (demo.count(usual), demo.count(scale)) == (1, 1)
    own = demo.replace(usual, 'instrument = "own_days"').replace(scale, 'final_instruments = ["own_scale"]')
    (tmp_path / "demo.toml").write_text(own, "utf-8")
    call_command("load_study", str(tmp_path / "demo.toml"), verbosity=0)
    someone = Person()

    for kind, instrument in (("questionnaire", "own_days"), ("rating", "own_scale")):
        while someone.step.instrument != instrument:
            someone.go_to(kind)
            if someone.step.instrument != instrument:
                someone.send(someone.answers())
        assert WORDS["en"] in someone.page().content.decode()
        someone.be_refused(dict.fromkeys(["tired", *RATED], "3"))
        assert someone.send({**dict.fromkeys(["tired", *RATED], "3"), "reading": "4"}).status_code == 302

    told = Answer.objects.filter(item="reading").values_list("response__instrument", "value")
    assert sorted(told) == [("own_days", 4), ("own_scale", 4)]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("instrument", ["own_days", "own_scale"])
def test_bots_answer_as_told(instrument, language):
    for seed in range(5):
        who = Bot(f"P{seed}", language, str(seed))
        form = form_for(load(instrument), language=language)
        page = read_page(render_to_string("components/form.html", {"form": form, "step": "here"})).step_form()
        assert answer(page, who)["reading"] == "4"


def test_judges_and_simulated_seekers_are_not_asked():
    assert [item.key for item in judged_items(load("own_scale"), "en")] == RATED


# Kept, and no score


def test_of_a_rating_form_it_is_an_answer_and_no_rating(study, person, run):
    rate(person, run, reading=3)

    assert [row["item"] for row in rows_of("ratings", study)] == RATED
    [row] = rows_of("answers", study)
    code = run.conversation.code
    assert (row["participant"], row["conversation"], row["instrument"]) == (person.code, code, "own_scale")
    assert (row["item"], row["moment"], row["value"]) == ("reading", "final", 3)
    for name in ("ratings", "answers", "scales"):
        assert BY_NAME[name].count(study, REAL) == len(rows_of(name, study))


def test_of_a_questionnaire_it_is_an_answer_like_the_others(study, person):
    factories.answer(person, "own_days", {"tired": 1.0, "reading": 4.0})

    assert [(row["item"], row["value"]) for row in rows_of("answers", study)] == [("tired", 1), ("reading", 4)]


def test_no_mean_or_distance_counts_it(study, person, run):
    rate(person, run, score=2, reading=5)
    rate(factories.judge(study), run, score=3, reading=1)

    assert [(row["scale"], row["score"], row["items_answered"]) for row in rows_of("scales", study)] == [
        ("overall", 2, 3)
    ]
    assert [(found.points, found.items) for found in judge_gaps(study)] == [(1, 3)]
    assert {answer.item for answer in Scores.of(run, 1).answers} == set(RATED)
    assert set(get_people_scores(study, REAL, [run])[run.pk, "own_scale", "final", 0]) == set(RATED)
    assert [answer.item for answer in ratings_of(person)] == RATED


def test_no_import_brings_it_as_a_rating(study, run, tmp_path):
    path = tmp_path / "ratings.csv"
    place = f"{run.conversation.code},gpt,judge,own_scale"
    path.write_text(f"conversation,rater,rater_kind,instrument,item,score\n{place},one,4\n{place},reading,4\n")

    with pytest.raises(ImportRefused, match="3: item: 'reading' tells people what to answer, so it is no rating"):
        import_ratings(study, path)
    assert not Answer.objects.exists()


def test_an_interview_does_not_name_it_among_the_dimensions():
    assert dimensions(["own_scale"], "en") == [("How was it?", "")] * len(RATED)


def test_second_raters_cannot_differ_on_it(study, person, run):
    plan = ReviewPlan.objects.create(study=study, name="first", instruments=["own_scale"], source={})
    ReviewItem.objects.create(plan=plan, run=run, position=1, wanted=1)
    reviewer = factories.person(study, track="reviewer")
    rate(reviewer, run)

    assert {answer.item for answer in answers_in(plan)} == set(RATED)


def test_the_codebook_tells_what_was_asked_for():
    rows = {entry.column: entry for entry in build_codebook([], [load("own_scale")])}

    reading = rows["reading"]
    assert (reading.minimum, reading.maximum, reading.instructed, reading.meaning) == (1, 5, "4", WORDS["en"])
    assert rows["overall"].meaning == "Overall: mean of one, two, three"


# Looked at


@pytest.fixture
def desk():
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


def missed(study):
    return {
        (found.person, found.conversation, found.estimate, found.flagged)
        for found in quality_indices.indices(study, REAL)
        if found.statistic in ("instructed_share", "instructed_missed")
    }


def test_the_page_and_analyse_find_the_same(study, person, run, tmp_path):
    rate(person, run, reading=3)
    factories.answer(person, "own_days", {"tired": 1.0, "reading": 4.0})
    call_command("export", "demo", "--out", str(tmp_path / "out"), verbosity=0)
    call_command("analyse", str(tmp_path / "out"), "--out", str(tmp_path / "results"), "--bootstrap", "5", verbosity=0)

    with (tmp_path / "results" / "quality.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["statistic"].startswith("instructed")]
    code = run.conversation.code
    assert missed(study) == {
        (person.code, "", 0.5, False),
        (person.code, "", 0, False),
        (person.code, code, 1, True),
    }
    assert missed(study) == {
        (row["person"], row["conversation"], float(row["estimate"]), row["flagged"] == "true") for row in rows
    }
    report = (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    assert "an instructed item was answered differently" in report


def test_no_result_but_quality_names_it(study, person, run, tmp_path):
    rate(person, run, reading=3)
    call_command("export", "demo", "--out", str(tmp_path / "out"), verbosity=0)
    call_command("analyse", str(tmp_path / "out"), "--out", str(tmp_path / "results"), "--bootstrap", "5", verbosity=0)

    naming = [path.name for path in (tmp_path / "results").glob("*.csv") if "reading" in path.read_text("utf-8")]
    assert naming == []


def test_the_quality_page_shows_share_and_flag(study, person, run, desk):
    rate(person, run, reading=3)
    factories.answer(person, "own_days", {"tired": 1.0, "reading": 4.0})

    response = desk.get(reverse("research-quality", args=["demo"]), {"test": "no"})

    [row] = response.context["page"].object_list
    assert row.values["instructed_share"] == 0.5
    assert [flag.statistic for flag in row.runs[0].flags if flag.statistic.startswith("instructed")] == [
        "instructed_missed"
    ]
    page = response.content.decode()
    assert "Instructed items: share answered as instructed" in page
    assert "People who read them have a share of 1" in page
    about = desk.get(reverse("research-quality-person", args=["demo", person.code])).content.decode()
    assert "Instructed items answered differently" in about


def test_without_such_an_item_the_quality_page_has_no_column_for_it(study, person, desk, monkeypatch):
    monkeypatch.setattr(SITE, "folder", None)
    SITE.forget()

    page = desk.get(reverse("research-quality", args=["demo"]), {"test": "no"}).content.decode()

    assert person.code in page
    assert "Instructed items" not in page
