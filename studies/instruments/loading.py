"""Read a file of an instrument that people answer (`instrument_file.py`) → Questionnaire. Pure.

Instruments come with emostudy (fixtures/instruments), from an app outside it (`register_instrument`), or were made on
this site (`SITE`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from dialogue.documents import DocumentError, Fault, Place, parse_json, place_of, read_bytes, read_text, suggestion
from dialogue.documents import translate as _
from dialogue.schema import FaultList, check
from studies.instruments.definitions import DECLINED, Condition, Item, Option, Questionnaire, Scale, Text
from studies.instruments.instrument_file import ConditionFile, InstrumentFile, ItemFile, OptionFile, ScaleFile
from studies.instruments.site_folder import SiteFolder

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "instruments"
LARGEST_FILE = 1_000_000  # bytes
TEXT_LIMIT = 2000  # characters of an open answer whose file sets no limit of its own
INTERVIEW_LIMIT = 5000  # of an answer to an interview's question
PAIRWISE = "pairwise"  # the kind whose questions compare two things that stand side by side
BESIDE_EACH_OTHER = ("first", "tie", "second")  # what each of them can be answered with
RATING_SCALE = "rating_scale"  # the kind whose answers are ratings
WITHOUT_NUMBERS = ("text", "single", "country")  # types of items whose answer is no number
INSTRUCTED_KINDS = ("questionnaire", RATING_SCALE)
# Their answers are told to models, asked of each partner, or given beside a reply where there is room for one item.
NEVER_INSTRUCTED = ("profile", "blinding", "reply_rating")
OVERALL: Text = {"en": "Overall", "zh": "总体"}
BODIES = ("items", "dimensions", "questions", "expert_questions", "comparisons")  # where items stand


class InstrumentError(DocumentError):
    """Every fault of an instrument file; as text one line for each, `FILE: place: what is wrong`."""


_OUTSIDE: dict[str, Path] = {}  # the files of instruments that are registered from outside the product, by id


def register_instrument(path: Path) -> None:
    """Make an instrument known as if its file were in fixtures/instruments. Call it in your `AppConfig.ready`.

    Raises InstrumentError if the file is faulty, or if there is another instrument of that id.
    """
    if is_taken(path.stem) and _OUTSIDE.get(path.stem) != path:
        raise InstrumentError(path.name, [Fault("id", _("there is an instrument of this id already"))])
    read_instrument(path)
    _OUTSIDE[path.stem] = path
    forget_instruments()


def is_taken(instrument_id: str) -> bool:
    """Return whether no instrument of this site can have the id: a file that comes with emostudy or with an app has
    it, which need not be one that people answer."""
    return instrument_id in _OUTSIDE or (FIXTURES / f"{instrument_id}.json").exists()


def forget_instruments() -> None:
    """Read each file again when it is next asked for."""
    _load.cache_clear()
    _ids_in.cache_clear()
    SITE.forget()


def path_of(instrument_id: str, folder: Path = FIXTURES) -> Path:
    """Return the file of an instrument, also of one that is from elsewhere."""
    elsewhere = (_OUTSIDE.get(instrument_id) or SITE.path_of(instrument_id)) if folder == FIXTURES else None
    return elsewhere or folder / f"{instrument_id}.json"


def load(instrument_id: str, folder: Path = FIXTURES) -> Questionnaire:
    """Return the instrument. Raise InstrumentError with everything that is wrong with its file."""
    own = SITE.instruments.get(instrument_id) if folder == FIXTURES else None
    return own or _load(instrument_id, folder)


@cache
def _load(instrument_id: str, folder: Path) -> Questionnaire:
    return read_instrument(path_of(instrument_id, folder))


def read_instrument(path: Path) -> Questionnaire:
    """Return the instrument in a file. Raise InstrumentError."""
    return build_questionnaire(read_object(path), path.stem, path.name)


def build_questionnaire(data: Mapping[str, Any], stem: str, file_name: str) -> Questionnaire:
    """Return the instrument that a file says. `stem`: the id that its name gives. Raise InstrumentError."""
    if not has_items(data):
        raise InstrumentError(file_name, [Fault("items", _("there is nothing here that a person can answer"))])
    file, fault_list = check(InstrumentFile, data, json=True)
    questionnaire = Builder(file, stem, fault_list).questionnaire(data) if file else None
    if questionnaire is None or fault_list.places:
        raise InstrumentError(file_name, fault_list.faults())
    return questionnaire


def instrument_ids(folder: Path = FIXTURES) -> tuple[str, ...]:
    """Return the instruments that people can answer. The folder also has lexicons, role cards and the like."""
    return _ids_in(folder, tuple(SITE.instruments) if folder == FIXTURES else ())


@cache
def _ids_in(folder: Path, of_site: tuple[str, ...]) -> tuple[str, ...]:
    ours = {path.stem for path in folder.glob("*.json") if has_items(read_object(path))}
    return tuple(sorted(ours.union(of_site, _OUTSIDE if folder == FIXTURES else ())))


def instructed_items() -> dict[tuple[str, str], str | int]:
    """Return the answer that an item tells people to give, by instrument and item, for the items that do."""
    return {
        (id, item.key): item.instructed
        for id in instrument_ids()
        for item in load(id).items
        if item.instructed is not None
    }


def unscored_items() -> dict[str, list[str]]:
    """Return the items of rating forms that are answered in words or by a choice, by instrument."""
    forms = (load(id) for id in instrument_ids() if load(id).kind == RATING_SCALE)
    by_form = {form.id: [item.key for item in form.items if item.type in WITHOUT_NUMBERS] for form in forms}
    return {id: keys for id, keys in by_form.items() if keys}


def read_object(path: Path) -> Mapping[str, Any]:
    """Return the object in a JSON file. Raise InstrumentError."""
    try:
        content = read_bytes(path, limit=LARGEST_FILE)
    except DocumentError as error:
        raise InstrumentError(path.name, error.faults) from error
    return parse_object(content, path.name)


def parse_object(content: bytes, file_name: str) -> Mapping[str, Any]:
    """Return the object in a JSON text. Raise InstrumentError."""
    try:
        data = parse_json(read_text(content, file_name), file_name)
    except DocumentError as error:
        raise InstrumentError(file_name, error.faults) from error
    if not isinstance(data, dict):
        raise InstrumentError(file_name, [Fault("", _("must be an object"))])
    return data


def has_items(data: Mapping[str, Any]) -> bool:
    """Return whether there is something in a file that a person can answer."""
    sections = data.get("sections")
    guides = [data.get("participant_version"), *(sections if isinstance(sections, list) else ())]
    return any(data.get(body) for body in BODIES) or any(isinstance(one, dict) and "questions" in one for one in guides)


@dataclass(frozen=True)
class Part:
    """A list of items in a file, with what is usual for them."""

    place: Place
    items: Sequence[ItemFile]
    track: str = "all"
    type: str = "scale"
    required: bool = True
    limit: int = TEXT_LIMIT


def parts_of(file: InstrumentFile) -> Iterator[Part]:
    """Return the lists of items in the order in which they are asked."""
    yield Part(("items",), file.items)
    yield Part(("dimensions",), file.dimensions)
    yield Part(("questions",), file.questions)
    yield Part(("expert_questions",), file.expert_questions, track="expert")
    yield Part(("comparisons",), file.comparisons, type="single")
    for number, section in enumerate(file.sections):
        yield interview_part(("sections", number, "questions"), section.questions, "expert")
    if file.participant_version:
        yield interview_part(("participant_version", "questions"), file.participant_version.questions, "participant")


def interview_part(place: Place, questions: Sequence[ItemFile], track: str) -> Part:
    """Return the questions of an interview, which no one has to answer."""
    return Part(place, questions, track=track, type="text", required=False, limit=INTERVIEW_LIMIT)


class Builder:
    """A builder of a questionnaire from a file of well-formed values, which finds what does not go together."""

    def __init__(self, file: InstrumentFile, stem: str, fault_list: FaultList) -> None:
        self.file, self.stem, self.fault_list = file, stem, fault_list
        self.usual = file.response_scale or {}

    def fault(self, place: Place, message: str) -> None:
        """Keep a fault."""
        self.fault_list.add([(place, message)])

    def questionnaire(self, data: Mapping[str, Any]) -> Questionnaire:
        """Return the questionnaire; `data` is the file as it came."""
        file = self.file
        if file.id != self.stem:
            self.fault(("id",), _('must be the name of the file, "%(name)s"', name=self.stem))
        items = {
            (*part.place, number): self.item(one, (*part.place, number), part)
            for part in parts_of(file)
            for number, one in enumerate(part.items)
        }
        self.check_keys(items)
        self.check_conditions(items)
        self.check_comparisons(items)
        self.check_instructions(items)
        return Questionnaire(
            id=self.stem,
            kind=file.kind,
            version=file.version,
            title=file.title,
            heading=file.heading or file.title,
            items=tuple(items.values()),
            scales=tuple(self.scales(items)),
            instruction=file.trigger.get("scope") if file.trigger else file.instruction,
            instruction_in_third_person=file.third_person.instruction if file.third_person else None,
            comment=file.display.get("comment") if file.display else None,
            raw={"attribution": "; ".join(source["cite"] for source in file.sources if "cite" in source), **data},
        )

    def item(self, one: ItemFile, place: Place, part: Part) -> Item:
        """Return an item with what is usual for its part filled in."""
        kind: Any = one.type or part.type
        options = self.options(one, place, kind)
        minimum, maximum = self.bounds(one, place, kind, options)
        required = self.usual.get("required", part.required) if one.required is None else one.required
        item = Item(
            key=one.name,
            type=kind,
            text=one.question or one.text,
            options=options,
            options_from=one.options_from,
            minimum=minimum,
            maximum=maximum,
            required=required,
            reverse=bool(one.factor) and one.key == "-",
            scale=one.factor or one.facet,
            label=one.label or one.profile_line,
            definition=one.definition,
            phases=one.phases,
            track=one.track or part.track,
            minimum_length=one.min_chars or {},
            maximum_length=self.limit(one, place, part.limit) if kind == "text" else None,
            show_if=condition_from(one.show_if),
            hide_if=condition_from(one.hide_if),
            maps_to=one.maps_to,
            instructed=one.instructed,
        )
        return replace(item, in_third_person=self.in_third_person(item, one, place)) if one.third_person else item

    def in_third_person(self, item: Item, one: ItemFile, place: Place) -> Item:
        """Return the item in the words for readers who are not the seeker. Its keys and values are the same."""
        words = one.third_person
        assert words is not None  # noqa: S101 - asked of items that have them
        options = item.options
        if words.anchors is not None:
            values = [option.value for option in item.options]
            if [anchor.value for anchor in words.anchors] != values:
                self.fault(
                    (*place, "third_person", "anchors"),
                    _("must have the values of the item's own: %(values)s", values=", ".join(map(str, values))),
                )
            texts = (anchor.text for anchor in words.anchors)
            options = tuple(replace(option, text=text) for option, text in zip(item.options, texts, strict=False))
        return replace(item, text=words.question, definition=words.definition or item.definition, options=options)

    def options(self, one: ItemFile, place: Place, kind: str) -> tuple[Option, ...]:
        """Return the options of an item, wherever in the file they stand."""
        where, options = self.option_files(one, place, kind)
        by = "value" if kind == "scale" else "key"
        values = [getattr(option, by) for option in options]
        for number, value in enumerate(values):
            if value is None:
                self.fault((*where, number, by), _("is missing"))
            elif value in values[:number]:
                earlier = place_of((*where, values.index(value)))
                self.fault(
                    (*where, number, by), _('"%(value)s" is already used at %(place)s', value=value, place=earlier)
                )
        if kind == "single" and not options:
            self.fault(where, _("is empty: a single choice needs options"))
        if one.answer is not None and one.answer not in values:
            hint = suggestion(one.answer, [str(value) for value in values])
            self.fault((*place, "answer"), _('"%(value)s" is not one of the options', value=one.answer) + hint)
        return tuple(option_from(option, value, one) for option, value in zip(options, values, strict=True))

    def option_files(self, one: ItemFile, place: Place, kind: str) -> tuple[Place, Sequence[OptionFile]]:
        """Return where the options of an item stand in the file, and what stands there."""
        if one.options_ref:
            options = getattr(self.file, one.options_ref, None)
            if not isinstance(options, tuple):
                self.fault((*place, "options_ref"), _('there is no list "%(name)s"', name=one.options_ref))
            return (one.options_ref,), options if isinstance(options, tuple) else ()
        for key in ("anchors", "options"):
            if getattr(one, key) is not None:
                return (*place, key), getattr(one, key)
        if kind == "scale":
            return ("response_scale", "options"), self.usual.get("options", ())
        if self.file.kind == PAIRWISE:
            return ("answers",), self.file.answers
        return (*place, "options"), ()

    def bounds(
        self, one: ItemFile, place: Place, kind: str, options: Sequence[Option]
    ) -> tuple[int | None, int | None]:
        """Return the least and the greatest answer of an item that takes numbers."""
        if kind not in ("scale", "integer"):
            return None, None
        anchors = [option.value for option in options if isinstance(option.value, int)]
        minimum = self.usual.get("min", min(anchors, default=None)) if one.min is None else one.min
        maximum = self.usual.get("max", max(anchors, default=None)) if one.max is None else one.max
        if minimum is None or maximum is None:
            self.fault((*place, "min"), _("needs whole numbers as min and max"))
            return None, None
        if minimum >= maximum:
            self.fault((*place, "min"), _("%(min)s is not below max, %(max)s", min=minimum, max=maximum))
        for value in anchors:
            if not minimum <= value <= maximum:
                outside = _("%(value)s is outside %(min)s to %(max)s", value=value, min=minimum, max=maximum)
                self.fault((*place, "anchors"), outside)
        return minimum, maximum

    def limit(self, one: ItemFile, place: Place, usual: int) -> int:
        """Return how many characters an answer can have."""
        limit = one.max_length or one.max_chars or usual
        for language, minimum in (one.min_chars or {}).items():
            if minimum > limit:
                above = _("%(value)s is above the limit of %(limit)s", value=minimum, limit=limit)
                self.fault((*place, "min_chars", language), above)
        return limit

    def check_keys(self, items: Mapping[Place, Item]) -> None:
        """Find keys that two items have."""
        places: dict[str, Place] = {}
        for place, item in items.items():
            if item.key and places.setdefault(item.key, place) != place:
                where = place_of(places[item.key])
                self.fault((*place, "id"), _('"%(value)s" is already used at %(place)s', value=item.key, place=where))

    def check_conditions(self, items: Mapping[Place, Item]) -> None:
        """Find conditions about questions that are not there."""
        keys = {item.key for item in items.values()}
        for place, item in items.items():
            for name in ("show_if", "hide_if"):
                condition = getattr(item, name)
                question = condition.question.removeprefix("pre.") if condition else ""
                if question and question not in keys:
                    wrong = _('there is no item "%(name)s"', name=question) + suggestion(question, keys)
                    self.fault((*place, name, "q"), wrong)

    def check_comparisons(self, items: Mapping[Place, Item]) -> None:
        """Find questions about a pair that cannot be answered beside each other."""
        if self.file.kind != PAIRWISE:
            return
        if self.file.reason is None:
            self.fault(("reason",), _("is missing"))
        for place, item in items.items():
            if tuple(option.value for option in item.options) != BESIDE_EACH_OTHER:
                self.fault(
                    (*place, "options"), _("must be answered by %(answers)s", answers=", ".join(BESIDE_EACH_OTHER))
                )

    def check_instructions(self, items: Mapping[Place, Item]) -> None:
        """Find items that cannot tell people what to answer."""
        for place, item in items.items():
            if item.instructed is not None and (wrong := self.wrong_with_instruction(item)):
                self.fault((*place, "instructed"), wrong)

    def wrong_with_instruction(self, item: Item) -> str:
        """Return why the item cannot tell people what to answer; empty where it can."""
        if self.file.kind not in INSTRUCTED_KINDS or self.file.id in NEVER_INSTRUCTED or self.file.questions:
            return _("no item of this instrument can tell people what to answer")
        if item.type not in ("scale", "single"):
            return _("is for items of type scale or single, not %(type)s", type=item.type)
        if item.scale:
            return _(
                'the item counts in the scale "%(scale)s", so it cannot tell people what to answer', scale=item.scale
            )
        # True and 4.0 equal whole numbers, but are not what a form gives.
        if type(item.instructed) not in (int, str) or item.instructed not in choices_of(item):
            return _("%(value)r is not one of the item's own values", value=item.instructed)
        return ""

    def scales(self, items: Mapping[Place, Item]) -> Iterator[Scale]:
        """Return the scales and facets that the file describes, and the mean of all dimensions."""
        for part in ("factors", "facets"):
            for number, one in enumerate(getattr(self.file, part)):
                yield self.scale(one, (part, number), list(items.values()))
        names = {one.key for one in (*self.file.factors, *self.file.facets)}
        for place, item in items.items():
            if item.scale and item.scale not in names:
                wrong = _('the file describes no scale "%(scale)s"', scale=item.scale) + suggestion(item.scale, names)
                self.fault((*place, "factor"), wrong)
        if self.file.dimensions:
            scored = (item for item in items.values() if item.type not in WITHOUT_NUMBERS)
            keys = tuple(item.key for item in scored if item.instructed is None)
            yield Scale("overall", OVERALL, keys, len(keys))

    def scale(self, one: ScaleFile, place: Place, items: Sequence[Item]) -> Scale:
        """Return a scale with its items."""
        keys = tuple(item.key for item in items if item.scale == one.key)
        if not keys:
            self.fault(place, _("has no items"))
        needed = self.minimum_answered() if self.file.factors else len(keys)
        return Scale(one.key, one.label, keys, needed)

    def minimum_answered(self) -> int:
        """Return how many items of a scale must be answered. The sentence in the file is its only source."""
        rule = re.search(r"at least (\d+) of", str((self.file.scoring or {}).get("missing", "")))
        if rule is None:
            self.fault(("scoring", "missing"), _("does not say 'at least … of' how many items"))
            return 0
        return int(rule[1])


def option_from(option: OptionFile, value: Any, item: ItemFile) -> Option:
    """Return an option. Those of one group may be shown in any order among themselves."""
    group = "answer" if item.answer is not None else option.valence
    return Option("" if value is None else value, option.text, "" if group == "any" else group)


def condition_from(condition: ConditionFile | None) -> Condition | None:
    """Return the condition of an item."""
    return Condition(condition.q, condition.op, condition.value) if condition else None  # type: ignore[arg-type]


def choices_of(item: Item) -> list[str | int]:
    """Return the answers that an item can have."""
    if item.minimum is not None and item.maximum is not None:
        return list(range(item.minimum, item.maximum + 1))
    return [option.value for option in item.options if option.value != DECLINED]


SITE = SiteFolder(read_instrument, is_taken)  # the instruments that were made on this site
