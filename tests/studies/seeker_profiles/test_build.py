"""Profiles built from answers by a model behind HTTP and by the demonstration's script: who may be asked about, what
comes of it, and that nothing of it outlives an erasure."""

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dialogue.models import Call, Job, JobItem
from dialogue.seekers.profiles import from_content
from studies.data import erasure
from studies.design.spec import ArmSpec
from studies.models import ArmRun, Participation, SeekerProfile
from studies.seeker_profiles.planning import plan_profiles, work_for
from studies.seeker_profiles.selection import get_approved_profiles
from tests import factories
from tests.llm_server import running
from tests.studies.seeker_profiles.people import AGREED, PROFILE, person, sign

# Transactions are real: the runner works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

PLAIN = {**PROFILE, "matter": "they moved me to another group"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


def writer(base_url: str, model: str = "echo", **fields: Any) -> ArmSpec:
    fields = {"key": "seeker", "title": {"en": "w"}, "kind": "openai_compatible", "provider": "ACME", **fields}
    return ArmSpec(base_url=base_url, model=model, **fields)


def build(*arguments: str) -> tuple[dict[str, Any], int]:
    """The summary and the exit code."""
    out, code = StringIO(), 0
    try:
        call_command("build_profiles", "demo", "--json", *arguments, stdout=out, verbosity=0)
    except SystemExit as exit:
        code = int(exit.code or 0)
    return json.loads(out.getvalue().splitlines()[-1]), code


def counts(summary: dict[str, Any]) -> dict[str, int]:
    names = ("done", "refused_by_checks", "made_before", "unanswered", "not_agreed", "not_sent", "failed", "erased")
    return {name: summary[name] for name in names if summary[name]}


def test_a_model_writes_a_draft_of_a_person_s_answers(server: str) -> None:
    study = factories.study(seeker=writer(server))
    someone = person(study, profile=PLAIN)
    summary, code = build()
    assert (counts(summary), code) == ({"done": 1}, 0)
    made = SeekerProfile.objects.get()
    assert (made.state, made.origin, made.made_of, made.language) == ("draft", "answers", someone, "en")
    assert made.checks == []
    assert someone.code not in made.key
    profile = from_content(made.content)
    assert profile.id == made.key
    assert profile.concern["problem"] == PLAIN["matter"]
    assert get_approved_profiles(study) == []


def test_the_call_is_in_the_ledger_and_nothing_is_paid_twice(server: str) -> None:
    study = factories.study(seeker=writer(server))
    person(study)
    build()
    call = Call.objects.get()
    assert (call.purpose, call.status, call.provider) == ("profile", "ok", "ACME")
    assert call.prompt_version == "profile_writer.en/1"
    assert "Zaphod" not in json.dumps(call.request)
    assert counts(build()[0]) == {"made_before": 1}
    assert Call.objects.count() == SeekerProfile.objects.count() == 1


def test_what_the_checks_find_is_kept_with_the_draft(server: str) -> None:
    study = factories.study(seeker=writer(server))
    person(study, profile={**PROFILE, "matter": f"{PROFILE['matter']} Zaphod can be reached by a@b.com."})
    build()
    made = SeekerProfile.objects.get()
    assert [(each["rule"], each["where"]) for each in made.checks] == [
        ("email", "C.problem"),
        ("name", "C.problem"),
        ("own_words", "C.problem"),
    ]
    assert made.checks[1]["found"] == "Zaphod, Karen, Leeds"
    assert made.state == "draft"


def test_danger_to_life_is_refused_at_once(server: str) -> None:
    study = factories.study(seeker=writer(server))
    person(study, profile={**PROFILE, "matter": "I want to kill myself."})
    summary, code = build()
    assert (counts(summary), code) == ({"done": 1, "refused_by_checks": 1}, 0)
    assert SeekerProfile.objects.get().state == "refused"


def test_one_that_cannot_be_read_is_asked_for_again_and_then_failed(server: str) -> None:
    study = factories.study(seeker=writer(server, "badjudge"))
    person(study)
    summary, code = build()
    assert (counts(summary), code) == ({"failed": 1}, 1)
    assert {call.status for call in Call.objects.all()} == {"unparseable"}
    assert "there is no object with P, C and S" in JobItem.objects.get().detail


def test_quarantine_is_told_with_what_to_do(server: str) -> None:
    study = factories.study(seeker=writer(server, "badjudge"))
    person(study)
    out = StringIO()
    for _ in range(3):
        with pytest.raises(SystemExit):
            call_command("build_profiles", "demo", stdout=out)
    assert out.getvalue().count("1 failed: unparseable. The profile cannot be read: ") == 3
    assert out.getvalue().count("--retry-quarantined tries it again.") == 1
    assert not SeekerProfile.objects.exists()


def test_the_demonstration_writes_in_both_languages_without_a_model() -> None:
    study = factories.study()
    people = [person(study, providers=[]), person(study, language="zh", providers=[])]
    assert counts(build()[0]) == {"done": 2}
    made = [SeekerProfile.objects.get(made_of=someone) for someone in people]
    assert [row.language for row in made] == ["en", "zh"]
    assert [row.checks for row in made] == [[], []]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"boxes": {"adult": True, "share_deidentified": False}}, "not_agreed"),
        ({"boxes": {"training": True}}, "not_agreed"),
        ({"providers": ["Other"]}, "not_sent"),
        ({"profile": {"topic": "prefer_not", "matter": "x"}}, "unanswered"),
    ],
)
def test_who_has_not_agreed_or_answered_is_left_alone(server: str, fields: dict[str, Any], why: str) -> None:
    study = factories.study(seeker=writer(server))
    person(study, **fields)
    assert counts(build()[0]) == {why: 1}
    assert not Call.objects.exists()


def test_without_a_big_five_answer_nothing_is_made() -> None:
    study = factories.study()
    someone = factories.person(study)
    sign(someone, boxes=AGREED, providers=[])
    factories.answer(someone, "profile", PROFILE)
    assert counts(build()[0]) == {"unanswered": 1}


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "withdrawn"},
        {"status": "screened_out"},
        {"excluded": True},
        {"is_test": True},
        {"track": "counsellor"},
    ],
)
def test_who_is_not_in_the_study_is_not_counted(fields: dict[str, Any]) -> None:
    person(factories.study(), **fields)
    assert counts(build()[0]) == {}


def test_test_people_are_in_it_where_asked_for() -> None:
    person(factories.study(), is_test=True)
    assert counts(build("--include-tests")[0]) == {"done": 1}


def test_the_latest_consent_counts(server: str) -> None:
    study = factories.study(seeker=writer(server))
    someone = person(study)
    sign(someone, boxes={**AGREED, "share_deidentified": False}, providers=["ACME"])
    assert counts(build()[0]) == {"not_agreed": 1}


def test_who_takes_back_a_consent_after_planning_is_not_asked_about(server: str) -> None:
    study = factories.study(seeker=writer(server))
    stays, leaves = person(study), person(study)
    work = work_for(study, study.current().spec().seeker, include_tests=False)
    planned = plan_profiles(study, study.current().spec().seeker, work.people, include_tests=False)
    sign(leaves, boxes={}, providers=[])
    call_command("run_jobs", "--until-done", verbosity=0, stdout=StringIO())
    assert SeekerProfile.objects.get().made_of == stays
    assert planned.job.items.count() == 1


def test_an_arm_or_a_judge_can_write(server: str) -> None:
    judge = writer(server, key="other")
    study = factories.study(judges=(judge,), seeker=None)
    person(study)
    with pytest.raises(CommandError, match=r"names no model that writes profiles") as refused:
        build()
    assert refused.value.returncode == 2
    with pytest.raises(CommandError, match=r"no arm or judge 'nobody'"):
        build("--model", "nobody")
    assert counts(build("--model", "other")[0]) == {"done": 1}


def test_twins_are_told_of(server: str) -> None:
    study = factories.study(seeker=writer(server))
    person(study)
    person(study, big_five=2.0)
    build()
    first, second = SeekerProfile.objects.order_by("pk")
    assert ("duplicate", first.key) in {(each["rule"], each["found"]) for each in second.checks}


def test_an_estimate_asks_nobody_and_stores_nothing(server: str) -> None:
    study = factories.study(seeker=writer(server))
    person(study)
    person(study, language="zh")
    told = build("--estimate")[0]["estimate"]
    assert (told["calls"], told["output_tokens"], told["cost"]) == (2, 1400, None)
    assert told["input_tokens"] > 1000
    assert not Call.objects.exists()
    assert not Job.objects.exists()


def test_an_estimate_speaks_of_profiles(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    study = factories.study(seeker=writer(server))
    person(study)
    assert build("--estimate")[0]["estimate"]["profiles"] == 1
    call_command("build_profiles", "demo", "--estimate")
    assert capsys.readouterr().out.splitlines()[0] == "1 profile"


def test_nobody_to_make_a_profile_of_is_told_with_what_to_do(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    study = factories.study(seeker=writer(server))
    call_command("build_profiles", "demo")
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("No one to make a profile of: ")
    person(study, is_test=True)
    call_command("build_profiles", "demo")
    assert "1 test person was left out: --include-tests includes them." in capsys.readouterr().out
    person(study)
    call_command("build_profiles", "demo", "--background")
    assert "Nobody" not in capsys.readouterr().out


def test_limit_leaves_the_rest_for_the_next_time() -> None:
    study = factories.study()
    person(study)
    person(study)
    assert counts(build("--limit", "1")[0]) == {"done": 1}
    assert counts(build()[0]) == {"done": 1, "made_before": 1}


# Erasure.


def everything() -> str:
    """All that is kept of profiles: rows of all their kinds."""
    rows = (Call, Job, JobItem, SeekerProfile, ArmRun)
    return "\n".join(str(row) for model in rows for row in model.objects.values_list())


def test_erasure_takes_profile_calls_items_and_what_was_played_of_it(server: str) -> None:
    study = factories.study(seeker=writer(server))
    someone, other = person(study), person(study, profile={**PROFILE, "matter": "Rent."})
    build()
    keys = {row.made_of: row.key for row in SeekerProfile.objects.all()}
    played = factories.run_with_turns(study, profile=keys[someone])
    kept = factories.run_with_turns(study, profile=keys[other])
    assert PROFILE["matter"] in everything()

    removed = erasure.erase(someone)

    assert {name: removed.rows[name] for name in ("seeker_profiles", "calls", "conversations", "turns")} == {
        "seeker_profiles": 1,
        "calls": 1,
        "conversations": 1,
        "turns": 2,
    }
    told = everything()
    assert PROFILE["matter"] not in told
    assert someone.code not in told
    assert not ArmRun.objects.filter(pk=played.pk).exists()
    assert ArmRun.objects.filter(pk=kept.pk).exists()
    assert SeekerProfile.objects.get().made_of == other
    assert Call.objects.count() == JobItem.objects.count() == 1


def test_erasure_takes_calls_whose_item_is_gone() -> None:
    study = factories.study()
    someone = person(study)
    Call.objects.create(purpose="profile", kind="scripted", request=[PROFILE["matter"]])
    erasure.erase(someone)
    assert not Call.objects.exists()


def test_erasure_while_it_is_made_leaves_nothing(server: str) -> None:
    study = factories.study(seeker=writer(server))
    someone = person(study)
    work = work_for(study, study.current().spec().seeker, include_tests=False)
    plan_profiles(study, study.current().spec().seeker, work.people, include_tests=False)
    erasure.erase(someone)
    call_command("run_jobs", "--until-done", verbosity=0, stdout=StringIO())
    assert not SeekerProfile.objects.exists()
    assert not Call.objects.exists()
    assert Participation.objects.get(pk=someone.pk).status == "withdrawn"
