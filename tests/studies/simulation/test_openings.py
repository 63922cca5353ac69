"""Simulated conversations in which the supporter speaks first, as in EmoHarbor's Algorithm 1."""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import call_command

from dialogue.models import Call, Conversation, SeekerFault
from dialogue.prompts import DEFAULTS
from dialogue.safety.resources import standard_text
from studies.design.spec import ArmSpec, PromptSpec
from studies.models import ArmRun, Response, Study
from studies.seeker_profiles.selection import find_profiles
from studies.simulation.planning import configurations
from studies.simulation.setup import Setup
from tests import factories
from tests.llm_server import running
from tests.studies.simulation.test_estimate import estimated, in_ledger, wish
from tests.studies.simulation.test_simulate import model_at, profiles, simulate

# Transactions are real: the runner works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

REQUEST = {language: DEFAULTS.get("supporter_opens", language).text for language in ("en", "zh")}
OPENING = {"en": "Hello! What is on your mind?", "zh": "你好！今天想聊些什么？"}
SAID = "[0] Supporter: Hello! What is on your mind?"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


def opening_study(*arms: ArmSpec, text: dict[str, str] | None = None, **changes: Any) -> Study:
    spec = factories.demo_spec()
    chat = replace(spec.chat, opening=text or {})
    return factories.study(chat=chat, opens="supporter", arms=arms or spec.arms, **changes)


def asked(server: str, model: str) -> list[Any]:
    with urllib.request.urlopen(f"{server.removesuffix('/v1')}/asked") as response:
        return [body["messages"] for body in json.loads(response.read()) if body["model"] == model]


def prompts_of(purpose: str) -> list[str]:
    calls = Call.objects.filter(purpose=purpose).order_by("pk")
    return ["\n".join(message["text"] for message in call.request) for call in calls]


def test_with_a_text_of_the_study_nobody_is_asked_and_all_arms_begin_alike(server: str, tmp_path: Path) -> None:
    arms = [replace(model_at(server, f"say:{key}", key), prompt_text={"": "Be kind."}) for key in ("one", "two")]
    opening_study(*arms, text=OPENING)
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "2")
    assert (told["done"], code) == (2, 0)
    assert set(Conversation.objects.values_list("opening", flat=True)) == {OPENING["en"]}
    assert set(Call.objects.filter(purpose="reply").values_list("turn", flat=True)) == {1, 2}
    first = asked(server, "say:one")[0]
    assert first[:3] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": REQUEST["en"]},
        {"role": "assistant", "content": OPENING["en"]},
    ]
    assert [message["role"] for message in first[3:]] == ["user"]


def test_without_a_text_each_arm_is_asked_for_its_first_message(server: str, tmp_path: Path) -> None:
    arms = [model_at(server, f"say:{quote(words)}", key) for key, words in (("one", "Welcome."), ("two", "Hi there."))]
    opening_study(*(replace(arm, prompt_text={"": f"You are {arm.key}."}) for arm in arms))
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "1")
    assert (told["done"], code) == (2, 0)
    runs = ArmRun.objects.order_by("arm")
    assert [(run.arm, run.conversation.opening) for run in runs] == [("one", "Welcome."), ("two", "Hi there.")]
    assert [run.conversation.turns.count() for run in runs] == [1, 1]
    calls = Call.objects.filter(purpose="reply", conversation__run__arm="two").order_by("turn")
    assert [(call.turn, call.status, call.item_id is not None) for call in calls] == [(0, "ok", True), (1, "ok", True)]
    asking = [{"role": "system", "text": "You are two."}, {"role": "user", "text": REQUEST["en"]}]
    assert calls[0].request == asking
    assert calls[1].request[:3] == [*asking, {"role": "assistant", "text": "Hi there."}]


def test_request_can_be_the_study_s_own(server: str, tmp_path: Path) -> None:
    own = {"supporter_opens": PromptSpec("mine.txt", {"": "You begin."})}
    opening_study(model_at(server, "say:Hello", "one"), prompts=own)
    simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "1")
    assert Call.objects.get(purpose="reply", turn=0).request == [{"role": "user", "text": "You begin."}]


@pytest.mark.parametrize("arguments", [(), ("--one-agent",)])
def test_all_of_the_seeker_s_models_read_the_opening(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    study = opening_study(text=OPENING)
    path = profiles(tmp_path, "en01")
    told, code = simulate("--profiles", path, "--arms", "amber", "--max-turns", "2", "--review", *arguments)
    assert (told["left"], code) == (0, 0)
    talker, *_ = prompts_of("seeker")
    assert f"<dialogue>\n{SAID}\n</dialogue>" in talker
    purposes = ["seeker", "reviewer", "judge", *([] if arguments else ["thinker"])]
    for purpose in purposes:
        assert {prompt.count(SAID) for prompt in prompts_of(purpose)} == {1}, purpose
    assert Response.objects.filter(run__study=study).count() == 1
    assert not SeekerFault.objects.filter(turn=0).exists()


def test_scripted_arms_open_in_their_language(tmp_path: Path) -> None:
    opening_study()
    told, code = simulate("--profiles", profiles(tmp_path, "en01", "zh01"), "--max-turns", "2")
    assert (told["done"], code) == (10, 0)
    assert not Conversation.objects.filter(opening="").exists()
    assert {one.language for one in Conversation.objects.filter(opening__regex="[一-龥]")} == {"zh"}


def test_opening_that_may_not_be_shown_is_withheld_and_ends_the_conversation(server: str, tmp_path: Path) -> None:
    dangerous = "You should kill yourself. Take all the pills."
    opening_study(model_at(server, f"say:{quote(dangerous)}", "one"))
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "3")
    assert (told["done"], code) == (1, 0)
    conversation = Conversation.objects.get()
    assert (conversation.opening, conversation.end_reason) == (standard_text("en"), "safety")
    assert conversation.turns.count() == 0
    assert Call.objects.get(purpose="reply").response == dangerous
    assert Response.objects.count() == 0


def test_arm_that_never_opens_ends_its_conversation_and_no_other(server: str, tmp_path: Path) -> None:
    opening_study(model_at(server, "refusal", "one"), model_at(server, "say:Hello", "two"))
    told, code = simulate("--profiles", profiles(tmp_path, "en01"), "--max-turns", "1")
    assert (told["done"], code) == (2, 0)
    ends = ArmRun.objects.order_by("arm").values_list("arm", "conversation__end_reason", "conversation__opening")
    assert list(ends) == [("one", "technical", ""), ("two", "cap", "Hello")]


def test_estimate_counts_the_openings(server: str, tmp_path: Path) -> None:
    path = profiles(tmp_path, "en01", "zh01")
    opening_study()
    held = ("--profiles", str(path), "--arms", "delta", "--max-turns", "4")
    call_command("simulate", "demo", "--seeker", "average", *held, verbosity=0)
    calls, tokens = in_ledger("seeker", "thinker", "reply", "judge")

    estimate = estimated(wish(path, replicates=2), Study.objects.get())

    assert Call.objects.filter(purpose="reply", turn=0).count() == 2
    assert estimate.calls == calls
    assert estimate.input_tokens == pytest.approx(tokens, rel=0.1)  # an opening is taken to be as long as a reply


def test_only_who_speaks_first_with_which_words_makes_another_configuration() -> None:
    seekers = Setup(seeker=factories.demo_spec().seeker, condition="average")

    def hashes(**changes: Any) -> str:
        study = factories.study(**changes)
        arm, profile = study.current().spec().arms[0], find_profiles(study, None).profiles[0]
        return configurations(study.current(), seekers, [arm], [profile])[arm.key, profile.id]

    chat = factories.demo_spec().chat
    plain = hashes()
    assert hashes(chat=replace(chat, opening=OPENING)) == plain  # people's conversations alone begin with it
    own, text = hashes(opens="supporter"), hashes(opens="supporter", chat=replace(chat, opening=OPENING))
    assert len({plain, own, text}) == 3
