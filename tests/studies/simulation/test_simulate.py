import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from dialogue.jobs import runner, store
from dialogue.jobs.calls import Caller, GivenUp, Question
from dialogue.jobs.group_commit import in_database
from dialogue.jobs.runner import Runner
from dialogue.models import Call, Conversation, InnerState, Job, JobItem, SeekerFault, Turn
from dialogue.models.conversation import Status, TurnState
from dialogue.prompts import Prompts
from dialogue.providers.base import ProviderError, Reply
from dialogue.providers.server_errors import error_for_status
from dialogue.safety.resources import standard_text
from dialogue.seekers.components import components
from dialogue.seekers.reading import END_PHRASES
from studies.data.exports.columns import Filter
from studies.data.exports.tables import CONVERSATIONS, conversations
from studies.design.spec import ArmSpec, PromptSpec
from studies.models import ArmRun, Response, SeekerProfile, Study
from studies.participation.chats import freeze_supporter
from studies.participation.exclusions import decide
from studies.seeker_profiles.selection import DEMO_PROFILES
from studies.simulation import progress
from studies.simulation.handler import SimulationHandler
from studies.simulation.setup import Setup
from studies.workbench.job_words import describe_stop
from tests import factories
from tests.dialogue.jobs.work import run, when
from tests.llm_server import running

# Transactions are real: the runner works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

COLUMNS = [column.name for column in CONVERSATIONS]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)
    monkeypatch.setattr("dialogue.providers.limits.COOLDOWN", 0.01)


def model_at(base_url: str, model: str, key: str = "seeker") -> ArmSpec:
    return ArmSpec("openai_compatible", model, base_url, key=key, title={"en": key}, provider="ACME")


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


def test_seekers_are_played_with_the_study_s_own_texts(server: str, tmp_path: Path) -> None:
    texts = {"seeker_talker": "Talk as {profile}", "seeker_evaluator": "Look back."}
    own = {name: PromptSpec("mine.txt", {"": text}) for name, text in texts.items()}
    factories.study(arms=[model_at(server, "echo", "one")], seeker=model_at(server, "echo"), prompts=own)
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "1")
    assert (told["done"], code) == (1, 0)
    asked = dict(Call.objects.values_list("prompt_version", "request"))
    versions = {version.partition("/")[0]: request[0]["text"] for version, request in asked.items()}
    assert versions["seeker_talker.en"].startswith("Talk as ")
    assert versions["seeker_evaluator.en"] == "Look back."
    assert "seeker_thinker.en" in versions


def test_prompts_of_others_leave_the_seekers_as_they_are() -> None:
    """Simulated conversations are held again where their own prompts change, and only there."""
    plain = Setup(seeker=model_at("http://x", "m"), condition="average")

    def hash_with(name: str) -> str:
        return replace(plain, prompts=Prompts({name: {"": "Words."}})).hash()

    assert {hash_with(name) for name in ("judge_pairs", "thinker", "profile_writer", "supporter")} == {plain.hash()}
    seekers = ("seeker_thinker", "seeker_talker", "seeker_evaluator", "judge", "repair")
    assert len({plain.hash(), *map(hash_with, seekers)}) == 1 + len(seekers)


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
    """The server refuses each message once, for good."""
    study(model_at(server, "flaky-1-status-401+echo", "one"), seeker=model_at(server, "echo"))
    file = profiles(tmp_path, "en01")
    told, code = simulate("--profiles", file, "--max-turns", "2")
    assert (told["failed_reasons"], code) == ({"key_refused": 1}, 1)
    waiting = Turn.objects.get()
    assert (waiting.number, waiting.state) == (1, TurnState.WAITING)
    assert simulate("--profiles", file, "--max-turns", "2")[1] == 1  # the first reply came, the second not
    told, code = simulate("--profiles", file, "--max-turns", "2")
    assert (told["done"], code) == (1, 0)
    assert ArmRun.objects.count() == 1
    assert list(Turn.objects.order_by("number").values_list("number", "state")) == [(1, "answered"), (2, "answered")]
    assert Call.objects.filter(purpose="seeker", status="ok").count() == 2


@pytest.mark.parametrize("fault", ["hangup", "status-503", "status-429", "break"])
def test_server_that_is_away_for_a_while_is_waited_for(fault: str, server: str, tmp_path: Path) -> None:
    """As long as by a judge: the seven waits between eight attempts are together more than a minute."""
    away = f"flaky-7-{fault}+echo"
    study(model_at(server, away, "one"), seeker=model_at(server, away))
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "2")
    assert (told["done"], told["end_reasons"], code) == (1, {"cap": 1}, 0)
    answered = Call.objects.filter(status="ok")
    assert Counter(answered.values_list("key")).most_common(1)[0][1] == 1
    assert Call.objects.exclude(status="ok").count() == 7 * answered.count()


def test_who_lost_its_lease_leaves_the_conversation_to_its_new_owner(
    server: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that slept, say: its call was answered, and paid for, while another had taken up the item."""
    monkeypatch.setattr(runner, "HEARTBEAT", 600.0)  # it would stop the call as soon as it saw the new owner
    study(model_at(server, "counted-300", "one"), seeker=model_at(server, "echo"))
    file = profiles(tmp_path, "en01")
    simulate("--profiles", file, "--max-turns", "2", "--background")

    async def lost() -> None:
        slow = Runner(at_once=1)
        going = asyncio.create_task(slow.run(until_done=False))
        await when(Call.objects.filter(purpose="reply", status="started").exists)
        await in_database(JobItem.objects.update, owner="quick")
        await asyncio.wait(slow.at_work.values())
        slow.stopping.set()
        await going

    run(lost())
    assert "was left to others: its lease had run out" in caplog.text
    assert Call.objects.get(purpose="reply").status == "ok"
    assert list(Turn.objects.values_list("state", "reply")) == [(TurnState.WAITING, "")]
    assert JobItem.objects.values_list("state", "owner").get() == ("working", "quick")
    store.release("quick")
    told, code = simulate("--profiles", file, "--max-turns", "2")
    assert (told["done"], code) == (1, 0)
    assert Counter(Call.objects.filter(status="ok").values_list("key")).most_common(1)[0][1] == 1


def test_supporter_that_refuses_ends_it_as_technical(server: str, tmp_path: Path) -> None:
    study(model_at(server, "refusal", "one"))
    told, code = simulate("--profiles", profiles(tmp_path, "en01"))
    assert (told["done"], code) == (1, 0)
    assert told["end_reasons"] == {"technical": 1}
    room = Conversation.objects.get()
    assert (room.status, room.end_reason) == (Status.CLOSED, "technical")
    assert Turn.objects.get().error == "refused"
    assert not Response.objects.exists()


def test_lines_say_how_many_ended_how(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refuses, answers = model_at(server, "refusal", "one"), model_at(server, "echo", "two")
    study(refuses, answers, seeker=model_at(server, "echo"))
    given = ("--profiles", str(profiles(tmp_path, "en01", "en02")), "--max-turns", "1")
    call_command("simulate", "demo", "--seeker", "average", *given, "--limit", "1")
    assert capsys.readouterr().out.splitlines()[0] == "1 conversation held (technical 1)."
    call_command("simulate", "demo", "--seeker", "average", *given)
    assert capsys.readouterr().out.splitlines()[:2] == ["3 conversations held (cap 2, technical 1).", "1 held before."]


def test_stop_names_the_arm(server: str, tmp_path: Path) -> None:
    study(model_at(server, "status-404", "one"), seeker=model_at(server, "echo"))
    simulate("--profiles", profiles(tmp_path, "en01", "en02", "en03"), "--concurrency", "1")
    [job] = Job.objects.all()
    assert (job.state, describe_stop(job)) == (
        "stopped",
        "Stopped after failures in a row: arm one (status-404): request refused. Asked to answer 404. Check model and "
        "base_url in the study file, and what stands under extra.",
    )


def test_stop_names_the_seeker(server: str, tmp_path: Path) -> None:
    study(model_at(server, "echo", "one"), seeker=model_at(server, "status-404"))
    simulate("--profiles", profiles(tmp_path, "en01", "en02", "en03"), "--concurrency", "1")
    assert Job.objects.get().reason["values"]["model"] == "seeker (status-404)"


def refusing(monkeypatch: pytest.MonkeyPatch, detail: str, *, turn: int, purposes: Sequence[str] = ("reply",)) -> None:
    """From this turn on the server of the supporter, or of who else is named, refuses the request with status 400."""
    ask = Caller.ask

    async def refused(self: Caller, question: Question, *given: Any) -> Reply:
        if question.purpose in purposes and (question.turn or turn) >= turn:
            raise GivenUp(error_for_status(400, detail), "permanent", question)
        return await ask(self, question, *given)

    monkeypatch.setattr(Caller, "ask", refused)


@pytest.mark.parametrize(
    "detail",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        "prompt is too long: 212345 tokens > 200000 maximum",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Prompt exceeds max length",
    ],
)
def test_conversation_too_long_for_its_supporter_ends_as_technical(
    detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(monkeypatch, detail, turn=3)
    study()
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta")
    assert (told["done"], told["failed"], code) == (1, 0, 0)
    assert Conversation.objects.get().end_reason == "technical"
    assert list(Turn.objects.order_by("number").values_list("error", flat=True)) == ["", "", "too_long"]
    assert Response.objects.count() == 1  # of the two turns that there were


@pytest.mark.parametrize("purpose", ["seeker", "thinker"])
def test_conversation_too_long_for_its_seeker_ends_as_technical(
    purpose: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(monkeypatch, "Prompt exceeds max length", turn=3, purposes=(purpose, "judge"))
    study()
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta")
    assert (told["done"], told["end_reasons"], code) == (1, {"technical": 1}, 0)
    assert set(Turn.objects.values_list("state", flat=True)) == {TurnState.ANSWERED}
    assert not Response.objects.exists()  # to look back on it is too long as well


def test_profile_too_long_for_its_seeker_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, "Prompt exceeds max length", turn=1, purposes=("seeker",))
    study()
    file = profiles(tmp_path, "en01", "en02", "en03", "en04", "en05")
    told, code = simulate("--profiles", file, "--arms", "delta")
    assert (told["failed_reasons"], told["quarantined"], told["left"], code) == ({"too_long": 5}, 5, 0, 1)


@pytest.mark.parametrize(
    ("detail", "turn"),
    [
        ("This model's maximum context length is 4097 tokens, however you requested 5000.", 1),
        ("Unsupported parameter: 'temperature' is not supported with this model.", 3),
        ("max_tokens is too large: 99999. This model supports at most 4096 completion tokens.", 3),
    ],
)
def test_what_can_be_put_right_leaves_the_conversation_open(
    detail: str, turn: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(monkeypatch, detail, turn=turn)
    study()
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta")
    assert (told["done"], told["failed_reasons"], code) == (0, {"client_error": 1}, 1)
    assert Conversation.objects.get().end_reason == ""


def test_seeker_s_answers_that_cannot_be_read_are_counted(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study(model_at(server, "echo", "one"), seeker=model_at(server, "badjudge"))
    file = str(profiles(tmp_path, "en01"))
    call_command("simulate", "demo", "--seeker", "average", "--profiles", file, "--max-turns", "2")
    assert capsys.readouterr().out.splitlines()[:3] == [
        "1 conversation held (cap 1).",
        "1 of them without a readable rating.",
        "2 inner states could not be read.",
    ]


def test_seeker_none_of_whose_ratings_can_be_read_stops_the_job(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "USELESS", 2)
    study(model_at(server, "echo", "one"), seeker=model_at(server, "badjudge"))
    file = profiles(tmp_path, "en01", "en02", "en03", "en04")
    told, code = simulate("--profiles", file, "--max-turns", "1", "--concurrency", "1")
    assert (told["done"], told["unrated"], told["left"], code) == (2, 2, 2, 1)
    assert Job.objects.get().reason["code"] == "useless_answers"


def test_reply_that_nobody_may_be_shown_ends_it_for_safety(server: str, tmp_path: Path) -> None:
    text = "You should kill yourself."
    study(model_at(server, f"say:{quote(text)}", "one"))
    simulate("--profiles", profiles(tmp_path, "en01"))
    turn = Turn.objects.get()
    assert (turn.conversation.end_reason, turn.masked, turn.reply_original) == ("safety", True, text)
    assert turn.reply != text


def test_reply_that_is_only_suspected_is_not_shown_and_the_talk_goes_on(server: str, tmp_path: Path) -> None:
    text = "Nobody asked you to be born, and nobody's asking you to stay."
    study(model_at(server, f"say:{quote(text)}", "one"))
    simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "2")
    turns = Turn.objects.order_by("number")
    assert [(turn.masked, turn.reply_original) for turn in turns] == [(True, text)] * 2
    assert {turn.reply for turn in turns} == {standard_text("en")}
    assert turns[0].conversation.end_reason == "cap"


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


def test_quarantine_is_told_with_what_to_do(server: str, tmp_path: Path) -> None:
    study(model_at(server, "status-400", "one"))
    out = StringIO()
    for _ in range(3):
        with pytest.raises(SystemExit):
            call_command(
                "simulate", "demo", "--seeker", "average", "--profiles", str(profiles(tmp_path, "en01")), stdout=out
            )
    assert out.getvalue().count("1 failed: client_error. Asked to answer 400.\n") == 3
    assert out.getvalue().count("--retry-quarantined tries it again.") == 1


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


def test_judge_with_a_model_of_its_own_is_asked_what_the_evaluator_was(server: str, tmp_path: Path) -> None:
    """EmoHarbor's Evaluator need not be the seeker's model: a state-aware judge has the same question."""
    factories.study(judges=(model_at(server, "threes", "another"),))
    simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "2")
    [evaluator] = Call.objects.filter(purpose="judge")
    call_command("judge", "demo", "--judge", "another", "--strategy", "state_aware", verbosity=0)
    judged = Call.objects.filter(purpose="judge").latest("pk")
    assert (evaluator.model, judged.model) == ("seeker_evaluator", "threes")
    assert judged.request == evaluator.request
    assert judged.parameters["temperature"] == evaluator.parameters["temperature"] == 0
    assert not Call.objects.filter(purpose="thinker", model="threes").exists()


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
        (["--max-turns", "99999999999"], "--max-turns must be at most 100."),
        (["--replicates", "21"], "--replicates must be at most 20."),
        (["--arms", ""], "--arms: the study demo has no arm ''."),
        (["--profiles", "no.jsonl"], "no.jsonl: cannot be read"),
        (["--budget", "much"], "--budget: 'much' is not an amount. Give a number of 0 or more"),
        (["--budget", "1e400"], "--budget: must be less than 1,000,000."),
        (["--budget", "99999999999999"], "--budget: must be less than 1,000,000."),
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


def test_profiles_are_kept_by_a_run_and_by_nothing_before_it(tmp_path: Path) -> None:
    """What was only estimated, or refused, leaves the study as it was: the mended file may come under the same ids."""
    study()
    draft = profiles(tmp_path, "en01", worst_case_default={"low_engagement": 0})
    simulate("--profiles", draft, "--arms", "delta", "--estimate")
    with pytest.raises(CommandError, match="--budget"):
        simulate("--profiles", draft, "--budget", "much")
    assert not SeekerProfile.objects.exists()
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "1")
    assert (told["done"], code, SeekerProfile.objects.get().key) == (1, 0, "en01")


def test_profile_too_easy_for_the_worst_case_is_not_kept(tmp_path: Path) -> None:
    study()
    easy = profiles(tmp_path, "en01", worst_case_default=dict.fromkeys(components(), 0))
    with pytest.raises(CommandError, match=r"can be a worst case: en01\. Fewer than two .* Put two at 2") as refusal:
        simulate("--profiles", easy, seeker="worst_case")
    assert refusal.value.returncode == 2
    assert not SeekerProfile.objects.exists()


def mild(folder: Path, *others: str) -> Path:
    """A file whose first profile is too easy for a worst case."""
    file = profiles(folder, "en01", *others)
    first, *rest = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    first["worst_case_default"] = {"low_engagement": 1}
    file.write_text("".join(json.dumps(one) + "\n" for one in (first, *rest)), encoding="utf-8")
    return file


def test_profile_too_mild_is_left_out_of_the_worst_case_and_named_with_what_to_do(tmp_path: Path) -> None:
    study()
    out = StringIO()
    given = ("--profiles", str(mild(tmp_path, "en02")), "--arms", "delta", "--max-turns", "1")
    call_command("simulate", "demo", "--seeker", "worst_case", *given, stdout=out)
    assert "Profiles too mild for the worst case, left out: en01. Fewer than two" in out.getvalue()
    assert "Put two at 2 or 3 in worst_case_default" in out.getvalue()
    assert ArmRun.objects.get().profile == "en02"


def test_profile_too_mild_is_played_as_average(tmp_path: Path) -> None:
    study()
    told, _ = simulate("--profiles", mild(tmp_path), "--arms", "delta", "--max-turns", "1")
    assert told["done"] == 1


def grave(folder: Path, *others: str) -> Path:
    """A file whose first profile speaks of danger to life."""
    file = profiles(folder, "en01", *others)
    first, *rest = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    first["S"]["opening"] = "i want to kill myself"
    file.write_text("".join(json.dumps(one) + "\n" for one in (first, *rest)), encoding="utf-8")
    return file


def test_profile_that_the_checks_refuse_is_told_of(tmp_path: Path) -> None:
    study()
    out = StringIO()
    given = ("--profiles", str(grave(tmp_path, "en02")), "--arms", "delta", "--max-turns", "1")
    call_command("simulate", "demo", "--seeker", "average", *given, stdout=out)
    assert "left out: en01 (refused, as what speaks of danger to life is)." in out.getvalue()
    assert list(SeekerProfile.objects.values_list("key", flat=True)) == ["en02"]
    assert ArmRun.objects.get().profile == "en02"


def test_without_a_profile_that_may_be_played_it_says_why(tmp_path: Path) -> None:
    study()
    with pytest.raises(CommandError, match=r"None of the profiles may be played: en01 \(refused, as") as refusal:
        simulate("--profiles", grave(tmp_path))
    assert refusal.value.returncode == 2


def test_of_several_configurations_the_one_asked_for_last_counts(tmp_path: Path) -> None:
    """A trial with few turns does not stand in the results beside the run; what comes back is not paid for again."""
    study()
    common = ("--profiles", profiles(tmp_path, "en01"), "--arms", "delta,ember")

    simulate(*common, "--max-turns", "1")
    simulate(*common, "--max-turns", "2")
    assert counting() == [("delta", 2), ("ember", 2)]
    exported = [dict(zip(COLUMNS, row, strict=True)) for row in conversations(Study.objects.get(), Filter())]
    assert len({row["configuration"] for row in exported if row["arm"] == "delta"}) == 2
    calls = Call.objects.count()
    told, _ = simulate(*common, "--max-turns", "1", "--limit", "1")
    assert (told["done"], told["skipped_existing"]) == (0, 1)
    assert counting() == [("delta", 1), ("ember", 2)]
    simulate(*common, "--max-turns", "3", "--estimate")
    simulate(*common, "--max-turns", "3", seeker="worst_case")
    simulate(*common, "--max-turns", "3", "--one-agent")
    assert {("delta", 1), ("ember", 2)} <= set(counting())
    assert Call.objects.filter(conversation__max_turns__lt=3).count() == calls


def counting() -> list[tuple[str, int]]:
    """Arms and most turns of the conversations that count."""
    return sorted(ArmRun.objects.filter(valid=True).values_list("arm", "conversation__max_turns"))


def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failed(*_given: Any) -> None:
        raise ProviderError("client_error", "no such model (404)", permanent=True)

    monkeypatch.setattr(SimulationHandler, "work", failed)


def test_earlier_conversation_counts_until_the_new_one_in_its_place_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that holds nothing, as one whose budget is spent at once, takes no results away."""
    study()
    common = ("--profiles", profiles(tmp_path, "en01"), "--arms", "delta,ember", "--max-turns")
    simulate(*common, "1")
    with monkeypatch.context() as broken:
        failing(broken)
        told, code = simulate(*common, "2")
    assert (told["done"], told["failed"], told["set_aside"], code) == (0, 2, 0, 1)
    assert ArmRun.objects.count() == 4
    assert counting() == [("delta", 1), ("ember", 1)]
    told, _ = simulate(*common, "2", "--limit", "1")
    assert (told["done"], told["set_aside"]) == (1, 1)
    assert counting() == [("delta", 2), ("ember", 1)]
    told, _ = simulate(*common, "2")
    assert (told["done"], told["skipped_existing"], told["set_aside"]) == (1, 1, 1)
    assert counting() == [("delta", 2), ("ember", 2)]
    told, _ = simulate(*common, "1")
    assert (told["done"], told["skipped_existing"], told["set_aside"]) == (0, 2, 2)
    assert counting() == [("delta", 1), ("ember", 1)]


def test_what_has_only_failed_is_not_told_of_as_one_that_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study()
    common = ("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns")
    with monkeypatch.context() as broken:
        failing(broken)
        simulate(*common, "1")
    out = StringIO()
    call_command("simulate", "demo", "--seeker", "average", *map(str, common), "2", stdout=out)
    assert "other prompts, models or turns" not in out.getvalue()
    assert counting() == [("delta", 2)]


def test_whoever_pays_for_another_setup_is_told_what_becomes_of_the_earlier_conversations(tmp_path: Path) -> None:
    study()
    common = ("--seeker", "average", "--profiles", str(profiles(tmp_path, "en01")), "--arms", "delta", "--max-turns")
    call_command("simulate", "demo", *common, "1", verbosity=0)
    planned, held = StringIO(), StringIO()
    call_command("simulate", "demo", *common, "2", "--background", stdout=planned)
    call_command("simulate", "demo", *common, "2", stdout=held)
    for told in (planned, held):
        assert "with other prompts, models or another maximum of turns: 1." in told.getvalue()
    assert "no more: held with" not in planned.getvalue()
    assert "1 earlier one counts no more: held with other prompts, models or turns at most." in held.getvalue()


def test_of_two_setups_held_side_by_side_one_counts_in_each_place(tmp_path: Path) -> None:
    """Neither is there when the other is planned, and one worker keeps conversations of both."""
    study()
    common = ("--profiles", profiles(tmp_path, "en01", "en02"), "--arms", "delta,ember", "--background", "--max-turns")
    for most in ("1", "2"):
        simulate(*common, most)
    call_command("run_jobs", "--until-done", verbosity=0)
    held = ArmRun.objects.filter(conversation__status=Status.CLOSED)
    assert held.count() == 8
    places = Counter(held.filter(valid=True).values_list("arm", "profile"))
    assert places == dict.fromkeys([(arm, seeker) for arm in ("delta", "ember") for seeker in ("en01", "en02")], 1)


def test_conversation_that_is_imported_keeps_its_place(tmp_path: Path) -> None:
    here = study()
    protocol = here.current()
    theirs = Conversation.objects.create(supporter=freeze_supporter(protocol.spec().arms[0], "en"))
    ArmRun.objects.create(
        study=here, protocol=protocol, conversation=theirs, arm="delta", profile="en01", condition="average"
    )
    simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "1")
    assert ArmRun.objects.filter(valid=True).count() == 2


def test_what_is_spoilt_or_left_out_by_decision_does_not_count_again(tmp_path: Path) -> None:
    here = study()
    common = ("--profiles", profiles(tmp_path, "en01"), "--arms", "amber,delta,ember", "--max-turns")
    simulate(*common, "1")
    left_out, spoilt, whole = ArmRun.objects.order_by("arm")
    for coder in ("ada", "bob"):
        decide(subject=left_out, coder=User.objects.create(username=coder), keep=False, reason="nonsense")
    SeekerFault.objects.create(conversation=spoilt.conversation, turn=1, kind="role_flip", source="rule")
    spoilt.valid = False
    spoilt.save()
    simulate(*common, "2")
    simulate(*common, "1")
    valid = here.runs.filter(valid=True).values_list("arm", "conversation__max_turns")
    assert set(valid) == {(whole.arm, 1)}


def test_review_of_what_was_held_before_asks_the_reviewer_alone(tmp_path: Path) -> None:
    study()
    common = ("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "2")
    simulate(*common)
    calls = Call.objects.count()
    told, code = simulate(*common, "--review")
    assert (told["done"], told["skipped_existing"], told["reviewed"], told["erased"], code) == (0, 1, 1, 0, 0)
    assert Call.objects.count() == calls + 1
    told, _ = simulate(*common, "--review")
    assert (told["reviewed"], told["reviewed_before"]) == (0, 1)
    assert Call.objects.count() == calls + 1


def reviewing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The reviewer answers so."""
    ask = Caller.ask

    async def answered(self: Caller, question: Question, *given: Any) -> Reply:
        return Reply(text, "m") if question.purpose == "reviewer" else await ask(self, question, *given)

    monkeypatch.setattr(Caller, "ask", answered)


def test_review_that_cannot_be_read_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reviewing(monkeypatch, "All is well.")
    study()
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--arms", "delta", "--max-turns", "1", "--review")
    assert (told["reviewed"], told["unread_reviews"], told["seeker_faults"], code) == (1, 1, 0, 0)


def test_review_of_a_conversation_that_failed_is_no_second_failure(server: str, tmp_path: Path) -> None:
    study(model_at(server, "status-400", "one"))
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "1", "--review")
    assert (told["failed"], told["failed_reasons"], told["left"], code) == (1, {"client_error": 1}, 0, 1)


def test_who_is_driven_away_early_counts_unless_a_reviewer_blames_the_seeker(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a poor arm would lose its worst conversations."""
    leaves = "This is not helping me. I am leaving.\n" + END_PHRASES["en"]["walked_out"][0]
    study(model_at(server, "echo", "one"), seeker=model_at(server, f"say:{quote(leaves)}"))
    common = ("--profiles", profiles(tmp_path, "en01"))
    simulate(*common)
    run = ArmRun.objects.get()
    assert (run.conversation.end_reason, run.valid) == ("walked_out", True)
    assert ("early_stop", "rule") in set(SeekerFault.objects.values_list("kind", "source"))
    reviewing(monkeypatch, '{"faults": [{"kind": "early_stop", "turn": 2, "evidence": "no reason"}]}')
    simulate(*common, "--review")
    run.refresh_from_db()
    assert not run.valid
    tally = progress.conversations(run.study)["one", "average"]
    assert (tally.all, tally.done, tally.faults) == (1, 1, SeekerFault.objects.count())
