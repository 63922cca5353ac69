"""The files of fixtures/instruments that people answer → Questionnaire. Pure."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, get_args

from dialogue.languages import CODES
from studies.instruments.definitions import DECLINED, Condition, Item, ItemType, Option, Questionnaire, Scale, Text

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "instruments"
TEXT_LIMIT = 2000  # characters of an open answer whose file sets no limit of its own
INTERVIEW_LIMIT = 5000  # of an answer to an interview's question
ARMS = "arms"  # what options may be taken from beside the file
PAIRWISE = "pairwise"  # the kind whose questions compare two things that stand side by side
BESIDE_EACH_OTHER = ("first", "tie", "second")  # what each of them can be answered with
INSTRUCTED_KINDS = ("questionnaire", "rating_scale")
# Their answers are told to models, asked of each partner, or given beside a reply where there is room for one item.
NEVER_INSTRUCTED = ("profile", "blinding", "reply_rating")
OVERALL: Text = {"en": "Overall", "zh": "总体"}

Node = Mapping[str, Any]


class InstrumentError(ValueError):
    """A broken instrument file; each of `faults` reads `FILE: key.path: what is wrong`."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


_OUTSIDE: dict[str, Path] = {}  # the files of instruments that are registered from outside the product, by id


def register_instrument(path: Path) -> None:
    """Make an instrument known as if its file were in fixtures/instruments. Call it in your `AppConfig.ready`.

    Raises InstrumentError if the file is faulty, or if there is another instrument of that id.
    """
    if path.stem in instrument_ids() and _OUTSIDE.get(path.stem) != path:
        raise InstrumentError([f"{path.name}: id: there is an instrument of this id already"])
    load(path.stem, path.parent)
    _OUTSIDE[path.stem] = path
    forget_instruments()


def unregister_instrument(instrument_id: str) -> None:
    """Remove an instrument that was registered from outside, for tests."""
    del _OUTSIDE[instrument_id]
    forget_instruments()


def forget_instruments() -> None:
    """Read each file again when it is next asked for."""
    load.cache_clear()
    instrument_ids.cache_clear()


@cache
def load(instrument_id: str, folder: Path = FIXTURES) -> Questionnaire:
    """Return the questionnaire. Raises InstrumentError with all that is wrong with the file at once."""
    path = folder / f"{instrument_id}.json"
    if folder == FIXTURES:
        path = _OUTSIDE.get(instrument_id, path)
    reader = _Reader(path.name)
    questionnaire = reader.questionnaire(_read(path), path.stem)
    if reader.faults:
        raise InstrumentError(reader.faults)
    return questionnaire


@cache
def instrument_ids(folder: Path = FIXTURES) -> tuple[str, ...]:
    """Return the instruments that a person can answer; the folder also holds lexicons, role cards and the like."""
    ours = {path.stem for path in folder.glob("*.json") if _body_of(_read(path))}
    return tuple(sorted(ours.union(_OUTSIDE if folder == FIXTURES else ())))


def instructed_items() -> dict[tuple[str, str], str | int]:
    """By instrument and item, the answer that an item tells people to give, of those that do."""
    return {
        (id, item.key): item.instructed
        for id in instrument_ids()
        for item in load(id).items
        if item.instructed is not None
    }


def _read(path: Path) -> Node:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InstrumentError([f"{path.name}: : cannot be read: {error}"]) from error
    if not isinstance(data, dict):
        raise InstrumentError([f"{path.name}: : is no JSON object"])
    return data


@dataclass(frozen=True)
class _Part:
    """One list of items in a file."""

    path: str
    nodes: Sequence[Any]
    track: str = "all"
    type: str = "scale"  # of the items that do not name theirs
    required: bool = True
    limit: int = TEXT_LIMIT


def _body_of(data: Node) -> list[_Part]:
    participants = data.get("participant_version") or {}
    candidates = (
        _Part("items", data.get("items", ())),
        _Part("dimensions", data.get("dimensions", ())),
        _Part("questions", data.get("questions", ())),
        _Part("expert_questions", data.get("expert_questions", ()), track="expert"),
        _Part("comparisons", data.get("comparisons", ()), type="single"),
        *(
            _interview(f"sections[{number}].questions", section.get("questions", ()), "expert")
            for number, section in enumerate(data.get("sections", ()))
        ),
        _interview("participant_version.questions", participants.get("questions", ()), "participant"),
    )
    return [part for part in candidates if part.nodes]


def _interview(path: str, questions: Sequence[Any], track: str) -> _Part:
    return _Part(path, questions, track=track, type="text", required=False, limit=INTERVIEW_LIMIT)


@dataclass
class _Reader:
    file: str
    faults: list[str] = field(default_factory=list)

    def fault(self, path: str, wrong: str) -> None:
        self.faults.append(f"{self.file}: {path}: {wrong}")

    def questionnaire(self, data: Node, stem: str) -> Questionnaire:
        self.head(data, stem)
        items = tuple(item for part in _body_of(data) for item in self.items(part, data))
        self.keys(items)
        self.conditions(items)
        self.comparisons(data, items)
        self.instructions(data, items)
        return Questionnaire(
            id=stem,
            kind=str(data.get("kind", "")),
            version=str(data.get("version", "")),
            title=self.text(data.get("title"), "title"),
            items=items,
            scales=tuple(self.scales(data, items)),
            instruction=self.optional_text(*_instruction(data)),
            comment=self.optional_text(data.get("display", {}).get("comment"), "display.comment"),
            raw={"attribution": _attribution(data), **data},
        )

    def head(self, data: Node, stem: str) -> None:
        if data.get("schema") != "instrument/1":
            self.fault("schema", f"is {data.get('schema')!r}, not 'instrument/1'")
        if data.get("id") != stem:
            self.fault("id", f"is {data.get('id')!r}, not the name of the file")
        for key in ("kind", "version"):
            if not data.get(key):
                self.fault(key, "is missing")
        if not _body_of(data):
            self.fault("items", "nothing here that a person can answer")

    def items(self, part: _Part, data: Node) -> Iterator[Item]:
        for number, node in enumerate(part.nodes):
            path = f"{part.path}[{number}]"
            if isinstance(node, Mapping):
                yield self.item(node, path, part, data)
            else:
                self.fault(path, "is no JSON object")

    def item(self, node: Node, path: str, part: _Part, data: Node) -> Item:
        scale = data.get("response_scale", {})
        kind = self.type(node.get("type", part.type), path)
        options = self.options(node, path, kind, data)
        minimum, maximum = self.bounds(node, path, kind, scale, options)
        return Item(
            key=self.key(node, path),
            type=kind,
            text=self.text(node["question"], f"{path}.question") if "question" in node else self.text(node, path),
            options=options,
            options_from=self.source(node, path),
            minimum=minimum,
            maximum=maximum,
            required=bool(node.get("required", scale.get("required", part.required))),
            reverse="factor" in node and node.get("key") == "-",
            scale=str(node.get("factor") or node.get("facet") or ""),
            label=self.optional_text(node.get("label") or node.get("profile_line"), f"{path}.label"),
            definition=self.optional_text(node.get("definition"), f"{path}.definition"),
            phases=tuple(node.get("phases", ())),
            track=str(node.get("track", part.track)),
            minimum_length=node.get("min_chars", {}),
            maximum_length=self.limit(node, path, part.limit) if kind == "text" else None,
            show_if=self.condition(node.get("show_if"), f"{path}.show_if"),
            hide_if=self.condition(node.get("hide_if"), f"{path}.hide_if"),
            maps_to=node.get("maps_to"),
            instructed=node.get("instructed"),
        )

    def key(self, node: Node, path: str) -> str:
        key = node.get("id") or node.get("key")
        if not key:
            self.fault(path, "has no id")
        return str(key)

    def type(self, name: Any, path: str) -> ItemType:
        if name not in get_args(ItemType):
            self.fault(f"{path}.type", f"unknown type {name!r}; one of {', '.join(get_args(ItemType))}")
        return name  # type: ignore[no-any-return]

    def text(self, node: Any, path: str) -> Text:
        texts = node if isinstance(node, Mapping) else {}
        for language in CODES:
            if not str(texts.get(language) or "").strip():
                self.fault(f"{path}.{language}", "text is missing")
        return {language: str(texts.get(language, "")) for language in CODES}

    def optional_text(self, node: Any, path: str) -> Text | None:
        return None if node is None else self.text(node, path)

    def options(self, node: Node, path: str, kind: str, data: Node) -> tuple[Option, ...]:
        where, nodes = _option_nodes(node, path, kind, data)
        value_key = "value" if kind == "scale" else "key"
        options = []
        for number, option in enumerate(nodes):
            here = f"{where}[{number}]"
            if value_key not in option:
                self.fault(here, f"has no {value_key}")
            group = "answer" if "answer" in node else str(option.get("valence", ""))
            options.append(Option(option.get(value_key, ""), self.text(option, here), "" if group == "any" else group))
        for value in _repeated(option.value for option in options):
            self.fault(where, f"{value_key} {value!r} occurs twice")
        if kind == "single" and not options:
            self.fault(where, "a single choice needs options")
        if "answer" in node and node["answer"] not in [option.value for option in options]:
            self.fault(f"{path}.answer", f"{node['answer']!r} is none of the options")
        return tuple(options)

    def source(self, node: Node, path: str) -> str:
        name = node.get("options_from", "")
        if name not in ("", ARMS):
            self.fault(f"{path}.options_from", f"is {name!r}, not {ARMS!r}")
        return str(name)

    def bounds(
        self, node: Node, path: str, kind: str, scale: Node, options: tuple[Option, ...]
    ) -> tuple[int | None, int | None]:
        if kind not in ("scale", "integer"):
            return None, None
        anchors = [option.value for option in options if isinstance(option.value, int)]
        minimum = node.get("min", scale.get("min", min(anchors, default=None)))
        maximum = node.get("max", scale.get("max", max(anchors, default=None)))
        if not isinstance(minimum, int) or not isinstance(maximum, int):
            self.fault(path, "needs whole numbers as min and max")
            return None, None
        if minimum >= maximum:
            self.fault(path, f"min {minimum} is not below max {maximum}")
        for value in anchors:
            if not minimum <= value <= maximum:
                self.fault(f"{path}.anchors", f"{value} is outside {minimum} to {maximum}")
        return minimum, maximum

    def limit(self, node: Node, path: str, usual: int) -> int:
        limit = int(node.get("max_length") or node.get("max_chars") or usual)
        for language, minimum in node.get("min_chars", {}).items():
            if minimum > limit:
                self.fault(f"{path}.min_chars.{language}", f"{minimum} is above the limit of {limit}")
        return limit

    def condition(self, node: Any, path: str) -> Condition | None:
        if node is None:
            return None
        if node.get("op") not in ("eq", "in"):
            self.fault(f"{path}.op", f"unknown comparison {node.get('op')!r}")
        if node.get("op") == "in" and not isinstance(node.get("value"), list):
            self.fault(f"{path}.value", "is no list")
        return Condition(str(node.get("q")), node.get("op"), node.get("value"))

    def keys(self, items: Sequence[Item]) -> None:
        for key in _repeated(item.key for item in items):
            self.fault("items", f"key {key!r} occurs twice")

    def conditions(self, items: Sequence[Item]) -> None:
        known = {item.key for item in items}
        for item in items:
            for condition in filter(None, (item.show_if, item.hide_if)):
                if condition.question.removeprefix("pre.") not in known:
                    self.fault(item.key, f"depends on {condition.question!r}, which is no item")

    def comparisons(self, data: Node, items: Sequence[Item]) -> None:
        if data.get("kind") != PAIRWISE:
            return
        self.text(data.get("reason"), "reason")
        for item in items:
            if tuple(option.value for option in item.options) != BESIDE_EACH_OTHER:
                self.fault(item.key, f"must be answered by {', '.join(BESIDE_EACH_OTHER)}")

    def instructions(self, data: Node, items: Sequence[Item]) -> None:
        for item in items:
            if item.instructed is not None and (wrong := _wrong_with_instruction(item, data)):
                self.fault(f"{item.key}.instructed", wrong)

    def scales(self, data: Node, items: Sequence[Item]) -> Iterator[Scale]:
        for part in ("factors", "facets"):
            for number, node in enumerate(data.get(part, ())):
                yield self.scale(node, f"{part}[{number}]", data, items)
        for key in sorted({item.scale for item in items} - _scale_keys(data) - {""}):
            self.fault("items", f"name the scale {key!r}, which the file does not describe")
        if data.get("dimensions"):
            keys = tuple(item.key for item in items if item.instructed is None)
            yield Scale("overall", OVERALL, keys, len(keys))

    def scale(self, node: Node, path: str, data: Node, items: Sequence[Item]) -> Scale:
        keys = tuple(item.key for item in items if item.scale == node.get("key"))
        if not keys:
            self.fault(path, "has no items")
        needed = self.minimum_answered(data) if "factors" in data else len(keys)
        return Scale(self.key(node, path), self.text(node.get("label"), f"{path}.label"), keys, needed)

    def minimum_answered(self, data: Node) -> int:
        """The missing rule is a sentence in the file ("at least 3 of its 4 items"), and its only source."""
        rule = re.search(r"at least (\d+) of", str(data.get("scoring", {}).get("missing", "")))
        if rule is None:
            self.fault("scoring.missing", "does not say 'at least … of' how many items")
            return 0
        return int(rule[1])


def _option_nodes(node: Node, path: str, kind: str, data: Node) -> tuple[str, Sequence[Node]]:
    """Where the options of an item stand in the file, and what stands there."""
    if "options_ref" in node:
        return node["options_ref"], data.get(node["options_ref"], ())
    for key in ("anchors", "options"):
        if key in node:
            return f"{path}.{key}", node[key]
    if kind == "scale":
        return "response_scale.options", data.get("response_scale", {}).get("options", ())
    if data.get("kind") == PAIRWISE:
        return "answers", data.get("answers", ())
    return f"{path}.options", ()


def _wrong_with_instruction(item: Item, data: Node) -> str:
    """Why the item cannot tell people what to answer; empty where it can."""
    if data.get("kind") not in INSTRUCTED_KINDS or data.get("id") in NEVER_INSTRUCTED or "questions" in data:
        return "no item of this instrument can tell people what to answer"
    if item.type not in ("scale", "single"):
        return f"is for items of type scale or single, not {item.type}"
    if item.scale:
        return f"the item counts in the scale {item.scale!r}, so it cannot tell people what to answer"
    # True and 4.0 equal whole numbers, but are not what a form gives.
    if type(item.instructed) not in (int, str) or item.instructed not in _choices(item):
        return f"{item.instructed!r} is none of the item's own values"
    return ""


def _choices(item: Item) -> list[str | int]:
    if item.minimum is not None and item.maximum is not None:
        return list(range(item.minimum, item.maximum + 1))
    return [option.value for option in item.options if option.value != DECLINED]


def _instruction(data: Node) -> tuple[Any, str]:
    if "trigger" in data:
        return data["trigger"].get("scope"), "trigger.scope"
    return data.get("instruction"), "instruction"


def _attribution(data: Node) -> str:
    return "; ".join(source["cite"] for source in data.get("sources", ()) if "cite" in source)


def _scale_keys(data: Node) -> set[str]:
    return {node.get("key") for part in ("factors", "facets") for node in data.get(part, ())}


def _repeated(values: Iterator[Any]) -> list[Any]:
    return [value for value, count in Counter(values).items() if count > 1]
