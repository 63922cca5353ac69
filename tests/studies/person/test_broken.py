"""A form whose token no longer holds, and the page that stands where the database is away."""

import re

import pytest
from django.test import Client

from dialogue.safety.resources import countries
from studies.person.broken import page_without_database

pytestmark = pytest.mark.django_db


@pytest.fixture
def careful() -> Client:
    return Client(enforce_csrf_checks=True, headers={"Accept-Language": "en"})


def test_researcher_whose_form_was_open_too_long_reads_how_to_keep_their_words(careful, admin_user):
    careful.force_login(admin_user)
    page = careful.post("/research/some-study/risks/1/note/", {"text": "called her back"})
    text = page.content.decode()
    assert page.status_code == 403
    assert "Come back to this tab" in text
    assert 'href="/research/sign-in/"' in text
    assert 'href="/study/"' not in text
    assert 'class="help-link"' not in text


def test_researcher_who_was_signed_out_while_writing_reads_it_too(client):
    sent = {"text": "called <her> back", "password": "a secret", "seen": "9f", "empty": " "}
    page = client.post("/research/some-study/risks/1/note/", sent)
    assert page.status_code == 403
    assert page.context["written"] == [("text", "called <her> back")]
    assert "called &lt;her&gt; back" in page.content.decode()


def test_sign_in_form_that_was_open_too_long_shows_the_researchers_page(careful):
    assert "Come back to this tab" in careful.post("/research/sign-in/", {"login": "a"}).content.decode()


def test_person_whose_form_was_open_too_long_keeps_help_and_the_way_back(careful):
    page = careful.post("/study/", {"step": "language"})
    text = page.content.decode()
    assert page.status_code == 403
    assert 'href="/study/"' in text
    assert 'class="help-link"' in text
    assert "Come back to this tab" not in text


def test_cry_for_help_from_a_page_that_was_open_for_too_long_leads_to_help(careful):
    text, other = (careful.post(path).content.decode() for path in ("/study/unsafe/", "/study/"))
    assert "The team was not told" in text
    assert 'class="button button--main" href="/help/"' in text
    assert "The team was not told" not in other


def test_page_without_database_has_every_country_in_the_order_of_each_language(rf):
    page = page_without_database(rf.get("/study/", headers={"accept-language": "en"})).content.decode()
    named = [name.strip() for name in re.findall(r"<summary>(.*?)</summary>", page, re.S)]
    english, chinese = named[: len(countries())], named[len(countries()) :]
    assert (english[:3], english[-2:]) == (["Australia", "Austria", "Belgium"], ["United States", "Any other country"])
    assert (chinese[:3], chinese[-2:]) == (["爱尔兰", "澳大利亚", "奥地利"], ["中国香港", "其他国家和地区"])
