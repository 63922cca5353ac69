"""study.json: the study file of each version as it was loaded, with the texts of its prompts and all parameters."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from studies.design.serialisation import spec_to_json
from studies.models import Protocol

FILE = "study.json"
OF_CONTACTS = ("oncall", "officer_email")
# Settings that a provider may want beside the key, which itself is never stored.
_SECRET = re.compile(r"key|token|secret|password|authorization|cookie", re.IGNORECASE)
_COUNT = re.compile(r"^(max|min|n)_|_tokens$", re.IGNORECASE)  # of tokens


def describe_design(protocol: Protocol) -> dict[str, Any]:
    """Return the version's design without the person on call and without what could open a provider's door."""
    design = spec_to_json(protocol.spec())
    del design["oncall_email"]
    design["safety"] = {key: value for key, value in design["safety"].items() if key not in OF_CONTACTS}
    models = [*design["arms"], *design["judges"], *filter(None, [design["seeker"], design.get("evaluator")])]
    for model in models:
        model["base_url"] = remove_credentials(model["base_url"])
        model["extra"] = remove_secrets(model["extra"])
    return {"version": protocol.version, "hash": protocol.hash(), "study": design}


def remove_credentials(address: str) -> str:
    """Return a URL without name and password, query and fragment."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def remove_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with "(left out)" for the value of each whose name sounds like a secret."""
    return {
        name: "(left out)"
        if _SECRET.search(name) and not _COUNT.search(name)
        else (remove_secrets(value) if isinstance(value, Mapping) else value)
        for name, value in values.items()
    }
