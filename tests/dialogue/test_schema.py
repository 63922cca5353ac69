"""Every fault of a document at once, each with its place and in words of ours."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator
from typing_extensions import TypedDict

from dialogue.documents import DocumentError, Fault, parse_json, parse_toml, place_of, read_bytes
from dialogue.schema import (
    KNOWN_KEYS_ONLY,
    Email,
    Line,
    Lines,
    NeededLine,
    Number,
    OneOf,
    Rule,
    Slug,
    Truth,
    Variable,
    WebAddress,
    Whole,
    about,
    check,
    check_unlike,
    check_variable,
)


@dataclass(frozen=True)
class Room:
    __pydantic_config__ = KNOWN_KEYS_ONLY

    name: Slug
    size: Annotated[Whole, about("Its size.", 3, ge=1, le=9)] = 1
    warmth: Annotated[Number | None, about("Its warmth.", 0.5, gt=0, lt=1)] = None
    doors: Annotated[tuple[Whole, ...], AfterValidator(check_unlike)] = ()
    kind: Literal["hall", "kitchen"] = "hall"

    def broken_rules(self, around: Any) -> Iterator[Rule]:
        if self.size > (around or 9):
            yield ("size",), f"is more than {around}"


class Colours(TypedDict, total=False):
    __pydantic_config__ = KNOWN_KEYS_ONLY  # type: ignore[misc]

    wall: Annotated[Line, OneOf(("white", "yellow"))]


@dataclass(frozen=True)
class House:
    __pydantic_config__ = KNOWN_KEYS_ONLY

    owner: NeededLine
    mail: Email = ""
    page: WebAddress = ""
    key: Variable = ""
    lit: Truth = False
    notes: Annotated[Lines, about("Notes.", [], max_length=2)] = ()
    rooms: tuple[Room, ...] = ()
    colours: Colours = field(default_factory=Colours)


WHOLE: dict[str, Any] = {"owner": "Ann", "rooms": [{"name": "a"}, {"name": "b"}]}


def faults_of(document: Any, **options: Any) -> list[str]:
    return [str(fault) for fault in check(House, document, **options).fault_list.faults()]


FAULTS = [
    ({"ownr": "Ann"}, ['ownr: unknown key; did you mean "owner"?']),
    ({"owner": " "}, ["owner: is missing"]),
    ({"owner": 3}, ["owner: must be text"]),
    ({"lit": 1}, ["lit: must be true or false"]),
    ({"mail": "a@b.org, c@d.org"}, ["mail: must be an e-mail address and nothing else, as name@example.org"]),
    ({"page": "ftp://x"}, ["page: must begin with http:// or https://"]),
    (
        {"page": "https://ann:pw@x"},
        ["page: must contain no user and no password: give the name of the variable with the key"],
    ),
    (
        {"key": "sk-123"},
        ["key: must be the name of an environment variable (capitals, digits, _), never the key"],
    ),
    *(
        (
            {"key": name},
            [
                "key: is one of emostudy's own secrets and is never sent to anyone: name the variable with the "
                "provider's key"
            ],
        )
        for name in ("SECRET_KEY", "DATABASE_URL_FILE", "METRICS_TOKEN", "PGPASSWORD", "DJANGO_SUPERUSER_PASSWORD")
    ),
    ({"notes": "x"}, ["notes: must be a list"]),
    ({"notes": ["x", 1]}, ["notes[2]: must be text"]),
    ({"notes": ["x", "x"]}, ['notes[2]: "x" is listed twice']),
    ({"notes": ["x", "y", "z"]}, ["notes: must have at most 2 members"]),
    ({"rooms": {"name": "a"}}, ["rooms: must be an array of tables: [[rooms]]"]),
    ({"rooms": [{"name": "a"}, "b"]}, ["rooms[2]: must be a table"]),
    ({"rooms": [{"name": "a", "size": 0}]}, ["rooms[1].size: must be between 1 and 9"]),
    ({"rooms": [{"name": "a", "size": 2.0}]}, ["rooms[1].size: must be a whole number"]),
    ({"rooms": [{"name": "a", "size": True}]}, ["rooms[1].size: must be a whole number"]),
    ({"rooms": [{"name": "a", "warmth": 1}]}, ["rooms[1].warmth: must be above 0 and below 1"]),
    ({"rooms": [{"name": "a", "warmth": True}]}, ["rooms[1].warmth: must be a number"]),
    ({"rooms": [{"name": "a", "warmth": float("nan")}]}, ["rooms[1].warmth: must be a finite number"]),
    ({"rooms": [{"name": "A b"}]}, [
        "rooms[1].name: must be lower-case letters, digits, _ and -, beginning with a letter or digit"
    ]),
    ({"rooms": [{"name": "a" * 61}]}, ["rooms[1].name: must be at most 60 characters"]),
    ({"rooms": [{"name": "a", "kind": "kichen"}]}, [
        'rooms[1].kind: "kichen" is not one of hall, kitchen; did you mean "kitchen"?'
    ]),
    ({"rooms": [{"size": 2}]}, ["rooms[1].name: is missing"]),
    ({"colours": {"wall": "yelow"}}, ['colours.wall: "yelow" is not one of white, yellow; did you mean "yellow"?']),
    ({"colours": {"wal": "white"}}, ['colours.wal: unknown key; did you mean "wall"?']),
    ({"owner": "a\0"}, ["owner: contains a character that cannot be stored"]),
    ({"rooms": [{"name": "a", "size": 2**70}]}, ["rooms[1].size: must be a whole number of at most 64 bits"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "faults"), FAULTS, ids=[str(faults) for _, faults in FAULTS])
def test_one_fault_is_told_once_with_its_place(changes: dict[str, Any], faults: list[str]) -> None:
    assert faults_of(WHOLE | changes) == faults


def test_all_faults_are_told_at_once_and_rules_look_at_what_is_left() -> None:
    document = {
        "mail": "me",
        "rooms": [{"name": "a", "size": 5, "doors": [1, "x"]}, {"size": 0, "colour": 1}, 3],
        "colours": {"wall": 1},
    }
    assert faults_of(document, around=4) == [
        "owner: is missing",
        "mail: must be an e-mail address and nothing else, as name@example.org",
        "rooms[1].doors[2]: must be a whole number",
        "rooms[2].name: is missing",
        "rooms[2].size: must be between 1 and 9",
        "rooms[2].colour: unknown key",
        "rooms[3]: must be a table",
        "colours.wall: must be text",
        "rooms[1].size: is more than 4",
    ]
    assert [room.name for room in check(House, document).value.rooms] == ["a", "", ""]


def test_members_of_lists_within_lists_are_left_out_from_the_end() -> None:
    document = {"owner": "Ann", "rooms": [{"name": "a", "doors": [1, "\0", ["\0"]]}]}
    assert [fault.partition(":")[0] for fault in faults_of(document)] == ["rooms[1].doors[2]", "rooms[1].doors[3][1]"]


def test_the_document_stays_as_it_is() -> None:
    document = {"owner": 3, "rooms": [{"name": 1}]}
    assert faults_of(document)
    assert document == {"owner": 3, "rooms": [{"name": 1}]}


def test_json_has_objects() -> None:
    assert faults_of(WHOLE | {"rooms": [1]}, json=True) == ["rooms[1]: must be an object"]
    assert faults_of(WHOLE | {"rooms": 1}, json=True) == ["rooms: must be a list of objects"]
    assert faults_of(3, json=True) == ["must be an object"]


def test_a_page_tells_faults_in_its_language(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = {"must be between %(ge)s and %(le)s": "必须在 %(ge)s 和 %(le)s 之间"}
    monkeypatch.setattr("django.utils.translation.gettext", lambda text: catalogue.get(text, text))
    assert faults_of(WHOLE | {"rooms": [{"name": "a", "size": 0}]}) == ["rooms[1].size: 必须在 1 和 9 之间"]


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
values = st.recursive(
    leaves,
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["owner", "rooms", "name", "size", "wall", "x"]), below, max_size=3)
    ),
    max_leaves=12,
)


@given(document=st.dictionaries(st.sampled_from([*House.__annotations__, "x"]), values, max_size=8))
@settings(max_examples=200, deadline=None)
def test_whatever_a_document_holds_the_words_are_ours(document: dict[str, Any]) -> None:
    checked = check(House, document)
    told = "\n".join(map(str, checked.fault_list.faults()))
    assert checked.value is not None
    assert "Input should" not in told
    assert "see the reference" not in told


# Documents


def test_place_counts_from_one() -> None:
    assert place_of(("arms", 1, "extra", "a")) == "arms[2].extra.a"
    assert place_of(()) == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[" * 100_000, "is nested too deeply"),
        ("9" * 5000, "a number is too long"),
        ("{", "not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ],
)
def test_text_that_is_no_json_is_one_fault(text: str, fault: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_json(text, "a.json")
    assert caught.value.faults == [Fault("", fault)]
    assert str(caught.value) == f"a.json: {fault}"


def test_key_that_is_given_twice_is_a_fault() -> None:
    document = parse_json('{"owner": "a", "rooms": [{"name": "x", "name": "y"}], "owner": "b"}', "a.json")
    assert faults_of(document) == ["owner: is given more than once", "rooms[1].name: is given more than once"]


def test_file_that_is_not_utf_8_or_too_large_or_away_is_one_fault(tmp_path: Any) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"\xff\xfe" * 10)
    with pytest.raises(DocumentError, match=r"a\.toml: is not UTF-8: save it as UTF-8$"):
        parse_toml(read_bytes(file, limit=100), file)
    file.write_bytes(b" " * 2_000_001)
    with pytest.raises(DocumentError, match=r"a\.toml: is larger than 2 MB$"):
        read_bytes(file, limit=2_000_000)
    with pytest.raises(DocumentError, match=r"b\.toml: cannot be read: No such file or directory$"):
        read_bytes(tmp_path / "b.toml", limit=100)


def test_key_that_the_server_does_not_let_a_study_name_is_a_fault(monkeypatch):
    monkeypatch.setenv("MODEL_KEYS", "LAB_KEY,FIRM_KEY")
    assert check_variable("FIRM_KEY") == "FIRM_KEY"
    assert check_variable("") == ""
    with pytest.raises(ValueError, match="is not one of the variables that this server lets a study name"):
        check_variable("HOME")
