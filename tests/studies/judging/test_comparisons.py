"""A judge on pairs: both orders, two rows, no tie that it did not give, nothing sent without consent."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command

from dialogue.judges.roles import RUBRIC
from dialogue.models import Call, Job
from studies.data import erasure
from studies.data.exports.columns import Filter
from studies.data.exports.files import export
from studies.instruments.loading import load
from studies.management.commands import judge_pairs as command
from studies.models import Comparison, Pair, PairPlan, Participation, Rater, Study, Verdict
from studies.models.participation import Status
from studies.second_raters import comparisons
from tests import factories
from tests.studies.judging.test_judging import Asked, judge_at, person, reload, study, talk

pytestmark = pytest.mark.django_db(transaction=True)

QUESTIONS = [item.key for item in load("pairwise_support").items]


def pair_of(here: Study, *people: Participation | None, turn: int | None = None) -> Pair:
    """Two conversations side by side, of these people; in no other pair is the same said."""
    pairs_before = here.pairs.count()
    runs = [
        talk(here, someone, seeker=f"Seeker {pairs_before}{side}") for someone, side in zip(people, "ab", strict=True)
    ]
    plan, _ = PairPlan.objects.get_or_create(
        study=here, name="first", defaults={"instrument": "pairwise_support", "source": {}}
    )
    a, b = runs
    return Pair.objects.create(study=here, plan=plan, run_a=a, run_b=b, turn_a=turn, turn_b=turn)


def judge_pairs(*arguments: str, key: str = "real") -> tuple[dict[str, Any], int]:
    out, code = StringIO(), 0
    try:
        call_command("judge_pairs", "demo", "--judge", key, "--json", *arguments, stdout=out)
    except SystemExit as exit:
        code = int(exit.code or 0)
    return json.loads(out.getvalue().splitlines()[-1]), code


def always(answer: int) -> str:
    return "say:" + quote(json.dumps(dict.fromkeys(QUESTIONS, answer)))


def test_pair_is_shown_in_both_orders_and_stored_as_two_rows(server: str) -> None:
    here = study(judge_at(server, "echo"))
    pair_of(here, None, None)
    since = Asked(server)
    told, code = judge_pairs()
    assert (told["done"], told["failed"], code) == (2, 0, 0)
    prompts = [body["messages"][-1]["content"] for body in since.bodies()]
    first = "<first_dialogue>\n[1] Seeker: Seeker 0a says 1"
    assert sorted(first in prompt for prompt in prompts) == [False, True]
    assert all("key: better_overall\nscale: 1-3\nquestion: Which supporter" in prompt for prompt in prompts)
    assert all("1 = The first\n2 = No difference\n3 = The second" in prompt for prompt in prompts)
    rows = Comparison.objects.values_list("rater__code", "rater__strategy", "shown_first").order_by("shown_first")
    assert list(rows) == [("real", "a_first", "a"), ("real", "b_first", "b")]
    [(role, prompt)] = set(Comparison.objects.values_list("role", "prompt"))
    assert (role, prompt.partition("#")[0]) == ("seeker", "judge_pairs.en/1")
    assert Verdict.objects.count() == 2 * len(QUESTIONS)
    assert set(Call.objects.values_list("purpose", "prompt_version")) == {("judge", "judge_pairs.en/1")}


def test_conflict_between_the_orders_stays_two_verdicts_and_is_no_tie(server: str, tmp_path: Path) -> None:
    here = study(judge_at(server, always(1)))
    pair_of(here, None, None)
    judge_pairs()
    assert sorted(Verdict.objects.values_list("comparison__shown_first", "verdict").distinct()) == [
        ("a", "a"),
        ("b", "b"),
    ]
    export(here, tmp_path / "out", only=Filter(), on_file=lambda *_: None)
    with (tmp_path / "out" / "pairs.csv").open(encoding="utf-8") as file:
        rows = [(row["rater"], row["rater_kind"], row["shown_first"], row["verdict"]) for row in csv.DictReader(file)]
    assert set(rows) == {("real", "judge", "a", "a"), ("real", "judge", "b", "b")}


def stored() -> list[tuple[str, ...]]:
    about = ("shown_first", "role", "prompt")
    return sorted(Verdict.objects.values_list(*(f"comparison__{name}" for name in about), "question", "verdict"))


def test_what_was_exported_comes_back_as_two_rows(server: str, tmp_path: Path) -> None:
    here = study(judge_at(server, always(3), extra={"role": RUBRIC.name}))
    pair_of(here, None, None)
    judge_pairs()
    export(here, tmp_path / "out", only=Filter(), on_file=lambda *_: None)
    before = stored()
    assert {row[1] for row in before} == {"third_person"}
    Comparison.objects.all().delete()
    call_command("import_pairs", "demo", str(tmp_path / "out" / "pairs.csv"))
    assert stored() == before


def test_rerun_asks_nothing_again(server: str) -> None:
    here = study(judge_at(server, "echo"))
    pair_of(here, None, None)
    judge_pairs()
    pair_of(here, None, None)
    since = Asked(server)
    told, _ = judge_pairs()
    assert (told["done"], told["skipped_existing"], len(since.bodies())) == (2, 2, 2)


def test_changed_judge_is_refused_under_the_key_that_has_compared(server: str) -> None:
    here = study(judge_at(server, "echo"))
    pair_of(here, None, None)
    judge_pairs()
    pair_of(here, None, None)
    reload(here, judge_at(server, always(1)))
    since = Asked(server)
    for arguments in ([], ["--estimate"]):
        with pytest.raises(CommandError, match="Give the changed judge a key of its own") as refusal:
            judge_pairs(*arguments)
        assert refusal.value.returncode == 2
    assert (Comparison.objects.count(), since.bodies()) == (2, [])


def test_limit_is_of_pairs_in_both_orders(server: str) -> None:
    here = study(judge_at(server, "echo"))
    for _ in range(3):
        pair_of(here, None, None)
    assert judge_pairs("--limit", "2")[0]["done"] == 4
    assert judge_pairs("--limit", "2")[0]["done"] == 2


@pytest.mark.parametrize("providers", [(("OpenAI",), ("ACME",)), (("ACME",), ())])
def test_both_consents_must_name_the_provider(providers: tuple[tuple[str, ...], ...], server: str) -> None:
    here = study(judge_at(server, "echo"))
    pair_of(here, *(person(here, providers=names) for names in providers))
    since = Asked(server)
    told, _ = judge_pairs()
    assert (told["done"], told["not_sent"], since.bodies()) == (0, 2, [])


def test_pair_with_one_who_withdrew_is_left_alone(server: str) -> None:
    here = study(judge_at(server, "echo"))
    gone = person(here)
    pair_of(here, person(here), gone)
    Participation.objects.filter(pk=gone.pk).update(status=Status.WITHDRAWN)
    assert judge_pairs()[0]["unfit"] == 2


def test_person_who_withdraws_meanwhile_is_not_sent(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = study(judge_at(server, "echo"))
    pair_of(here, person(here), person(here))
    plan = command.work_for

    def planned(*args: Any) -> Any:
        work = plan(*args)
        Participation.objects.update(status=Status.WITHDRAWN)
        return work

    monkeypatch.setattr(command, "work_for", planned)
    assert judge_pairs()[0]["erased"] == 2
    assert not Call.objects.exists()


def test_answer_that_cannot_be_read_is_no_verdict(server: str) -> None:
    pair_of(study(judge_at(server, "badjudge")), None, None)
    told, code = judge_pairs()
    assert (told["done"], told["unreadable_items"], code) == (2, 2 * len(QUESTIONS), 0)
    assert not Verdict.objects.exists()
    assert judge_pairs()[0]["skipped_existing"] == 2


def test_replies_are_shown_up_to_the_one_that_is_meant_and_without_the_models_name(server: str) -> None:
    here = study(judge_at(server, "echo"))
    pair = pair_of(here, None, None, turn=2)
    pair.run_a.conversation.turns.filter(number=2).update(reply="I am ChatGPT, made by OpenAI.")
    since = Asked(server)
    judge_pairs()
    [prompt, _] = [body["messages"][-1]["content"] for body in since.bodies()]
    assert "says 2" in prompt
    assert "says 3" not in prompt
    assert "ChatGPT" not in prompt
    assert "the last one" in prompt.split("<scope>")[1]


def test_judges_take_no_verdict_from_people() -> None:
    here = study()
    pair = pair_of(here, None, None)
    judge_pairs(key="demo")
    someone = factories.person(here, track="reviewer")
    assert comparisons.next_comparison_for(someone).pair == pair
    assert comparisons.tallies(pair.plan) == []


def test_erasure_of_either_side_takes_the_calls_with_both_texts(server: str) -> None:
    here = study(judge_at(server, "echo"))
    people = [person(here), person(here), person(here)]
    pair_of(here, people[0], people[1])
    pair_of(here, people[2], None)
    judge_pairs()
    removed = erasure.erase(people[1])
    assert (removed.rows["calls"], removed.rows["comparisons"]) == (2, 2)
    assert Call.objects.count() == 2
    assert Comparison.objects.count() == 2


def test_job_is_of_a_kind_of_its_own(server: str) -> None:
    pair_of(study(judge_at(server, "echo")), None, None)
    judge_pairs("--background")
    assert list(Job.objects.values_list("kind", "title")) == [("pairs", "real (pairs)")]
    assert not Call.objects.exists()


def test_estimate_asks_and_stores_nothing(server: str) -> None:
    pair_of(study(judge_at(server, "echo")), None, None)
    told, _ = judge_pairs("--estimate")
    assert (told["estimate"]["judgements"], told["estimate"]["calls"]) == (2, 2)
    assert not Job.objects.exists()
    assert not Rater.objects.filter(kind="judge").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge", "nobody"], "--judge: the study demo has no judge 'nobody'. It has: demo."),
        (["--judge", "demo", "--plan", "x"], "--plan: the study demo has no plan 'x'. It has: 'first'."),
    ],
)
def test_bad_input_changes_nothing(arguments: list[str], message: str) -> None:
    pair_of(study(), None, None)
    with pytest.raises(CommandError) as refusal:
        call_command("judge_pairs", "demo", *arguments)
    assert (str(refusal.value), refusal.value.returncode) == (message, 2)
    assert not Rater.objects.filter(kind="judge").exists()
