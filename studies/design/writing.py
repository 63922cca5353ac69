"""StudySpec → a study file that reads back as the same. Pure."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import tomlkit

from studies.design.alt_test_spec import AltTestSpec
from studies.design.safety_rules import SafetyRules
from studies.design.serialisation import spec_from_json, spec_to_json
from studies.design.spec import OF_JUDGES, OPENERS, ArmSpec, ChatSpec, StudySpec, Text

FIRST = ("key", "name", "title", "kind")  # of the keys of a table, where texts are compared
DISPLAY_TEXTS = ("hourly_pay", "withdraw_until")


def dump_study(spec: StudySpec) -> str:
    """Return the study as a file that `read_study` reads back as the same; prompts stay file names."""
    document = {
        "key": spec.key,
        "title": _plainly(spec.title, spec.languages),
        "languages": list(spec.languages),
        "country": spec.country,
        "contact": spec.contact,
        "oncall_email": spec.oncall_email,
        "selection": spec.selection,
        "keep_declined_days": spec.keep_declined_days,
        "open": spec.open_enrolment,
        "one_browser": spec.one_browser or None,
        "gone_after_days": spec.gone_after_days,
        "consent": _consent_table(spec),
        "steps": [_leave_out_empty(asdict(step)) for step in spec.steps],
        "chat": _chat_table(spec.chat, spec.languages),
        "order": _leave_out_empty(asdict(spec.order)),
        "arms": [_arm_table(arm, spec.languages) for arm in spec.arms],
        "judges": [_arm_table(judge, spec.languages) for judge in spec.judges],
        "display": {
            key: _plainly(value, spec.languages) if key in DISPLAY_TEXTS else value
            for key, value in spec.display.items()
        },
        "role_play": _leave_out_empty(asdict(spec.role_play)),
        "seeker": _model_table(spec.seeker, {} if spec.opens == OPENERS[0] else {"opens": spec.opens}),
        "evaluator": _model_table(spec.evaluator),
        "safety": _safety_table(spec.safety),
        "alt_test": {} if spec.alt_test == AltTestSpec() else asdict(spec.alt_test),
        "payment": _leave_out_empty(asdict(spec.payment)) if spec.payment else {},
        "retention": _leave_out_empty(asdict(spec.retention)) if spec.retention else {},
        "primary": [_leave_out_empty(asdict(contrast)) for contrast in spec.primary],
        "prompts": {name: prompt.file for name, prompt in spec.prompts.items()},
    }
    return tomlkit.dumps(_leave_out_empty(document))


def dump_to_compare(spec: StudySpec) -> str:
    """Return the study as text in which the same design always reads the same: databases keep the keys of tables in an
    order of their own, and leave out what is as usual."""
    settled = spec_from_json(json.loads(json.dumps(spec_to_json(spec))))
    document = tomllib.loads(dump_study(settled))
    return tomlkit.dumps({key: _sort_keys(value) for key, value in document.items()})


def _sort_keys(value: Any) -> Any:
    """Return a value with its tables sorted: what they are called first, then their keys by letter."""
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: (FIRST.index(key) if key in FIRST else len(FIRST), key))
        return {key: _sort_keys(value[key]) for key in keys}
    return [_sort_keys(member) for member in value] if isinstance(value, list) else value


def _leave_out_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, "", (), [], {})}


def _plainly(text: Text, languages: Sequence[str]) -> str | dict[str, str]:
    """Return one string where every language of the study, and no other, has the same."""
    if set(text) == set(languages) and len(set(text.values())) == 1:
        return text[languages[0]]
    return dict(text)


def _safety_table(rules: SafetyRules) -> dict[str, Any]:
    """Return what differs from the usual."""
    usual = asdict(SafetyRules())
    table: dict[str, Any] = _plain({key: value for key, value in asdict(rules).items() if value != usual[key]})
    return table


def _plain(value: Any) -> Any:
    """Return tables and lists without the keys that are not given, at every depth."""
    if isinstance(value, Mapping):
        return _leave_out_empty({key: _plain(member) for key, member in value.items()})
    return [_plain(member) for member in value] if isinstance(value, list | tuple) else value


def _consent_table(spec: StudySpec) -> dict[str, Any]:
    if spec.consent is None:
        return {}
    consent = asdict(spec.consent)
    values = consent.pop("values")
    return _leave_out_empty(consent) | {name: _plainly(text, spec.languages) for name, text in values.items()}


def _chat_table(chat: ChatSpec, languages: Sequence[str]) -> dict[str, Any]:
    values = asdict(chat)
    every = values.pop("checkpoint_every")
    if every:
        del values["checkpoints"]
    return _leave_out_empty(values | {"every": every, "opening": _plainly(chat.opening, languages)})


def _arm_table(arm: ArmSpec, languages: Sequence[str]) -> dict[str, Any]:
    values = asdict(arm)
    del values["prompt_text"]
    if not arm.reasoning:
        del values["reasoning"]  # no judge has the key
    own_keys = {name: arm.extra[name] for name in OF_JUDGES if arm.extra.get(name)}
    return _leave_out_empty(
        values | {"title": _plainly(arm.title, languages), "extra": arm.extra_for_model()} | own_keys
    )


def _model_table(model: ArmSpec | None, more: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the table of the one seeker or evaluator, with what is said there besides of its model."""
    if model is None:
        return {}
    values = asdict(model)
    for name in ("key", "title", "prompt", "prompt_text", "group", "reasoning"):
        del values[name]
    return _leave_out_empty(values) | dict(more or {})
