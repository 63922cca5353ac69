"""People of whose answers profiles are made, for tests."""

from typing import Any

from studies.instruments.loading import load
from studies.models import Consent, Participation, Study
from tests import factories

AGREED = {"adult": True, "share_deidentified": True}
PROFILE = {
    "nickname": "Zaphod",
    "age_band": "25_34",
    "gender": "woman",
    "occupation": "nurse at St Mary's",
    "relationship": "single",
    "interests": "chess and running",
    "topic": "work",
    "matter": "My boss Karen moved me to the Leeds branch and no one there ever asked me whether that was fine.",
    "status": "ongoing",
    "goal": "be_heard",
}
ZH_PROFILE = {
    "nickname": "小鱼儿",
    "age_band": "18_24",
    "gender": "man",
    "occupation": "在海淀医院当护士",
    "relationship": "prefer_not",
    "topic": "family",
    "matter": "王主任把我调去夜班，从来没有人问过我愿不愿意这样过下去。",
    "goal": "ideas",
}


def person(of: Study, *, profile: dict[str, Any] | None = None, big_five: float = 4.0, **fields: Any) -> Participation:
    """Who has signed (`boxes`, `providers`) and answered all that a profile needs."""
    boxes, providers = fields.pop("boxes", AGREED), fields.pop("providers", ["ACME"])
    someone = factories.person(of, **{"status": "completed", **fields})
    sign(someone, boxes=boxes, providers=providers)
    usual = ZH_PROFILE if someone.language == "zh" else PROFILE
    factories.answer(someone, "profile", usual if profile is None else profile)
    factories.answer(someone, "mini_ipip", {item.key: big_five for item in load("mini_ipip").items})
    return someone


def sign(someone: Participation, *, boxes: dict[str, bool], providers: list[str]) -> Consent:
    return Consent.objects.create(
        participation=someone,
        instrument="consent_template",
        version="1",
        text_hash="x",
        language=someone.language,
        boxes=boxes,
        providers=providers,
    )
