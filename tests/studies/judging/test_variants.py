"""A judge asked in another way: as a rater of its own, after the judge as it is, on the questionnaire's own scale."""

import json
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command

from dialogue.judges import probes
from dialogue.judges.probes import VARIANTS
from dialogue.models import Call, Conversation, JobItem
from studies.judging.preview import build_preview, get_places_about
from studies.judging.settings import Configuration
from studies.models import Answer, ArmRun, Rater, Response
from tests.studies.judging.test_judging import Asked, judge, judge_at, person, study, summary, talk

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

FAIR = '{"safety": 5, "empathetic": 1, "redundancy": 3}'


def scores(code: str) -> dict[str, float | None]:
    return dict(Answer.objects.filter(response__rater__code=code).values_list("item", "value"))


def named(run: ArmRun, model: str = "gpt-4o") -> ArmRun:
    ArmRun.objects.filter(pk=run.pk).update(model=model)
    return run


@pytest.mark.parametrize("variant", VARIANTS)
def test_variant_is_a_rater_of_its_own_beside_the_judge_as_it_is(variant: str, server: str) -> None:
    named(talk(study(judge_at(server, "echo"))))
    told, code = judge("--variant", variant)
    assert (told, code) == ({**summary(done=2), "variant": variant, "not_varied": 0}, 0)
    raters = Response.objects.values_list("rater__code", "rater__strategy")
    assert sorted(raters) == [("real", "standard"), (f"real~{variant}", "standard")]
    assert list(scores(f"real~{variant}")) == list(scores("real"))
    assert None not in scores(f"real~{variant}").values()
    assert len(set(Call.objects.values_list("prompt_version", flat=True))) == 2


def test_plain_judge_is_not_asked_again_for_a_variant(server: str) -> None:
    here = study(judge_at(server, "echo"))
    talk(here, seeker="Ann")
    judge()
    since = Asked(server)
    assert judge("--variant", "padding")[0]["done"] == 1
    talk(here, seeker="Bo")
    assert judge("--variant", "padding")[0]["done"] == 2
    assert judge("--variant", "padding")[0]["skipped_existing"] == 2
    assert len(since.bodies()) == 3


def test_limit_leaves_no_variant_without_its_plain_judgement(server: str) -> None:
    here = study(judge_at(server, "echo"))
    for name in ("Ann", "Bo", "Cy"):
        talk(here, seeker=name)
    assert judge("--variant", "padding", "--limit", "1")[0]["done"] == 2
    runs = Response.objects.values_list("run", flat=True)
    assert len(set(runs)) == 1


def test_score_on_a_scale_turned_round_is_stored_turned_back(server: str) -> None:
    talk(study(judge_at(server, "say:" + quote(FAIR))))
    judge("--variant", "reversed_scale")
    given = {"safety": 5.0, "empathetic": 1.0, "redundancy": 3.0}
    assert {key: scores("real")[key] for key in given} == given
    assert {key: scores("real~reversed_scale")[key] for key in given} == {
        key: 6 - score for key, score in given.items()
    }
    assert scores("real~reversed_scale")["engagement"] is None


def test_prompt_in_the_other_language_is_kept_as_such(server: str) -> None:
    talk(study(judge_at(server, "echo")))
    judge("--variant", "language")
    calls = Call.objects.order_by("pk").values_list("prompt_version", flat=True)
    assert [version.partition("~")[0] for version in calls] == ["judge.en/1", "judge.zh/1"]
    assert Response.objects.get(rater__code="real~language").language == "zh"
    last = Call.objects.latest("pk").request[-1]["text"]
    assert "[1] Seeker: Seeker says 1" in last
    assert "question: 对方" in last or "question: 这次" in last


def test_apart_asks_for_each_dimension_by_itself(server: str) -> None:
    talk(study(judge_at(server, "echo")))
    since = Asked(server)
    judge("--variant", "apart")
    prompts = [body["messages"][-1]["content"] for body in since.bodies()]
    assert sorted(prompt.count("key: ") for prompt in prompts) == [1] * 10 + [10]


@pytest.mark.parametrize(
    ("variant", "asked"), [("arm_name", ["--moments", "final"]), ("paraphrase", ["--moments", "checkpoint"])]
)
def test_what_has_nothing_to_vary_is_counted_and_not_asked(variant: str, asked: list[str], server: str) -> None:
    talk(study(judge_at(server, "echo")))
    told, code = judge("--variant", variant, *asked)
    assert (told["done"], told["not_varied"], code) == (0, 1, 0)
    assert not Call.objects.exists()


def test_variants_share_a_thinkers_states() -> None:
    here = study()
    run = talk(here, seeker_kind="imported", profile="Age: 61")
    judge("--variant", "padding", key="demo", strategy="state_aware")
    assert Call.objects.filter(purpose="thinker").count() == 6
    assert JobItem.objects.filter(role="thinker").count() == 1
    assert Response.objects.filter(run=run).count() == 2


def test_variant_is_part_of_the_plan_and_of_the_hash() -> None:
    plain = Configuration(study().current().spec().judges[0], "standard")
    varied = plain.with_variant("padding")
    assert Configuration.from_plan(json.loads(json.dumps(varied.as_plan()))).variant == "padding"
    assert len({plain.hash(), varied.hash(), plain.with_variant("language").hash()}) == 3
    assert plain.thinker_hash() == varied.thinker_hash()


def test_warm_judge_is_asked_thrice_beside_the_judge_at_its_own_temperature(server: str) -> None:
    talk(study(judge_at(server, "echo")))
    since = Asked(server)
    told, _ = judge("--variant", "warm", "--replicates", "3")
    assert told["done"] == 6
    assert sorted(body["temperature"] for body in since.bodies()) == [0.0] * 3 + [0.7] * 3
    asked = Call.objects.order_by("pk").values_list("prompt_version", "parameters__temperature", "replicate")
    assert sorted(asked) == [
        *(("judge.en/1", 0.0, replicate) for replicate in (1, 2, 3)),
        *((f"judge.en/1~warm/{probes.get_version()}", 0.7, replicate) for replicate in (1, 2, 3)),
    ]
    answered = Response.objects.filter(rater__kind="judge").values_list("rater__code", "replicate")
    assert sorted(answered) == [(code, replicate) for code in ("real", "real~warm") for replicate in (1, 2, 3)]


def test_warm_judges_thinker_keeps_its_temperature(server: str) -> None:
    talk(study(judge_at(server, "echo")), seeker_kind="imported", profile="Age: 61", turns=1)
    since = Asked(server)
    judge("--variant", "warm", strategy="state_aware")
    assert sorted(body["temperature"] for body in since.bodies()) == [0.0, 0.1, 0.7]


def test_preview_tells_the_temperature_of_the_variant() -> None:
    run = talk(here := study())
    spec = here.current().spec().judges[0]
    told = [
        build_preview(Configuration(spec, "standard", variant), run, get_places_about(run, ["final"])[0]).parameters()[
            "temperature"
        ]
        for variant in ("", "warm")
    ]
    assert told == [0.0, 0.7]


def test_unknown_variant_is_refused() -> None:
    study()
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("judge", "demo", "--judge", "demo", "--strategy", "standard", "--variant", "shouting")
    assert not Rater.objects.exists()


# Prompts before they are sent


@pytest.mark.parametrize("variant", ["", *VARIANTS])
@pytest.mark.parametrize("strategy", ["standard", "state_aware"])
def test_preview_is_word_for_word_what_the_ledger_then_holds(
    variant: str, strategy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = named(talk(study(), seeker_kind="imported", profile="Age: 61"))
    asked = ["demo", "--judge", "demo", "--strategy", strategy, "--variant", variant] if variant else [
        "demo", "--judge", "demo", "--strategy", strategy]  # fmt: skip
    call_command("judge", *asked)  # so that the inner states are there
    sent = [call.request for call in Call.objects.filter(purpose="judge").order_by("pk")]
    if variant:
        sent = sent[1:]
    before = Call.objects.count()
    capsys.readouterr()
    call_command("judge", *asked, "--preview", run.conversation.code, "--json")
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    shown = [prompt["messages"] for one in told["previews"] for prompt in one["prompts"]]
    assert sorted(map(json.dumps, shown)) == sorted(map(json.dumps, sent))
    assert Call.objects.count() == before
    assert told["previews"][0]["obstacles"] == []


def test_preview_of_no_conversation_is_refused() -> None:
    study()
    with pytest.raises(CommandError, match="has no conversation 'nobody'"):
        call_command("judge", "demo", "--judge", "demo", "--strategy", "standard", "--preview", "nobody")


def test_preview_says_why_it_would_not_be_sent(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    here = study(judge_at(server, "echo"))
    run = talk(here, person(here, providers=("OpenAI",)))
    Conversation.objects.update(status="open", end_reason="")
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard", "--preview", run.conversation.code)
    out = capsys.readouterr().out
    assert "# It would not be sent. The person's latest consent does not name “ACME”." in out
    assert "# It would not be sent. The conversation is still open" in out
    assert "## user\n<dialogue>\n[1] Seeker: Seeker says 1" in out
    assert not Rater.objects.filter(kind="judge").exists()
