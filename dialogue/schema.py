"""Check a document against a schema: every fault at once, each with its place and a sentence what to do. Pure.

A schema is a dataclass or a TypedDict whose fields are annotated for pydantic. pydantic finds what is wrong with single
values; the words are ours. Then the rules of each table look at it as a whole, also where the document has faults: what
is wrong is left out before.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, is_dataclass
from dataclasses import fields as dataclass_fields
from functools import cache, reduce
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    Strict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError, core_schema
from typing_extensions import is_typeddict

from dialogue.documents import DEEPEST, Fault, Place, place_of, suggestion, unkept_values
from dialogue.documents import translate as _
from dialogue.providers.key_variables import is_listed, is_own

KNOWN_KEYS_ONLY = ConfigDict(extra="forbid")
ROUNDS = 10  # of checking again without what was faulty
OURS = "fault"  # the type of an error that has a sentence of ours
SLUG = re.compile(r"[a-z0-9][a-z0-9_-]*")
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
LONGEST_SLUG, LONGEST_VARIABLE, LONGEST_ADDRESS = 60, 100, 500  # characters
LONGEST_EMAIL = 254  # characters (RFC 5321)

Rule = tuple[Place, str]  # a place below the value that a rule looks at, and what is wrong there


def refuse(faults: Iterable[Rule]) -> ValidationError:
    """Return the error that a validator raises for several faults below its value."""
    details = [
        InitErrorDetails(type=PydanticCustomError(OURS, "{message}", {"message": message}), loc=place, input=None)
        for place, message in faults
    ]
    return ValidationError.from_exception_data("schema", details)


# Kinds of value.


def about(meaning: str, example: Any, **limits: Any) -> Any:
    """Return what pydantic's `Field` says about a key: its meaning, a value as people would write it, its limits."""
    return Field(description=meaning, examples=[example], **limits)


@dataclass(frozen=True)
class Needed:
    """A mark of a key that must not be left blank. `unless`: the place, in the same table, of what makes up for it."""

    unless: tuple[str, ...] = ()

    def is_made_up_for(self, table: Any) -> bool:
        """Return whether the table has what makes up for the key."""
        return bool(self.unless) and not is_blank(reduce(getattr, self.unless, table))


def check_slug(text: str) -> str:
    """Return the text where it can stand in addresses and file names."""
    if text and not SLUG.fullmatch(text):
        raise ValueError(_("must be lower-case letters, digits, _ and -, beginning with a letter or digit"))
    return text


def check_unlike(members: Sequence[Any]) -> Sequence[Any]:
    """Return the members where none is listed twice."""
    twice = [number for number, member in enumerate(members) if member in members[:number]]
    if twice:
        raise refuse(((number,), _('"%(value)s" is listed twice', value=members[number])) for number in twice)
    return members


def check_email(text: str) -> str:
    """Return the text where it is one plain address, which can stand in the head of a mail."""
    from django.core.exceptions import ValidationError as DjangoError  # the analysis runs without it
    from django.core.validators import validate_email

    try:
        if text:
            validate_email(text)
    except DjangoError:
        raise ValueError(_("must be an e-mail address and nothing else, as name@example.org")) from None
    return text


def check_web_address(text: str) -> str:
    """Return the text where it is an address of the web. It is not repeated: someone may have put a password in."""
    if text and not text.startswith(("http://", "https://")):
        raise ValueError(_("must begin with http:// or https://"))
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise ValueError(_("must contain no user and no password: give the name of the variable with the key"))
    return text


def check_variable(text: str) -> str:
    """Return the text where it names an environment variable. It is not repeated: it may be the key itself."""
    if text and not VARIABLE.fullmatch(text):
        raise ValueError(_("must be the name of an environment variable (capitals, digits, _), never the key"))
    if is_own(text):
        raise ValueError(
            _("is one of emostudy's own secrets and is never sent to anyone: name the variable with the provider's key")
        )
    if text and not is_listed(text):
        raise ValueError(
            _("is not one of the variables that this server lets a study name (MODEL_KEYS): ask its admin")
        )
    return text


@dataclass(frozen=True)
class OneOf:
    """One of these words, or blank. Words that are registered after the schema has been read count too."""

    words: Collection[str] | Callable[[], Collection[str]]

    @property
    def choices(self) -> Collection[str]:
        """Return the words as they are now."""
        return self.words() if callable(self.words) else self.words

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def check(self, word: str) -> str:
        """Return the word where it is known."""
        if word and word not in self.choices:
            raise ValueError(none_of(word, self.choices))
        return word


def none_of(word: object, choices: Collection[str]) -> str:
    """Return what to say of a word that is not known."""
    message = _('"%(word)s" is not one of %(choices)s', word=word, choices=", ".join(choices))
    return message + suggestion(str(word), choices)


def strip(limit: int | None = None) -> StringConstraints:
    """Return the constraint of a text without spaces around it, of at most so many characters."""
    return StringConstraints(strip_whitespace=True, max_length=limit)


Whole = Annotated[int, Strict()]
Truth = Annotated[bool, Strict()]
Number = Annotated[float, Strict()]
Line = Annotated[str, strip()]
NeededLine = Annotated[Line, Needed()]
Slug = Annotated[str, strip(LONGEST_SLUG), AfterValidator(check_slug), Needed()]
Lines = Annotated[tuple[Line, ...], AfterValidator(check_unlike)]
Email = Annotated[str, strip(LONGEST_EMAIL), AfterValidator(check_email)]
WebAddress = Annotated[str, strip(LONGEST_ADDRESS), AfterValidator(check_web_address)]
Variable = Annotated[str, strip(LONGEST_VARIABLE), AfterValidator(check_variable)]


# Fields of a schema.


class SchemaField(NamedTuple):
    """A key as its schema declares it. `kind` is the type by itself, None where the schema does not say."""

    kind: Any
    metadata: tuple[Any, ...] = ()
    name: str = ""

    @property
    def info(self) -> FieldInfo | None:
        """Return what pydantic's `Field` says about it."""
        return next((each for each in self.metadata if isinstance(each, FieldInfo)), None)

    @property
    def key(self) -> str:
        """Return the key in the document."""
        return (self.info and self.info.alias) or self.name

    @property
    def members(self) -> "SchemaField":
        """Return the field of each member of a list."""
        members = get_args(self.kind) if get_origin(self.kind) in (tuple, list) else ()
        return field_from(members[0]) if members else SchemaField(None)

    def limit(self, name: str) -> Any:
        """Return a limit, as `ge` or `max_length`; None where there is none."""
        rules = [rule for each in self.metadata for rule in [each, *getattr(each, "metadata", ())]]
        return next((limit for rule in rules if (limit := getattr(rule, name, None)) is not None), None)

    def marker(self, kind: type) -> Any:
        """Return what of this kind stands beside the type; None where there is nothing."""
        return next((each for each in self.metadata if isinstance(each, kind)), None)


def field_from(annotation: Any, name: str = "") -> SchemaField:
    """Return the field that is annotated so. `X | None` is X."""
    metadata: tuple[Any, ...] = ()
    while (origin := get_origin(annotation)) in (Annotated, Required, NotRequired, Union, UnionType):
        if origin is Annotated:
            metadata += annotation.__metadata__
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    return SchemaField(annotation, metadata, name)


@cache
def fields_of(schema: Any) -> Mapping[str, SchemaField]:
    """Return the fields of a table by key; none where the schema is of something else."""
    if not isinstance(schema, type):
        return {}
    if issubclass(schema, BaseModel):
        names: Iterable[str] = schema.model_fields
    elif is_dataclass(schema):
        names = [field.name for field in dataclass_fields(schema)]
    else:
        names = schema.__annotations__ if is_typeddict(schema) else ()
    hints = get_type_hints(schema, include_extras=True) if names else {}
    return {field.key: field for field in (field_from(hints[name], name) for name in names)}


def field_at(schema: Any, place: Place) -> SchemaField:
    """Return the field at a place of a document."""
    field = field_from(schema)
    for part in place:
        field = field.members if isinstance(part, int) else fields_of(field.kind).get(part, SchemaField(None))
    return field


# Words.

REQUIREMENTS: Mapping[str, Callable[[], str]] = {
    "missing": lambda: _("is missing"),
    "bool_type": lambda: _("must be true or false"),
    "int_type": lambda: _("must be a whole number"),
    "float_type": lambda: _("must be a number"),
    "string_type": lambda: _("must be text"),
    "string_too_short": lambda: _("is missing"),
    "too_short": lambda: _("is empty"),
}
LISTS = ("tuple_type", "list_type")
TABLES = ("dataclass_type", "dict_type", "mapping_type", "model_type")
UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
RANGES: Mapping[tuple[str, ...], Callable[..., str]] = {
    ("ge",): lambda **limits: _("must be at least %(ge)s", **limits),
    ("gt",): lambda **limits: _("must be above %(gt)s", **limits),
    ("le",): lambda **limits: _("must be at most %(le)s", **limits),
    ("lt",): lambda **limits: _("must be below %(lt)s", **limits),
    ("ge", "le"): lambda **limits: _("must be between %(ge)s and %(le)s", **limits),
    ("gt", "le"): lambda **limits: _("must be above %(gt)s and at most %(le)s", **limits),
    ("gt", "lt"): lambda **limits: _("must be above %(gt)s and below %(lt)s", **limits),
    ("ge", "lt"): lambda **limits: _("must be at least %(ge)s and below %(lt)s", **limits),
}


def wording(error: ErrorDetails, schema: Any, *, json: bool) -> str:
    """Return a sentence for an error of pydantic. A TOML file has tables, a JSON file has objects."""
    kind, place = error["type"], error["loc"]
    field = field_at(schema, place)
    if kind in REQUIREMENTS:
        return REQUIREMENTS[kind]()
    if kind in UNKNOWN:
        table = field_at(schema, place[:-1]).kind
        hint = getattr(table, "HINTS", {}).get(place[-1])
        return hint or _("unknown key") + suggestion(str(place[-1]), fields_of(table))
    if kind in TABLES:
        return _("must be an object") if json else _("must be a table")
    if kind in LISTS and not fields_of(field.members.kind):
        return _("must be a list")
    if kind in LISTS:
        return (
            _("must be a list of objects")
            if json
            else _("must be an array of tables: [[%(key)s]]", key=place_of(place))
        )
    if kind == OURS:
        return str(error["ctx"]["message"])
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if kind == "literal_error":
        return none_of(error["input"], re.findall(r"'([^']*)'", error["ctx"]["expected"]))
    if kind == "string_too_long":
        return _("must be at most %(limit)s characters", limit=error["ctx"]["max_length"])
    if kind == "too_long":
        return _("must have at most %(limit)s members", limit=error["ctx"]["max_length"])
    return out_of_range(field, error.get("ctx", {}))


def out_of_range(field: SchemaField, broken: Mapping[str, Any]) -> str:
    """Return which numbers a field takes; of one whose own reader knows them, the limit that was `broken`."""
    names = ("ge", "gt", "le", "lt")
    limits = {name: limit for name in names if (limit := field.limit(name)) is not None}
    limits = limits or {name: broken[name] for name in names if name in broken}
    texts = {name: f"{limit:g}" if isinstance(limit, float) else limit for name, limit in limits.items()}
    return RANGES[tuple(limits)](**texts) if limits else _("cannot stand here; see the reference")


# Checking.


class FaultList:
    """The faults so far. Faults at a faulty place or below it are left out, because they follow from the first."""

    def __init__(self) -> None:
        self.places: dict[Place, list[str]] = {}

    def add(self, faults: Iterable[Rule]) -> None:
        """Add faults that were found together."""
        places = list(self.places)
        for place, message in faults:
            if not any(place[: len(each)] == each for each in places):
                self.places.setdefault(place, []).append(message)

    def is_faulty(self, place: Place) -> bool:
        """Return whether something is wrong at a place or below it."""
        return any(each[: len(place)] == place for each in self.places)

    def faults(self) -> list[Fault]:
        """Return them with their places as people read them."""
        faults = ((place_of(place), message) for place, messages in self.places.items() for message in messages)
        return [Fault(place, message) for place, message in dict.fromkeys(faults)]


class CheckedDocument(NamedTuple):
    """The result of checking a document. If there are faults, `value` is what the rest of the document says, so that
    further rules can look at it; None where too little is left."""

    value: Any
    fault_list: FaultList


def check(schema: Any, document: Any, *, around: Any = None, json: bool = False) -> CheckedDocument:
    """Check a document against a schema. Validators and rules get `around`."""
    faults, unkept = FaultList(), list(unkept_values(document))
    faults.add(unkept)
    if any(len(place) >= DEEPEST for place, _message in unkept):
        return CheckedDocument(None, faults)
    document = deepcopy(document)
    mend(document, schema, [place for place, _message in unkept], [])
    for _round in range(ROUNDS):
        try:
            value = adapter(schema).validate_python(document, context=around)
        except ValidationError as error:
            errors = error.errors(include_url=False)
            new = [each for each in errors if not faults.is_faulty(each["loc"])]
            faults.add([(each["loc"], wording(each, schema, json=json)) for each in new])
            missing = [each["loc"] for each in errors if each["type"] == "missing"]
            mend(document, schema, [each["loc"] for each in errors if each["type"] != "missing"], missing)
        else:
            blank = [place for place in blank_keys(value, schema) if not faults.is_faulty(place)]
            faults.add([(place, _("is missing")) for place in blank])
            broken = list(rule_faults(value, schema, around))
            # Of a whole table only once its values are in order.
            faults.add([rule for rule in broken if not (isinstance(rule[0][-1], int) and faults.is_faulty(rule[0]))])
            return CheckedDocument(value, faults)
    return CheckedDocument(None, faults)


@cache
def adapter(schema: Any) -> TypeAdapter[Any]:
    """Return what checks against this schema, made once."""
    return TypeAdapter(schema)


def mend(document: Any, schema: Any, faulty: Iterable[Place], missing: Iterable[Place]) -> None:
    """Fill in what is missing, and leave out what is faulty, so that the rest can be checked."""
    for place in missing:
        node_at(document, place[:-1])[place[-1]] = filler(field_at(schema, place))
    members = set()
    for place in faulty:
        there = existing(document, place)
        if there and isinstance(there[-1], int) and not fields_of(field_at(schema, there).kind):
            members.add(there)
        elif there:
            parent = node_at(document, there[:-1])
            if isinstance(there[-1], int):
                parent[there[-1]] = {}
            else:
                parent.pop(there[-1], None)
    for place in sorted(members, reverse=True):  # from the end, for what follows a member moves up with it
        del node_at(document, place[:-1])[place[-1]]


def existing(document: Any, place: Place) -> Place:
    """Return as much of the place as there is in the document."""
    for length in range(len(place)):
        node = node_at(document, place[:length])
        held = isinstance(node, dict) and place[length] in node
        if not held and not (isinstance(node, list) and place[length] in range(len(node))):
            return place[:length]
    return place


def node_at(document: Any, place: Place) -> Any:
    """Return what stands at a place."""
    for part in place:
        document = document[part]
    return document


def filler(field: SchemaField) -> Any:
    """Return a value that passes for one that is missing."""
    if fields_of(field.kind):
        return {}
    if get_origin(field.kind) is Literal:
        return get_args(field.kind)[0]
    if field.kind in (int, float):
        return field.limit("ge") or field.limit("le") or 1
    return [] if get_origin(field.kind) in (tuple, list) else ""


def members_of(value: Any, schema: Any) -> Iterator[tuple[str | int, Any, SchemaField]]:
    """Return the members of a table or list, each with its key or position and its field."""
    if isinstance(value, tuple | list):
        yield from ((number, member, SchemaField(schema).members) for number, member in enumerate(value))
    for key, field in fields_of(schema_of(value, schema)).items():
        yield key, value.get(key) if isinstance(value, dict) else getattr(value, field.name), field


def blank_keys(value: Any, schema: Any, place: Place = ()) -> Iterator[Place]:
    """Return the places of needed keys that are blank."""
    for key, member, field in members_of(value, schema):
        needed = field.marker(Needed)
        if needed and member is not None and is_blank(member) and not needed.is_made_up_for(value):
            yield (*place, key)
        yield from blank_keys(member, field.kind, (*place, key))


def rule_faults(value: Any, schema: Any, around: Any, place: Place = ()) -> Iterator[Rule]:
    """Return the `broken_rules(around)` of every table, from inside outwards."""
    for key, member, field in members_of(value, schema):
        yield from rule_faults(member, field.kind, around, (*place, key))
    if hasattr(value, "broken_rules"):
        yield from (((*place, *below), message) for below, message in value.broken_rules(around))


def schema_of(value: Any, declared: Any) -> Any:
    """Return the schema of a table: that of a TypedDict is the declared one."""
    return declared if isinstance(value, dict) else type(value)


def is_blank(value: Any) -> bool:
    """Return whether there is nothing in a text, in any language, or in a list."""
    return not value or (isinstance(value, dict) and not any(value.values()))
