"""A questionnaire and a rating form made on the pages, from a study that uses them to its exported files."""

import csv
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from studies.builder.document import StudyDocument
from studies.models import Study, StudyDraft
from tests.people import Person
from tests.studies.questionnaires.test_pages import filled, make

pytestmark = pytest.mark.django_db


def load_study_with(desk, questionnaire, rating_form):
    """Set up the smallest study with both, as on the pages of a draft."""
    desk.post(reverse("research-new-study"), {"begin": "minimal"})
    draft = StudyDraft.objects.get()
    document = StudyDocument(draft.text)
    document.set(("key",), "calm_study")
    for key, value in {"kind": "scripted", "model": "mirror"}.items():
        document.set(("arms", 0, key), value)
    document.set(("arms", 0, "base_url"), None)
    document.set(("chat", "final_instruments"), [rating_form])
    document.add_row(("steps",), {"kind": "questionnaire", "instrument": questionnaire})
    document.move_row(("steps",), 3, -1)
    desk.post(reverse("research-draft-text", args=[draft.pk]), {"text": document.text})
    loaded = desk.post(reverse("research-draft-load", args=[draft.pk]), follow=True)
    assert "The study is loaded, version 1." in loaded.content.decode()
    Study.objects.filter(key="calm_study").update(stage="open")


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_from_the_form_to_the_exported_files(desk, tmp_path):
    rating_form = make(
        desk,
        kind="rating_scale",
        title_en="Talk quality",
        title_zh="谈话质量",
        questions_en="clear: It was clear\nkind: It was kind",
        questions_zh="它很清楚\n它很友善",
    )
    questionnaire = make(desk)
    load_study_with(desk, questionnaire.id, rating_form.id)
    assert desk.get(f"/research/questionnaires/{rating_form.id}/").context["line"].uses.studies == ["calm_study"]

    person = Person("calm_study")
    person.go_to("rating")
    assert "It was kind" in person.page().content.decode()
    person.send({"clear": "3", "kind": "2"})
    page = person.page().content.decode()
    assert "How was it last week?" in page
    assert "What helped?" in page
    refused = person.be_refused({"calm": "3", "q2": "4", "q3": "perhaps", "q4": ""})
    assert len(refused.context["form"].errors) == 3
    assert person.send({"calm": "3", "q2": "1", "q3": "yes", "q4": "=Tea <b>"}).status_code == 302
    assert person.step.kind == "debrief"

    call_command("export", "calm_study", "--out", str(tmp_path / "out"), verbosity=0, stdout=StringIO())
    answers = [row for row in read(tmp_path / "out" / "answers.csv") if row["instrument"] == "evening_calm"]
    assert [(row["item"], row["value"], row["text"]) for row in answers] == [
        ("calm", "3", ""),
        ("q2", "1", ""),
        ("q3", "", "yes"),
        ("q4", "", "'=Tea <b>"),
    ]
    assert {row["version"] for row in answers} == {"1"}
    ratings = {(row["item"], row["score"]) for row in read(tmp_path / "out" / "ratings.csv")}
    assert ratings == {("clear", "3"), ("kind", "2")}
    scores = {(row["instrument"], row["scale"]): float(row["score"]) for row in read(tmp_path / "out" / "scales.csv")}
    assert scores == {("evening_calm", "total"): 3.0, ("talk_quality", "overall"): 2.5}

    codebook = {(row["file"], row["column"]): row for row in read(tmp_path / "out" / "codebook.csv")}
    of_rest = codebook["evening_calm.json", "q2"]
    assert (of_rest["type"], of_rest["minimum"], of_rest["maximum"]) == ("scale", "1", "3")
    assert of_rest["values"] == "1 = Never; 2 = Sometimes; 3 = Often"
    assert of_rest["meaning"] == "I could not rest (reversed in its scale)"
    assert of_rest["label_zh"] == "我无法休息"
    assert codebook["evening_calm.json", "total"]["meaning"] == "Evening calm: mean of calm, q2"
    assert codebook["talk_quality.json", "kind"]["label_zh"] == "它很友善"

    # By now someone has answered: it stays as it is.
    assert desk.post("/research/questionnaires/evening_calm/edit/", filled(version="1")).status_code == 302
    assert make(desk, key="calm_two").id == "calm_two"
