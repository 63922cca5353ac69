"""The pages of a study in the navigation of researchers, grouped by what one does there.

To add a page, add its line to `PAGES`; within its group it stands where its line stands.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from studies.design.spec import INTERVIEW, MANUAL
from studies.models import Study
from studies.participation import counts


class Group(NamedTuple):
    key: str
    label: Promise | str


@dataclass(frozen=True)
class Page:
    """A link.

    `feature`: only studies with it have the page (`Study.features`). `count`: returns how much waits there.
    """

    group: str
    name: str  # of its URL, which takes the study's key
    label: Promise | str
    feature: str = ""
    count: Callable[[Study], int] | None = None


GROUPS = (
    Group("run", _("Running")),
    Group("read", _("Reading")),
    Group("rate", _("Rating")),
    Group("simulate", _("Simulation")),
    Group("results", _("Results")),
    Group("set_up", _("Setting up")),
)

PAGES = (
    Page("run", "research-study", _("Board")),
    Page("run", "research-people", _("People")),
    Page("run", "research-applicants", _("Applicants"), feature=MANUAL),
    Page("run", "research-risks", _("Safety desk"), count=lambda study: counts.open_risks_of_people(study).count()),
    Page("run", "research-interviews", _("Interviews"), feature=INTERVIEW),
    Page("read", "research-conversations", _("Conversations")),
    Page("rate", "research-reviews", _("Reviews")),
    Page("rate", "research-pairs", _("Comparisons")),
    Page("rate", "research-quality", _("Quality")),
    Page("rate", "research-judges", _("Judges")),
    Page("simulate", "research-profiles", _("Profiles")),
    Page("simulate", "research-benchmark", _("Benchmark")),
    Page("run", "research-payments", _("Payments")),
    Page("results", "research-analysis", _("Analysis")),
    Page("results", "research-export", _("Export")),
    Page("set_up", "research-design", _("Design")),
    Page("set_up", "research-cards", _("Role cards")),
    Page("set_up", "research-life", _("Lifecycle")),
    Page("set_up", "research-webhooks", _("Webhooks")),
    Page("set_up", "research-access", _("Access")),
    Page("set_up", "research-audit", _("Audit log")),
)


def get_links(study: Study, path: str, pages: Iterable[Page] = PAGES) -> list[dict[str, Any]]:
    """Return the groups with their links: `url`, `label`, `count`, and `here`, whether `path` belongs to the link."""
    features = study.features()
    there = [page for page in pages if not page.feature or page.feature in features]
    urls = {page: reverse(page.name, args=[study.key]) for page in there}
    # The longest address with which this page's address begins: a person's page belongs to People.
    longest = max((url for url in urls.values() if path.startswith(url)), key=len, default="")
    groups = []
    for group in GROUPS:
        links = [
            {"url": url, "label": page.label, "count": page.count(study) if page.count else 0, "here": url == longest}
            for page, url in urls.items()
            if page.group == group.key
        ]
        if links:
            groups.append({"label": group.label, "pages": links})
    return groups
