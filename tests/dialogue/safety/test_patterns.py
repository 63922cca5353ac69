import pytest

from dialogue.safety.normalisation import fold
from dialogue.safety.patterns import LANGUAGES, find_hits, find_soft_hits, load_patterns

FILES = [(name, load_patterns(name, lang)) for name in ("patterns", "replies") for lang in LANGUAGES]
HITS = [(name, one.id, hit) for name, file in FILES for one in file.patterns + file.soft for hit in one.hits]
MISSES = [(name, one.id, miss) for name, file in FILES for one in file.patterns + file.soft for miss in one.misses]


def found(text: str, name: str) -> list[str]:
    folded = fold(text)
    return [
        hit.pattern.id for hit in [*find_hits(folded, name=name), *find_soft_hits(folded, name=name, growing=False)]
    ]


@pytest.mark.parametrize(("name", "pattern", "text"), HITS)
def test_pattern_finds_its_hits(name: str, pattern: str, text: str) -> None:
    assert pattern in found(text, name)


@pytest.mark.parametrize(("name", "pattern", "text"), MISSES)
def test_pattern_passes_its_misses(name: str, pattern: str, text: str) -> None:
    assert pattern not in found(text, name)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("I want to die", 3),
        ("my friend wants to die", 2),
        ("in the novel he wants to die", 1),
        ("I would never kill myself", 2),
        ("kms lol", 2),
        ("kms lol, not kidding", 3),
        ("I overdosed two years ago", 2),
        ("She wants to die. I want to die too.", 3),
        ("Years ago I tried to end my life. Now I want to die again.", 3),
        ("我朋友说想自杀", 2),
    ],
)
def test_modifiers_speak_for_their_sentence(text: str, level: int) -> None:
    assert max(hit.level for hit in find_hits(fold(text))) == level
