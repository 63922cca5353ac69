"""The one list of languages, and what asks it."""

import pytest
from django.conf import settings
from django.template import Context, Template
from django.utils import translation

from dialogue.languages import CODES, FIRST, LANGUAGES, get_code, get_language


@pytest.mark.parametrize(
    ("given", "code"),
    [("en", "en"), ("en-gb", "en"), ("zh", "zh"), ("zh-hans", "zh"), ("zh-Hans", "zh"), ("zh_CN", "zh"), ("fr", "en")],
)
def test_language_is_found_by_any_of_its_codes(given: str, code: str) -> None:
    assert get_code(given) == code


def test_first_language_stands_in_for_an_unknown_one() -> None:
    assert get_language("") == FIRST


def test_django_knows_the_same_languages() -> None:
    assert [code for code, _name in settings.LANGUAGES] == [language.django for language in LANGUAGES]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_every_prompt_is_there_in_each_language(language) -> None:
    names = {path.name.split(".")[0] for path in (settings.FIXTURES / "prompts").glob("*.txt")}
    missing = [name for name in names if not (settings.FIXTURES / "prompts" / f"{name}.{language.code}.txt").exists()]
    assert (len(names) > 5, missing) == (True, [])


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_page_says_its_language_and_offers_the_others(language) -> None:
    page = Template(
        "{% load languages %}{{ code|html_language }}: {{ text|in_language }}"
        "{% other_languages as others %}{% for one in others %} {{ one.code }}{% endfor %}"
    )
    with translation.override(language.django):
        text = page.render(Context({"code": language.django, "text": {code: f"in {code}" for code in CODES}}))
    others = "".join(f" {code}" for code in CODES if code != language.code)
    assert text == f"{language.html}: in {language.code}{others}"


def test_text_in_another_language_is_better_than_none() -> None:
    page = Template("{% load languages %}{{ one|in_language }}, {{ plain|in_language }}")
    with translation.override("zh-hans"):
        assert page.render(Context({"one": {"en": "only English"}, "plain": "plain"})) == "only English, plain"


@pytest.mark.parametrize(
    ("language", "shown"),
    [("en", "en: Chinese, English; fr, a, b"), ("zh-hans", "en：中文，英语；fr，a、b")],
)
def test_signs_and_names_are_those_of_the_language_of_the_page(language: str, shown: str) -> None:
    template = Template(
        "{% load i18n %}en{% colon %}{{ 'zh'|name_of_language }}{% comma %}{{ 'en'|name_of_language }}{{ semicolon }}"
        "{{ 'fr'|name_of_language }}{% comma %}{{ members|listed }}"
    )
    with translation.override(language):
        values = {"members": ["a", "b"], "semicolon": get_language(language).semicolon}
        assert template.render(Context(values)) == shown
