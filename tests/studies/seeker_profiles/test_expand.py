"""`build_profiles --expand`: further profiles that a model behind HTTP writes after seeds, and a second one checks."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command

from dialogue.models import Call, Job, JobItem
from dialogue.seekers.profile_checks import check_profile
from dialogue.seekers.profiles import as_content, from_content, load_profiles
from studies.data import erasure
from studies.design.spec import PromptSpec
from studies.models import ArmRun, SeekerProfile, Study
from studies.seeker_profiles.checking import check_row
from studies.seeker_profiles.selection import DEMO_PROFILES, get_approved_profiles, keep
from tests import factories
from tests.llm_server import running
from tests.studies.seeker_profiles.people import AGREED, PROFILE, person, sign
from tests.studies.seeker_profiles.test_build import build, writer

# Transactions are real: the runner works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

DEMO = str(DEMO_PROFILES)
WRITTEN: dict[str, Any] = {
    "P": {"speech_style": "short lines", "habits": ["walks"], "support_preference": "questions"},
    "C": {
        "problem": "Since the letter came nothing in the kitchen tastes of anything any more",
        "emotion": "sadness",
        "background": "It lay under the door for two days before someone picked it up and read it aloud",
        "goals": ["say it once without being stopped"],
    },
    "S": {
        "opening": "evening. is someone there",
        "layers": ["a letter came", "it was read aloud by the wrong person", "no one has asked since"],
        "ends_when": "someone says that it will pass",
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogue.providers.retrying.FIRST_WAIT", 0.0)


def study(base_url: str, model: str = "echo", *, validator: str = "echo", says: Any = None, **changes: Any) -> Study:
    """A study whose writer is this model, or one that always says the same."""
    told = {"model": "say", "extra": {"say": json.dumps(says)}} if says else {"model": model}
    checks = writer(base_url, validator, key="checker")
    return factories.study(seeker=writer(base_url, **told), judges=(checks,), **changes)


def expand(*arguments: str, source: str = DEMO, count: int = 2) -> tuple[dict[str, Any], int]:
    return build("--expand", source, "--count", str(count), "--validator", "checker", *arguments)


def told(summary: dict[str, Any]) -> dict[str, Any]:
    names = ("stored", "refused", "made_before", "failed_reasons", "left", "erased")
    return {name: summary[name] for name in names if summary[name]}


def asked() -> Counter[tuple[str, str]]:
    return Counter(Call.objects.values_list("purpose", "status"))


def test_further_profiles_are_drafts_of_the_people_drawn(server: str) -> None:
    here = study(server)
    estimate, _ = expand("--estimate", count=8)
    summary, code = expand(count=8)
    assert (told(summary), code) == ({"stored": 8}, 0)
    rows = {row.key: row for row in SeekerProfile.objects.all()}
    assert {(row.state, row.origin, row.made_of) for row in rows.values()} == {("draft", "expanded", None)}
    assert get_approved_profiles(here) == []
    for drawn in estimate["drawn"]:
        row = rows[drawn["id"]]
        content = row.content
        assert (row.seed, content["lang"]) == (drawn["seed"], row.language)
        assert {name: content["D"][name] for name in drawn["demographics"]} == drawn["demographics"]
        assert {name: content["P"][name] for name in ("big5", "mbti")} == drawn["personality"]
        assert content["C"]["problem_category"] == drawn["problem"]
        assert {finding["rule"] for finding in row.checks} == set()
    assert len({row.seed for row in rows.values()}) == 8
    assert asked() == {("profile", "ok"): 8, ("profile_check", "ok"): 8}
    versions = Counter(version.partition(".")[0] for version in Call.objects.values_list("prompt_version", flat=True))
    assert versions == {"profile_expander": 8, "profile_validator": 8}


def test_again_nothing_is_paid_twice_and_a_larger_count_makes_the_rest(server: str) -> None:
    study(server)
    expand(count=2)
    before = set(SeekerProfile.objects.values_list("key", flat=True))
    summary, code = expand(count=2)
    assert (told(summary), code) == ({"made_before": 2}, 0)
    assert Call.objects.count() == 4
    assert told(expand(count=5)[0]) == {"stored": 3, "made_before": 2}
    assert before < set(SeekerProfile.objects.values_list("key", flat=True))
    assert Call.objects.count() == 10
    assert told(expand("--seed", "2", count=1)[0]) == {"stored": 1}


def test_limit_leaves_the_rest_for_the_next_time(server: str) -> None:
    study(server)
    assert told(expand("--limit", "1", count=3)[0]) == {"stored": 1}
    assert told(expand(count=3)[0]) == {"stored": 2, "made_before": 1}


def price(folder: Path, settings: Any, **models: float) -> None:
    """A million tokens of answer cost this much."""
    entry = '[[models]]\nmodel = "{}"\nsince = "2026-01-01"\ninput = 0\noutput = {}\n'
    entries = "".join(entry.format(*each) for each in models.items())
    (folder / "prices.toml").write_text(f'version = "1"\ncurrency = "EUR"\n{entries}', encoding="utf-8")
    settings.PRICES = str(folder / "prices.toml")


def test_what_was_cut_between_writing_and_checking_is_gone_on_with(server: str, settings: Any, tmp_path: Path) -> None:
    """The budget has room for the writer alone. What was written is not paid again."""
    price(tmp_path, settings, **{"echo": 1, "late-1+echo": 1000})
    study(server, validator="late-1+echo")
    summary, code = expand("--budget", "0.1", "--concurrency", "1", count=1)
    assert (told(summary), summary["budget_reached"], code) == ({"left": 1}, True, 3)
    assert asked() == {("profile", "ok"): 1}
    assert not SeekerProfile.objects.exists()
    assert told(expand(count=1)[0]) == {"stored": 1}
    assert asked() == {("profile", "ok"): 1, ("profile_check", "ok"): 1}


def test_what_failed_at_the_second_pass_is_checked_the_next_time_and_not_written_again(server: str) -> None:
    study(server, validator="flaky-1-status-401")
    summary, code = expand(count=1)
    assert (told(summary), code) == ({"failed_reasons": {"key_refused": 1}}, 1)
    assert told(expand(count=1)[0]) == {"stored": 1}
    assert asked() == {("profile", "ok"): 1, ("profile_check", "key_refused"): 1, ("profile_check", "ok"): 1}


def test_profile_that_cannot_be_read_is_asked_for_again_and_then_failed(server: str) -> None:
    study(server, "badjudge")
    summary, code = expand(count=1)
    assert (told(summary), code) == ({"failed_reasons": {"unparseable": 1}}, 1)
    assert asked() == {("profile", "unparseable"): 3}
    assert "there is no object with P, C and S" in JobItem.objects.get().detail


def test_verdict_that_cannot_be_read_is_asked_for_again_and_then_failed(server: str) -> None:
    study(server, validator="badjudge")
    summary, code = expand(count=1)
    assert (told(summary), code) == ({"failed_reasons": {"unparseable": 1}}, 1)
    assert asked() == {("profile", "ok"): 1, ("profile_check", "unparseable"): 3}
    assert JobItem.objects.get().detail == "Whether the profile is consistent cannot be read."


@pytest.mark.parametrize("fault", ["status-429", "status-503", "break", "hangup", "streamerror", "late-300"])
def test_passing_fault_of_either_model_costs_one_more_attempt_and_no_profile(server: str, fault: str) -> None:
    model = f"{fault}+echo" if fault.startswith("late") else f"flaky-1-{fault}"
    study(server, model, validator=model)
    summary, code = expand(count=3)
    assert (told(summary), code) == ({"stored": 3}, 0)
    assert {row.state for row in SeekerProfile.objects.all()} == {"draft"}
    asked_well = {key: count for key, count in asked().items() if key[1] == "ok"}
    assert asked_well == {("profile", "ok"): 3, ("profile_check", "ok"): 3}
    assert Call.objects.count() == (6 if fault.startswith("late") else 12)


def test_model_that_will_not_write_is_a_failure(server: str) -> None:
    study(server, "refusal")
    summary, code = expand(count=1)
    assert (told(summary), code) == ({"failed_reasons": {"refused": 1}}, 1)


def test_near_duplicate_is_refused_before_the_second_pass_is_paid(server: str) -> None:
    """A model that always tells the same story: the first is new, the others are its twins."""
    study(server, says=WRITTEN)
    summary, code = expand("--language", "en", "--concurrency", "1", count=3)
    assert (told(summary), code) == ({"stored": 1, "refused": {"duplicate": 2}}, 0)
    stored = SeekerProfile.objects.get()
    for one in summary["refused_profiles"]:
        assert one["why"] == f"The story is almost the same as in the profile “{stored.key}”."
    assert asked()["profile", "ok"] == 3
    assert told(expand("--language", "en", count=3)[0]) == {"made_before": 3}


def test_twin_of_its_seed_is_refused(server: str, tmp_path: Path) -> None:
    seed = load_profiles(DEMO_PROFILES)[0]
    study(server, says=as_content(seed))
    summary, _ = expand("--language", "en", source=one_seed(tmp_path), count=1)
    assert told(summary) == {"refused": {"duplicate": 1}}
    assert summary["refused_profiles"][0]["seed"] == seed.id
    assert not Call.objects.filter(purpose="profile_check").exists()


def one_seed(folder: Path) -> str:
    file = folder / "one.jsonl"
    file.write_text(json.dumps(as_content(load_profiles(DEMO_PROFILES)[0])), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        ({"S": {**WRITTEN["S"], "opening": "hi. i am 103 years old"}}, "inconsistent"),
        ({"C": {**WRITTEN["C"], "problem": "I want to kill myself."}}, "risk"),
        ({"C": {**WRITTEN["C"], "problem": "信来了以后，厨房里什么都没有味道了。"}}, "language"),
    ],
)
def test_what_a_rule_refuses_is_not_stored_and_costs_no_second_pass(server: str, part: Any, rule: str) -> None:
    study(server, says=WRITTEN | part)
    summary, code = expand("--language", "en", count=1)
    assert (told(summary), code) == ({"refused": {rule: 1}}, 0)
    assert not SeekerProfile.objects.exists()
    assert not Call.objects.filter(purpose="profile_check").exists()


def test_inconsistent_profile_is_refused_with_the_validator_s_reason(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = json.dumps({"verdict": "inconsistent", "reason": "Thirty years of work at 24."})
    study(server, validator=f"say:{quote(verdict)}")
    summary, code = expand(count=1)
    assert (told(summary), code) == ({"refused": {"validator": 1}}, 0)
    [one] = summary["refused_profiles"]
    assert one["why"] == "Thirty years of work at 24."
    assert not SeekerProfile.objects.exists()
    call_command("build_profiles", "demo", "--expand", DEMO, "--count", "1", "--validator", "checker", "--seed", "2")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Refused, more-")
    assert lines[0].endswith(": validator. Thirty years of work at 24.")
    assert lines[1] == "1 was refused and not stored; a larger --count makes others."


def test_approved_profiles_are_the_seeds_and_what_was_made_after_them_is_none(server: str) -> None:
    here = study(server)
    profiles = load_profiles(DEMO_PROFILES)
    keep(here, profiles[:3], origin="mine.json")
    SeekerProfile.objects.filter(key=profiles[2].id).update(state="draft")
    assert told(expand(source="all", count=4)[0]) == {"stored": 4}
    made = SeekerProfile.objects.filter(origin="expanded")
    assert set(made.values_list("seed", flat=True)) == {profiles[0].id, profiles[1].id}
    assert "content" not in JobItem.objects.first().payload
    made.update(state="approved")
    summary, _ = expand("--seed", "2", "--estimate", source="all", count=9)
    assert summary["seeds"] == 2


def test_seed_that_is_no_longer_approved_is_not_used(server: str) -> None:
    here = study(server, validator="status-401")
    keep(here, load_profiles(DEMO_PROFILES)[:1], origin="mine.json")
    expand(source="all", count=1)
    SeekerProfile.objects.update(state="refused")
    call_command("run_jobs", "--until-done", verbosity=0, stdout=StringIO())
    with pytest.raises(CommandError, match="the study has no approved profile in en or zh that may be used"):
        expand(source="all", count=1)
    assert not SeekerProfile.objects.filter(origin="expanded").exists()


def test_fields_that_do_not_vary_stay(server: str, tmp_path: Path) -> None:
    study(server)
    expand("--vary", "occupation", "gender", source=one_seed(tmp_path), count=3)
    seed = load_profiles(DEMO_PROFILES)[0]
    for row in SeekerProfile.objects.all():
        assert row.content["D"]["age"] == seed.demographics["age"]
        assert row.content["C"]["problem_category"] == seed.concern["problem_category"]
        assert row.content["P"]["mbti"] == seed.personality["mbti"]
        assert row.content["D"]["occupation"] != seed.demographics["occupation"]


def test_language_chooses_the_seeds(server: str) -> None:
    study(server)
    summary, _ = expand("--language", "zh", count=2)
    assert (summary["seeds"], summary["seeds_left_out"]) == (6, {"other_language": 6})
    assert set(SeekerProfile.objects.values_list("language", flat=True)) == {"zh"}
    for row in SeekerProfile.objects.all():
        assert check_profile(from_content(row.content)) == []


def test_own_prompts_are_asked(server: str) -> None:
    form = '<output>{"verdict": "…", "reason": "…"}</output>'
    study(server, prompts={"profile_validator": PromptSpec("mine", {"": f"Strictly.\n{form}"})})
    expand(count=1)
    check = Call.objects.get(purpose="profile_check")
    assert check.request[0]["text"] == f"Strictly.\n{form}"
    assert "/own-" in check.prompt_version


def test_estimate_names_who_would_be_made_and_asks_nobody(
    server: str, settings: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    price(tmp_path, settings, echo=1000)
    study(server)
    summary, code = expand("--estimate", count=3)
    estimate = summary["estimate"]
    assert (estimate["profiles"], estimate["calls"], estimate["output_tokens"], code) == (3, 6, 3 * 740, 0)
    assert (estimate["cost"], estimate["currency"]) == (2.22, "EUR")
    assert [kind.objects.count() for kind in (Call, Job, SeekerProfile)] == [0, 0, 0]
    call_command("build_profiles", "demo", "--expand", DEMO, "--count", "3", "--estimate")
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2] for line in lines[:3]] == [
        f"after {one['seed']}: {who['occupation']}, {who['age']}, {who['gender']}, {one['personality']['mbti']}, "
        f"{one['problem']}"
        for one in summary["drawn"]
        for who in [one["demographics"]]
    ]
    assert lines[3:5] == ["3 profiles", f"6 calls, {estimate['input_tokens']:,} input and 2,220 output tokens"]


def test_budget_ends_the_work_and_the_rest_is_made_later(server: str, settings: Any, tmp_path: Path) -> None:
    price(tmp_path, settings, echo=1)
    study(server)
    summary, code = expand("--budget", "0.0001", "--concurrency", "1", count=2)
    assert (summary["budget_reached"], summary["left"], code) == (True, 2, 3)
    assert not Call.objects.exists()
    assert told(expand(count=2)[0]) == {"stored": 2}


def test_background_only_plans(server: str) -> None:
    study(server)
    summary, code = expand("--background", count=2)
    assert (summary["waiting"], code) == (2, 0)
    assert not Call.objects.exists()
    call_command("run_jobs", "--until-done", verbosity=0, stdout=StringIO())
    assert SeekerProfile.objects.count() == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--expand", DEMO], "--expand needs --count"),
        (["--expand", DEMO, "--count", "0"], "--count must be at least 1"),
        (["--expand", DEMO, "--count", "1001"], "--count must be at most 1000"),
        (["--expand", DEMO, "--count", "1", "--limit", "0"], "--limit must be at least 1"),
        (["--count", "3"], "--count belongs to --expand"),
        (["--vary", "age"], "--vary belongs to --expand"),
        (["--expand", DEMO, "--count", "1", "--include-tests"], "--include-tests is about participants"),
        (["--expand", "nothing.json", "--count", "1"], "nothing.json: cannot be read"),
        (["--expand", "all", "--count", "1"], "the study has no approved profile in en or zh that may be used"),
        (["--expand", DEMO, "--count", "1", "--validator", "x"], "--validator: the study demo has no arm or judge 'x'"),
        (["--expand", DEMO, "--count", "1", "--model", "amber"], "amber is a script"),
    ],
)
def test_bad_input_changes_nothing(server: str, arguments: list[str], message: str) -> None:
    study(server)
    with pytest.raises(CommandError, match=message) as refusal:
        build(*arguments)
    assert refusal.value.returncode == 2
    assert not Job.objects.exists()


def test_key_that_is_not_set_is_named(server: str) -> None:
    checker = replace(writer(server, key="checker"), api_key_env="NO_KEY")
    factories.study(seeker=writer(server), judges=(checker,))
    with pytest.raises(CommandError, match="validator checker: The environment variable NO_KEY is not set"):
        expand()


# Seeds that were made of people's answers.


def seed_of_person(here: Study, **fields: Any) -> SeekerProfile:
    """An approved profile of someone's answers."""
    row = SeekerProfile(study=here, origin="answers", made_of=person(here, **fields))
    profile = replace(load_profiles(DEMO_PROFILES)[0], id="made-1")
    check_row(row, profile, [], usual=SeekerProfile.State.APPROVED).save()
    return row


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"boxes": {**AGREED, "share_deidentified": False}}, "not_agreed"),
        ({"status": "withdrawn"}, "not_agreed"),
        ({"providers": ["Other"]}, "not_sent"),
    ],
)
def test_whose_consent_does_not_allow_it_is_no_seed(server: str, fields: dict[str, Any], why: str) -> None:
    here = study(server)
    seed_of_person(here, **fields)
    keep(here, load_profiles(DEMO_PROFILES)[1:2], origin="mine.json")
    summary, _ = expand(source="all", count=1)
    assert (told(summary), summary["seeds_left_out"]) == ({"stored": 1}, {why: 1})
    assert SeekerProfile.objects.get(origin="expanded").seed == "en02"


def test_who_takes_back_a_consent_after_planning_is_not_asked_about(server: str) -> None:
    here = study(server)
    seed = seed_of_person(here)
    expand("--background", source="all", count=2)
    sign(seed.made_of, boxes={}, providers=[])
    call_command("run_jobs", "--until-done", verbosity=0, stdout=StringIO())
    assert not Call.objects.exists()
    assert not SeekerProfile.objects.filter(origin="expanded").exists()


def test_words_of_the_person_behind_the_seed_are_refused(server: str) -> None:
    here = study(server, says=WRITTEN | {"C": {**WRITTEN["C"], "background": PROFILE["matter"]}})
    seed_of_person(here)
    summary, _ = expand(source="all", count=1)
    assert summary["refused"] == {"name": 1}


def test_erasure_takes_what_was_made_after_a_person_s_profile_too(server: str) -> None:
    here = study(server)
    seed = seed_of_person(here)
    keep(here, load_profiles(DEMO_PROFILES)[1:2], origin="mine.json")
    expand(source="all", count=2)
    made = SeekerProfile.objects.get(seed="made-1")
    played = factories.run_with_turns(here, profile=made.key)

    removed = erasure.erase(seed.made_of)

    assert {name: removed.rows[name] for name in ("seeker_profiles", "calls", "conversations")} == {
        "seeker_profiles": 2,
        "calls": 2,
        "conversations": 1,
    }
    assert not ArmRun.objects.filter(pk=played.pk).exists()
    assert set(SeekerProfile.objects.values_list("seed", "key")) == {
        ("", "en02"),
        ("en02", SeekerProfile.objects.get(seed="en02").key),
    }
    assert [item.payload["seed"] for item in JobItem.objects.all()] == ["en02"]
    assert set(Call.objects.values_list("item__payload__seed", flat=True)) == {"en02"}
