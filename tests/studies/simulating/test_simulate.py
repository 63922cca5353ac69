import json
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command

from dialogue.models import Call, Conversation, InnerState, JobItem, SeekerFault, Turn
from dialogue.models.conversation import Status, TurnState
from studies.design.spec import ArmSpec
from studies.models import ArmRun, Response, SeekerProfile, Study
from studies.simulating.profiles import DEMO_PROFILES
from tests import factories
from tests.llm_server import running

# Transactions are real: the runner works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)


def model_at(base_url: str, model: str, key: str = "seeker") -> ArmSpec:
    return ArmSpec(key, {"en": key}, "openai_compatible", base_url=base_url, model=model, provider="ACME")


def study(*arms: ArmSpec, seeker: ArmSpec | None = None) -> Study:
    spec = factories.demo_spec()
    return factories.study(arms=arms or spec.arms, seeker=seeker or spec.seeker)


def profiles(folder: Path, *ids: str, **changes: Any) -> Path:
    """A file of some of the demonstration's profiles."""
    document = json.loads(DEMO_PROFILES.read_text(encoding="utf-8"))
    chosen = [profile | changes for profile in document["profiles"] if profile["id"] in ids]
    file = folder / "profiles.jsonl"
    file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in chosen), encoding="utf-8")
    return file


def simulate(*arguments: str | Path, seeker: str = "average") -> tuple[dict[str, Any], int]:
    """The summary and the exit code."""
    out, code = StringIO(), 0
    try:
        call_command("simulate", "demo", "--seeker", seeker, "--json", *map(str, arguments), stdout=out)
    except SystemExit as exit:
        code = int(exit.code or 0)
    return json.loads(out.getvalue().splitlines()[-1]), code


def test_seekers_talk_to_every_arm_and_rate_it_as_people_do(tmp_path: Path) -> None:
    study()
    told, code = simulate("--profiles", profiles(tmp_path, "en01", "zh01"), "--max-turns", "3")
    assert (told["done"], told["left"], code) == (10, 0, 0)
    runs = ArmRun.objects.select_related("conversation")
    assert Counter(run.arm for run in runs) == dict.fromkeys(("amber", "birch", "cedar", "delta", "ember"), 2)
    assert {(run.condition, run.setup, run.replicate, run.valid) for run in runs} == {("average", "", 1, True)}
    assert {run.conversation.seeker_kind for run in runs} == {"simulated"}
    assert {run.conversation.language for run in runs if run.profile == "zh01"} == {"zh"}
    assert {run.conversation.end_reason for run in runs} == {"cap"}
    rated = Response.objects.values_list("rater__kind", "rater__strategy", "instrument", "moment")
    assert set(rated) == {("simulated_seeker", "state_aware", "emoharbor_10", "final")}
    assert Response.objects.count() == 10
    assert set(InnerState.objects.values_list("source", "turn")) == {("seeker", 1), ("seeker", 2), ("seeker", 3)}


def test_again_nothing_is_held_or_paid_twice(tmp_path: Path) -> None:
    study()
    file = profiles(tmp_path, "en01")
    simulate("--profiles", file, "--max-turns", "2")
    calls = Call.objects.count()
    told, code = simulate("--profiles", file, "--max-turns", "2")
    assert (told["done"], told["skipped_existing"], code) == (0, 5, 0)
    assert (Call.objects.count(), ArmRun.objects.count()) == (calls, 5)


def test_replicates_are_conversations_of_their_own(server: str, tmp_path: Path) -> None:
    study(model_at(server, "echo", "one"), seeker=model_at(server, "echo"))
    file = profiles(tmp_path, "en01")
    told, _ = simulate("--profiles", file, "--max-turns", "1", "--replicates", "2")
    assert told["done"] == 2
    assert sorted(ArmRun.objects.values_list("replicate", flat=True)) == [1, 2]
    assert Call.objects.filter(purpose="seeker").count() == 2


def test_twins_open_in_the_same_words_with_every_arm(server: str, tmp_path: Path) -> None:
    """What is asked with the same words is asked once; so arms are met with the same first message."""
    arms = [model_at(server, "echo", key) for key in ("one", "two", "three")]
    study(*arms, seeker=model_at(server, "echo"))
    simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "1")
    assert Turn.objects.filter(number=1).values("text").distinct().count() == 1
    assert Call.objects.filter(purpose="seeker").count() == 1


def test_supporter_sees_no_thought_and_no_script(server: str, tmp_path: Path) -> None:
    study(model_at(server, "echo", "one"))
    simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "3", seeker="worst_case")
    prompts = [json.dumps(call.request) for call in Call.objects.filter(purpose="reply")]
    thoughts = [state.cognition for state in InnerState.objects.all()]
    hidden = ["the warning felt like betrayal", "anything I touch at work goes wrong", *thoughts]
    assert prompts
    assert not [text for text in hidden for prompt in prompts if text in prompt]


def test_what_is_interrupted_is_gone_on_with(server: str, tmp_path: Path) -> None:
    study(model_at(server, "flaky-9-status-401+echo", "one"), seeker=model_at(server, "echo"))
    file = profiles(tmp_path, "en01")
    told, code = simulate("--profiles", file, "--max-turns", "2")
    assert (told["failed_reasons"], code) == ({"client_error": 1}, 1)
    waiting = Turn.objects.get()
    assert (waiting.number, waiting.state) == (1, TurnState.WAITING)
    for _ in range(8):  # the server refuses the same message eight times more
        simulate("--profiles", file, "--max-turns", "2")
    # Now the first reply comes; the second turn's message is new to the server, which refuses it nine times too.
    for _ in range(10):
        told, code = simulate("--profiles", file, "--max-turns", "2")
    assert (told["done"] + told["skipped_existing"], code) == (1, 0)
    assert ArmRun.objects.count() == 1
    assert list(Turn.objects.order_by("number").values_list("number", "state")) == [(1, "answered"), (2, "answered")]
    assert Call.objects.filter(purpose="seeker", status="ok").count() == 2


def test_supporter_that_refuses_ends_it_as_technical(server: str, tmp_path: Path) -> None:
    study(model_at(server, "refusal", "one"))
    told, code = simulate("--profiles", profiles(tmp_path, "en01"))
    assert (told["done"], code) == (1, 0)
    room = Conversation.objects.get()
    assert (room.status, room.end_reason) == (Status.CLOSED, "technical")
    assert Turn.objects.get().error == "refused"
    assert not Response.objects.exists()


def test_reply_that_nobody_may_be_shown_ends_it_for_safety(server: str, tmp_path: Path) -> None:
    text = "You should kill yourself."
    study(model_at(server, f"say:{quote(text)}", "one"))
    simulate("--profiles", profiles(tmp_path, "en01"))
    turn = Turn.objects.get()
    assert (turn.conversation.end_reason, turn.masked, turn.reply_original) == ("safety", True, text)
    assert turn.reply != text


def test_thought_that_cannot_be_read_is_missing_and_the_talk_goes_on(server: str, tmp_path: Path) -> None:
    study(seeker=model_at(server, f"say:{quote('I would rather not say.')}"))
    told, _ = simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "2")
    assert told["done"] == 1
    assert not InnerState.objects.exists()
    assert Turn.objects.filter(state=TurnState.ANSWERED).count() == 2
    assert Counter(Call.objects.filter(purpose="thinker").values_list("status", flat=True)) == {
        "unparseable": 5  # twice three, but to repair the same words again is the same question
    }


def test_one_agent_has_no_thinker_and_says_so(tmp_path: Path) -> None:
    study()
    simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "2", "--one-agent")
    assert ArmRun.objects.get().setup == "one agent"
    assert not InnerState.objects.exists()
    assert Response.objects.get().rater.strategy == "user_aware"


def test_behaviour_left_out_is_not_in_the_prompt(tmp_path: Path) -> None:
    study()
    file = profiles(tmp_path, "en01")
    common = ("--profiles", file, "--arms", "delta", "--max-turns", "1")
    simulate(*common, seeker="worst_case")
    simulate(*common, "--without", "resistance", seeker="worst_case")
    whole, left_out = (
        Call.objects.filter(purpose="seeker", conversation__run__setup=setup).first().request[-1]["text"]
        for setup in ("", "without resistance")
    )
    assert "Resistance" in whole
    assert "Resistance" not in left_out
    assert "Low engagement" in left_out


def test_seekers_that_break_their_role_are_marked_and_left_out(server: str, tmp_path: Path) -> None:
    """The seeker's model talks as a helper: rule and reviewer say so, and the arm is not charged for it."""
    helper = "I am an AI assistant. How can I help you today?"
    study(seeker=model_at(server, f"say:{quote(helper)}"))
    simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "3")
    assert ("role_flip", "rule") in set(SeekerFault.objects.values_list("kind", "source"))
    assert not ArmRun.objects.get().valid


def test_own_profiles_are_kept_with_the_study_and_the_judge_is_told_of_them(tmp_path: Path) -> None:
    study()
    simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "1")
    assert SeekerProfile.objects.get().key == "en01"
    Conversation.objects.update(profile="")  # as where the study gives its arms no profile
    call_command("judge", "demo", "--judge", "demo", "--strategy", "state_aware", verbosity=0)
    asked = Call.objects.filter(purpose="judge").order_by("-pk").first().request[-1]["text"]
    assert "call-centre agent" in asked
    assert "<inner_states>" in asked
    assert InnerState.objects.values("source").distinct().count() == 1


def test_other_profile_of_the_same_id_is_refused(tmp_path: Path) -> None:
    study()
    simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "1")
    other = profiles(tmp_path, "en01", D={"alias": "Sam", "age": 40, "gender": "woman", "occupation": "cook"})
    with pytest.raises(CommandError, match="the study has another profile 'en01'") as refusal:
        simulate("--profiles", other)
    assert refusal.value.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arms", "amber,zebra"], "--arms: the study demo has no arm 'zebra'"),
        (["--without", "resistance"], "--without leaves out behaviours of the worst case"),
        (["--max-turns", "0"], "--max-turns must be at least 1."),
        (["--profiles", "no.jsonl"], "no.jsonl: cannot be read"),
        (["--budget", "much"], "--budget: 'much' is not an amount from 0 on."),
    ],
)
def test_bad_input_changes_nothing(arguments: list[str], message: str) -> None:
    study()
    with pytest.raises(CommandError) as refusal:
        simulate(*arguments)
    assert str(refusal.value).startswith(message)
    assert refusal.value.returncode == 2
    assert not JobItem.objects.exists()


def test_study_without_a_seeker_says_what_to_add() -> None:
    spec = factories.demo_spec()
    factories.study(arms=spec.arms, seeker=None)
    with pytest.raises(CommandError, match=r"Add a table \[seeker\]"):
        simulate()


def test_reviewer_marks_faults_of_its_own(tmp_path: Path) -> None:
    study()
    told, _ = simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "2", "--review")
    assert told["done"] == 1
    assert Call.objects.filter(purpose="reviewer", status="ok").count() == 1
