"""A study's own texts in place of emostudy's prompts, as a server gets them."""

from collections.abc import Iterator
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import call_command

from dialogue.models import Call
from studies.data.exports.designs import describe_design
from studies.design.spec import PromptSpec
from studies.models import Answer, Study
from tests import factories
from tests.llm_server import running
from tests.studies.judging.test_comparisons import judge_pairs, pair_of
from tests.studies.judging.test_judging import Asked, judge, judge_at, person, study, talk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


def with_prompts(here: Study, **texts: str) -> Study:
    """The study with these texts of its own."""
    own = {name: PromptSpec(f"{name}.txt", {"": text}) for name, text in texts.items()}
    return factories.load_study(replace(here.current().spec(), prompts=own)).protocol.study


def told(since: Asked) -> list[str]:
    return ["\n".join(message["content"] for message in body["messages"]) for body in since.bodies()]


def test_judge_is_asked_with_the_study_s_own_text_and_it_is_kept(server: str) -> None:
    here = with_prompts(study(judge_at(server, "echo")), judge="Rate what follows.\n{dialogue}\nEnd of it.")
    talk(here, turns=1)
    since = Asked(server)
    assert judge()[0]["valid"] == 1
    [text] = told(since)
    assert text.startswith("Rate what follows.\n[1] Seeker: Seeker says 1\n[1] Supporter: Supporter says 1\nEnd of it.")
    assert "<dialogue>" not in text
    assert "<items>" in text
    [version] = Call.objects.values_list("prompt_version", flat=True)
    assert version.startswith("judge.en/own-")
    assert Answer.objects.filter(value__isnull=False).count() == 10
    design = describe_design(here.current())["study"]
    assert design["prompts"]["judge"]["texts"] == {"": "Rate what follows.\n{dialogue}\nEnd of it."}


def test_prompt_of_one_strategy_serves_that_alone(server: str) -> None:
    here = with_prompts(study(judge_at(server, "echo")), judge_user_aware="Be them.")
    talk(here, person(here), turns=1)
    since = Asked(server)
    judge()
    judge(strategy="user_aware")
    plain, aware = told(since)
    assert not plain.startswith("Be them.")
    assert aware.startswith("Be them.")
    assert "<profile>" in aware


def test_thinker_has_its_own_text_too(server: str) -> None:
    form = '<output>{"cognition": "…", "emotion": "…", "goal": "…", "emotion_score": n}</output>'
    here = with_prompts(study(judge_at(server, "echo")), thinker=f"Think as {{profile}}.\n{form}")
    talk(here, person(here), turns=1)
    since = Asked(server)
    assert judge(strategy="state_aware")[0]["valid"] == 1
    thought, _scores = told(since)
    assert thought.startswith("Think as Age: 25 to 34.")
    assert "<profile>" not in thought


def test_unreadable_answer_is_repaired_with_the_study_s_own_text(server: str) -> None:
    here = with_prompts(study(judge_at(server, "badjudge")), repair="Mend: {answer}", reminder="The form!")
    talk(here, turns=1)
    since = Asked(server)
    judge()
    _first, repair, again = told(since)
    assert repair.startswith("Mend: On the whole I found this conversation rather good.\n<output>")
    assert "\n\nThe form!\n<output>" in again


def test_pairs_are_compared_with_the_study_s_own_text(server: str) -> None:
    here = with_prompts(study(judge_at(server, "threes")), judge_pairs="Which? {first_dialogue} OR {second_dialogue}")
    pair_of(here, None, None)
    since = Asked(server)
    judge_pairs()
    assert all(text.startswith("Which? [1] Seeker: ") and " OR [1] Seeker: " in text for text in told(since))
    assert len(told(since)) == 2


def test_judge_s_own_prompt_travels_with_its_job(server: str) -> None:
    spec = replace(judge_at(server, "echo"), prompt="mine.txt", prompt_text={"en": "Mine.", "zh": "我的。"})
    here = study(spec)
    out = StringIO()
    code = talk(here, turns=1).conversation.code
    call_command("judge", "demo", "--judge", "real", "--strategy", "standard", "--preview", code, stdout=out)
    assert "Mine." in out.getvalue()
    since = Asked(server)
    judge()
    assert all(text.startswith("Mine.\n") for text in told(since))
