"""A study as JSON, as its protocol keeps it, and its hash. Pure."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from studies.design.alt_test_spec import AltTestSpec
from studies.design.contrast_spec import ContrastSpec
from studies.design.payment_spec import PaymentSpec
from studies.design.retention_spec import RetentionSpec
from studies.design.safety_rules import RULES
from studies.design.spec import (
    KEEP_DECLINED_DAYS,
    OPENERS,
    ArmSpec,
    ChatSpec,
    ConsentSpec,
    OrderSpec,
    PromptSpec,
    RolePlaySpec,
    StepSpec,
    StudySpec,
)


def spec_to_json(spec: StudySpec) -> dict[str, Any]:
    """Return everything, prompt texts too, as JSON knows it: lists for tuples."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(spec), ensure_ascii=False))
    # Studies from before there were these keys keep their hash.
    if spec.keep_declined_days == KEEP_DECLINED_DAYS:
        del values["keep_declined_days"]
    for name in ("gone_after_days", "primary", "prompts", "evaluator", "payment", "retention", "one_browser"):
        if not values[name]:
            del values[name]
    if spec.alt_test == AltTestSpec():
        del values["alt_test"]
    if not spec.chat.opening:
        del values["chat"]["opening"]
    if spec.opens == OPENERS[0]:
        del values["opens"]
    for name in ("participants", "strata", "severity", "lease_hours"):
        if not values["order"][name]:
            del values["order"][name]
    return values


def spec_from_json(values: Mapping[str, Any]) -> StudySpec:
    consent, chat = values["consent"], values["chat"]
    built = {
        "languages": tuple(values["languages"]),
        "consent": ConsentSpec(**_with_tuples(consent, "flags", "providers")) if consent else None,
        "steps": tuple(StepSpec(**step) for step in values["steps"]),
        "chat": ChatSpec(**_with_tuples(chat, "checkpoints", "final_instruments", "counsellor_instruments")),
        "order": OrderSpec(**_with_tuples(values["order"], "strata")),
        "role_play": RolePlaySpec(**_with_tuples(values.get("role_play", {}), "cards")),
        "arms": tuple(ArmSpec(**arm) for arm in values["arms"]),
        "judges": tuple(ArmSpec(**judge) for judge in values["judges"]),
        "seeker": ArmSpec(**values["seeker"]) if values.get("seeker") else None,
        "evaluator": ArmSpec(**values["evaluator"]) if values.get("evaluator") else None,
        "safety": RULES.validate_python(values.get("safety", {})),
        "alt_test": AltTestSpec(**values.get("alt_test", {})),
        "payment": PaymentSpec(**values["payment"]) if values.get("payment") else None,
        "retention": RetentionSpec(**values["retention"]) if values.get("retention") else None,
        "prompts": {name: PromptSpec(**prompt) for name, prompt in values.get("prompts", {}).items()},
        "primary": tuple(ContrastSpec(**_with_tuples(one, "strategies", "arms")) for one in values.get("primary", ())),
    }
    return StudySpec(**{**values, **built})


def _with_tuples(values: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {**values, **{key: tuple(values.get(key, ())) for key in keys}}


def protocol_hash(spec: StudySpec) -> str:
    """Return the SHA-256, in hexadecimal, of the canonical JSON: the same for the same study, other for any change of
    it."""
    canonical = json.dumps(spec_to_json(spec), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
