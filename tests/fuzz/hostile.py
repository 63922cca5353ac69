"""Inputs that no one types: values for one field, and files with one part of them changed."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

KNOWN_TROUBLE = (
    *("a\0b", "9" * 5000, "9" * 20, "-1", "0", "1e999", "nan", "-0", "0x1F", "1_0", "٣", "²", "1.0", " 1", "true"),
    *(
        "%s {% x %} %(a)d {0} {a}",
        "{{ 7*7 }}",
        "' OR 1=1 --",
        '"><script>alert(1)</script>',
        "=cmd()",
        "../../etc/passwd",
    ),
    *("\r\nX: y", "\u2028", "\u202e", "\ufeff", "😀" * 300, "多" * 2000, "x" * 70_000, "", " ", "\t", "None", "null"),
    *("2026-02-30", "0000-00-00", "9999-12-31T23:59:59+14:00", "en'", "zh_TW", "http://[", "a@b", "[", '{"a":', "[[[["),
)
# Half of a surrogate pair is no text that a browser or a file in UTF-8 could hold.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
NUMBERS = st.one_of(st.integers(), st.floats(), st.integers(-2, 12)).map(str)
VALUES = st.one_of(st.sampled_from(KNOWN_TROUBLE), TEXTS, NUMBERS)
NODES = st.recursive(
    st.one_of(VALUES, st.integers(-(2**70), 2**70), st.floats(), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=6,
)


def places_in(node: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of each value within a value."""
    inner = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
    return [before, *(path for key, value in inner for path in places_in(value, (*before, key)))]


@st.composite
def changed(draw: st.DrawFn, node: Any, values: st.SearchStrategy[Any] = NODES) -> Any:
    """Return the value with one of its parts replaced, left out, doubled or given another name."""
    whole = copy.deepcopy(node)
    *way, last = draw(st.sampled_from(places_in(whole)[1:]))
    holder = whole
    for key in way:
        holder = holder[key]
    match draw(st.sampled_from(["replace", "replace", "leave out", "add"])):
        case "replace":
            holder[last] = draw(values)
        case "leave out":
            del holder[last]
        case "add" if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        case _:
            holder[draw(TEXTS)] = draw(values)
    return whole


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Return the bytes with some of them replaced, cut out or doubled."""
    start = draw(st.integers(0, len(content)))
    end = min(len(content), start + draw(st.integers(0, 40)))
    between = draw(st.one_of(st.binary(max_size=12), st.just(content[start:end] * 2), VALUES.map(str.encode)))
    return content[:start] + between + content[end:]


def as_file(write: Callable[[Any], str], node: Any, values: st.SearchStrategy[Any] = NODES) -> st.SearchStrategy[bytes]:
    """Return files that say nearly what the value says: one part of it is changed, or some bytes."""
    return st.one_of(
        changed(node, values).map(lambda each: write(each).encode("utf-8", "replace")), damaged(write(node).encode())
    )


def write_lines(nodes: Sequence[Any]) -> str:
    return "\n".join(json.dumps(node, ensure_ascii=False) for node in nodes)
