"""The interview guide in sections and pages."""

from studies.instruments.interview_guide import held_back_instruments, minutes, pages_of, questions_on, sections_for
from studies.instruments.loading import load

GUIDE = load("interview_guide")


def test_counsellors_have_the_sections_and_participants_the_short_guide():
    assert [section.key for section in sections_for(GUIDE, "counsellor")][:2] == ["opening", "challenging_seekers"]
    assert [section.key for section in sections_for(GUIDE, "participant")] == ["interview"]
    assert (minutes(GUIDE, "counsellor"), minutes(GUIDE, "participant")) == (75, 10)


def test_every_question_is_an_item_of_its_track():
    for track, items in (("counsellor", "expert"), ("participant", "participant")):
        asked = [question.key for section in sections_for(GUIDE, track) for question in section.questions]
        assert asked == [item.key for item in GUIDE.items_for(track=items)]


def test_what_names_the_candidates_is_a_page_of_its_own_after_the_questions_it_would_answer():
    pages = pages_of(sections_for(GUIDE, "counsellor"))
    assert [page.number for page in pages] == list(range(1, 9))
    before, reveals = [page for page in pages if page.section.key == "missing_dimensions"]
    assert (before.items, before.settles, before.candidates) == (["md1", "md2", "md3"], True, True)
    assert (reveals.items, reveals.reveals, reveals.candidates) == (["md4"], True, False)
    assert [page.number for page in pages if page.settles or page.reveals] == [before.number, reveals.number]


def test_no_page_names_a_dimension_that_is_held_back_by_itself():
    words = [item.label["en"].lower().split() for name in held_back_instruments(GUIDE) for item in load(name).items]
    pages = pages_of(sections_for(GUIDE, "counsellor"))
    told = {page.number: told_on(page) for page in pages}
    assert len(words) == 4
    named = [number for number, text in told.items() if any(f"{one[0]} " in text and one[-1] in text for one in words)]
    assert named == []


def told_on(page) -> str:
    asked = questions_on(GUIDE, page, candidates=3)
    texts = [text["en"] for item in asked.items for text in (item.text, item.definition) if text]
    return " ".join([*texts, (page.section.written or {}).get("en", "")]).lower()


def test_probes_are_small_beside_the_question_and_the_interviewers_words_are_not_there():
    opening = questions_on(GUIDE, pages_of(sections_for(GUIDE, "counsellor"))[0], candidates=3)
    assert [item.key for item in opening.items] == ["op1", "op2"]
    assert opening.item("op1").definition["en"] == "For example: years of practice; setting; supervision"
    closing = questions_on(GUIDE, pages_of(sections_for(GUIDE, "counsellor"))[-1], candidates=3)
    assert "your own name" not in closing.item("cl2").text["en"]
