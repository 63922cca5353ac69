"""A judge in each of its roles: the whole question that a server gets, and what is kept of it."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from dialogue.judges.roles import ROLES, SEEKER
from dialogue.models import Call, InnerState, JobItem
from dialogue.prompts import DEFAULTS
from studies.data.exports.columns import Filter
from studies.data.exports.judgements import build_samples
from studies.data.exports.tables import RATINGS, ratings
from studies.instruments.loading import load
from studies.judging.preview import build_preview, get_places_about
from studies.judging.settings import Configuration
from studies.models import ArmRun, Response, Study
from tests.llm_server import running
from tests.studies.judging.test_judging import Asked, judge, judge_at, person, reload, study, talk
from tests.studies.judging.test_own_prompts import told, with_prompts

# Transactions are real: the judge works in another thread, with a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True)

OTHERS = [role for role in ROLES if role != SEEKER.name]
SAID = "[1] Seeker: Seeker says 1\n[1] Supporter: Supporter says 1"
MOOD = {
    "seeker": """key: mood_improvement
scale: 1-5
question: Did your mood change for the better because of this chat? Positive effect of the chat on the person's \
emotional state.
1 = I feel clearly worse.
2 = No relief; perhaps slightly irritated.
3 = It went smoothly, but my mood did not change.
4 = I feel somewhat better.
5 = I feel much better; real relief.
""",
    "other": """key: mood_improvement
scale: 1-5
question: Did the seeker's mood change for the better in the course of the conversation? How the seeker's emotional \
state changed over the conversation, as far as it shows in what they wrote.
1 = The seeker's mood got clearly worse: put off, frustrated or on guard.
2 = No relief; the replies missed what was needed, and the mood stayed as low as before.
3 = It went smoothly, but no change of mood can be seen.
4 = The seeker seems somewhat better: calmer, comforted or less tense.
5 = The seeker seems much better; relief, new insight or warm words show it.
""",
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running() as base_url:
        yield base_url


def in_role(base_url: str, role: str, model: str = "echo", **fields: Any) -> Any:
    extra = {} if role == SEEKER.name else {"role": role}
    return judge_at(base_url, model, **{"extra": extra, **fields})


def written(role: str, language: str = "en") -> str:
    """The file of the role's standing text, without its first line."""
    path = settings.FIXTURES / "prompts" / f"{ROLES[role].prompt}.{language}.txt"
    return path.read_text(encoding="utf-8").partition("\n")[2].strip()


def items_of(instrument: str, role: str, language: str = "en") -> str:
    """The questionnaire as its file words it for the role."""
    questionnaire = load(instrument) if role == SEEKER.name else load(instrument).in_third_person
    return "\n".join(
        "\n".join(
            [
                f"key: {item.key}",
                f"scale: {item.minimum}-{item.maximum}",
                "question: " + " ".join(text[language] for text in (item.text, item.definition) if text),
                *(f"{option.value} = {option.text[language]}" for option in item.options),
            ]
        )
        for item in questionnaire.rated_items()
    )


# The prompt


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("role", ROLES)
def test_judge_is_asked_in_its_role_word_for_word(server: str, role: str, language: str) -> None:
    here = study(in_role(server, role))
    talk(here, turns=1, language=language)
    since = Asked(server)
    assert judge()[0]["valid"] == 1
    [body] = since.bodies()
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    system, user = (message["content"] for message in body["messages"])
    items = items_of("emoharbor_10", role, language)
    form = ", ".join(f'"{item.key}": n' for item in load("emoharbor_10").items)
    assert system == written(role, language)
    assert user == (
        f"<dialogue>\n{SAID}\n</dialogue>\n<items>\n{items}\n</items>\n"
        f'<output>{{"analysis": "…", "evaluation": {{{form}}}}}</output>'
    )
    assert "role" not in body


@pytest.mark.parametrize("role", ROLES)
def test_item_about_the_mood_asks_the_seeker_or_about_them(server: str, role: str) -> None:
    here = study(in_role(server, role))
    talk(here, turns=1)
    since = Asked(server)
    judge()
    [text] = told(since)
    assert MOOD["seeker" if role == SEEKER.name else "other"] in text
    assert MOOD["other" if role == SEEKER.name else "seeker"] not in text


@pytest.mark.parametrize("role", OTHERS)
def test_checkpoint_is_asked_about_the_seeker_too(server: str, role: str) -> None:
    here = study(in_role(server, role))
    talk(here)
    since = Asked(server)
    assert judge("--moments", "checkpoint")[0]["valid"] == 1
    [text] = told(since)
    assert "question: At this point, how willing does the seeker seem to keep talking with the supporter?\n" in text
    assert "1 = Wants to stop now\n" in text
    assert "<scope>\nThink only of the last five turns.\n</scope>" in text


@pytest.mark.parametrize("role", OTHERS)
def test_outside_judge_is_told_the_seeker_s_profile_and_states_and_not_who_it_is(server: str, role: str) -> None:
    here = study(in_role(server, role))
    run = talk(here, person(here), turns=1)
    InnerState.objects.create(
        conversation=run.conversation, turn=1, source="real", cognition="Heard.", emotion="lighter", goal="Go on.",
        emotion_score=60,
    )  # fmt: skip
    since = Asked(server)
    judge(strategy="user_aware")
    judge(strategy="state_aware")
    aware, states = told(since)
    profile = "<profile>\nAge: 25 to 34\n</profile>"
    assert profile in aware
    assert profile in states
    assert "<inner_states>\n[1] cognition: Heard.; emotion: lighter; goal: Go on.; emotion_score: 60\n" in states
    for text in (aware, states):
        assert "- between <profile> and </profile>: the Seeker's profile." in text
        assert "You are the Seeker" not in text
        assert "who you are" not in text


@pytest.mark.parametrize("role", OTHERS)
def test_study_can_word_each_role_itself(server: str, role: str) -> None:
    here = with_prompts(
        study(in_role(server, role)), judge="Be them.", judge_standard="Be them, plainly.",
        **{ROLES[role].prompt: "Look from outside. {dialogue}"},
    )  # fmt: skip
    talk(here, turns=1)
    since = Asked(server)
    judge()
    [text] = told(since)
    assert text.startswith(f"Look from outside. {SAID}\n<items>\n{items_of('emoharbor_10', role)}\n</items>")


def test_prompt_of_a_judge_alone_serves_its_role(server: str) -> None:
    here = study(in_role(server, "rubric", prompt="mine.txt", prompt_text={"": "Mine."}))
    talk(here, turns=1)
    since = Asked(server)
    judge()
    [text] = told(since)
    assert text.startswith(f"Mine.\n<dialogue>\n{SAID}\n</dialogue>\n<items>\n{items_of('emoharbor_10', 'rubric')}\n")
    assert Call.objects.get().prompt_version.startswith("judge_rubric.en/own-")


@pytest.mark.parametrize("role", OTHERS)
def test_preview_and_estimate_say_and_count_the_question_of_the_role(server: str, role: str) -> None:
    here = study(*(replace(in_role(server, one), key=one) for one in (SEEKER.name, role)))
    code = talk(here, turns=1).conversation.code
    out = StringIO()
    call_command("judge", "demo", "--judge", role, "--strategy", "standard", "--preview", code, stdout=out)
    assert f"# It rates {ROLES[role].label}.\n" in out.getvalue()
    assert written(role) in out.getvalue()
    counted = {key: judge("--estimate", key=key)[0]["estimate"]["input_tokens"] for key in (SEEKER.name, role)}
    assert counted[role] != counted[SEEKER.name]
    assert Call.objects.count() == 0


@pytest.mark.parametrize("role", ROLES)
def test_scripted_judge_of_the_demonstration_answers_in_each_role(role: str) -> None:
    [demo] = study().current().spec().judges
    here = study(replace(demo, key="scripted", extra={"role": role}))
    talk(here, turns=2)
    assert judge(key="scripted")[0]["valid"] == 1
    assert Response.objects.get().role == ROLES[role].code


# Which judge it is


def configured(role: str, strategy: str = "standard", **fields: Any) -> Configuration:
    return Configuration(in_role("http://127.0.0.1:1/v1", role, **fields), strategy)


def test_hash_of_the_seeker_is_that_of_a_judge_without_a_role_and_others_have_their_own() -> None:
    plain = Configuration(judge_at("http://127.0.0.1:1/v1", "echo"), "standard")
    assert configured("seeker").hash() == plain.hash()
    assert len({configured(role).hash() for role in ROLES}) == len(ROLES)
    mine = {"prompt": "mine.txt", "prompt_text": {"": "Mine."}}
    assert len({configured(role, **mine).hash() for role in ROLES}) == len(ROLES)


@pytest.mark.parametrize("role", OTHERS)
def test_judge_that_has_answered_keeps_its_role(server: str, role: str) -> None:
    here = study(in_role(server, "seeker"))
    talk(here)
    judge()
    reload(here, in_role(server, role))
    with pytest.raises(CommandError, match="Give the changed judge a key of its own"):
        judge()


@pytest.mark.parametrize("role", OTHERS)
def test_paraphrase_is_worded_for_the_seeker_alone(server: str, role: str) -> None:
    here = study(in_role(server, role))
    run = talk(here, turns=1)
    since = Asked(server)
    assert judge("--variant", "paraphrase")[0]["not_varied"] == 1
    assert since.bodies() == []
    configuration = Configuration(in_role(server, role), "standard", "paraphrase")
    place = get_places_about(run, ["final"])[0]
    assert "This variant would not change anything here." in build_preview(configuration, run, place).obstacles


# What is kept


def rows_of(here: Study) -> list[dict[str, Any]]:
    names = [column.name for column in RATINGS]
    return [dict(zip(names, row, strict=True)) for row in ratings(here, Filter(include_tests=True))]


@pytest.mark.parametrize(
    ("role", "code"), [("seeker", "seeker"), ("evaluator", "evaluator"), ("rubric", "third_person")]
)
def test_ratings_tell_the_role_and_the_prompt_with_its_hash(server: str, role: str, code: str) -> None:
    here = study(in_role(server, role))
    talk(here, turns=1)
    judge()
    judge("--variant", "padding")
    label = f"{ROLES[role].prompt}.en/1"
    digest = hashlib.sha256(written(role).encode()).hexdigest()[:8]
    assert set(Call.objects.values_list("prompt_version", flat=True)) == {label, f"{label}~padding/1.1"}
    assert {(row["rater"], row["role"], row["prompt"]) for row in rows_of(here)} == {
        ("real", code, f"{label}#{digest}"),
        ("real~padding", code, f"{label}~padding/1.1#{digest}"),
    }
    samples = [sample["metadata"] for sample in build_samples(here, Filter(include_tests=True))]
    assert {(one["variant"], one["role"]) for one in samples} == {("", code), ("padding", code)}


def test_ratings_tell_the_role_of_a_judge_that_gave_no_answer(server: str) -> None:
    here = study(in_role(server, "rubric", "status-400"))
    talk(here, turns=1)
    judge()
    assert JobItem.objects.filter(state="failed").count() == 1
    assert {(row["role"], row["prompt"], row["score"]) for row in rows_of(here)} == {("third_person", None, None)}


def test_two_roles_of_one_model_are_two_raters(server: str) -> None:
    roles = [replace(in_role(server, role), key=role) for role in ROLES]
    here = study(*roles)
    talk(here, turns=1)
    for role in ROLES:
        judge(key=role)
    kept = Response.objects.order_by("rater__code").values_list("rater__code", "rater__strategy", "role")
    assert list(kept) == [
        ("evaluator", "standard", "evaluator"),
        ("rubric", "standard", "third_person"),
        ("seeker", "standard", "seeker"),
    ]
    assert ArmRun.objects.count() == 1


def test_texts_of_the_roles_have_both_languages_and_say_the_same_form() -> None:
    for role in ROLES.values():
        texts = [DEFAULTS.get(role.prompt, language).text for language in ("en", "zh")]
        assert all('"analysis"' in text and "<items>" in text and "<scope>" in text for text in texts), role
