"""Say in words what came of asking each model one question, for pages and for the command."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.providers.base import (
    BAD_CERTIFICATE,
    KEY_REFUSED,
    KEY_UNLISTED,
    KEY_UNSET,
    QUOTA_SPENT,
    REGION_REFUSED,
    WITHOUT_KEY,
    WRONG_ADDRESS,
)
from dialogue.providers.prices import format_amount
from studies.workbench import labels

BROKEN_OFF = "broken off"  # a lost connection from which a part of the answer had come
STATES: labels.Words = {
    "truncated": gettext_lazy("answered, but max_tokens cut the answer off"),
    "script": gettext_lazy("a script, which needs no question"),
    BROKEN_OFF: gettext_lazy("broke off"),
    "day_budget": gettext_lazy("not asked: less is left of the day's budget than it may cost"),
    "no_price": gettext_lazy("not asked: the price table has no price for it, so that no budget can be kept"),
}
ADVICE: labels.Words = {
    KEY_UNSET: gettext_lazy(
        "Set the variable %(variable)s for the server and for commands, and start the server again."
    ),
    KEY_UNLISTED: gettext_lazy("Ask whoever runs this server to add %(variable)s to MODEL_KEYS."),
    KEY_REFUSED: gettext_lazy("Check the key in %(variable)s: is it valid, and is it for this server?"),
    "client_error": gettext_lazy("Check model and base_url in the study file, and what stands under extra."),
    QUOTA_SPENT: gettext_lazy("Add credit or raise the quota at the provider, then start it again."),
    REGION_REFUSED: gettext_lazy(
        "The provider does not accept calls from where this server stands. Choose another provider or model."
    ),
    WRONG_ADDRESS: gettext_lazy("Check base_url in the study file. For most servers it ends in /v1."),
    BAD_CERTIFICATE: gettext_lazy(
        "Check the host in base_url. If your institution has its own certificate authority, let SSL_CERT_FILE name "
        "its certificate."
    ),
    "timeout": gettext_lazy(
        "Is the server running? If it only needs longer, raise gap_timeout or total_timeout in extra."
    ),
    "network": gettext_lazy("Check that the server is running, and that base_url names it."),
    BROKEN_OFF: gettext_lazy(
        "The answer broke off in the middle. Ask again. If it happens again, check the server and the connection to it."
    ),
    "rate_limited": gettext_lazy(
        "Wait and ask again. If it happens again, check the limits and the balance of your account."
    ),
    "server_error": gettext_lazy("The fault is in the server. Ask again later."),
    "refused": gettext_lazy(
        "The model or a filter of its server refuses a harmless question. Look at its settings there."
    ),
    "empty": gettext_lazy("A model that thinks may have used up max_tokens. Raise it in the study file."),
    "too_long": gettext_lazy("The server takes almost no text. Look at its settings."),
    "unparseable": gettext_lazy(
        "This model's answer is not in the format that the second line of the risk screen needs. Choose another model."
    ),
    "out_of_range": gettext_lazy(
        "This model's answer is not in the format that the second line of the risk screen needs. Choose another model."
    ),
}


class Words(NamedTuple):
    """One model's outcome in words. `price` and the times are empty where they are not known."""

    name: str
    answers: bool
    state: str
    detail: str
    advice: str
    first: str
    total: str
    tokens: str
    price: str
    check: Mapping[str, Any]


def describe_check(check: Mapping[str, Any], currency: str) -> Words:
    """Return the words for one outcome, as `ModelCheck.as_json` gives it."""
    return Words(
        name=f"{labels.word(labels.MODELS, check['role'])} {check['key']}".strip(),
        answers=check["answers"],
        state=labels.word({**labels.CALLS, **STATES}, kind_of(check)),
        detail="" if check["status"] in WITHOUT_KEY else check["detail"],  # the advice names the variable
        advice=advice_on(check),
        first=seconds(check["first_ms"]),
        total=seconds(check["total_ms"]),
        tokens=tokens(check),
        price="" if check["cost"] is None else f"{format_amount(Decimal(check['cost']))} {currency}".strip(),
        check=check,
    )


def advice_on(check: Mapping[str, Any]) -> str:
    """Return the advice after a check; empty for models that answer."""
    if check["answers"]:
        return ""
    kind = kind_of(check)
    if kind in WITHOUT_KEY and not check["variable"]:
        return ""  # of a job's failure, the detail alone names the variable
    return labels.word(ADVICE, kind) % {"variable": check["variable"] or "api_key_env"} if kind in ADVICE else ""


def kind_of(check: Mapping[str, Any]) -> str:
    """Return the status, in which a lost connection and an answer that broke off are different."""
    return BROKEN_OFF if check["status"] == "network" and check["text"] else str(check["status"])


def seconds(milliseconds: int | None) -> str:
    return "" if milliseconds is None else _("%(seconds)s s") % {"seconds": f"{milliseconds / 1000:.2f}"}


def tokens(check: Mapping[str, Any]) -> str:
    """Return the tokens of question and answer; empty where the server does not tell them."""
    if check["input_tokens"] is None or check["output_tokens"] is None:
        return ""
    return f"{check['input_tokens']:,} + {check['output_tokens']:,}"


def count_answers(checks: Sequence[Mapping[str, Any]]) -> str:
    """Return how many of the models answer."""
    return _("%(number)s of %(total)s models answer") % {
        "number": sum(check["answers"] for check in checks),
        "total": len(checks),
    }
