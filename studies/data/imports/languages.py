"""The language of a conversation that does not say its own, told by its script. Pure."""

import re
from collections.abc import Iterable

HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
CHINESE_FROM = 0.25  # share of Han characters among the letters; Chinese with many foreign names has far more


def language_of(texts: Iterable[str], *, otherwise: str) -> str:
    """Return `zh` where at least a quarter of the letters are Han characters, else `en`.

    It is `otherwise` where there are no letters at all.
    """
    letters = [character for text in texts for character in text if character.isalpha()]
    if not letters:
        return otherwise
    return "zh" if sum(bool(HAN.match(letter)) for letter in letters) >= CHINESE_FROM * len(letters) else "en"
