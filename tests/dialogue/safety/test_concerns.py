import pytest

from dialogue.safety.concerns import concern_of
from dialogue.safety.patterns import LANGUAGES, load_patterns


@pytest.mark.parametrize(
    ("categories", "concern"),
    [
        ([], "self"),
        (["active_ideation"], "self"),
        (["violence_from_others"], "violence"),
        (["danger_to_others"], "others"),
        (["child"], "child"),
        (["hopelessness", "violence_from_others"], "violence"),
        (["child", "violence_from_others"], "child"),
        (["passive_ideation", "violence_from_others"], "self"),
    ],
)
def test_concern_is_what_most_needs_words(categories, concern):
    assert concern_of(categories) == concern


def test_every_danger_between_people_that_the_patterns_know_has_its_own_words():
    categories = {one.category for language in LANGUAGES for one in load_patterns("patterns", language).patterns}
    between = {category for category in categories if "others" in category or "child" in category}
    assert between
    assert {concern_of([category]) for category in between}.isdisjoint({"self"})
