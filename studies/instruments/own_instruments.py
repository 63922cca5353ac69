"""Find the instruments of this site that a study file names: the file alone does not bring them to another server."""

from collections.abc import Iterator, Mapping
from typing import Any

from studies.instruments.definitions import Questionnaire
from studies.instruments.loading import SITE


def find_own(document: Any) -> list[Questionnaire]:
    """Return the instruments made on this site that a design or a study file names, by id."""
    own = SITE.instruments
    return [own[name] for name in sorted(own.keys() & set(texts_in(document)))]


def texts_in(node: Any) -> Iterator[str]:
    """Yield every text of a document; of one like `scale.item`, as contrasts name what they compare, the first part."""
    if isinstance(node, str):
        yield node
        yield node.removeprefix("-").partition(".")[0]
    elif isinstance(node, Mapping):
        for member in node.values():
            yield from texts_in(member)
    elif isinstance(node, list):
        for member in node:
            yield from texts_in(member)
