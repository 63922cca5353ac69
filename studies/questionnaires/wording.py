"""The `{{placeholders}}` of instrument texts. Pure."""

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{\{([\w.]+)\}\}")


def placeholders(text: str) -> tuple[str, ...]:
    return tuple(_PLACEHOLDER.findall(text))


def fill(text: str, values: Mapping[str, object]) -> str:
    """`text` with every `{{name}}` replaced; a name without a value is a KeyError."""
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)
