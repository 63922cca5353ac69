"""Notes of results.json in the language of the page."""

import pytest
from django.utils import translation

from studies.analysis.notes import INTERVAL, WORDINGS, Note, places_of
from studies.simulation.note_words import read_note, word_note


@pytest.mark.parametrize("code", sorted(WORDINGS))
def test_every_note_is_read_back_from_its_english_text(code):
    note = Note(code, **dict.fromkeys(places_of(code), "7"))
    assert str(read_note(str(note))) == str(note)


@pytest.mark.parametrize(
    "note", [Note("few_clusters", count="12").on(INTERVAL), Note("two_way_jackknife", kinds=Note("people_and_raters"))]
)
def test_columns_and_values_that_are_notes_are_read_too(note):
    assert read_note(str(note)) == note


def test_note_is_worded_for_the_reader():
    text = "interval: only 12 clusters, the interval may be too narrow"
    with translation.override("zh-hans"):
        assert word_note(text) == "区间：只有 12 个聚类，区间可能过窄"
        assert word_note("a note of another program") == "a note of another program"
    with translation.override("en"):
        assert word_note(text) == text
