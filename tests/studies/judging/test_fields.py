"""A judge without one field of what it is told of the seeker: that field is gone from the prompt, and nothing else."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dialogue.judges.fields import PARTS, get_variant_without
from dialogue.judges.prompts import STATE_FIELDS
from dialogue.judges.strategies import fields_to_leave_out, get_strategies
from dialogue.models import Call, InnerState, JobItem
from dialogue.seekers.profiles import as_content, load_profiles
from studies.instruments.forms import AnswerValue
from studies.instruments.loading import load
from studies.judging.preview import build_preview, get_places_about
from studies.judging.settings import Configuration
from studies.models import ArmRun, Participation, Rater, Response, SeekerProfile, Study
from studies.participation.profile_text import FIELD_OF, LEFT_OUT
from studies.participation.responses import rater_for, store_response
from studies.seeker_profiles.selection import DEMO_PROFILES
from tests import factories
from tests.studies.judging.test_judging import Asked, judge, judge_at, person, study, summary, talk

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("figures_are_left_out")]

BOTH = [(strategy, field) for strategy, one in get_strategies().items() for field in one.fields]
BIG_FIVE = ["Extraversion", "Agreeableness", "Conscientiousness", "Neuroticism", "Intellect"]
THOUGHT = {"cognition": "Heard me.", "emotion": "lighter", "goal": "Go on.", "emotion_score": 60}


def known_person(here: Study, language: str = "en") -> Participation:
    """With an answer to all of the profile page that is not left out, and all of the Big Five."""
    someone = person(here, language=language)
    told = {item.key: item for item in load("profile").items}
    choices = {key: item.options[0].value if item.options else f"my {key}" for key, item in told.items()}
    given = [AnswerValue(key, text=str(value)) for key, value in choices.items() if key != "age_band"]
    someone.raters.first().responses.all().delete()
    store_response(rater_for(someone), load("profile"), [*given, AnswerValue("age_band", text="25_34")])
    store_response(
        rater_for(someone), load("mini_ipip"), [AnswerValue(item.key, value=3) for item in load("mini_ipip").items]
    )
    return someone


def simulated(here: Study, language: str) -> ArmRun:
    profile = next(one for one in load_profiles(DEMO_PROFILES) if one.language == language)
    SeekerProfile.objects.create(study=here, key=profile.id, content=as_content(profile), state="approved")
    run = talk(here, language=language, seeker_kind="simulated")
    ArmRun.objects.filter(pk=run.pk).update(profile=profile.id)
    run.refresh_from_db()
    return run


def thought(run: ArmRun) -> ArmRun:
    for turn in run.conversation.turns.all():
        InnerState.objects.create(conversation=run.conversation, turn=turn.number, source="demo", **THOUGHT)
    return run


def shown(run: ArmRun, strategy: str, variant: str = "", **changes: Any) -> list[str]:
    """The lines of the final question."""
    configuration = Configuration(replace(run.study.current().spec().judges[0], **changes), strategy, variant)
    [prompt] = build_preview(configuration, run, get_places_about(run, ["final"])[0]).prompts
    return "\n".join(message.text for message in prompt.messages).splitlines()


def block(lines: Sequence[str], tag: str) -> list[str]:
    return lines[lines.index(f"<{tag}>") + 1 : lines.index(f"</{tag}>")] if f"<{tag}>" in lines else []


def outside(lines: Sequence[str], *tags: str) -> list[str]:
    inside = {line for tag in tags for line in (f"<{tag}>", *block(lines, tag), f"</{tag}>")}
    return [line for line in lines if line not in inside]


# The prompt


@pytest.mark.parametrize(("strategy", "field"), BOTH)
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["person", "simulated"])
def test_only_the_field_is_gone_from_the_prompt(kind: str, language: str, strategy: str, field: str) -> None:
    here = study()
    run = simulated(here, language) if kind == "simulated" else talk(
        here, known_person(here, language), language=language)  # fmt: skip
    thought(run)
    whole, without = shown(run, strategy), shown(run, strategy, get_variant_without(field))
    assert outside(whole, "profile", "inner_states") == outside(without, "profile", "inner_states")
    if field in STATE_FIELDS:
        assert block(whole, "profile") == block(without, "profile")
        left = "; ".join(f"{name}: {text}" for name, text in THOUGHT.items() if name != field)
        assert block(without, "inner_states") == [f"[{n}] {left}" for n in range(1, 7)]
    else:
        assert block(whole, "inner_states") == block(without, "inner_states")
        kept = block(without, "profile")
        gone = [line for line in block(whole, "profile") if line not in kept]
        assert [line for line in block(whole, "profile") if line in kept] == kept
        assert bool(gone) is not (kind == "person" and field == "script")
        assert bool(kept) is (field != "profile")


@pytest.mark.parametrize(
    ("field", "gone"),
    [
        ("demographics", ["Age", "Gender", "Gender, in own words", "Occupation", "Relationship"]),
        (
            "personality",
            ["Interests", *BIG_FIVE],
        ),
        ("big_five", BIG_FIVE),
        ("concern", ["Topic", "Matter", "How things stand", "Hopes for", "Leave alone"]),
    ],
)
def test_field_of_a_persons_profile_is_what_the_guide_says(field: str, gone: list[str]) -> None:
    here = study()
    run = talk(here, known_person(here))
    whole, without = (
        block(shown(run, "user_aware", variant), "profile") for variant in ("", get_variant_without(field))
    )
    names = [line.partition(": ")[0] for line in whole if line not in without]
    assert [name.partition(" (")[0].partition("/")[0] for name in names] == gone


def test_every_answer_of_the_profile_page_is_of_a_field() -> None:
    told = {item.key for item in load("profile").items} - set(LEFT_OUT)
    assert set(FIELD_OF) == told
    assert set(FIELD_OF.values()) <= set(PARTS)


def test_what_was_taken_out_is_counted_in_what_is_sent() -> None:
    run = talk(here := study(), known_person(here))
    InnerState.objects.create(
        conversation=run.conversation, turn=1, source="demo", **{**THOUGHT, "cognition": "a@b.org is mine."}
    )
    spec = here.current().spec().judges[0]
    redacting = Configuration(replace(spec, extra={**spec.extra, "redact": True}), "state_aware")
    counts = []
    for variant in ("", get_variant_without("cognition")):
        [prompt] = build_preview(redacting.with_variant(variant), run, get_places_about(run, ["final"])[0]).prompts
        counts.append(dict(prompt.redacted).get("email"))
    assert counts == [1, None]


# Who answers, and how often someone is asked


@pytest.mark.parametrize("field", ["emotion", "profile"])
def test_judge_without_a_field_is_a_rater_of_its_own_and_its_thinker_is_told_all(field: str, server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, known_person(here), turns=2)
    told, code = judge("--without", field, strategy="state_aware")
    variant = get_variant_without(field)
    assert (told, code) == (
        {**summary(done=2), "strategy": "state_aware", "variant": variant, "not_varied": 0},
        0,
    )
    raters = Response.objects.filter(rater__kind="judge").values_list("rater__code", "rater__strategy")
    assert sorted(raters) == [("real", "state_aware"), (f"real~{variant}", "state_aware")]
    thoughts = [call.request[-1]["text"] for call in Call.objects.filter(purpose="thinker")]
    assert len(thoughts) == 2
    assert all("Interests: my interests" in text for text in thoughts)
    versions = Call.objects.filter(purpose="judge").order_by("pk").values_list("prompt_version", flat=True)
    assert [version.rpartition("/")[0] for version in versions] == ["judge.en", f"judge.en/1~{variant}"]


def test_thinker_is_not_asked_again_nor_is_the_judge_as_it_is(server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, known_person(here))
    judge(strategy="state_aware")
    since = Asked(server)
    for field in ("emotion", "profile"):
        assert judge("--without", field, strategy="state_aware")[0]["done"] == 1
    assert len(since.bodies()) == 2
    assert JobItem.objects.filter(role="thinker").count() == 1
    assert judge("--without", "emotion", strategy="state_aware")[0]["skipped_existing"] == 1
    assert len(since.bodies()) == 2


def test_every_field_and_strategy_has_a_key_of_its_own() -> None:
    spec = study().current().spec().judges[0]
    asked = [Configuration(spec, strategy, get_variant_without(field)) for strategy, field in BOTH]
    plain = [Configuration(spec, strategy) for strategy in get_strategies()]
    assert len({one.hash() for one in (*asked, *plain)}) == len(BOTH) + len(get_strategies())
    assert {one.thinker_hash() for one in asked} == {plain[0].thinker_hash()}
    assert Configuration.from_plan(json.loads(json.dumps(asked[0].as_plan()))) == asked[0]


@pytest.mark.parametrize(
    ("strategy", "field", "told"),
    [
        ("state_aware", "feelings", "is not told 'feelings'. What can be left out: profile, demographics, personality, "
         "big_five, concern, script, cognition, emotion, goal, emotion_score."),
        ("user_aware", "emotion", "is not told 'emotion'. What can be left out: demographics, personality, big_five, "
         "concern, script."),
        ("user_aware", "profile", "is not told 'profile'."),
        ("standard", "concern", "is not told 'concern'. What can be left out: nothing."),
    ],
)  # fmt: skip
def test_field_that_the_judge_is_not_told_is_refused_with_those_that_it_is(
    strategy: str, field: str, told: str
) -> None:
    study()
    with pytest.raises(CommandError) as refused:
        call_command("judge", "demo", "--judge", "demo", "--strategy", strategy, "--without", field)
    assert told in str(refused.value)
    assert refused.value.returncode == 2
    assert not Rater.objects.exists()


def test_one_thing_is_left_out_or_changed_at_a_time() -> None:
    study()
    asked = ["judge", "demo", "--judge", "demo", "--strategy", "user_aware"]
    with pytest.raises(CommandError, match="not allowed with"):
        call_command(*asked, "--without", "concern", "--variant", "padding")


def test_where_the_profile_has_no_such_field_nothing_is_asked(server: str) -> None:
    """A file of conversations tells not which words of a profile are of which field."""
    here = study(judge_at(server, "echo"))
    talk(here, person(here))
    talk(here, seeker_kind="imported", profile="Age: 61")
    told, _ = judge("--without", "big_five", strategy="user_aware")
    assert (told["done"], told["not_varied"]) == (0, 2)
    assert not Call.objects.exists()
    told, _ = judge("--without", "demographics", strategy="user_aware")
    assert (told["done"], told["not_varied"]) == (2, 1)
    told, _ = judge("--without", "profile", strategy="state_aware")
    assert (told["done"], told["not_varied"]) == (4, 0)


@pytest.mark.parametrize(("strategy", "field"), BOTH)
def test_preview_is_word_for_word_what_the_ledger_then_holds(
    strategy: str, field: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = simulated(study(), "en")
    asked = ["demo", "--judge", "demo", "--strategy", strategy, "--without", field]
    call_command("judge", *asked)
    [_whole, without] = Call.objects.filter(purpose="judge").order_by("pk")
    capsys.readouterr()
    call_command("judge", *asked, "--preview", run.conversation.code, "--json")
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [prompt["messages"] for prompt in told["previews"][0]["prompts"]] == [without.request]
    assert told["previews"][0]["obstacles"] == []


def test_preview_says_that_there_is_nothing_to_leave_out() -> None:
    run = thought(talk(here := study(), person(here)))
    spec = here.current().spec().judges[0]
    for strategy, field in (("user_aware", "emotion"), ("user_aware", "big_five"), ("standard", "concern")):
        found = build_preview(
            Configuration(spec, strategy, get_variant_without(field)), run, get_places_about(run, ["final"])[0]
        )
        assert "This variant would not change anything here." in found.obstacles


def test_changed_judge_is_known_again_by_its_answers_without_a_field(server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, known_person(here))
    judge("--without", "concern", strategy="user_aware")
    assert judge("--without", "concern", strategy="user_aware")[0]["skipped_existing"] == 1
    study(judge_at(server, "threes"))
    with pytest.raises(CommandError, match="has answered in demo with another model"):
        call_command("judge", "demo", "--judge", "real", "--strategy", "user_aware", "--without", "concern")


# From the judge to the analysis


def test_analysis_tells_what_a_field_adds(tmp_path: Path) -> None:
    """The demonstration's judge sees no more than a user-aware one where it is not told how the seeker feels."""
    here = study()
    for number in range(6):
        someone = known_person(here)
        run = talk(here, someone, turns=2, seeker=f"Number {number}")
        factories.rating(someone, run, score=1 + number % 5)
    for strategy, field in (("state_aware", "emotion_score"), ("state_aware", "cognition"), ("user_aware", "concern")):
        call_command("judge", "demo", "--judge", "demo", "--strategy", strategy, "--without", field)
    assert {rater.code for rater in Rater.objects.filter(kind="judge")} == {
        "demo",
        *(f"demo~without_{field}" for field in ("emotion_score", "cognition", "concern")),
    }
    call_command("export", "demo", "--out", str(tmp_path / "export"))
    call_command("analyse", str(tmp_path / "export"), "--out", str(tmp_path / "out"), "--bootstrap", "20")
    tables = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))["tables"]
    tested = {row["strategy_b"] for row in tables["strategy_tests"] if "~" in row["strategy_b"]}
    assert tested == {
        f"{strategy}~without_{field}"
        for strategy, field in (
            ("state_aware", "emotion_score"),
            ("state_aware", "cognition"),
            ("user_aware", "concern"),
        )
    }
    changed = [row for row in tables["sensitivity"] if row["statistic"] == "difference_share_changed"]
    moved = {row["variant"]: row["estimate"] for row in changed if row["item"] == "*"}
    assert moved["without_cognition"] == moved["without_concern"] == 0
    assert moved["without_emotion_score"] > 0
    assert len(fields_to_leave_out()) == 10
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "with and without a field" in report
