"""Parts of pages that are the same for everyone: rendered once for each language and each value that they are given."""

from unittest.mock import patch

from django.template import Context, Template
from django.utils import translation

PAGE = '{% load i18n %}{{ name }}: {% fixed %}{% translate "Saved" %}{{ name }}{% endfixed %}'


def test_fixed_part_is_in_the_language_of_the_page_and_sees_no_variables() -> None:
    page = Template(PAGE)
    for language, saved in (("en", "Saved"), ("zh-hans", "已保存"), ("en", "Saved")):
        with translation.override(language):
            assert page.render(Context({"name": "Ada"})) == f"Ada: {saved}"


def test_fixed_part_is_rendered_once_for_each_language() -> None:
    page = Template(PAGE)
    with translation.override("en"):
        page.render(Context({"name": "Ada"}))
        with patch("django.templatetags.i18n.TranslateNode.render", side_effect=AssertionError("rendered again")):
            assert page.render(Context({"name": "Bob"})) == "Bob: Saved"


def test_fixed_part_with_a_value_is_rendered_once_for_each_value_and_sees_it_alone() -> None:
    page = Template(
        '{% load i18n %}{% fixed lines=found %}{% translate "Saved" %}{{ lines.0 }}{{ name }}{% endfixed %}'
    )
    one, other = ("119",), ("112",)
    with translation.override("en"):
        assert page.render(Context({"found": one, "name": "Ada"})) == "Saved119"
        assert page.render(Context({"found": other})) == "Saved112"
        with patch("django.templatetags.i18n.TranslateNode.render", side_effect=AssertionError("rendered again")):
            assert page.render(Context({"found": one})) == "Saved119"
    with translation.override("zh-hans"):
        assert page.render(Context({"found": one})) == "已保存119"
