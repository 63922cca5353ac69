"""The navigation of researchers' pages: a plain list of pages, grouped by what one does there."""

import pytest
from django.urls import reverse

from dialogue.models import RiskEvent
from studies.workbench.pages import GROUPS, PAGES, Page, get_links
from tests import factories

pytestmark = pytest.mark.django_db


def labels_by_group(study, path="/", pages=PAGES):
    return {
        str(group["label"]): [str(page["label"]) for page in group["pages"]] for group in get_links(study, path, pages)
    }


def test_pages_are_grouped_by_what_one_does():
    assert labels_by_group(factories.study("demo")) == {
        "Running": ["Board", "People", "Safety desk", "Payments"],
        "Reading": ["Conversations"],
        "Rating": ["Reviews", "Comparisons", "Quality", "Judges"],
        "Simulation": ["Profiles", "Benchmark"],
        "Results": ["Analysis", "Export"],
        "Setting up": ["Design", "Role cards", "Lifecycle", "Webhooks", "Access", "Audit log"],
    }


def test_every_page_has_a_group_and_an_address():
    assert {page.group for page in PAGES} == {group.key for group in GROUPS}
    assert all(reverse(page.name, args=["demo"]) for page in PAGES)


def test_a_page_is_added_by_one_line_and_stands_where_it_stands():
    study = factories.study("demo")
    line = Page("set_up", "research-study-file", "File")
    assert labels_by_group(study, pages=(line, *PAGES))["Setting up"] == [
        "File",
        "Design",
        "Role cards",
        "Lifecycle",
        "Webhooks",
        "Access",
        "Audit log",
    ]
    assert labels_by_group(study, pages=(line,)) == {"Setting up": ["File"]}


@pytest.mark.parametrize(
    ("path", "here"),
    [
        ("/research/demo/", "Board"),
        ("/research/demo/people/P2345678/", "People"),
        ("/research/demo/risks/adverse/", "Safety desk"),
    ],
)
def test_a_page_belongs_to_the_link_with_the_longest_address(path, here):
    links = [page for group in get_links(factories.study("demo"), path) for page in group["pages"]]
    assert [str(page["label"]) for page in links if page["here"]] == [here]


def test_the_safety_desk_says_how_many_events_are_open():
    study = factories.study("demo")
    run = factories.run_with_turns(study, factories.person(study))
    RiskEvent.objects.create(conversation=run.conversation, source="message", level=3)
    links = [page for group in get_links(study, "/") for page in group["pages"]]
    assert {str(page["label"]): page["count"] for page in links if page["count"]} == {"Safety desk": 1}
