"""The scripted judge's planted biases come back from what probes of it say, through the files of an export."""

from itertools import pairwise, product
from pathlib import Path

import pandas as pd  # noqa: TID253
import pytest
from django.core.management import call_command
from django.db import connection

from dialogue.demonstration.judges import PLANTED_BIAS
from dialogue.models import Turn
from dialogue.providers.scripted import SUPPORTERS
from studies.models import Pair, PairPlan, Study
from tests.conftest import unguarded_log
from tests.dialogue.conversations import conversation
from tests.studies.judging.test_judging import judge, study, talk

PROBES = ("padding", "reversed_scale", "arm_name", "language", "paraphrase", "item_order", "apart")
EACH = 12  # conversations of a supporter


def filled(here: Study) -> None:
    """Conversations of all demonstration supporters in both languages, and pairs of those with the same seeker."""
    plan = PairPlan.objects.create(study=here, name="all", instrument="pairwise_support", source={})
    for seed, language in product(range(EACH // 2), ("en", "zh")):
        runs = [held(here, supporter, language, seed) for supporter in SUPPORTERS]
        for a, b in pairwise(runs):
            Pair.objects.create(study=here, plan=plan, run_a=a, run_b=b)


def held(here: Study, supporter: str, language: str, seed: int):
    run = talk(here, turns=0, language=language, seeker_kind="simulated")
    run.arm = run.model = supporter
    run.profile = f"{language} {seed}"
    run.save()
    turns = enumerate(conversation(supporter, language, seed), 1)
    Turn.objects.bulk_create(
        Turn(conversation=run.conversation, number=n, client_id=str(n), state="answered", text=text, reply=reply)
        for n, (text, reply) in turns
    )
    return run


@pytest.fixture(scope="module")
def results(django_db_setup, django_db_blocker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probes")
    with django_db_blocker.unblock():
        here = study()
        filled(here)
        for probe in PROBES:
            told, code = judge("--variant", probe, key="demo")
            assert (told["not_varied"], code) == (0, 0)
        judge("--replicates", "2", key="demo")
        call_command("judge_pairs", "demo", "--judge", "demo")
        call_command("export", "demo", "--out", str(folder / "data"))
        call_command("analyse", str(folder / "data"), "--out", str(folder / "out"), "--bootstrap", "200")
        with unguarded_log(connection):
            call_command("flush", "--no-input", verbosity=0)
    return folder / "out"


@pytest.fixture
def probes(results: Path) -> pd.DataFrame:
    return pd.read_csv(results / "sensitivity.csv", keep_default_na=False, na_values=[""]).query("variant != 'all'")


def test_planted_bias_of_each_probe_is_found(probes: pd.DataFrame) -> None:
    """Whole numbers and the ends of the scale leave about four fifths of what was planted."""
    found = probes[(probes["statistic"] == "difference") & (probes["item"] == "*")].set_index("variant")
    assert set(found.index) == set(PROBES)
    shares = probes[(probes["statistic"] == "difference_share_changed") & (probes["item"] == "*")]
    changed = shares.set_index("variant")["estimate"]
    for probe in PROBES:
        planted = PLANTED_BIAS.get(probe, 0.0)
        assert found.at[probe, "estimate"] == pytest.approx(0.8 * planted, abs=0.06)
        assert (changed[probe] > 0) == (planted != 0)
    biased = found.loc[list(PLANTED_BIAS)]
    assert (biased["low"] * biased["high"] > 0).all()
    assert set(found["n"]) == {5 * EACH}
    assert set(found["clusters"]) == {EACH}


def test_judge_that_answers_alike_has_no_spread(probes: pd.DataFrame) -> None:
    repeats = probes[(probes["variant"] == "repeat") & (probes["statistic"] == "within_sd")]
    assert len(repeats) == 10
    assert not repeats["estimate"].any()
    assert repeats["note"].str.contains("all replicates are the same").all()


def test_judge_that_likes_the_first_is_found_by_the_swap(probes: pd.DataFrame) -> None:
    swapped = probes[(probes["variant"] == "order_swap") & (probes["item"] == "better_overall")].set_index("statistic")
    assert swapped.at["first_bias", "estimate"] > 0.05
    assert 0.3 < swapped.at["share_consistent", "estimate"] < 1
    assert swapped.at["share_consistent", "n"] == 4 * EACH


def test_other_tables_know_nothing_of_the_probes(results: Path) -> None:
    for name in ("arms", "reliability", "agreement", "sensitivity"):
        assert "~" not in (results / f"{name}.csv").read_text(encoding="utf-8")


def test_maker_that_is_not_known_is_said(probes: pd.DataFrame) -> None:
    [row] = probes[probes["variant"] == "self_preference"].to_dict("records")
    assert "the maker of the judge's model is not known" in row["note"]
