"""Sentences and lists of a page, joined as its language joins them."""

import pytest
from django.template import Context, Template
from django.utils import translation

from dialogue.languages import LANGUAGES

PAGE = """{% sentences %}<p>
  <strong>
    {{ first }}
  </strong>
  {{ second }}
  <a href="/">{{ third }}</a>
</p>{% endsentences %}"""


def render(template: str, language: str, **values: object) -> str:
    with translation.override(language):
        return Template(template).render(Context(values))


def test_chinese_sentences_have_no_space_between_them() -> None:
    page = render(PAGE, "zh-hans", first="都已保存。", second="请写信至：", third="我们”是谁")
    assert page == '<p>\n  <strong>\n    都已保存。</strong>请写信至：<a href="/">我们”是谁</a>\n</p>'


def test_a_quotation_that_ends_a_sentence_has_no_space_behind_it() -> None:
    assert render("{% sentences %}写“好。”\n  再写{% endsentences %}", "zh-hans") == "写“好。”再写"
    assert render("{% sentences %}写“好”\n  AI{% endsentences %}", "zh-hans") == "写“好”\n  AI"


def test_english_sentences_keep_their_spaces() -> None:
    page = render(PAGE, "en", first="Saved.", second="Write to:", third="us")
    assert page == '<p>\n  <strong>\n    Saved.\n  </strong>\n  Write to:\n  <a href="/">us</a>\n</p>'


def test_values_in_joined_sentences_are_escaped() -> None:
    assert render("{% sentences %}{{ name }}{% endsentences %}", "zh-hans", name="<b>。 好") == "&lt;b&gt;。好"


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_members_of_a_list_have_the_comma_of_the_language(language) -> None:
    assert render("{{ names|listed }}", language.django, names=["a", "<b>"]) == f"a{language.comma}&lt;b&gt;"
