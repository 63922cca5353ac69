import json
import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogue.judges.strategies import get_strategy
from dialogue.prompts import DEFAULTS
from dialogue.providers.base import copy_settings
from studies.design.contradictions import needed_placeholders, remarks
from studies.design.contrast_spec import ContrastSpec
from studies.design.reading import INSTRUMENTS, StudyFileError, read_study
from studies.design.serialisation import protocol_hash, spec_from_json, spec_to_json
from studies.design.spec import ArmSpec, ChatSpec, ConsentSpec, OrderSpec, PromptSpec, StepSpec, StudySpec
from studies.design.writing import dump_study
from studies.instruments import loading
from tests.amounts import choose

FIXTURES = INSTRUMENTS.parent
PROMPTS = FIXTURES / "prompts"
KNOWN = frozenset(file.stem for file in INSTRUMENTS.glob("*.json"))
ELSEWHERE = "; if it was made on another server, upload its file under Studies → Questionnaires first"
FORM = json.loads((INSTRUMENTS / "consent_template.json").read_text(encoding="utf-8"))

SMALL = """
key = "small"
title = "Small study"
languages = ["en", "zh"]
country = "DE"
contact = "lab@example.org"
oncall_email = "oncall@example.org"

[consent]
instrument = "consent_template"
version = "1"
providers = ["Lab"]

[[steps]]
kind = "consent"
[[steps]]
kind = "chats"

[chat]
final_instruments = ["emoharbor_10"]

[[arms]]
key = "a"
kind = "scripted"
model = "mirror"
[[arms]]
key = "b"
kind = "openai_compatible"
base_url = "http://127.0.0.1:8001/v1"
model = "m"
provider = "Lab"
"""

SCRIPTS = "There are formula, advice, mirror, question, attuned"
NO_COUNTRY = "is not a country code (two capital letters, ISO 3166)"


def filled(flags: Collection[str]) -> dict[str, str]:
    """Return a value for each placeholder that the form needs with these flags."""
    return dict.fromkeys(needed_placeholders(FORM, flags), "filled") | {"contact_email": "lab@example.org"}


def small() -> dict[str, Any]:
    """A study without faults, as a document to spoil."""
    document = tomllib.loads(SMALL)
    document["consent"] |= filled(()) | {"pay_rate": "60 CNY"}
    return document


def read(folder: Path, document: dict[str, Any] | str) -> StudySpec:
    file = folder / "study.toml"
    file.write_text(document if isinstance(document, str) else tomlkit.dumps(document), encoding="utf-8")
    return read_study(file, instruments=KNOWN, prompt_folder=PROMPTS, reserved_keys=["sign-in"])


def faults_of(folder: Path, document: dict[str, Any] | str) -> list[str]:
    with pytest.raises(StudyFileError) as caught:
        read(folder, document)
    return [str(fault) for fault in caught.value.faults]


def spoil(document: dict[str, Any], path: str, value: Any) -> None:
    """Set `arms[2].prompt` and the like; `None` takes the key away."""
    *parents, last = re.findall(r"[^.\[\]]+", path)
    place: Any = document
    for part in parents:
        place = place[int(part) - 1] if part.isdigit() else place.setdefault(part, {})
    if value is None:
        del place[last]
    else:
        place[last] = value


def test_read_study_takes_what_the_file_says_and_the_usual_for_the_rest(tmp_path: Path) -> None:
    spec = read(tmp_path, small())
    assert spec.title == {"en": "Small study", "zh": "Small study"}
    assert (spec.selection, spec.open_enrolment, spec.display) == ("auto", False, {})
    assert spec.steps == (StepSpec("consent"), StepSpec("chats"))
    assert spec.chat == ChatSpec(checkpoints=(), final_instruments=("emoharbor_10",))
    assert spec.order == OrderSpec("williams", None, 1)
    assert spec.arms[0] == ArmSpec("scripted", "mirror", key="a", title={"en": "a", "zh": "a"})
    assert spec.judges == ()


def test_demo_study_is_read() -> None:
    spec = read_study(FIXTURES / "studies" / "demo.toml", instruments=KNOWN, prompt_folder=PROMPTS)
    assert (spec.key, spec.languages, spec.open_enrolment, spec.selection) == ("demo", ("en", "zh"), True, "auto")
    assert [arm.model for arm in spec.arms] == ["formula", "advice", "mirror", "question", "attuned"]
    assert [(judge.key, judge.kind, judge.model) for judge in spec.judges] == [("demo", "scripted", "judge")]
    assert spec.chat.pauses() == (5, 10)


def test_demo_study_fills_its_consent_form_even_though_it_need_not() -> None:
    spec = read_study(FIXTURES / "studies" / "demo.toml", instruments=KNOWN, prompt_folder=PROMPTS)
    assert spec.consent is not None
    assert set(needed_placeholders(FORM, (*spec.consent.flags, "if_checkpoints"))) <= set(spec.consent.values) | set(
        spec.consent_values()
    )


@pytest.mark.parametrize(("name", "judges"), [("emoharbor", 4), ("worst_case_experts", 1)])
def test_template_study_has_what_every_command_needs(name: str, judges: int, tmp_path: Path) -> None:
    template = tomllib.loads((FIXTURES / "studies" / f"{name}.toml").read_text(encoding="utf-8"))
    template |= {"contact": "lab@example.org", "oncall_email": "oncall@example.org"}
    template["consent"] |= filled(template["consent"]["flags"])
    spec = read(tmp_path, template)
    assert (spec.gone_after_days, len(spec.judges)) == (30, judges)
    assert spec.seeker is not None


def test_template_of_emoharbor_has_the_models_of_the_paper_for_judges_and_seekers(tmp_path: Path) -> None:
    template = tomllib.loads((FIXTURES / "studies" / "emoharbor.toml").read_text(encoding="utf-8"))
    template |= {"contact": "lab@example.org", "oncall_email": "oncall@example.org"}
    template["consent"] |= filled(template["consent"]["flags"])
    spec = read(tmp_path, template)
    assert [judge.title["en"] for judge in spec.judges] == ["DeepSeek-R1", "Kimi-K2", "GPT-4", "Qwen3-235B"]  # Table 1
    assert spec.seeker is not None
    assert spec.evaluator is not None
    assert (spec.seeker.model, spec.seeker.temperature, spec.opens) == ("gpt-4o", None, "supporter")
    assert spec.evaluator.model.startswith("qwen3-235b")


def test_group_and_reasoning_of_an_arm_are_kept_and_written_again_and_are_no_part_of_a_request(tmp_path: Path) -> None:
    template = tomllib.loads((FIXTURES / "studies" / "emoharbor.toml").read_text(encoding="utf-8"))
    template |= {"contact": "lab@example.org", "oncall_email": "oncall@example.org"}
    template["consent"] |= filled(template["consent"]["flags"])
    spec = read(tmp_path, template)
    assert [(arm.group, arm.reasoning) for arm in spec.arms] == [
        ("closed", False), ("open", False), ("closed", False), ("closed", False), ("open", True)
    ]  # fmt: skip
    written = tomllib.loads(dump_study(spec))
    assert (written["arms"][4]["group"], written["arms"][4]["reasoning"]) == ("open", True)
    assert "reasoning" not in written["arms"][0]
    assert not {"group", "reasoning"} & {name for each in (*written["judges"], written["seeker"]) for name in each}
    assert not {"group", "reasoning"} & set(copy_settings(spec.arms[4]).request_options())
    assert spec.display["shuffle_items"] is True


def test_epsilon_of_the_alternative_annotator_test_is_kept_and_leaves_other_studies_their_hash(tmp_path: Path) -> None:
    usual, strict = read(tmp_path, small()), read(tmp_path, small() | {"alt_test": {"reviewer": 0.05}})
    assert (strict.alt_test.expert, strict.alt_test.reviewer) == (0.2, 0.05)
    assert read(tmp_path, dump_study(strict)) == spec_from_json(spec_to_json(strict)) == strict
    assert "alt_test" not in spec_to_json(usual)
    assert protocol_hash(strict) != protocol_hash(usual)


@pytest.mark.parametrize("name", ["emoharbor", "worst_case_experts"])
def test_template_study_lacks_what_its_researchers_must_fill_in_and_nothing_else(name: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        read_study(FIXTURES / "studies" / f"{name}.toml", instruments=KNOWN, prompt_folder=PROMPTS)
    implied = {"deadline", "min_turns", "model_providers", "n_arms"}
    blanks = set(needed_placeholders(FORM, ("if_cross_border", "if_interview"))) - implied
    paths = [fault.place for fault in caught.value.faults]
    assert sorted(paths) == sorted(["contact", "oncall_email", *(f"consent.{blank}" for blank in blanks)])


def test_only_a_study_with_unevenly_spread_checkpoints_must_say_how_they_are_spread(tmp_path: Path) -> None:
    document = small()
    assert "checkpoint_every" not in document["consent"]
    document["chat"] |= {"checkpoints": [5, 10], "checkpoint_instrument": "turn_checkpoint"}
    assert read(tmp_path, document).chat.pauses() == (5, 10)
    document["chat"]["checkpoints"] = [5, 12]
    fault = (
        "consent.checkpoint_every: is not filled in, and the consent form needs it "
        '("" if there is none: its sentences are then left out)'
    )
    assert faults_of(tmp_path, document) == [fault]


FAULTS = [
    # unknown keys, wherever they stand
    ("titel", "x", 'titel: unknown key; did you mean "title"?'),
    ("zzz", 1, "zzz: unknown key"),
    ("title", {"en": "a", "zh": "b", "fr": "c"}, "title.fr: unknown key"),
    ("consent.ethics_bord", "x", 'consent.ethics_bord: unknown key; did you mean "ethics_board"?'),
    ("consent.flags", ["if_intervew"], 'consent.flags[1]: unknown flag "if_intervew"; did you mean "if_interview"?'),
    ("consent.flags", ["if_timings"], "consent.flags[1]: is set by display.timings, not here"),
    ("consent.flags", ["if_checkpoints"], "consent.flags[1]: is set by [chat], not here"),
    ("steps[2].instument", "x", 'steps[2].instument: unknown key; did you mean "instrument"?'),
    ("chat.max_turn", 9, 'chat.max_turn: unknown key; did you mean "max_turns"?'),
    ("chat.checkpoints", {"every": 5, "form": 1}, "chat.checkpoints.form: unknown key"),
    ("order.seeds", 9, 'order.seeds: unknown key; did you mean "seed"?'),
    ("arms[2].promt", "x", 'arms[2].promt: unknown key; did you mean "prompt"?'),
    ("judges", [{"key": "j", "kind": "scripted", "modle": ""}], 'judges[1].modle: unknown key; did you mean "model"?'),
    (
        "judges",
        [{"key": "j", "kind": "scripted", "redacted": True}],
        'judges[1].redacted: unknown key; did you mean "redact"?',
    ),
    ("arms[1].structured", True, "arms[1].structured: unknown key"),
    (
        "arms[1].extra",
        {"redact": True},
        "arms[1].extra.redact: is a key of [[judges]] itself: write redact beside extra",
    ),
    ("display.reveal_arm", True, 'display.reveal_arm: unknown key; did you mean "reveal_arms"?'),
    # odd types
    ("open", 1, "open: must be true or false"),
    ("title", 3, "title: must be text, or a table of texts by language"),
    ("title", {"en": "a", "zh": 3}, "title.zh: must be text"),
    ("languages", "en", "languages: must be a list"),
    ("consent.pi_name", True, "consent.pi_name: must be text, or a table of texts by language"),
    ("steps", {"kind": "consent"}, "steps: must be an array of tables: [[steps]]"),
    ("arms", ["a"], "arms[1]: must be a table"),
    ("chat.min_turns", True, "chat.min_turns: must be a whole number"),
    ("chat.max_turns", 12.0, "chat.max_turns: must be a whole number"),
    ("chat.checkpoints", ["5"], "chat.checkpoints[1]: must be a whole number"),
    ("chat.checkpoints", [True], "chat.checkpoints[1]: must be a whole number"),
    ("chat.final_instruments", "emoharbor_10", "chat.final_instruments: must be a list"),
    ("arms[1].temperature", "hot", "arms[1].temperature: must be a number"),
    ("arms[1].temperature", True, "arms[1].temperature: must be a number"),
    ("arms[1].extra", "x", "arms[1].extra: must be a table"),
    (
        "arms[1].extra",
        {"temperature": 1.5},
        "arms[1].extra.temperature: does not belong under extra: write temperature directly in the table",
    ),
    ("order", 3, "order: must be a table"),
    # missing and empty
    ("key", None, "key: is missing"),
    ("title", None, "title: is missing"),
    ("title", {"en": "Study"}, "title.zh: is missing"),
    ("title", {"en": "Study", "zh": " "}, "title.zh: is missing"),
    ("languages", None, "languages: is missing"),
    ("languages", [], "languages: is missing"),
    ("country", None, "country: is missing"),
    ("contact", "", "contact: is missing"),
    ("oncall_email", None, "oncall_email: is missing"),
    ("consent", None, "consent: is missing"),
    ("consent.version", None, "consent.version: is missing"),
    ("steps[1].kind", None, "steps[1].kind: is missing"),
    ("steps", [{"kind": "questionnaire"}], "steps[1].instrument: is missing"),
    ("arms", [], "arms: no arms"),
    ("arms[1].kind", None, "arms[1].kind: is missing"),
    ("display.hourly_pay", "10 EUR per hour", "display.hourly_pay: is in EUR, but consent.pay_rate is in CNY"),
    ("payment", {"currency": "EUR", "amount": 9.0}, "payment.currency: is EUR, but consent.pay_rate is in CNY"),
    ("contact", "lab at uni", "contact: must be an e-mail address and nothing else, as name@example.org"),
    ("arms[1].model", None, f"arms[1].model: is missing. {SCRIPTS}"),
    ("arms[1].model", "miror", f'arms[1].model: unknown script "miror"; did you mean "mirror"? {SCRIPTS}'),
    (
        "judges",
        [{"key": "j", "kind": "scripted", "model": "x"}],
        'judges[1].model: unknown script "x". There are judge',
    ),
    ("arms[2].base_url", None, "arms[2].base_url: is missing"),
    ("arms[2].model", None, "arms[2].model: is missing"),
    ("arms[2].provider", None, "arms[2].provider: is missing: the consent form must name who gets a person's text"),
    ("judges", [{"key": "j", "kind": "openai_compatible", "model": "m"}], "judges[1].base_url: is missing"),
    ("judges", [{"key": "j", "kind": "scripted", "structured": "yes"}], "judges[1].structured: must be true or false"),
    (
        "judges",
        [{"key": "j", "kind": "scripted", "role": "evaluater"}],
        'judges[1].role: "evaluater" is not one of seeker, evaluator, rubric; did you mean "evaluator"?',
    ),
    (
        "judges",
        [{"key": "j", "kind": "scripted", "extra": {"role": "rubric"}}],
        "judges[1].extra.role: is a key of [[judges]] itself: write role beside extra",
    ),
    ("arms[1].role", "rubric", "arms[1].role: unknown key"),
    (
        "judges",
        [{"key": "j", "kind": "scripted", "extra": {"structured": True}}],
        "judges[1].extra.structured: is a key of [[judges]] itself: write structured beside extra",
    ),
    (
        "judges",
        [{"key": "j", "kind": "scripted", "structured": True, "extra": {"response_format": {}}}],
        "judges[1].extra.response_format: is already set by structured = true: leave out one of them",
    ),
    # words that are not known
    ("languages", ["en", "fr"], 'languages[2]: "fr" is not one of en, zh'),
    ("languages", ["en", "zh", "en"], 'languages[3]: "en" is listed twice'),
    ("country", "Germany", f'country: "Germany" {NO_COUNTRY}; did you mean "DE"?'),
    ("country", "UK", f'country: "UK" {NO_COUNTRY}; did you mean "GB"?'),
    ("country", "de", f'country: "de" {NO_COUNTRY}; did you mean "DE"?'),
    ("country", "XX", f'country: "XX" {NO_COUNTRY}'),
    ("oncall_email", "me", "oncall_email: must be an e-mail address"),
    ("oncall_email", "a@example.org\r\nBcc: b@example.org", "oncall_email: must be an e-mail address"),
    ("oncall_email", "a@example.org, b@example.org", "oncall_email: must be an e-mail address"),
    ("oncall_email", "Ann <a@example.org>", "oncall_email: must be an e-mail address"),
    ("key", "sign-in", 'key: "sign-in" is a word of the server\'s own addresses: choose another'),
    ("title", "a\x00b", "title: contains a character that cannot be stored"),
    ("arms[2].extra", {"a\x00": 1}, "arms[2].extra: has a key with a character that cannot be stored"),
    ("chat.max_turns", 10**6, "chat.max_turns: must be between 1 and 1000"),
    ("display.characters_per_second", 2000, "display.characters_per_second: must be at most 1000"),
    ("display.characters_per_second", 0.5, "display.characters_per_second: must be at least 1"),
    (
        "display.characters_per_second",
        {"en": 2000, "zh": 20},
        "display.characters_per_second.en: must be at most 1000",
    ),
    ("order.participants", 0, "order.participants: must be between 1 and 1000000"),
    ("order.counsellors", 10**9, "order.counsellors: must be between 1 and 1000"),
    ("arms[2].max_tokens", 2**31, "arms[2].max_tokens: must be between 1 and 2147483647"),
    ("role_play.cards", ["x" * 300], "role_play.cards[1]: no file"),
    ("selection", "manuel", 'selection: "manuel" is not one of auto, manual; did you mean "manual"?'),
    ("key", "My study", "key: must be lower-case letters, digits, _ and -, beginning with a letter or digit"),
    (
        "arms[1].key",
        "a>b",
        "arms[1].key: must be lower-case letters, digits, _ and -, beginning with a letter or digit",
    ),
    ("chat.topic", "chose", 'chat.topic: "chose" is not one of keep, change, choose; did you mean "choose"?'),
    ("order.design", "latin", 'order.design: "latin" is not one of williams, blocks, random'),
    ("steps[1].track", "expert", 'steps[1].track: "expert" is not one of all, participant, counsellor'),
    (
        "arms[1].kind",
        "script",
        'arms[1].kind: "script" is not one of openai_compatible, scripted; did you mean "scripted"?',
    ),
    ("consent.instrument", "consent", 'consent.instrument: unknown instrument "consent"'),
    ("consent.instrument", "emoharbor_10", 'consent.instrument: "emoharbor_10" is no consent form'),
    (
        "chat.final_instruments",
        ["emoharbor_10", "emoharbor_11"],
        'chat.final_instruments[2]: unknown instrument "emoharbor_11"; did you mean "emoharbor_10"?',
    ),
    ("chat.emotion_instrument", "zzz", 'chat.emotion_instrument: unknown instrument "zzz"' + ELSEWHERE),
    ("chat.counsellor_instruments", ["zzz"], 'chat.counsellor_instruments[1]: unknown instrument "zzz"' + ELSEWHERE),
    ("chat.de_roling_instrument", "zzz", 'chat.de_roling_instrument: unknown instrument "zzz"' + ELSEWHERE),
    ("arms[1].prompt", "suporter", 'arms[1].prompt: no file "suporter" or "suporter.en.txt" in the folder of'),
    ("arms[1].prompt", "x" * 200, "arms[1].prompt: no file"),
    (
        "judges",
        [{"key": "j", "kind": "scripted", "model": "judge", "prompt": "x"}],
        'judges[1].prompt: no file "x" or "x.en.txt"',
    ),
    ("prompts", {"seeker_taker": "x"}, 'prompts.seeker_taker: unknown prompt; did you mean "seeker_talker"?'),
    ("prompts", {"judge_standart": "x"}, 'prompts.judge_standart: unknown prompt; did you mean "judge_standard"?'),
    ("prompts", {"thinker": "x"}, 'prompts.thinker: no file "x" or "x.en.txt"'),
    ("prompts", {"thinker": ""}, "prompts.thinker: is missing"),
    # numbers out of range
    ("chat.max_turns", 9, "chat.min_turns: is above max_turns (9)"),
    ("chat.min_turns", 0, "chat.min_turns: must be between 1 and 1000"),
    ("arms[1].temperature", 2.1, "arms[1].temperature: must be between 0 and 2"),
    ("arms[1].model", "x" * 201, "arms[1].model: must be at most 200 characters"),
    ("arms[1].key", "x" * 61, "arms[1].key: must be at most 60 characters"),
    ("arms[1].temperature", float("nan"), "arms[1].temperature: must be a finite number"),
    ("arms[1].max_tokens", 0, "arms[1].max_tokens: must be between 1 and 2147483647"),
    ("order.arms_per_person", 3, "order.arms_per_person: there are only 2 arms"),
    ("order.arms_per_person", 0, "order.arms_per_person: must be at least 1"),
    # checkpoints and ratings
    ("chat.checkpoints", [5, 10], "chat.checkpoint_instrument: is missing, but there are checkpoints"),
    ("chat.every", 5, "chat.checkpoint_instrument: is missing, but there are checkpoints"),
    (
        "chat.checkpoint_instrument",
        "turn_checkpoint",
        "chat.checkpoints: names no turn, but there is a checkpoint_instrument",
    ),
    ("chat.final_instruments", None, "chat.final_instruments: is missing: chats need a final rating"),
    # connections and consent
    ("arms[2].base_url", "127.0.0.1:8001", "arms[2].base_url: must begin with http:// or https://"),
    (
        "arms[2].base_url",
        "https://ann:pw@h/v1",
        "arms[2].base_url: must contain no user and no password: give the name of the variable",
    ),
    (
        "arms[2].api_key_env",
        "sk-1234",
        "arms[2].api_key_env: must be the name of an environment variable (capitals, digits, _), never the key",
    ),
    ("arms[2].extra", {"top_p": float("inf")}, "arms[2].extra.top_p: must be a finite number"),
    ("arms[2].provider", "Laboratory", 'arms[2].provider: "Laboratory" is not among consent.providers'),
    ("arms[2].key", "a", 'arms[2].key: "a" is already the key of arms[1]'),
    ("consent.pi_name", None, "consent.pi_name: is not filled in, and the consent form needs it"),
    ("consent.pi_name", "{{pi_name}}", "consent.pi_name: is not filled in, and the consent form needs it"),
    ("consent.min_age", None, "consent.min_age: is not filled in, and the consent form needs it"),
    (
        "consent.flags",
        ["if_interview"],
        "consent.interview_minutes: is not filled in, and the consent form needs it",
    ),
    (
        "consent.flags",
        ["if_cross_border", "if_interview"],
        'consent.flags[2]: the consent form announces an interview or its recording ("if_interview"), but no step is '
        "an interview: add the step, or take this part out",
    ),
    # addresses that people write to
    (
        "consent.contact_email",
        "lab at example.org",
        "consent.contact_email: must be an e-mail address and nothing else, as name@example.org",
    ),
    (
        "consent.contact_email",
        {"en": "lab@example.org", "zh": "lab@example，org"},
        "consent.contact_email: must be an e-mail address and nothing else, as name@example.org",
    ),
    (
        "consent.ethics_contact",
        "the board, board@example,org",
        'consent.ethics_contact: "board@example" is no e-mail address',
    ),
    # the walk
    (
        "steps",
        [{"kind": "consent"}, {"kind": "chats"}, {"kind": "reviews"}],
        'steps[3].track: reviews are for reviewers: give track = "reviewer"',
    ),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "chats"}, {"kind": "chats", "track": "reviewer"}],
        "steps[3].kind: reviewers have no chats step",
    ),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "consent", "track": "reviewer"}],
        "steps[2].kind: reviewers have no consent step",
    ),
    ("steps[1].mode", "self", "steps[1].mode: belongs to interview steps only"),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "chats"}, {"kind": "pairs"}],
        'steps[3].track: pairs are for reviewers: give track = "reviewer"',
    ),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "chats"}, {"kind": "pairs", "track": "reviewer", "instrument": "between"}],
        "steps[3].instrument: must be empty: the plan (plan_pairs) sets the questions about pairs",
    ),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "chats"}, {"kind": "interview", "mode": "alone"}],
        'steps[3].mode: "alone" is not one of self, interviewer',
    ),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "chats"}, {"kind": "interview", "instrument": "between"}],
        'steps[3].instrument: "between" is no interview guide',
    ),
    *(
        (
            "steps",
            [{"kind": "consent"}, {"kind": "questionnaire", "instrument": name}, {"kind": "chats"}],
            f'steps[2].instrument: "{name}" {told}',
        )
        for name, told in {
            "turn_checkpoint": "is for checkpoints: name it in chat.checkpoint_instrument",
            "reply_rating": "comes under each reply: set chat.rate_each_reply",
            "blinding": "belongs to a step of the kind blinding",
            "emoharbor_10": "rates a conversation: name it in chat.final_instruments",
            "reply_flags": "comes by itself beside each reply while a counsellor plays a role: take this step out",
            "pairwise_support": "compares two conversations: reviewers get it by a plan of comparisons (plan_pairs)",
            "comprehension_check": "belongs to a step of the kind training",
            "interview_guide": "belongs to a step of the kind interview",
            "consent_template": "is a consent form: name it in [consent]",
        }.items()
    ),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "chats"}, {"kind": "interview"}],
        'consent.flags: the study has an interview, so the consent form must mention it: add "if_interview"',
    ),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "interview"}, {"kind": "chats"}],
        "steps[2].kind: the interview must come after the chats",
    ),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "interview"}],
        "steps[2].kind: no chats of the participant track come before the interview",
    ),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "chats"}, {"kind": "interview"}, {"kind": "interview"}],
        "steps[4].kind: the interview may come only once",
    ),
    (
        "steps[1].instrument",
        "screening",
        'steps[1].instrument: differs from the instrument of [consent], "consent_template"',
    ),
    ("steps", [{"kind": "chats"}], "steps: no consent step"),
    (
        "steps",
        [{"kind": "chats"}, {"kind": "consent"}],
        "steps[2].kind: consent must come before the chats",
    ),
    (
        "steps[1].track",
        "participant",
        "steps[2].kind: no consent step of the counsellor track comes before the chats",
    ),
    ("steps", [{"kind": "consent"}, {"kind": "chats"}, {"kind": "chats"}], "steps[3].kind: chats may come only once"),
    (
        "steps",
        [{"kind": "consent"}, {"kind": "debrief"}, {"kind": "chats"}],
        "steps[2].kind: the debrief must be the last step",
    ),
    ("gone_after_days", 0, "gone_after_days: must be between 1 and 3650"),
    ("gone_after_days", 3651, "gone_after_days: must be between 1 and 3650"),
    ("gone_after_days", 30.0, "gone_after_days: must be a whole number"),
    ("gone_after_days", True, "gone_after_days: must be a whole number"),
    ("chat.gone_after_days", 30, "chat.gone_after_days: unknown key"),
    ("selection", "manual", "selection: manual selection needs a screening questionnaire in the participant track"),
]


@pytest.mark.parametrize(("path", "value", "fault"), FAULTS, ids=[f"{path}={value!r}" for path, value, _ in FAULTS])
def test_read_study_refuses(tmp_path: Path, path: str, value: Any, fault: str) -> None:
    document = small()
    spoil(document, path, value)
    found = faults_of(tmp_path, document)
    assert [line for line in found if line.startswith(fault)], found


MARKED = re.compile(r"«[^«»]*»")


def words_of_no_message(fault: str) -> str:
    """What is left of a fault without its place and without what went through gettext."""
    said = fault[fault.index("«") :] if "«" in fault else fault
    while MARKED.search(said):
        said = MARKED.sub("", said)
    return said.strip(" .:")


def test_every_word_of_a_fault_can_be_told_in_another_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.translation.gettext", "«{}»".format)
    broken: list[dict[str, Any] | str] = ["key = ", 'key = "a"\nkey = "b"', "x = 1" + "0" * 5000]
    for path, value, _fault in FAULTS:
        spoil(document := small(), path, value)
        broken.append(document)
    for path, value, _fault in BLINDING_FAULTS:
        spoil(document := asking(), path, value)
        broken.append(document)
    told = {fault for document in broken for fault in faults_of(tmp_path, document)}
    assert len(told) > 100
    assert {fault: left for fault in told if (left := words_of_no_message(fault))} == {}


def test_read_study_tells_every_fault_at_once_and_where(tmp_path: Path) -> None:
    document = small()
    for path, value in {"country": 3, "chat.max_turns": 4, "arms[2].promt": "x", "arms[1].temperature": 9}.items():
        spoil(document, path, value)
    with pytest.raises(StudyFileError) as caught:
        read(tmp_path, document)
    file = tmp_path / "study.toml"
    assert str(caught.value).splitlines() == [
        f"{file}: country: must be text",
        f"{file}: arms[1].temperature: must be between 0 and 2",
        f'{file}: arms[2].promt: unknown key; did you mean "prompt"?',
        f"{file}: chat.min_turns: is above max_turns (4)",
    ]


@pytest.mark.parametrize(("path", "value"), [("chat.final_instruments", "emoharbor_10"), ("consent.pi_name", 3.5)])
def test_read_study_tells_one_fault_of_one_value(tmp_path: Path, path: str, value: Any) -> None:
    document = small()
    spoil(document, path, value)
    (fault,) = faults_of(tmp_path, document)
    assert fault.startswith(f"{path}: must be ")


@pytest.mark.parametrize(
    ("checkpoints", "fault"),
    [
        ({"checkpoints": [5, 40]}, "chat.checkpoints: turn 40 is beyond max_turns (30)"),
        ({"every": 31}, "chat.every: turn 31 is beyond max_turns (30)"),
        ({"checkpoints": [10, 5]}, "chat.checkpoints: must be turn counts from 1, ascending"),
        ({"checkpoints": [0, 5]}, "chat.checkpoints: must be turn counts from 1, ascending"),
        ({"checkpoints": [5], "every": 5}, "chat.every: give checkpoints or every, not both"),
        ({"checkpoints": {}}, "chat.checkpoints.every: is missing"),
    ],
)
def test_read_study_refuses_checkpoints_that_cannot_be(tmp_path: Path, checkpoints: Any, fault: str) -> None:
    document = small()
    document["chat"] |= {"checkpoint_instrument": "turn_checkpoint", **checkpoints}
    assert fault in faults_of(tmp_path, document)


def test_nobody_is_gone_on_the_day_for_which_they_wait(tmp_path: Path) -> None:
    document = small() | {"gone_after_days": 1}
    document["chat"] |= {"conversations_per_day": 1}
    fault = "lets people wait until the next day, but gone_after_days ends their part after one"
    assert faults_of(tmp_path, document) == [f"chat.conversations_per_day: {fault}"]
    assert read(tmp_path, document | {"gone_after_days": 2}).chat.conversations_per_day == 1


@pytest.mark.parametrize("checkpoints", [{"every": 10}, {"checkpoints": {"every": 10}}])
def test_checkpoints_may_be_every_so_many_turns(tmp_path: Path, checkpoints: Any) -> None:
    document = small()
    document["chat"] |= {"checkpoint_instrument": "turn_checkpoint", **checkpoints}
    chat = read(tmp_path, document).chat
    assert (chat.checkpoints, chat.checkpoint_every, chat.pauses()) == ((), 10, (10, 20, 30))


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("x = " + "[" * 5000, "is nested too deeply"),
        ("a" + ".a" * 5000 + " = 1", "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a: is nested more than 20 deep"),
        ('key = "a"\nseed = ' + "9" * 5000, "line 2: a number is too long"),
        (
            tomlkit.dumps(small()) + "\n[order]\nseed = 0x" + "f" * 5000,
            "order.seed: must be a whole number of at most 64 bits",
        ),
        ('title = "' + "x" * 50_000_000 + '"', "is larger than 1 MB"),
    ],
    ids=["lists", "tables", "digits", "hexadecimal", "line"],
)
def test_study_file_made_to_break_its_reader_is_one_plain_fault(tmp_path: Path, written: str, fault: str) -> None:
    assert faults_of(tmp_path, written) == [fault]


@pytest.fixture
def lure(tmp_path: Path) -> Path:
    """A folder for a study file, with a prompt of its own, and links that lead out of it and in a circle."""
    (tmp_path / "secret.txt").write_text("the password", encoding="utf-8")
    folder = tmp_path / "study"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts" / "kind.txt").write_text("Be kind.", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "spoken.en.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "round.txt").symlink_to(folder / "round.txt")
    return folder


def test_prompt_may_lie_in_a_folder_below_the_study_file(lure: Path) -> None:
    document = small()
    spoil(document, "arms[1].prompt", "prompts/kind.txt")
    assert read(lure, document).arms[0].prompt_text == {"": "Be kind."}


@pytest.mark.parametrize("name", ["{}/secret.txt", "../secret.txt", "link.txt", "spoken", "round.txt", "prompts/.."])
def test_prompt_elsewhere_is_not_read(lure: Path, name: str) -> None:
    document = small()
    spoil(document, "arms[1].prompt", name.format(lure.parent))
    (fault,) = faults_of(lure, document)
    assert fault.startswith("arms[1].prompt: no file ")
    assert fault.endswith(" in the folder of the study file or below it, nor among the prompts")


def test_role_cards_behind_a_link_are_not_read(lure: Path) -> None:
    (lure.parent / "cards.json").write_text('{"profiles": []}', encoding="utf-8")
    (lure / "cards.json").symlink_to(lure.parent / "cards.json")
    document = small()
    spoil(document, "role_play.cards", ["cards"])
    assert faults_of(lure, document)[0].startswith('role_play.cards[1]: no file "cards"')


@pytest.mark.parametrize(
    ("content", "fault"),
    [(b"x" * 1_000_001, "it is larger than 1 MB"), (b"a\x00b", "it contains a character that cannot be stored")],
    ids=["large", "NUL"],
)
def test_prompt_that_cannot_be_kept_is_refused(tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / "odd.txt").write_bytes(content)
    document = small()
    spoil(document, "arms[1].prompt", "odd.txt")
    assert faults_of(tmp_path, document) == [f"arms[1].prompt: odd.txt cannot be read: {fault}"]


def test_api_key_in_the_file_is_not_repeated(tmp_path: Path) -> None:
    document = small()
    spoil(document, "arms[2].api_key_env", "sk-secret")
    assert "sk-secret" not in "".join(faults_of(tmp_path, document))


@pytest.mark.parametrize(
    ("written", "line"),
    [('key = "a"\ntitle = \n', "line 2"), ('key = "a"\nkey = "b"\n', "line 2"), ('a = 1\n\nb = "x', "line 3")],
)
def test_broken_toml_is_one_fault_with_its_line(tmp_path: Path, written: str, line: str) -> None:
    (fault,) = faults_of(tmp_path, written)
    assert fault.startswith(f"{line}: not valid TOML: ")


def test_file_that_cannot_be_read_is_one_fault(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match=r"none\.toml: cannot be read: No such file or directory$"):
        read_study(tmp_path / "none.toml", instruments=KNOWN, prompt_folder=None)


def test_step_of_training_takes_the_comprehension_check_unless_told_otherwise(tmp_path: Path) -> None:
    document = small()
    document["steps"].insert(1, {"kind": "training"})
    assert read(tmp_path, document).steps[1] == StepSpec("training", "comprehension_check")


# The blinding question


def asking(*kinds: str) -> dict[str, Any]:
    document = small()
    document["steps"] = [{"kind": kind} for kind in kinds or ("consent", "chats", "blinding")]
    for arm in document["arms"]:
        arm["title"] = f"System {arm['key']}"
    return document


def test_step_of_blinding_takes_its_own_instrument(tmp_path: Path) -> None:
    assert read(tmp_path, asking()).steps[2] == StepSpec("blinding", "blinding")


@pytest.mark.parametrize(
    ("kinds", "fault"),
    [
        (["consent", "chats", "blinding", "blinding"], "steps[4].kind: the blinding question may come only once"),
        (["consent", "blinding", "chats"], "steps[2].kind: the blinding question must come after the chats"),
        (["consent", "chats", "debrief", "blinding"], "steps[3].kind: the debrief must be the last step"),
    ],
)
def test_blinding_question_comes_once_between_the_chats_and_the_debrief(
    tmp_path: Path, kinds: list[str], fault: str
) -> None:
    assert faults_of(tmp_path, asking(*kinds)) == [fault]


BLINDING_FAULTS = [
    (
        "steps[2].track",
        "participant",
        "steps[3].kind: no chats of the counsellor track come before the blinding question",
    ),
    ("steps[3].instrument", "screening", 'steps[3].instrument: must be "blinding"'),
    ("arms[2].title", "system A", "arms[2].title: is also the title of arms[1] (en, zh), so a guess could mean either"),
    (
        "arms[2].title",
        {"en": "System b", "zh": "System a"},
        "arms[2].title: is also the title of arms[1] (zh), so a guess could mean either",
    ),
    (
        "arms[1].title",
        None,
        "arms[1].title: is missing or the same as the arm's key; the blinding question shows the titles",
    ),
    (
        "arms[1].title",
        "a",
        "arms[1].title: is missing or the same as the arm's key; the blinding question shows the titles",
    ),
    ("arms[1].key", "cannot_tell", 'arms[1].key: "cannot_tell" is an answer to the blinding question'),
]


@pytest.mark.parametrize(("path", "value", "fault"), BLINDING_FAULTS)
def test_blinding_question_is_refused_where_it_could_not_be_answered(
    tmp_path: Path, path: str, value: Any, fault: str
) -> None:
    document = asking()
    spoil(document, path, value)
    assert faults_of(tmp_path, document) == [fault]


def test_blinding_question_needs_two_arms(tmp_path: Path) -> None:
    document = asking()
    del document["arms"][1]
    assert faults_of(tmp_path, document) == ["steps[3].kind: there is only one arm, and nothing to guess"]


def test_arms_may_share_a_title_where_nobody_is_asked(tmp_path: Path) -> None:
    document = small()
    for arm in document["arms"]:
        arm["title"] = "System"
    assert [arm.title["en"] for arm in read(tmp_path, document).arms] == ["System", "System"]


# Prompts


def with_prompt(name: str) -> dict[str, Any]:
    document = small()
    spoil(document, "arms[1].prompt", name)
    return document


def test_prompt_is_a_pair_of_files_by_language(tmp_path: Path) -> None:
    text = read(tmp_path, with_prompt("supporter")).arms[0].prompt_text
    assert list(text) == ["en", "zh"]
    assert all("{profile}" in words and "version:" not in words for words in text.values())


def test_prompt_beside_the_study_comes_first(tmp_path: Path) -> None:
    for language in ("en", "zh"):
        (tmp_path / f"supporter.{language}.txt").write_text(f"version: 3\nMine, {language}.\n", encoding="utf-8")
    assert read(tmp_path, with_prompt("supporter")).arms[0].prompt_text == {"en": "Mine, en.", "zh": "Mine, zh."}


def test_prompt_of_one_file_serves_every_language(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("Be kind.\n", encoding="utf-8")
    assert read(tmp_path, with_prompt("x.txt")).arms[0].prompt_text == {"": "Be kind."}


def test_prompt_must_be_there_in_each_language(tmp_path: Path) -> None:
    (tmp_path / "x.en.txt").write_text("Be kind.", encoding="utf-8")
    assert faults_of(tmp_path, with_prompt("x")) == ["arms[1].prompt: there is x.en.txt, but no x.zh.txt"]


def test_prompt_that_is_no_text_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"\xff\xfe\x00")
    (fault,) = faults_of(tmp_path, with_prompt("x.txt"))
    assert fault.startswith("arms[1].prompt: x.txt cannot be read: ")


def own_prompt(folder: Path, prompt: str, text: str) -> dict[str, Any]:
    """A study file that words this prompt itself."""
    (folder / "mine.txt").write_text(text, encoding="utf-8")
    return {**small(), "prompts": {prompt: "mine.txt"}}


def test_own_prompt_stands_in_place_of_ours(tmp_path: Path) -> None:
    spec = read(tmp_path, own_prompt(tmp_path, "judge_standard", "Rate {dialogue} as you like."))
    own = spec.own_prompts()
    assert own.get("judge_standard", "zh").text == "Rate {dialogue} as you like."
    assert own.get("judge", "en") == DEFAULTS.get("judge", "en")
    assert own.choose("judge_user_aware", "judge") == "judge"


def test_own_prompt_of_supporters_serves_the_arms_that_name_none(tmp_path: Path) -> None:
    document = own_prompt(tmp_path, "supporter", "Be kind.")
    (tmp_path / "other.txt").write_text("Be brief.", encoding="utf-8")
    spoil(document, "arms[2].prompt", "other.txt")
    first, second = read(tmp_path, document).arms[:2]
    assert (first.prompt, first.prompt_text, second.prompt_text) == ("mine.txt", {"": "Be kind."}, {"": "Be brief."})


def test_prompt_of_a_judge_serves_all_its_strategies(tmp_path: Path) -> None:
    document = own_prompt(tmp_path, "judge_standard", "Rate.")
    (tmp_path / "strict.txt").write_text("Be strict.", encoding="utf-8")
    judge = {"key": "j", "kind": "scripted", "model": "judge"}
    spec = read(tmp_path, {**document, "judges": [{**judge, "prompt": "strict.txt"}, {**judge, "key": "k"}]})
    strict, other = (spec.prompts_of(judge) for judge in spec.judges)
    standard = get_strategy("standard")
    assert standard.get_standing_text("en", strict).text == "Be strict."
    assert standard.get_standing_text("en", other).text == "Rate."


@pytest.mark.parametrize(
    ("prompt", "text", "fault"),
    [
        ("judge", "Rate {dialog}.", '{dialog} is not a placeholder of this prompt; did you mean "dialogue"? It has {'),
        ("repair", "Mend {dialogue}.", "{dialogue} is not a placeholder of this prompt. It has {answer}"),
        ("reminder", "{name}, the form!", "{name} is not a placeholder of this prompt. It has none"),
        ("supporter", "Help {persona}.", "{persona} is not a placeholder of this prompt. It has {profile}"),
        ("thinker", "What goes on in them?", "needs a line that begins with <output> and shows the form of the answer"),
        ("thinker", 'So:\n<output>{"cognition": "…", "goal": "…"}', "the line that begins with <output> lacks emotion"),
    ],
)  # fmt: skip
def test_own_prompt_that_cannot_serve_is_refused(tmp_path: Path, prompt: str, text: str, fault: str) -> None:
    [found] = faults_of(tmp_path, own_prompt(tmp_path, prompt, text))
    assert found.startswith(f"prompts.{prompt}: {fault}")


def test_own_prompt_may_hold_braces_of_another_kind(tmp_path: Path) -> None:
    text = 'Rate {items} of {dialogue}. Write as in {"a": {"b": 3}}, not as {This}.'
    assert read(tmp_path, own_prompt(tmp_path, "judge", text)).prompts["judge"].texts == {"": text}


# Consent


def test_consent_values_are_implied_by_the_design_unless_the_study_says_otherwise(tmp_path: Path) -> None:
    document = small()
    document["consent"] = {
        "instrument": "consent_template",
        "version": "1",
        "providers": ["Lab", "Firm"],
        "pay_days": 7,
    }
    document["chat"] |= {"checkpoint_instrument": "turn_checkpoint", "checkpoints": [4, 8]}
    document["key"] = "demo"
    spec = read(tmp_path, document)
    assert spec.consent_values() == {
        "model_providers": {"en": "Lab, Firm", "zh": "Lab、Firm"},
        "n_arms": {"en": "2", "zh": "2"},
        "min_turns": {"en": "10", "zh": "10"},
        "checkpoint_every": {"en": "4", "zh": "4"},
        "pay_days": {"en": "7", "zh": "7"},
    }
    document["consent"] |= {"n_arms": {"en": "two", "zh": "两"}}
    assert read(tmp_path, document).consent_values()["n_arms"] == {"en": "two", "zh": "两"}


@pytest.mark.parametrize(
    ("checkpoints", "every", "interval"),
    [
        ((5, 10, 15), None, 5),
        ((5,), None, 5),
        ((5, 15), None, None),
        ((3, 5), None, None),
        ((), 4, 4),
        ((), None, None),
    ],
)
def test_checkpoint_interval_is_known_where_they_are_evenly_spread(
    checkpoints: tuple[int, ...], every: int | None, interval: int | None
) -> None:
    assert ChatSpec(checkpoints=checkpoints, checkpoint_every=every).checkpoint_interval() == interval


def test_value_may_be_said_to_be_empty_where_the_form_can_do_without_it(tmp_path: Path) -> None:
    document = small()
    document["consent"] |= {"funder": "", "oncall_channel": ""}
    assert "funder" not in read(tmp_path, document).consent_values()
    document["consent"] |= {"contact_email": "", "pi_name": ""}
    assert sorted(faults_of(tmp_path, document)) == [
        "consent.contact_email: is empty, but the consent form cannot do without it",
        "consent.pi_name: is empty, but the consent form cannot do without it",
    ]


def test_empty_value_hides_nobody_whom_the_study_names(tmp_path: Path) -> None:
    document = small()
    document["consent"] |= {"providers": ["Lab"], "model_providers": ""}
    assert read(tmp_path, document).consent_values()["model_providers"] == {"en": "Lab", "zh": "Lab"}


@pytest.mark.parametrize("flag", ["if_participant", "if_expert", "if_keep_topic", "if_change_topic", "if_choose_topic"])
def test_flags_that_the_design_sets_are_not_for_the_study_file(tmp_path: Path, flag: str) -> None:
    document = small()
    document["consent"]["flags"] = [flag]
    (fault,) = faults_of(tmp_path, document)
    assert fault.startswith("consent.flags[1]: is set by ")


def test_needed_placeholders_leave_out_the_switched_off_parts() -> None:
    form = {
        "flags": ["if_x", "if_y"],
        "sections": [{"text": {"en": "{{a}} {{if_x}}{{b}} {{if_y}}{{c}}{{/if_y}}{{/if_x}}", "zh": "{{d}}"}}],
        "checkboxes": [
            {"audience": "all", "en": "{{e}}", "zh": ""},
            {"audience": "if_y", "en": "", "zh": "{{f}}"},
        ],
    }
    assert needed_placeholders(form, ()) == ["a", "d", "e"]
    assert needed_placeholders(form, ("if_x",)) == ["a", "b", "d", "e"]
    assert needed_placeholders(form, ("if_x", "if_y")) == ["a", "b", "c", "d", "e", "f"]


# There and back

words = (
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\0"), min_size=1, max_size=60)
    .map(str.strip)
    .filter(bool)
)
slugs = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True)
PROMPT_TEXTS: dict[str, dict[str, str]] = {"": {}, "x.txt": {"": "Be kind."}}


def texts(languages: tuple[str, ...]) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries(
        dict.fromkeys(languages, words), optional=dict.fromkeys({"en", "zh"} - set(languages), words)
    )


@st.composite
def arm_specs(draw: st.DrawFn, key: str, languages: tuple[str, ...], prompts: Sequence[str]) -> ArmSpec:
    prompt = draw(st.sampled_from(prompts))
    return ArmSpec(
        key=key,
        title=draw(texts(languages)),
        kind="openai_compatible",
        base_url="https://example.org/" + draw(slugs),
        model=draw(words),
        api_key_env=draw(st.sampled_from(["", "A_KEY"])),
        provider="Lab",
        prompt=prompt,
        prompt_text=PROMPT_TEXTS[prompt],
        temperature=draw(st.none() | st.floats(0, 2)),
        max_tokens=draw(st.none() | st.integers(1, 9999)),
        extra=draw(
            st.dictionaries(slugs, st.booleans() | st.integers(0, 9) | words | st.lists(words, max_size=2), max_size=2)
        ),
    )


@st.composite
def chat_specs(draw: st.DrawFn) -> ChatSpec:
    max_turns = draw(st.integers(1, 40))
    turns = st.lists(st.integers(1, max_turns), min_size=1, max_size=3, unique=True).map(sorted)
    checkpoints, every = draw(
        st.one_of(
            st.just(((), None)),
            st.tuples(turns.map(tuple), st.none()),
            st.tuples(st.just(()), st.integers(1, max_turns)),
        )
    )
    return ChatSpec(
        min_turns=draw(st.integers(1, max_turns)),
        max_turns=max_turns,
        checkpoints=checkpoints,
        checkpoint_every=every,
        checkpoint_instrument="turn_checkpoint" if checkpoints or every else "",
        final_instruments=draw(st.permutations(["emoharbor_10", "worst_case_4"]).map(tuple)),
        counsellor_instruments=draw(st.sampled_from([(), ("worst_case_4", "role_fidelity")])),
        de_roling_instrument=draw(st.sampled_from(["", "de_roling"])),
        rate_each_reply=draw(st.booleans()),
        emotion_instrument=draw(st.sampled_from(["", "emotion_checkin"])),
        give_profile=draw(st.booleans()),
        topic=draw(st.sampled_from(["keep", "change", "choose"])),
    )


@st.composite
def contrast_specs(draw: st.DrawFn, keys: list[str]) -> tuple[ContrastSpec, ...]:
    usual: dict[str, Any] = {"instrument": "emoharbor_10", "raters": draw(st.sampled_from(["seeker", "reviewer"]))}
    found = [ContrastSpec(strategies=("standard", "state_aware"), judge=keys[0], item="safety", **usual)]
    if len(keys) > 1:
        found.append(ContrastSpec(arms=tuple(sorted(keys[:2])), item="*", seekers="person", **usual))
    return tuple(draw(st.lists(st.sampled_from(found), unique=True)))


def has_no_address(text: dict[str, str]) -> bool:
    """Return whether a text has nothing in it that might be a mail address, which is checked."""
    return not any("@" in words for words in text.values())


@st.composite
def study_specs(draw: st.DrawFn) -> StudySpec:
    languages = draw(st.sampled_from([("en",), ("zh",), ("zh", "en")]))
    keys = draw(st.lists(slugs, min_size=1, max_size=3, unique=True))
    others = [name for name in FORM["placeholders"] if name != "contact_email"]  # it wants an address
    placeholders = st.sampled_from(others)
    selection = draw(st.sampled_from(["auto", "manual"]))
    return StudySpec(
        key="demo",
        title=draw(texts(languages)),
        languages=languages,
        country="DE",
        contact="lab@example.org",
        oncall_email="a@example.org",
        selection=selection,
        open_enrolment=draw(st.booleans()),
        one_browser=draw(st.booleans()),
        gone_after_days=draw(st.none() | st.integers(1, 3650)),
        consent=ConsentSpec(
            instrument="consent_template",
            version=draw(words),
            values=draw(st.dictionaries(placeholders, texts(languages).filter(has_no_address), max_size=2)),
            flags=draw(st.sampled_from([(), ("if_training", "if_profit")])),
            providers=("Lab", "Firm"),
        ),
        steps=(
            StepSpec("questionnaire", "screening"),
            StepSpec("consent"),
            StepSpec("questionnaire", "mini_ipip", draw(st.sampled_from(["all", "participant", "counsellor"]))),
            StepSpec("chats"),
        ),
        chat=draw(chat_specs()),
        order=OrderSpec(
            design=draw(st.sampled_from(["williams", "blocks", "random"])),
            arms_per_person=draw(st.none() | st.integers(1, len(keys))),
            seed=draw(st.integers(-9, 2**40)),
            participants=draw(st.none() | st.integers(1, 1_000_000)) if selection == "auto" else None,
            lease_hours=draw(st.none() | st.integers(1, 8760)),
        ),
        arms=tuple(draw(arm_specs(key, languages, sorted(PROMPT_TEXTS))) for key in keys),
        judges=tuple(draw(arm_specs(key, languages, sorted(PROMPT_TEXTS))) for key in keys[:1]),
        prompts=draw(st.sampled_from([{}, {"judge": PromptSpec("x.txt", PROMPT_TEXTS["x.txt"])}])),
        primary=draw(contrast_specs(keys)),
        display=draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "reveal_arms": st.booleans(),
                    "hourly_pay": texts(languages),
                },
            )
        ),
    )


@pytest.fixture(scope="module")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    (folder / "x.txt").write_text("version: 1\nBe kind.\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "chosen", [{}, {"structured": True}, {"redact": True}, {"structured": True, "redact": True, "role": "rubric"}]
)
def test_how_a_judge_is_asked_is_kept_beside_what_it_is_sent(tmp_path: Path, chosen: dict[str, Any]) -> None:
    usual = {"key": "j", "kind": "scripted", "model": "judge", "extra": {"seed": 1}}
    document = small() | {"judges": [{**usual, **chosen}]}
    [judge] = (spec := read(tmp_path, document)).judges
    assert (judge.structured, judge.redact) == ("structured" in chosen, "redact" in chosen)
    assert judge.role.name == chosen.get("role", "seeker")
    assert judge.extra_for_model() == {"seed": 1}
    assert tomllib.loads(dump_study(spec))["judges"][0] == {
        "key": "j", "kind": "scripted", "model": "judge", "title": "j", "extra": {"seed": 1}, **chosen
    }  # fmt: skip
    assert read(tmp_path, dump_study(spec)) == spec


def test_judge_that_leaves_a_choice_out_is_the_same_as_one_that_says_no(tmp_path: Path) -> None:
    said = {"structured": False, "redact": False, "role": "seeker"}
    one, other = ({"key": "j", "kind": "scripted", "model": "judge", **no} for no in ({}, said))
    assert read(tmp_path, small() | {"judges": [one]}) == read(tmp_path, small() | {"judges": [other]})


@given(spec=study_specs())
@settings(max_examples=choose(usual=20, full=60), deadline=None)
def test_dumped_study_is_read_back_as_the_same(study_folder: Path, spec: StudySpec) -> None:
    assert read(study_folder, dump_study(spec)) == spec


@given(spec=study_specs())
@settings(max_examples=choose(usual=10, full=30), deadline=None)
def test_study_survives_json(spec: StudySpec) -> None:
    assert spec_from_json(json.loads(json.dumps(spec_to_json(spec)))) == spec


def test_dumped_text_keeps_a_language_that_the_study_is_not_in(tmp_path: Path) -> None:
    document = small() | {"languages": ["en"], "title": {"en": "EmoHarbor", "zh": "EmoHarbor"}}
    spec = read(tmp_path, document)
    assert read(tmp_path, dump_study(spec)).title == {"en": "EmoHarbor", "zh": "EmoHarbor"}


def test_study_without_consent_survives_json(tmp_path: Path) -> None:
    spec = replace(read(tmp_path, small()), consent=None)
    assert spec_from_json(spec_to_json(spec)) == spec


def test_consent_form_says_until_when_one_may_come_back(tmp_path: Path) -> None:
    document = small() | {"gone_after_days": 30}
    assert read(tmp_path, document).consent_values()["deadline"] == {"en": "filled", "zh": "filled"}
    del document["consent"]["deadline"]
    spec = read(tmp_path, document)
    assert spec.consent_values()["deadline"] == {"en": "30 days after your last visit", "zh": "您上次来访后满 30 天"}
    del document["gone_after_days"]
    assert "consent.deadline" in "".join(faults_of(tmp_path, document))


def test_study_without_a_later_key_is_as_it_was_before_there_was_such_a_key(tmp_path: Path) -> None:
    spec = read(tmp_path, small())
    assert (spec.gone_after_days, spec.primary, spec.evaluator) == (None, (), None)
    assert not {"gone_after_days", "primary", "evaluator"} & set(spec_to_json(spec))
    assert protocol_hash(replace(spec, gone_after_days=30)) != protocol_hash(spec)


def with_evaluator() -> dict[str, Any]:
    model = {"kind": "openai_compatible", "base_url": "https://models.example.org/v1", "provider": "Lab"}
    seeker, evaluator = {**model, "model": "m"}, {**model, "model": "n", "temperature": 0.2, "extra": {"seed": 7}}
    return small() | {"seeker": seeker, "evaluator": evaluator | {"api_key_env": "N_KEY"}}


def test_evaluator_is_a_model_with_the_keys_of_the_seeker(tmp_path: Path) -> None:
    spec = read(tmp_path, with_evaluator())
    assert spec.evaluator is not None
    assert (spec.evaluator.key, spec.evaluator.model, spec.evaluator.temperature) == ("evaluator", "n", 0.2)
    assert tomllib.loads(dump_study(spec))["evaluator"] == with_evaluator()["evaluator"]
    assert read(tmp_path, dump_study(spec)) == spec
    assert spec_from_json(spec_to_json(spec)) == spec
    assert protocol_hash(replace(spec, evaluator=None)) == protocol_hash(
        read(tmp_path, {name: value for name, value in with_evaluator().items() if name != "evaluator"})
    )
    assert protocol_hash(spec) != protocol_hash(replace(spec, evaluator=None))


def test_faults_of_an_evaluator_are_told_at_its_place(tmp_path: Path) -> None:
    document = with_evaluator()
    document["evaluator"] |= {"model": "", "api_key_env": "a key", "prompt": "x", "extra": {"temperature": 1}}
    assert [fault.partition(": ")[0] for fault in faults_of(tmp_path, document)] == [
        "evaluator.api_key_env",
        "evaluator.prompt",
        "evaluator.model",
        "evaluator.extra.temperature",
    ]
    document = with_evaluator()
    del document["seeker"]
    assert faults_of(tmp_path, document) == ["evaluator: needs [seeker]: the model that plays those for whom it rates"]


def test_protocol_hash_is_the_same_for_the_same_study(tmp_path: Path) -> None:
    spec = read(tmp_path, with_prompt("supporter"))
    turned = replace(spec, title={"zh": spec.title["zh"], "en": spec.title["en"]})
    assert protocol_hash(turned) == protocol_hash(spec)
    assert protocol_hash(read(tmp_path, dump_study(spec))) == protocol_hash(spec)
    assert len(protocol_hash(spec)) == 64


@pytest.mark.parametrize("prompt_text", [{"en": "Be kind.", "zh": "友善。"}, {}])
def test_protocol_hash_changes_with_a_prompt_text(tmp_path: Path, prompt_text: dict[str, str]) -> None:
    spec = read(tmp_path, with_prompt("supporter"))
    changed = replace(spec, arms=(replace(spec.arms[0], prompt_text=prompt_text), *spec.arms[1:]))
    assert protocol_hash(changed) != protocol_hash(spec)


# Who speaks first


def test_opening_is_a_text_by_language_and_comes_back_from_files_and_rows(tmp_path: Path) -> None:
    document = small()
    spoil(document, "chat.opening", {"en": " Hello! ", "zh": "你好！"})
    document["seeker"] = {"kind": "scripted", "opens": "supporter"}
    spec = read(tmp_path, document)
    assert (spec.chat.opening, spec.opens) == ({"en": "Hello!", "zh": "你好！"}, "supporter")
    assert read(tmp_path, dump_study(spec)) == spec
    assert spec_from_json(spec_to_json(spec)) == spec
    spoil(document, "chat.opening", "Hello!")
    assert read(tmp_path, document).chat.opening == {"en": "Hello!", "zh": "Hello!"}
    spoil(document, "chat.opening", "")
    assert read(tmp_path, document).chat.opening == {}


def test_study_in_which_the_seeker_speaks_first_keeps_its_hash(tmp_path: Path) -> None:
    document = small() | {"seeker": {"kind": "scripted"}}
    spec = read(tmp_path, document)
    values = spec_to_json(spec)
    assert (spec.chat.opening, spec.opens) == ({}, "seeker")
    assert "opens" not in values
    assert "opening" not in values["chat"]
    spoil(document, "seeker.opens", "seeker")
    assert protocol_hash(read(tmp_path, document)) == protocol_hash(spec)
    spoil(document, "seeker.opens", "supporter")
    assert protocol_hash(read(tmp_path, document)) != protocol_hash(spec)
    assert protocol_hash(replace(spec, chat=replace(spec.chat, opening={"en": "Hi"}))) != protocol_hash(spec)


NAMED = "introduces the supporter by the name of an arm, a model or its maker: leave the name out"


@pytest.mark.parametrize(
    ("path", "value", "faults"),
    [
        ("chat.opening", 3, ["chat.opening: must be text, or a table of texts by language"]),
        ("chat.opening", {"en": "Hello"}, ["chat.opening.zh: is missing"]),
        ("chat.opening", {"en": "Hello", "zh": 3}, ["chat.opening.zh: must be text"]),
        ("chat.opening", {"en": "x" * 1001, "zh": "好"}, ["chat.opening.en: is longer than 1000 characters"]),
        ("chat.opening", "x" * 1001, ["chat.opening: is longer than 1000 characters"]),
        ("chat.opening", {"en": "Hi", "zh": "你好", "fr": "a"}, ["chat.opening.fr: unknown key"]),
        ("chat.opening", {"en": "Hi, I am ChatGPT.", "zh": "你好"}, [f"chat.opening.en: {NAMED}"]),
        ("chat.opening", {"en": "Hi", "zh": "我是豆包。"}, [f"chat.opening.zh: {NAMED}"]),
        ("chat.opening", "I am Sidekick.", [f"chat.opening.en: {NAMED}", f"chat.opening.zh: {NAMED}"]),
        ("seeker.opens", "arm", ['seeker.opens: "arm" is not one of seeker, supporter']),
        ("seeker.opens", True, ["seeker.opens: must be text"]),
        ("arms[1].opens", "supporter", ["arms[1].opens: unknown key"]),
    ],
)
def test_who_speaks_first_is_checked(tmp_path: Path, path: str, value: Any, faults: list[str]) -> None:
    document = small() | {"seeker": {"kind": "scripted"}}
    document["arms"][0]["title"] = "Sidekick"
    spoil(document, path, value)
    assert [fault.partition(";")[0] for fault in faults_of(tmp_path, document)] == faults


def test_interview_guide_may_come_from_outside_the_product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (INSTRUMENTS / "interview_guide.json").read_text(encoding="utf-8").replace("interview_guide", "our_guide")
    (tmp_path / "our_guide.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(loading, "_OUTSIDE", {})
    loading.register_instrument(tmp_path / "our_guide.json")
    steps = [{"kind": "consent"}, {"kind": "chats"}, {"kind": "interview", "instrument": "our_guide"}]
    file = tmp_path / "study.toml"
    document = small() | {"steps": steps}
    document["consent"] |= {"flags": ["if_interview"]} | filled(("if_interview",))
    file.write_text(tomlkit.dumps(document), encoding="utf-8")
    try:
        spec = read_study(file, instruments=[*KNOWN, "our_guide"], prompt_folder=PROMPTS)
    finally:
        monkeypatch.undo()
        loading.forget_instruments()
    assert spec.steps[2].instrument == "our_guide"


def test_companies_that_no_model_uses_are_remarked(tmp_path: Path) -> None:
    document = small()
    assert remarks(read(tmp_path, document)) == []
    document["consent"]["providers"] = ["Lab", "Nobody"]
    said = "The consent form names companies that no model of the study uses: Nobody."
    assert remarks(read(tmp_path, document)) == [said]


@pytest.mark.parametrize(
    "said",
    ["Ethics board (board@example.org), or by phone.", "伦理委员会：board@example.org。", "WeChat: @lab", "no mail"],
)
def test_words_around_a_mail_address_are_no_fault(tmp_path: Path, said: str) -> None:
    document = small()
    document["consent"]["ethics_contact"] = said
    assert read(tmp_path, document).consent is not None
