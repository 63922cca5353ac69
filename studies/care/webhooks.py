"""An alarm as the body and the headers of a request to a webhook. Knows no rows."""

import os
from collections.abc import Mapping

import orjson

from dialogue.providers.base import ProviderError
from dialogue.providers.registry import get_api_key
from studies.care.messages import Message
from studies.webhooks.requests import NotTaken


def get_body(form: str, message: Message) -> bytes:
    """Return the body of the request in one of the forms `json`, `slack` and `ntfy`."""
    text = f"{message.get_subject()}\n\n{message.get_text()}"
    match form:
        case "slack":
            return orjson.dumps({"text": text})
        case "ntfy":
            return text.encode()
        case _:
            return orjson.dumps(get_json(message))


def get_json(message: Message) -> dict[str, str | int | bool | None]:
    """Return the values of the form `json` (docs/interfaces.md)."""
    return {
        "type": "drill" if message.level is None else "alarm",
        "study": message.study,
        "person": message.person,
        "level": message.level,
        "time": message.at.isoformat(timespec="seconds"),
        "time_local": message.get_local_time(),
        "time_zone": message.zone,
        "link": message.link,
        "round": message.round,
        "step": message.step,
        "unanswered": message.step > 1,
    }


def get_headers(form: str, message: Message) -> dict[str, str]:
    """Return the headers of the request, without the signature."""
    if form == "ntfy":
        link = {} if message.link.startswith("/") else {"Click": message.link}
        return {
            "Content-Type": "text/plain; charset=utf-8",
            "Title": message.get_subject(),
            "Priority": "urgent",
            "Tags": "rotating_light",
            **link,
        }
    return {"Content-Type": "application/json"}


def get_key(variable: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the key in an environment variable, or in the file that `VARIABLE_FILE` names. Raises NotTaken."""
    try:
        return get_api_key(variable, environ)
    except ProviderError as error:
        raise NotTaken("unsigned", error.detail, detail=error.detail) from error
