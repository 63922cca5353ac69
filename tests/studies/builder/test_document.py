"""A study file that is edited place by place: its values, and what stays as it was written."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.documents import DocumentError
from studies.builder.document import StudyDocument

STUDIES = Path(__file__).resolve().parents[3] / "fixtures" / "studies"
TEXT = """# About this study.
key = "one"
title = {en = "A", zh = "甲"}

[chat]
min_turns = 10  # not fewer
final_instruments = ["emoharbor_10"]

[[arms]]
key = "a"
kind = "scripted"

# The second one.
[[arms]]
key = "b"
kind = "scripted"

# At the end.
[display]
timings = true
"""


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_file_that_nobody_edits_stays_byte_for_byte(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert StudyDocument(text).text == text


def test_new_value_leaves_all_other_lines_as_they_are() -> None:
    document = StudyDocument(TEXT)
    document.set(("chat", "min_turns"), 4)
    assert document.text == TEXT.replace("min_turns = 10", "min_turns = 4")


def test_same_value_changes_nothing() -> None:
    document = StudyDocument(TEXT)
    document.set(("title",), {"en": "A", "zh": "甲"})
    document.set(("arms", 1, "key"), "b")
    assert document.text == TEXT


def test_true_is_not_one() -> None:
    document = StudyDocument(TEXT)
    document.set(("display", "timings"), 1)
    assert document.get(("display", "timings")) == 1
    assert document.get(("display", "timings")) is not True


def test_missing_sections_are_made_and_empty_values_removed() -> None:
    document = StudyDocument(TEXT)
    document.set(("safety", "second_line", "kind"), "scripted")
    document.set(("chat", "min_turns"), None)
    document.set(("chat", "topic"), None)
    found = tomllib.loads(document.text)
    assert found["safety"] == {"second_line": {"kind": "scripted"}}
    assert found["chat"] == {"final_instruments": ["emoharbor_10"]}


def test_comment_goes_with_the_table_below_it() -> None:
    document = StudyDocument(TEXT)
    document.move_row(("arms",), 1, -1)
    assert lines(document.text)[6:] == [
        "# The second one.",
        "[[arms]]",
        'key = "b"',
        'kind = "scripted"',
        "[[arms]]",
        'key = "a"',
        'kind = "scripted"',
        "# At the end.",
        "[display]",
        "timings = true",
    ]


def test_removed_table_takes_its_comment_with_it_alone() -> None:
    document = StudyDocument(TEXT)
    document.remove_row(("arms",), 1)
    assert document.text == TEXT.replace('# The second one.\n[[arms]]\nkey = "b"\nkind = "scripted"\n\n', "")


def test_last_table_can_be_removed() -> None:
    document = StudyDocument(TEXT)
    document.remove_row(("arms",), 0)
    document.remove_row(("arms",), 0)
    assert "arms" not in tomllib.loads(document.text)
    assert "# At the end." in document.text
    assert document.add_row(("arms",), {"key": "c"}) == 0
    assert tomllib.loads(document.text)["arms"] == [{"key": "c"}]


def test_comment_before_the_next_section_outlives_a_table_that_got_a_new_key() -> None:
    document = StudyDocument(TEXT)
    document.set(("arms", 1, "model"), "m")
    assert document.text == TEXT.replace(
        'key = "b"\nkind = "scripted"\n', 'key = "b"\nkind = "scripted"\nmodel = "m"\n'
    )
    document.remove_row(("arms",), 1)
    assert "# At the end." in document.text


def test_moving_beyond_the_end_changes_nothing() -> None:
    document = StudyDocument(TEXT)
    document.move_row(("arms",), 1, 1)
    document.move_row(("arms",), 0, -1)
    assert document.text == TEXT


def test_list_on_one_line_becomes_tables() -> None:
    document = StudyDocument('arms = [{key = "a"}, {key = "b"}]\n')
    document.add_row(("arms",), {"key": "c", "title": {"en": "C"}})
    assert tomllib.loads(document.text) == {"arms": [{"key": "a"}, {"key": "b"}, {"key": "c", "title": {"en": "C"}}]}


@pytest.mark.parametrize("text", ["key = ", "[chat\n", "a = 1\na = 2\n", "\ufeff= 1"])
def test_what_is_no_toml_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        StudyDocument(text)
    assert [fault.place for fault in caught.value.faults] == ["line 1" if "a = 2" not in text else "line 2"]


KEYS = st.sampled_from(["key", "kind", "model", "note"])
VALUES = st.one_of(
    st.text(max_size=20).filter(lambda text: "\r" not in text and text.isprintable()),
    st.integers(-1000, 1000),
    st.booleans(),
    st.lists(st.integers(0, 9), max_size=3),
    st.dictionaries(st.sampled_from(["en", "zh"]), st.sampled_from(["x", "文", 'a "quote"']), min_size=1),
)
ACTS = st.one_of(
    st.tuples(st.just("add"), st.dictionaries(KEYS, VALUES)),
    st.tuples(st.just("remove"), st.integers(0, 5)),
    st.tuples(st.just("move"), st.integers(0, 5), st.sampled_from([-1, 1])),
    st.tuples(st.just("set"), st.integers(0, 5), KEYS, st.one_of(st.none(), VALUES)),
    st.tuples(st.just("chat"), KEYS, st.one_of(st.none(), VALUES)),
)


@given(st.lists(ACTS, max_size=8))
def test_any_edits_give_the_values_that_plain_tables_would_have(acts: list[tuple]) -> None:
    document, plain = StudyDocument(TEXT), tomllib.loads(TEXT)
    for act, *rest in acts:
        edit(document, plain, act, rest)
        read = tomllib.loads(document.text)
        assert {**read, "arms": read.get("arms", [])} == plain
    assert [line for line in ("# About this study.", "# At the end.") if line not in document.text] == []


def edit(document: StudyDocument, plain: dict, act: str, rest: list) -> None:
    arms = plain.setdefault("arms", [])
    if act == "add":
        document.add_row(("arms",), rest[0])
        arms.append(rest[0])
    elif act == "chat":
        document.set(("chat", rest[0]), rest[1])
        write(plain["chat"], rest[0], rest[1])
    elif rest[0] < len(arms):
        number = rest[0]
        if act == "remove":
            document.remove_row(("arms",), number)
            del arms[number]
        elif act == "move":
            document.move_row(("arms",), number, rest[1])
            if 0 <= number + rest[1] < len(arms):
                arms.insert(number + rest[1], arms.pop(number))
        else:
            document.set(("arms", number, rest[1]), rest[2])
            write(arms[number], rest[1], rest[2])


def write(table: dict, key: str, value: object) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
