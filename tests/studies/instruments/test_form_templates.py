import re
from html.parser import HTMLParser

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from dialogue.safety.resources import resources_for
from studies.instruments.forms import form_for
from studies.instruments.loading import load


class Page(HTMLParser):
    """The tags of a page with their attributes, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def all(self, tag, **wanted):
        return [found for name, found in self.tags if name == tag and wanted.items() <= found.items()]


def page_of(instrument, *, context=None, **kwargs) -> Page:
    form = form_for(load(instrument), **{"language": "en", **kwargs})
    return Page(
        render_to_string("components/form.html", {"form": form, "step": 4, "idempotency": "once", **(context or {})})
    )


def test_scale_is_a_fieldset_with_a_legend_and_radios():
    page = page_of("emoharbor_10")
    assert len(page.all("fieldset")) == len(page.all("legend")) == 10
    assert [radio["value"] for radio in page.all("input", type="radio", name="safety")] == ["1", "2", "3", "4", "5"]
    assert [radio for radio in page.all("input", type="radio") if "checked" in radio] == []


def test_definition_describes_its_fieldset():
    page = page_of("emoharbor_10")
    assert page.all("fieldset", id="id_safety")[0]["aria-describedby"] == "id_safety_helptext"
    assert len(page.all("p", id="id_safety_helptext")) == 1


def test_error_describes_its_fieldset_and_is_linked_from_the_summary():
    page = page_of("emoharbor_10", data={"mood_improvement": "3"})
    assert page.all("fieldset", id="id_safety")[0]["aria-describedby"] == "id_safety_helptext id_safety_error"
    assert len(page.all("ul", id="id_safety_error")) == 1
    assert len(page.all("a", href="#id_safety")) == 1
    assert page.all("a", href="#id_mood_improvement") == []


def test_error_of_a_text_describes_its_box():
    page = page_of("screening", track="participant", values={"duration_total": "6 h", "days": 7}, data={})
    box = page.all("textarea", name="issue_text")[0]
    assert (box["id"], box["aria-invalid"]) == ("id_issue_text", "true")
    assert box["aria-describedby"] == "id_issue_text_helptext id_issue_text_error"


def test_error_summary_can_take_the_focus_and_is_absent_without_errors():
    assert [summary["tabindex"] for summary in page_of("emoharbor_10", data={}).all("div", role="alert")] == ["-1"]
    assert page_of("emoharbor_10").all("div", role="alert") == []


@pytest.mark.parametrize("instrument", ["emoharbor_10", "emotion_checkin", "profile", "mini_ipip"])
def test_every_link_label_and_description_finds_its_target(instrument):
    page = page_of(instrument, data={})
    ids = [attributes["id"] for _, attributes in page.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    pointed_at = [link["href"].removeprefix("#") for link in page.all("a")]
    pointed_at += [label["for"] for label in page.all("label") if "for" in label]
    pointed_at += [
        target for _, attributes in page.tags for target in (attributes.get("aria-describedby") or "").split()
    ]
    assert set(pointed_at) <= set(ids)


def test_form_carries_its_step_and_key():
    page = page_of("reply_rating")
    assert page.all("input", type="hidden", name="step")[0]["value"] == "4"
    assert page.all("input", type="hidden", name="idempotency")[0]["value"] == "once"


def test_conditional_items_tell_the_script_what_they_depend_on():
    items = {
        item["data-item"]: item for item in page_of("emotion_checkin", phase="pre").all("div") if "data-item" in item
    }
    other, intensity = items["primary_emotion_other"], items["intensity"]
    assert (other["data-show-if"], other["data-show-values"], "data-hidden" in other) == (
        "primary_emotion",
        "other",
        True,
    )
    assert (intensity["data-hide-if"], "data-hidden" in intensity) == ("primary_emotion", False)


def test_form_escapes_what_a_person_wrote():
    form = form_for(load("emoharbor_10"), language="en", data={"comment": "</textarea><script>alert(1)</script>"})
    html = render_to_string("components/form.html", {"form": form})
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_page_has_no_inline_script_or_style():
    form = form_for(load("emoharbor_10"), language="en", data={})
    html = render_to_string("base.html") + render_to_string("components/form.html", {"form": form})
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", html) == []


@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("zh-hans", "zh-Hans")])
def test_page_names_its_language(language, tag):
    with translation.override(language):
        page = Page(render_to_string("base.html"))
    assert page.all("html")[0]["lang"] == tag


def test_page_offers_ways_to_stop_to_a_person_in_a_study_alone():
    def ways(context):
        return len(Page(render_to_string("base.html", context)).all("nav"))

    assert (ways({"participation": object()}), ways({})) == (1, 0)


def test_help_numbers_are_links_that_call():
    page = Page(render_to_string("components/resources.html", {"resources": resources_for("GB")}))
    hrefs = [link["href"] for link in page.all("a")]
    assert hrefs[:4] == ["tel:999", "tel:112", "tel:116123", "mailto:jo@samaritans.org"]
    assert hrefs[4:] == ["tel:08082000247", "tel:08001111"]  # lines for one concern come last


def test_reason_folds_away_and_is_labelled_with_its_item():
    page = page_of("emoharbor_10", reasons=True, earlier={"why-safety": "It stayed careful."})
    assert len(page.all("summary")) == 10
    assert ["open" in details for details in page.all("details")].count(True) == 1
    box = page.all("textarea", name="why-safety")[0]
    assert len(page.all("label", **{"for": box["id"]})) == 1
