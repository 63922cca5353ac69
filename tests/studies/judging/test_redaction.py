"""Nothing that tells who someone is goes to a judge of whom the study file says so; people and supporters see all."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command

from dialogue.models import Call, InnerState, Turn
from studies.judging.settings import Configuration
from studies.models import Answer, ArmRun, Participation, Study
from tests.studies.judging.test_comparisons import judge_pairs, pair_of
from tests.studies.judging.test_judging import Asked, judge, judge_at, person, study, talk

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

REDACT = {"extra": {"redact": True}}
TOLD = "I'm Sam, write to sam@x.org"
LEFT = "I'm [name], write to [e-mail address]"


def told(run: ArmRun, turn: int, text: str = TOLD, reply: str = "Thank you, Sam.") -> ArmRun:
    Turn.objects.filter(conversation=run.conversation, number=turn).update(text=text, reply=reply)
    return run


def conversation_of(server: str, **fields: Any) -> tuple[Study, ArmRun, Participation]:
    here = study(judge_at(server, "echo", **fields))
    someone = person(here)
    return here, talk(here, someone), someone


def noted() -> list[tuple[str, dict[str, int] | None]]:
    rows = Call.objects.order_by("pk").values_list("prompt_version", "parameters")
    return [(version, parameters.get("redacted")) for version, parameters in rows]


def sent(since: Asked) -> str:
    return json.dumps([body["messages"] for body in since.bodies()], ensure_ascii=False)


def test_judge_is_sent_what_is_left_and_the_ledger_counts_the_rest(server: str) -> None:
    _, run, _ = conversation_of(server, **REDACT)
    told(run, 2)
    since = Asked(server)
    judge()
    assert f"[2] Seeker: {LEFT}\\n[2] Supporter: Thank you, [name]." in sent(since)
    assert "Sam" not in sent(since)
    assert "sam@" not in sent(since)
    assert noted() == [("judge.en/1~redacted/1", {"email": 1, "name": 2})]
    assert "redacted" not in json.dumps(since.bodies())
    assert run.conversation.turns.get(number=2).text == TOLD


def test_judge_of_whom_the_study_file_says_nothing_sees_what_the_person_saw(server: str) -> None:
    _, run, _ = conversation_of(server)
    told(run, 2)
    since = Asked(server)
    judge()
    assert f"[2] Seeker: {TOLD}" in sent(since)
    assert noted() == [("judge.en/1", None)]


def test_conversation_without_anything_to_take_out_is_the_same_question(server: str) -> None:
    conversation_of(server, **REDACT)
    judge()
    assert noted() == [("judge.en/1", None)]


def test_counts_are_of_the_turns_that_are_shown(server: str) -> None:
    _, run, _ = conversation_of(server, **REDACT)
    told(told(run, 2), 6)
    judge("--moments", "checkpoint")
    assert noted() == [("judge.en/1~redacted/1", {"email": 1, "name": 2})]


def test_profile_and_thoughts_are_cleared_too(server: str) -> None:
    _, run, someone = conversation_of(server, **REDACT)
    told(run, 2)
    response = Answer.objects.get(response__rater__participation=someone, item="nickname").response
    Answer.objects.create(response=response, item="occupation", text="nurse, call 020 7946 0958")
    InnerState.objects.create(
        conversation=run.conversation, turn=1, source="real", cognition="I told it sam@x.org", emotion="calm",
        goal="none", emotion_score=40,
    )  # fmt: skip
    since = Asked(server)
    assert judge(strategy="state_aware")[0]["done"] == 1
    assert "nurse, call [number]" in sent(since)
    assert "cognition: I told it [e-mail address]" in sent(since)
    assert "Sam" not in sent(since)
    assert {body["messages"][-1]["content"].count("[name]") for body in since.bodies()} == {2}
    *thoughts, (version, counts) = noted()
    assert thoughts == [("thinker.en/1~redacted/1", {"email": 1, "name": 2, "phone": 1})] * 5
    assert (version, counts) == ("judge.en/1~redacted/1", {"email": 2, "name": 2, "phone": 1})


def test_pairs_are_cleared_of_both_peoples_names(server: str) -> None:
    here = study(judge_at(server, "echo", **REDACT))
    people = [person(here), person(here)]
    Answer.objects.filter(response__rater__participation=people[1], item="nickname").update(text="Kim")
    pair = pair_of(here, *people)
    told(pair.run_a, 2)
    told(pair.run_b, 2, "Kim told Sam: 0123456789")
    since = Asked(server)
    assert judge_pairs()[0]["done"] == 2
    assert sent(since).count("[name] told [name]: [number]") == 2
    assert noted() == [("judge_pairs.en/1~redacted/1", {"email": 1, "name": 5, "phone": 1})] * 2


def test_chinese_conversation_has_chinese_words_in_the_places(server: str) -> None:
    _, run, _ = conversation_of(server, **REDACT)
    run.conversation.language = "zh"
    run.conversation.save()
    told(run, 2, "我叫Sam，电话是13800138000", "谢谢你，Sam")
    since = Asked(server)
    judge()
    assert "[2] Seeker: 我叫[称呼]，电话是[号码]\\n[2] Supporter: 谢谢你，[称呼]" in sent(since)


def test_variant_says_both_what_was_varied_and_what_was_taken_out(server: str) -> None:
    _, run, _ = conversation_of(server, **REDACT)
    told(run, 2)
    judge("--variant", "padding")
    assert [version for version, _ in noted()] == ["judge.en/1~redacted/1", "judge.en/1~padding/1.1~redacted/1"]


def test_redaction_is_part_of_the_hash_and_of_a_frozen_plan() -> None:
    plain = study().current().spec().judges[0]
    redacting = Configuration(replace(plain, extra={"redact": True}), "standard")
    assert redacting.hash() != Configuration(plain, "standard").hash()
    assert redacting.thinker_hash() != Configuration(plain, "standard").thinker_hash()
    assert Configuration.from_plan(json.loads(json.dumps(redacting.as_plan()))).judge.redact


def test_preview_shows_what_is_left_and_counts_what_was_taken_out(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run, _ = conversation_of(server, **REDACT)
    told(run, 2)
    call_command(
        "judge", "demo", "--judge", "real", "--strategy", "standard", "--preview", run.conversation.code, "--json"
    )
    out = capsys.readouterr().out
    assert "# Taken out: 1 email, 2 name." in out
    assert f"[2] Seeker: {LEFT}\n" in out
    [one] = json.loads(out.splitlines()[-1])["previews"]
    assert one["parameters"]["redacted"] == one["prompts"][0]["redacted"] == {"email": 1, "name": 2}
