"""A second rater by keyboard alone, from the personal link to the completion code."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.amounts import choose
from tests.browser.survey import Survey
from tests.browser.test_walk import page_of
from tests.browser.typist import Typist
from tests.browser.visitor import HurriedVisitor, come_in, sign_in
from tests.server import Server

pytestmark = pytest.mark.browser

PAIR = "Which support was better?"
AGREED = ("confidential", "no_copies", "may_distress", "may_stop")
# Two of the vignettes are behind them, so that the walk is short; the keys are as in vignettes.json.
INVITED = """
from studies.participation.enrolment import invite
from studies.models import Review, ReviewPlan, Study
study = Study.objects.get(key="brief")
plan = ReviewPlan.objects.get(study=study, name="{name}")
person, token = invite(study, track="reviewer")
for key in ("v3", "v4"):
    scored = {{"scores": {{"safety": 1.0}}, "done_at": "2026-01-01T00:00Z"}}
    Review.objects.create(plan=plan, reviewer=person, vignette=key, **scored)
print("person", person.code, token)
"""
CLOSED = """
from studies.models import PairPlan, ReviewPlan
for plans in (PairPlan, ReviewPlan):
    plans.objects.update(is_open=False)
"""
# Of the conversations that other tests brought in, a plan has none.
OWN = """
from studies.models import ReviewItem
ReviewItem.objects.filter(plan__name="{name}").exclude(run__external_id__startswith="{name}-").delete()
"""
SIDE_BY_SIDE = """
from dataclasses import asdict
from studies.models import ArmRun, PairPlan, Study
from studies.second_raters.comparisons import Drawing
study = Study.objects.get(key="brief")
plan = PairPlan.objects.create(study=study, name="{name}", instrument="pairwise_support", source=asdict(Drawing()))
a, b = ArmRun.objects.filter(study=study, external_id__startswith="{name}-").order_by("external_id")
plan.pairs.create(study=study, run_a=a, run_b=b, position=1)
"""
STORED = """
from studies.models import Participation, Response, Verdict
person = Participation.objects.get(code="{code}")
for response in Response.objects.filter(rater__participation=person, run__isnull=False).order_by("run__external_id"):
    scores = sorted(set(response.answers.filter(value__isnull=False).values_list("value", flat=True)))
    about = (response.run.external_id, response.rater.kind, response.moment, response.replicate)
    print("stored", *about, response.answers.filter(value__isnull=False).count(), *scores)
done = person.reviews.filter(done_at__isnull=False)
verdicts = Verdict.objects.filter(comparison__rater__participation=person, comparison__done_at__isnull=False)
print("stored pairs", verdicts.values("comparison").distinct().count(), verdicts.count())
print("done", person.status, done.exclude(vignette="").count(), done.filter(vignette="").count())
"""


class Reviewer(Typist):
    def answers(self, key: str) -> dict[str, str]:
        return {**super().answers(key), **dict.fromkeys(AGREED, "on"), **dict.fromkeys(self.items(), "4")}

    def items(self) -> list[str]:
        return [item.get_attribute("data-item") or "" for item in self.page.locator("[data-item]").all()]

    def answer_form(self) -> None:
        """Where there is a transcript, keys lead to it first, and scroll it."""
        if self.page.locator(".review").count():
            self.tab_to(".review__window")
        super().answer_form()


def talk(identity: str, language: str, arm: str) -> dict[str, object]:
    said = {"en": ("It is about my sister.", "What happened?"), "zh": ("是关于我姐姐的事。", "发生了什么？")}[language]
    turns = [dict(zip(("seeker", "supporter"), said, strict=True))] * 3
    return {"id": identity, "arm": arm, "language": language, "turns": turns}


def set_up(server: Server, folder: Path, name: str, language: str = "en") -> tuple[str, str]:
    """A plan with two conversations of its own, a pair, and the code and token of a reviewer for whom they wait."""
    talks = folder / "talks.jsonl"
    arms = {1: "amber", 2: "birch"}
    lines = [json.dumps(talk(f"{name}-{number}", language, arm)) for number, arm in arms.items()]
    talks.write_text("\n".join(lines), encoding="utf-8")
    for command in (
        ("shell", "-c", CLOSED),
        ("import_conversations", "brief", str(talks)),
        ("plan_reviews", "brief", "--name", name, "--instruments", "emoharbor_10", "--source", "all",
         "--seekers", "imported", "--each", "1"),
        ("shell", "-c", OWN.format(name=name)),
        ("shell", "-c", SIDE_BY_SIDE.format(name=name)),
    ):  # fmt: skip
        done = server.manage(*command)
        assert done.returncode == 0, done.stderr
    told = server.manage("shell", "-c", INVITED.format(name=name))
    found = re.search(r"^person (\S+) (\S+)$", told.stdout, re.MULTILINE)
    assert found, told.stderr
    return found[1], found[2]


def test_reviewer_walks_from_the_link_to_the_completion_code_by_keyboard(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    code, token = set_up(server, tmp_path, "read")
    page = page_of(browser, "desktop", "en")
    reviewer = Reviewer(page, "en")
    come_in(page, f"{server.base_url}/j/{token}/")
    headings = []
    while not reviewer.code():
        reviewer.take_step()
        headings.append(page.get_by_role("heading", level=1).inner_text())
    assert len(reviewer.code()) == 10
    assert headings.count("First, an example") == 2
    assert headings.count("Your scores next to the known scores") == 2
    assert headings.count("A conversation to rate") == 2
    assert headings.count(PAIR) == 1
    stored = server.manage("shell", "-c", STORED.format(code=code))
    assert re.findall(r"^(?:stored|done) .+$", stored.stdout, re.MULTILINE) == [
        "stored read-1 reviewer final 1 10 4.0",
        "stored read-2 reviewer final 1 10 4.0",
        "stored pairs 1 5",
        "done completed 4 2",
    ], stored.stderr
    page.context.close()


@pytest.mark.parametrize("language", choose(usual=["zh"], full=["en", "zh"]))
def test_anyone_can_use_a_reviewers_pages(browser: Browser, server: Server, tmp_path: Path, language: str) -> None:
    _code, token = set_up(server, tmp_path, f"seen-{language}", language)
    locale = {"en": "en-GB", "zh": "zh-CN"}[language]
    context = browser.new_context(locale=locale, reduced_motion="reduce", bypass_csp=True)
    page, survey = context.new_page(), Survey(language)
    reader = Reader(page, language, survey)
    come_in(page, f"{server.base_url}/j/{token}/", survey)
    while not reader.code():
        reader.take_step()
    survey(page, "reviewer's debrief")
    sign_in(page, server)
    for path in ("", "new/"):
        page.goto(f"{server.base_url}/research/brief/reviews/{path}")
        survey(page, f"research/reviews/{path}")
    page.locator('[name="name"]').fill("another")
    page.locator("#plan-form button").click()
    survey(page, "research/reviews/new/, what it would be")
    page.goto(f"{server.base_url}/research/brief/reviews/")
    page.locator("tbody a").last.click()
    survey(page, "research/reviews/ one plan")
    context.close()
    assert (survey.violations, survey.cut) == ({}, {})


class Reader(HurriedVisitor):
    """Looks at each kind of page, and at the one that gives a conversation back without a reason."""

    def name(self) -> str:
        return self.page.get_by_role("heading", level=1).inner_text()

    def answers(self, key: str) -> dict[str, str]:
        return {**super().answers(key), **dict.fromkeys(AGREED, "on")}

    def take_step(self) -> None:
        give_back = self.page.locator("#give-back")
        if give_back.count() and "gives back" not in self.seen:
            self.seen.append("gives back")
            give_back.locator("summary").click()
            give_back.locator("button").click()
            self.look(self.page, "gives a conversation back, without a reason")
        super().take_step()


def test_on_a_phone_one_touch_leads_back_to_the_transcript(browser: Browser, server: Server, tmp_path: Path) -> None:
    _code, token = set_up(server, tmp_path, "touched")
    page = page_of(browser, "phone", "en")
    visitor = Reader(page, "en")
    come_in(page, f"{server.base_url}/j/{token}/")
    visitor.take_step()  # language
    visitor.take_step()  # agreement
    page.get_by_role("link", name="Go to the questions").click()
    page.mouse.wheel(0, 1500)
    back, title = page.get_by_role("link", name="Back to the transcript"), page.locator("#transcript-title")
    expect(back).to_be_in_viewport()
    expect(title).not_to_be_in_viewport()
    back.click()
    expect(title).to_be_in_viewport()
    page.context.close()
