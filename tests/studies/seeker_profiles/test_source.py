"""Who the seeker is to be comes from the answers alone, and not recognisably."""

import pytest

from dialogue.deidentification.identifiers import has_name
from studies.seeker_profiles.source import ALIASES, ages_of, kind_of_work, profile_source
from tests import factories
from tests.studies.seeker_profiles.people import PROFILE, person

pytestmark = pytest.mark.django_db


def test_demographics_are_the_answers_without_who_gave_them() -> None:
    made = profile_source(person(factories.study()))
    given = dict(made.answered.demographics)
    assert given.pop("alias") in ALIASES["en"]
    assert given.pop("age") in range(25, 35)
    assert given == {"gender": "Woman", "occupation": "nurse", "relationship": "Single"}
    assert made.answered.category == "Work or job"


def test_big_five_are_scored_from_the_answers() -> None:
    """Every answer 4: reversed ones count 2. Mini-IPIP: E and C have two of four reversed, A two, N two, O three."""
    made = profile_source(person(factories.study(), big_five=4.0))
    assert made.answered.big_five == {
        "scale": "1-5 mean, as scored by mini_ipip.json",
        "E": 3.0,
        "A": 3.0,
        "C": 3.0,
        "N": 3.0,
        "O": 2.5,
    }


def test_the_model_is_told_topic_wish_and_what_they_wrote_but_not_their_nickname() -> None:
    someone = person(factories.study())
    factories.answer(someone, "screening", {"issue_category": "family", "issue_text": "It is all too much."})
    told = profile_source(someone).answered.answers
    assert told == {
        "topic": "Work or job",
        "status": "It is going on",
        "goal": "Being heard",
        "matter": PROFILE["matter"],
        "issue_text": "It is all too much.",
        "interests": "chess and running",
    }


def test_topic_of_the_screening_stands_in_where_the_profile_has_none() -> None:
    someone = person(factories.study(), profile={"topic": "prefer_not", "age_band": "prefer_not"})
    factories.answer(someone, "screening", {"issue_category": "loss"})
    made = profile_source(someone).answered
    assert made.category == "Loss or grief"
    assert set(made.demographics) == {"alias"}


def test_chinese_answers_are_told_in_chinese() -> None:
    made = profile_source(person(factories.study(), language="zh"))
    assert made.answered.demographics["alias"] in ALIASES["zh"]
    assert made.answered.demographics["occupation"] == "护士"
    assert made.answered.demographics["gender"] == "男"
    assert made.answered.answers["topic"] == "家庭"


def test_asked_twice_the_same_is_told() -> None:
    someone = person(factories.study())
    assert profile_source(someone) == profile_source(someone)


def test_the_alias_is_nobody_they_spoke_of() -> None:
    *used, free = ALIASES["en"]
    someone = person(factories.study(), profile={"nickname": used[0], "matter": ", ".join(used[1:]), "topic": "work"})
    made = profile_source(someone)
    assert made.answered.demographics["alias"] == free
    assert not any(has_name(name, free) for name in made.own.names)


def test_a_gender_in_own_words_is_taken_and_one_without_words_left_out() -> None:
    study = factories.study()
    described = {"topic": "work", "gender": "self_described", "gender_self_described": "agender"}
    assert profile_source(person(study, profile=described)).answered.demographics["gender"] == "agender"
    del described["gender_self_described"]
    assert "gender" not in profile_source(person(study, profile=described)).answered.demographics


@pytest.mark.parametrize(
    ("text", "language", "kind"),
    [
        ("nurse at St Mary's", "en", "nurse"),
        ("engineer for Siemens", "en", "engineer"),
        ("teacher in Leeds", "en", "teacher"),
        ("student in engineering", "en", "student in engineering"),
        ("Tesco", "en", "Tesco"),
        ("在腾讯做程序员", "zh", "程序员"),
        ("北京大学的老师", "zh", "老师"),
        ("大学生", "zh", "大学生"),
        ("数学老师", "zh", "数学老师"),
    ],
)
def test_kind_of_work_is_without_the_employer(text: str, language: str, kind: str) -> None:
    assert kind_of_work(text, language) == kind


@pytest.mark.parametrize(
    ("band", "ages"), [("25_34", range(25, 35)), ("65_plus", range(65, 81)), ("prefer_not", None), ("", None)]
)
def test_ages_of_a_band(band: str, ages: range | None) -> None:
    assert ages_of(band) == ages
