"""Who counts as people: participants and counsellors. Over one of each kind every count, list, filter and export says
the same."""

import csv
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from dialogue.models import Conversation, RiskEvent
from dialogue.models.conversation import SeekerKind, Status
from studies.board.live import completion
from studies.models import ArmRun, Participation, Study
from tests import factories

pytestmark = pytest.mark.django_db

KEY = "trial"  # no demonstration: that one is looked at with its test data
CHOICES = [
    # test, who, whose conversations
    ("no", {"participant", "counsellor"}, {"participant", "counsellor"}),
    ("yes", {"bot", "test reviewer"}, {"bot"}),
    (
        "all",
        {"participant", "counsellor", "reviewer", "bot", "test reviewer"},
        {"participant", "counsellor", "bot", "simulated", "imported"},
    ),
]


class Population:
    """One of each kind, all at the same point, each with a reply that could not be had and a sign of danger."""

    def __init__(self) -> None:
        self.study = factories.study(KEY)
        self.people = {
            "participant": self.person(),
            "counsellor": self.person(track="counsellor"),
            "reviewer": self.person(track="reviewer"),
            "bot": self.person(is_test=True),
            "test reviewer": self.person(track="reviewer", is_test=True),
        }
        self.runs = {name: self.run(self.people[name]) for name in ("participant", "counsellor", "bot")}
        self.runs["simulated"] = self.run(None, SeekerKind.SIMULATED)
        self.runs["imported"] = self.run(None, SeekerKind.IMPORTED, external_id="X1")

    def person(self, **fields: object) -> Participation:
        return factories.person(self.study, status="completed", **fields)

    def run(self, person: Participation | None, kind: str = SeekerKind.PERSON, **fields: object) -> ArmRun:
        fields["is_test"] = bool(person and person.is_test)
        run = factories.run_with_turns(self.study, person, status=Status.OPEN, **fields)
        Conversation.objects.filter(pk=run.conversation_id).update(seeker_kind=kind)
        factories.add_turn(run.conversation, 3, text="Hello?", state="failed")
        RiskEvent.objects.create(conversation=run.conversation, source="message", level=3)
        return run

    def codes(self, names: set[str]) -> set[str]:
        return {self.people[name].code for name in names}

    def conversations(self, names: set[str]) -> set[str]:
        return {self.runs[name].conversation.code for name in names}


@pytest.fixture
def population() -> Population:
    return Population()


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize(("test", "who", "talked"), CHOICES)
def test_tiles_and_lists_agree(test, who, talked, desk, population):
    shown = desk.get(f"/research/{KEY}/", {"test": test}).context
    listed = desk.get(f"/research/{KEY}/people/", {"test": test}).context["people"]
    chats = desk.get(f"/research/{KEY}/conversations/", {"test": test}).context["page"]
    risks = desk.get(f"/research/{KEY}/risks/", {"test": test}).context["waiting"]
    looked_at = desk.get(f"/research/{KEY}/quality/", {"test": test}).context["page"]

    arms = [row.count for row in shown["arms"].rows]
    assert {row.person.code for row in listed} == population.codes(who)
    assert {row.person.code for row in looked_at} == population.codes(who)
    assert (shown["people"], shown["completed"]) == (len(who), len(who))
    assert {row.run.conversation.code for row in chats} == population.conversations(talked)
    assert (sum(row.runs for row in arms), sum(row.failed for row in arms)) == (len(talked),) * 2
    assert (shown["funnel"].stages[0].reached, shown["funnel"].stages[-1].reached) == (len(who),) * 2
    assert (shown["stuck"].failed_turns, shown["stuck"].open_risks) == (len(talked),) * 2
    assert {risk.conversation.code for risk, *_words in risks} == population.conversations(talked)


def test_pages_that_nobody_filtered_show_people(desk, population):
    [(listed, _title)] = desk.get("/research/").context["studies"]
    shown = desk.get(f"/research/{KEY}/").context

    assert (listed.people, listed.completed, listed.tests) == (2, 2, 2)
    assert (shown["people"], shown["completed"], shown["test"]) == (2, 2, "no")
    assert (completion(population.study).begun, completion(population.study).completed) == (2, 2)
    assert vars(shown["others"]) == {"reviewers": 1, "test_people": 2, "simulated": 1, "imported": 1}


def test_the_api_counts_as_the_pages_do(desk, population):
    told = desk.get(f"/api/v1/studies/{KEY}/progress/", {"test": "no"}).json()

    assert {row["status"]: row["people"] for row in told["statuses"] if row["people"]} == {"completed": 2}
    assert [(row["runs"], row["failed"]) for row in told["arms"] if row["runs"]] == [(2, 2)]


def test_an_export_holds_no_test_people(population, tmp_path: Path):
    """Reviewers are in it, told by their track, for their ratings; so are simulated and imported conversations."""
    call_command("export", KEY, "--out", str(tmp_path / "out"), verbosity=0)

    tracks = {"participant", "counsellor", "reviewer"}
    assert column(tmp_path / "out" / "participants.csv", "participant") == population.codes(tracks)
    simulated_too = population.conversations({"participant", "counsellor", "simulated"}) | {"X1"}
    assert column(tmp_path / "out" / "conversations.csv", "conversation") == simulated_too


def column(file: Path, name: str) -> set[str]:
    with file.open(encoding="utf-8", newline="") as rows:
        return {row[name] for row in csv.DictReader(rows)}


@pytest.mark.parametrize("key", [KEY, "demo"])
def test_a_study_with_test_data_alone_is_shown_with_it(key, desk):
    study: Study = factories.study(key)
    factories.person(study, is_test=True, status="completed")

    shown = desk.get(f"/research/{key}/").context

    assert (shown["people"], shown["completed"], shown["test"]) == (1, 1, "")
    assert shown["others"].test_people == 1
    assert completion(study).completed == 1
