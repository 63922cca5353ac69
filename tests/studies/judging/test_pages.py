"""The page of judges: the prompt word for word before it is sent, and probes that begin with one click."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from dialogue.judges.probes import VARIANTS
from dialogue.judges.strategies import get_strategies
from dialogue.models import Call, InnerState, Job
from studies.models import Consent, Rater, Study, Task
from studies.workbench import tasks
from tests import factories
from tests.studies.judging.test_judging import judge_at
from tests.studies.judging.test_judging import study as study_with

pytestmark = pytest.mark.django_db

PRE = re.compile(r'<pre class="verbatim" tabindex="0">(.*?)</pre>', re.DOTALL)


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """The tasks for which a process would have been started."""
    started: list[Task] = []
    monkeypatch.setattr(tasks, "spawn", started.append)
    return started


def address(name: str = "judges") -> str:
    return reverse(f"research-{name}", args=["demo"])


def page(desk: Client, **asked: Any) -> str:
    response = desk.get(address(), asked)
    assert response.status_code == 200
    return response.content.decode()


def prompts(html: str) -> list[str]:
    """All texts but the parameters, which are last."""
    return [unescape(text) for text in PRE.findall(html)][:-1]


def texts_sent(call: Call) -> list[str]:
    return [message["text"] for message in call.request]


def test_page_says_what_is_wrong_with_the_price_file(desk: Client, study: Study, settings, tmp_path) -> None:
    settings.PRICES = str(tmp_path / "prices.toml")
    response = desk.get(address())
    assert response.status_code == 500
    text = response.content.decode()
    assert "The price file has faults" in text
    assert settings.PRICES in text
    assert "cannot be read: No such file or directory" in text


@pytest.mark.parametrize(("staff", "status"), [(None, 302), (False, 403), (True, 200)])
def test_page_is_for_researchers_only(staff: bool | None, status: int, study: Study) -> None:
    client = Client()
    if staff is not None:
        client.force_login(User.objects.create(username="x", is_staff=staff, is_superuser=True))
    assert client.get(address()).status_code == status
    assert client.post(address("probe")).status_code == (404 if staff else 403)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("variant", ["", "padding", "reversed_scale", "language", "arm_name", "apart", "warm"])
def test_prompt_is_word_for_word_what_the_ledger_then_holds(variant: str, desk: Client, study: Study) -> None:
    run = factories.run_with_turns(study, model="gpt-4o", turns=(('I "feel" <low> & small.', "What happened?"),))
    shown = prompts(page(desk, conversation=run.conversation.code, judge="demo", strategy="standard", variant=variant))
    assert not Call.objects.exists()
    asked = ["--variant", variant] if variant else []
    call_command("judge", "demo", "--judge", "demo", "--strategy", "standard", *asked)
    calls = list(Call.objects.order_by("pk"))[1 if variant else 0 :]
    assert shown == [text for call in calls for text in texts_sent(call)]


def test_page_shows_the_checkpoint_that_is_asked_for(desk: Client, study: Study) -> None:
    run = factories.run_with_turns(study, turns=[(f"I say {n}.", "Hm.") for n in range(1, 8)])
    type(run.conversation).objects.filter(pk=run.conversation_id).update(pause_after=[5])
    html = page(desk, conversation=run.conversation.code, place="checkpoint turn_checkpoint 5")
    assert "[5] Seeker: I say 5." in html
    assert "[6] Seeker" not in html


def test_page_says_who_would_get_it_and_that_consent_forbids_it(desk: Client) -> None:
    here = study_with(judge_at("http://127.0.0.1:9/v1", "big", extra={"api_key": "s3cret", "seed": 7}))
    person = factories.person(here)
    Consent.objects.create(
        participation=person, instrument="c", version="1", text_hash="x", language="en", boxes={}, providers=["Other"]
    )
    run = factories.run_with_turns(here, person)
    html = page(desk, conversation=run.conversation.code, judge="real")
    assert "big, ACME" in html
    assert "This would not be sent." in html
    assert "does not name “ACME”" in html
    assert "s3cret" not in html
    assert '"seed": 7' in unescape(html)
    assert not Rater.objects.filter(kind="judge").exists()


def test_page_tells_of_inner_states_that_are_still_to_be_thought(desk: Client, study: Study) -> None:
    run = factories.run_with_turns(study)
    html = page(desk, conversation=run.conversation.code, strategy="state_aware")
    assert "2 turns have no inner state yet" in html


def test_conversation_that_there_is_not_is_said(desk: Client, study: Study) -> None:
    assert "There is no conversation “nobody” in this study." in page(desk, conversation="nobody")


def test_page_begins_with_a_conversation_that_there_is(desk: Client, study: Study) -> None:
    run = factories.run_with_turns(study)
    assert f'type="text" name="conversation" value="{run.conversation.code}"' in page(desk)


@pytest.mark.parametrize(
    ("probe", "arguments"),
    [
        *((variant, ["demo", "user_aware", f"--variant={variant}"]) for variant in VARIANTS if variant != "warm"),
        ("warm", ["demo", "user_aware", "--variant=warm", "--replicates=3"]),
        ("repeat", ["demo", "user_aware", "--replicates=3"]),
        ("order_swap", ["demo", "pairs"]),
    ],
)
def test_probe_is_a_click_and_a_question(
    probe: str, arguments: list[str], desk: Client, study: Study, spawned: list[Task],
    django_capture_on_commit_callbacks: Any,
) -> None:  # fmt: skip
    assert re.search(rf'name="probe"\s+value="{probe}"', page(desk))
    with django_capture_on_commit_callbacks(execute=True):
        asked = desk.post(address("probe"), {"judge": "demo", "strategy": "user_aware", "probe": probe}, follow=True)
        assert spawned == []
        response = desk.post(asked.request["PATH_INFO"], {"work": asked.context["work"]})
    assert response["Location"] == address()
    [task] = spawned
    assert (task.command, task.arguments, task.started_by.username) == ("judge", arguments, "ada")


@pytest.mark.parametrize(
    "sent",
    [
        {"judge": "nobody", "strategy": "standard", "probe": "padding"},
        {"judge": "demo", "strategy": "x", "probe": "padding"},
        {"judge": "demo", "strategy": "standard", "probe": "x"},
    ],
)
def test_probe_that_there_is_not_starts_nothing(
    sent: dict[str, str], desk: Client, study: Study, spawned: list[Task]
) -> None:
    assert desk.post(address("probe"), sent).status_code == 404
    assert not Task.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (
            ["demo", "standard", "--variant=padding"],
            [("judge", "demo", "--judge", "demo", "--strategy", "standard", "--variant=padding", "--json")],
        ),
        (["demo", "pairs"], [("judge_pairs", "demo", "--judge", "demo", "--json")]),
    ],
)
def test_task_passes_on_how_the_judge_is_asked(
    arguments: list[str], asked: list[Any], study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    from studies.management.commands import run_task

    called: list[Any] = []
    monkeypatch.setattr(run_task, "call_command", lambda *words, **_streams: called.append(words))
    task = Task.objects.create(study=study, command="judge", arguments=arguments)
    run_task.Command().handle(task=task.pk)
    task.refresh_from_db()
    assert (called, task.state) == (asked, "done")


# Leave out one field


def test_prompt_without_a_field_is_shown(desk: Client, study: Study) -> None:
    run = factories.run_with_turns(study)
    InnerState.objects.create(
        conversation=run.conversation, turn=1, source="demo", cognition="It fits.", emotion="calm", goal="More.",
        emotion_score=60,
    )  # fmt: skip
    asked = {"conversation": run.conversation.code, "judge": "demo", "strategy": "state_aware"}
    whole, without = ("\n".join(prompts(page(desk, **asked, variant=variant))) for variant in ("", "without_emotion"))
    assert "[1] cognition: It fits.; emotion: calm; goal: More.; emotion_score: 60" in whole
    assert "[1] cognition: It fits.; goal: More.; emotion_score: 60" in without


@pytest.mark.parametrize(
    ("strategy", "field"), [(one.name, field) for one in get_strategies().values() for field in one.fields]
)
def test_field_is_left_out_by_a_click_and_a_question(
    strategy: str, field: str, desk: Client, study: Study, spawned: list[Task],
    django_capture_on_commit_callbacks: Any,
) -> None:  # fmt: skip
    assert re.search(rf'name="without"\s+value="{strategy} {field}"', page(desk))
    with django_capture_on_commit_callbacks(execute=True):
        asked = desk.post(address("without"), {"judge": "demo", "without": f"{strategy} {field}"}, follow=True)
        assert spawned == []
        response = desk.post(asked.request["PATH_INFO"], {"work": asked.context["work"]})
    assert response["Location"] == address()
    [task] = spawned
    assert (task.command, task.arguments) == ("judge", ["demo", strategy, f"--without={field}"])


@pytest.mark.parametrize(
    "sent",
    [
        {"judge": "nobody", "without": "user_aware concern"},
        {"judge": "demo", "without": "user_aware emotion"},
        {"judge": "demo", "without": "standard concern"},
        {"judge": "demo", "without": "concern"},
        {"judge": "demo"},
    ],
)
def test_field_that_the_judge_is_not_told_starts_nothing(sent: dict[str, str], desk: Client, study: Study) -> None:
    assert desk.post(address("without"), sent).status_code == 404
    assert not Task.objects.exists()


def test_only_researchers_leave_a_field_out(study: Study) -> None:
    client = Client()
    client.force_login(User.objects.create(username="x"))
    assert client.post(address("without"), {"judge": "demo", "without": "user_aware concern"}).status_code == 403


def test_answers_without_a_field_are_counted_by_strategy(desk: Client, study: Study) -> None:
    run = factories.run_with_turns(study)
    factories.rating(factories.judge(study, "demo~without_concern", "state_aware"), run)
    [cells] = re.findall(r"Concern</th>(.*?)</tr>", page(desk), re.DOTALL)
    assert re.findall(r"<td class=\"number\">\s+(\S+)", cells) == ["0", "1"]
    [cells] = re.findall(r"Goal</th>(.*?)</tr>", page(desk), re.DOTALL)
    assert re.findall(r"<td class=\"number\">\s+(\S+)", cells) == ["–", "0"]


def test_answers_of_a_probe_are_counted(desk: Client, study: Study) -> None:
    run = factories.run_with_turns(study)
    factories.rating(factories.judge(study, "demo~padding"), run)
    html = page(desk)
    [row] = re.findall(r"Padded replies</th>.*?<td class=\"number\">(\d+)</td>", html, re.DOTALL)
    assert row == "1"


def test_work_under_way_can_be_stopped_from_here(desk: Client, study: Study) -> None:
    stop = reverse("research-benchmark-stop", args=["demo"])
    assert stop not in page(desk)
    job = Job.objects.create(kind="judge", scope="demo", title="demo (standard)", plan={})
    assert stop in page(desk)
    response = desk.post(stop, {"back": "judges"})
    assert response["Location"] == address()
    job.refresh_from_db()
    assert job.state == Job.State.STOPPED
