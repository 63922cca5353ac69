"""The `{{placeholders}}` and `{{if_…}}parts{{/if_…}}` of instrument texts. Pure."""

import re
from collections.abc import Callable, Mapping

_PLACEHOLDER = re.compile(r"\{\{(?!if_)([\w.]+)\}\}")
_PART = re.compile(r"\{\{(if_\w+)\}\}(.*?)\{\{/\1\}\}", re.DOTALL)
_SENTENCE = re.compile(r".*?(?:[.!?](?=\s|$)|[。！？]|$)\s*", re.DOTALL)

_CHINESE = "[\u2018-\u201d\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
_GAP = re.compile(f"(?<={_CHINESE}) +(?={_CHINESE})")


def placeholders(text: str) -> tuple[str, ...]:
    return tuple(_PLACEHOLDER.findall(text))


def fill(text: str, values: Mapping[str, object]) -> str:
    """Return `text` with every `{{name}}` replaced; a name without a value is a KeyError."""
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)


def keep_parts(text: str, holds: Callable[[str], bool]) -> str:
    """Return `text` with each `{{if_x}}…{{/if_x}}` where `holds("if_x")`, and without it elsewhere; parts in parts
    too."""
    return _PART.sub(lambda part: keep_parts(part[2], holds) if holds(part[1]) else "", text)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with the space after it."""
    return _SENTENCE.findall(text)


def fill_sentences(text: str, values: Mapping[str, str]) -> str:
    """Fill placeholders as `fill` does, without the sentences that name something of which there is no value, or an
    empty one. The spaces that stand around a placeholder go where its value is Chinese, as its neighbours are."""
    complete = [sentence for sentence in sentences(text) if all(values.get(name) for name in placeholders(sentence))]
    return _GAP.sub("", fill("".join(complete), values)).strip()
