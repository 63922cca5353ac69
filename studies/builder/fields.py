"""The fields of a page of the builder, made from the form of the study file (`studies/design/study_file.py`).

What is typed goes into the file as it is. The file's own check then says what is wrong with it, so that forms and files
have one set of rules.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from dialogue.documents import Place, place_of
from dialogue.languages import LANGUAGES
from dialogue.providers.registry import has_key
from dialogue.schema import Needed, SchemaField, fields_of
from dialogue.templatetags.languages import in_brackets
from studies.builder.document import StudyDocument
from studies.builder.pasted_keys import is_variable, say_what_to_do, wants_variable
from studies.builder.sections import PROMPTS
from studies.design.reference import as_toml, choices_of, table_of, usual_of
from studies.design.spec import check_instrument, read_checkpoints, read_opening
from studies.design.study_file import SCRIPTED, SCRIPTS, check_country, read_placeholder, read_rates, read_text
from studies.instruments.countries import COUNTRIES, in_order
from studies.instruments.loading import instrument_ids, load
from studies.models import Participation
from studies.participation.language import instrument_language
from studies.participation.step_kinds import KINDS

LONG = 80  # characters; a longer text gets several lines
RATING_SCALE = "rating_scale"
ALL = "all"  # tracks of people
FIRST = ("key", "name", "title", "kind")  # of the keys on a page
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
WORDS, TRUTH, CHOICE, SEVERAL, LINES, NUMBER, NUMBERS, RATES, TABLE, LINE = (
    *("words", "truth", "choice", "several", "lines", "number", "numbers", "rates", "table", "line"),
)
BY_CHECK = {
    read_text: WORDS,
    read_opening: WORDS,
    read_placeholder: WORDS,
    read_rates: RATES,
    read_checkpoints: NUMBERS,
}
BY_TYPE = {bool: TRUTH, int: NUMBER, float: NUMBER}


@dataclass(frozen=True)
class Choice:
    value: str
    label: str
    is_chosen: bool = False
    key: str = ""  # the word of the file, where the label has other words


@dataclass(frozen=True)
class Part:
    """One input of a field: the whole of it, or the text in one language."""

    name: str
    value: str
    label: str = ""
    language: str = ""

    @property
    def rows(self) -> int:
        """Return how many lines its text needs; 1 for a short one."""
        return min(12, max(self.value.count("\n") + 1, len(self.value) // LONG + 1))


@dataclass(frozen=True)
class Field:
    """A key of the study file, as a page shows it."""

    place: Place
    kind: str
    meaning: str
    value: Any = None
    usual: str = ""  # what holds where the key is left out
    needed: bool = False
    languages: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    faults: tuple[str, ...] = ()
    typed: str | None = None  # what could not be taken over as it was typed
    may_be_none: bool = False  # an empty text says that there is none
    note: str = ""  # what else there is to know of the value
    offered: tuple[str, ...] = ()  # values to choose from, beside which others can be typed
    wants_variable: bool = False  # the name of an environment variable, in whose place a key must not stand
    is_instrument: bool = False  # it names one or several instruments
    meanwhile: "tuple[Part, ...]" = ()  # what someone else has saved since, where something else was typed

    @property
    def name(self) -> str:
        """Return the name of its input, which is the place that faults name."""
        return place_of(self.place)

    @property
    def key(self) -> str:
        return str(self.place[-1])

    @property
    def words(self) -> SafeString:
        """Return its meaning for a page, with what stands between backticks as code."""
        return mark_safe(CODE.sub(r"<code>\1</code>", escape(self.meaning)))  # noqa: S308 - escaped

    @property
    def short_title(self) -> str:
        """Return the first sentence of its meaning, as messages name the field."""
        return get_first_sentence(self.meaning)

    @property
    def parts(self) -> list[Part]:
        """Return its inputs."""
        if self.kind in (WORDS, RATES):
            names = {one.code: one.name for one in LANGUAGES}
            texts = self.value if isinstance(self.value, Mapping) else dict.fromkeys(self.languages, self.value)
            return [Part(f"{self.name}.{code}", show(texts.get(code)), names[code], code) for code in self.languages]
        return [Part(self.name, self.typed if self.typed is not None else self.typed_form())]

    def typed_form(self) -> str:
        """Return the value as people type it. What may be a key, in a draft of earlier times, is not shown."""
        if self.wants_variable and not is_variable(self.value):
            return ""
        if self.kind == LINES:
            return "\n".join(map(show, self.value)) if isinstance(self.value, list) else show(self.value)
        if self.kind == NUMBERS:
            return ", ".join(map(show, self.value)) if isinstance(self.value, list) else show(self.value)
        if self.kind == TABLE:
            table = self.value if isinstance(self.value, Mapping) else {}
            return "\n".join(f"{key} = {as_toml(value)}" for key, value in table.items())
        return show(self.value)

    @property
    def is_ticked(self) -> bool:
        return self.value is True

    @property
    def is_none(self) -> bool:
        """Return whether it says that there is none."""
        return self.may_be_none and self.value == ""


def get_first_sentence(text: str) -> str:
    """Return the first sentence of an explanation, without its end and without signs for code."""
    return re.split(r"\.(?: |$)|[。;；]", text.replace("`", ""))[0]


def show(value: Any) -> str:
    """Return a value in a text field."""
    if value is None:
        return ""
    return value if isinstance(value, str) else as_toml(value)


# From the schema.


def checks_of(schema_field: SchemaField) -> list[Callable[..., Any]]:
    """Return the functions that check a key's value."""
    return [each.func for each in schema_field.metadata if hasattr(each, "func")]


def kind_of(schema_field: SchemaField) -> str:
    """Return which input a key gets."""
    if kind := next((BY_CHECK[check] for check in checks_of(schema_field) if check in BY_CHECK), ""):
        return kind
    if schema_field.members.kind:
        return SEVERAL if choices_for(schema_field.members, is_member=True) else LINES
    if choices_for(schema_field):
        return CHOICE
    if schema_field.kind in BY_TYPE:
        return BY_TYPE[schema_field.kind]
    return LINE if schema_field.kind is str else TABLE


def choices_for(schema_field: SchemaField, *, is_member: bool = False) -> list[tuple[str, str]]:
    """Return the values that a key can have, with a label for each; none where it is free. `is_member`: it is one of a
    list, and lists of instruments are of rating scales."""
    if check_instrument in checks_of(schema_field):
        return instrument_choices(RATING_SCALE if is_member else "")
    if check_country in checks_of(schema_field):
        language = instrument_language()
        return [(str(one.value), with_key(one.text[language], one.value)) for one in in_order(COUNTRIES, language)]
    values = choices_of(schema_field)
    names = {one.code: one.name for one in LANGUAGES} | {one: with_key(label, one) for one, label in words_for(values)}
    return [(one, names.get(one, one)) for one in values]


def words_for(values: Sequence[str]) -> list[tuple[str, str]]:
    """Return words for kinds of step, or for tracks; none for other values."""
    words = {one: str(kind.label) for one, kind in KINDS.items()}
    tracks = {one: str(label) for one, label in Participation.Track.choices}
    known = next((each for each in (words, tracks) if set(values) <= {*each, ALL}), {})
    return [(one, known[one]) for one in values if one in known]


def instrument_choices(kind: str = "") -> list[tuple[str, str]]:
    """Return the instruments, or those of one kind, with their titles."""
    language = instrument_language()
    names = [name for name in instrument_ids() if not kind or load(name).kind == kind]
    return sorted(((name, with_key(load(name).title[language], name)) for name in names), key=lambda one: one[1])


def with_key(label: str, key: object) -> str:
    """Return a label with the key that stands in the study file."""
    return f"{label}{in_brackets(key)}"


def make_fields(
    schema: Any,
    section: Place,
    document: StudyDocument,
    languages: tuple[str, ...],
    faults: Mapping[str, Sequence[str]],
) -> list[Field]:
    """Return a field for each key of a section that is no section itself."""
    fields = [
        make_field(schema, each, (*section, key), document, languages, faults)
        for key, each in fields_of(schema).items()
        if not table_of(each) and (*section, key) != (PROMPTS,)
    ]
    return sorted(fields, key=lambda one: FIRST.index(one.key) if one.key in FIRST else len(FIRST))


def make_field(
    schema: Any,
    schema_field: SchemaField,
    place: Place,
    document: StudyDocument,
    languages: tuple[str, ...],
    faults: Mapping[str, Sequence[str]],
) -> Field:
    kind, value = kind_of(schema_field), document.get(place)
    one_of_them = schema_field.members if kind == SEVERAL else schema_field
    choices = choices_for(one_of_them, is_member=kind == SEVERAL) if kind in (CHOICE, SEVERAL) else []
    values = value if isinstance(value, list) else [value]
    unknown = [(one, one) for one in values if choices and isinstance(one, str) and one not in dict(choices)]
    needed = schema_field.marker(Needed)
    return Field(
        place,
        kind,
        explain(schema_field),
        value,
        usual=describe_usual(schema, schema_field),
        needed=needed is not None and not (needed.unless and document.get((*place[:-1], *needed.unless))),
        languages=languages,
        choices=tuple(Choice(one, label, one in values) for one, label in [*choices, *unknown]),
        faults=faults_at(faults, place),
        wants_variable=wants_variable(schema_field),
        note=describe_variable(value) if wants_variable(schema_field) else "",
        offered=offer_scripts(place, document),
        is_instrument=check_instrument in checks_of(one_of_them),
    )


def offer_scripts(place: Place, document: StudyDocument) -> tuple[str, ...]:
    """Return the scripts that can answer for an arm or a judge whose kind is a script; none for other keys."""
    is_script = place[-1] == "model" and document.get((*place[:-1], "kind")) == SCRIPTED
    return SCRIPTS.get(str(place[0]), ()) if is_script else ()


def explain(schema_field: SchemaField) -> str:
    """Return the meaning of a key in the language of the page, without the links of the reference."""
    description = schema_field.info and schema_field.info.description
    return LINK.sub(r"\1", _(description)) if description else schema_field.key


def describe_variable(name: Any) -> str:
    """Return whether an environment variable is set here. Its value is not looked at."""
    if not isinstance(name, str) or not name:
        return ""
    is_set = has_key(name)
    return _("This variable is set on the server.") if is_set else _("This variable is not set on the server yet.")


def describe_usual(schema: Any, schema_field: SchemaField) -> str:
    """Return the default of a key as text; empty where it needs no mention."""
    if not hasattr(schema, "__dataclass_fields__"):
        return ""
    usual = usual_of(schema, schema_field.name)
    is_said = isinstance(usual, str | int | float) and not isinstance(usual, bool) and usual != ""
    return str(usual) if is_said else ""


def faults_at(faults: Mapping[str, Sequence[str]], place: Place) -> tuple[str, ...]:
    """Return what is wrong at a place or below it."""
    name = place_of(place)
    below = (f"{name}.", f"{name}[")
    return tuple(
        message
        for where, messages in faults.items()
        if where == name or where.startswith(below)
        for message in messages
    )


# From what was typed.


class UnreadError(Exception):
    """Typed text that cannot stand in the file at all."""


def read_typed(one: Field, posted: QueryDict) -> Any:
    """Return the value for the file; None where the key is to be left out. Raise UnreadError."""
    if one.kind == TRUTH:
        unticked = False if one.value is False else None  # what stands there in words stays
        return True if one.name in posted else unticked
    if one.kind == SEVERAL:
        return order_like(one.value, posted.getlist(one.name)) or keep_empty(one)
    if one.kind in (WORDS, RATES):
        read = read_number if one.kind == RATES else str
        was_sent = any(part.name in posted for part in one.parts)
        texts = {
            part.language: clean(posted, part.name) if part.name in posted or not was_sent else part.value
            for part in one.parts  # what the page had no input for, as a language chosen since, stays
        }
        values = {language: read(text) for language, text in texts.items() if text}
        if f"{one.name}.none" not in posted:
            return join_languages(values, one)
        if values:
            message = _(
                "“There is none” was ticked, but there is a text. Save again to keep the text, or clear it first."
            )
            raise UnreadError(message)
        return ""
    text = clean(posted, one.name)
    if not text:
        return keep_empty(one)
    if one.wants_variable and not is_variable(text):
        raise UnreadError(say_what_to_do())
    if one.kind == NUMBER:
        return read_number(text)
    if one.kind == LINES:
        return [line.strip() for line in text.splitlines() if line.strip()]
    if one.kind == NUMBERS:
        return read_numbers(text)
    return read_table(text) if one.kind == TABLE else text


def show_unread(one: Field, posted: QueryDict, wrong: str) -> Field:
    """Return a field that could not be taken over, as it was typed. What may be a key is not shown again."""
    typed = "" if one.wants_variable else posted.get(one.name, "")
    texts = {part.language: posted.get(part.name, "") for part in one.parts} if one.kind == WORDS else one.value
    return replace(one, typed=typed, value=texts, faults=(*one.faults, wrong))


def keep_empty(one: Field) -> Any:
    """Return the empty value that stands in the file; None where the key is to be left out."""
    return one.value if one.value in ("", [], {}) else None


def clean(posted: QueryDict, name: str) -> str:
    return posted.get(name, "").replace("\r\n", "\n").strip()


def order_like(before: Any, values: Sequence[str]) -> list[str]:
    """Return the ticked values: those that were there in their old order, then the new ones."""
    earlier = [each for each in before if each in values] if isinstance(before, list) else []
    return [*earlier, *(each for each in values if each not in earlier)]


def join_languages(values: Mapping[str, Any], one: Field) -> Any:
    """Return one value where all languages have the same, else a table; what stood there in other languages stays."""
    others = {
        code: text
        for code, text in (one.value.items() if isinstance(one.value, Mapping) else ())
        if code not in one.languages
    }
    whole = {**values, **others}
    if not whole:
        return None
    is_one = not others and set(values) == set(one.languages) and len(set(values.values())) == 1
    return next(iter(values.values())) if is_one and not isinstance(one.value, Mapping) else whole


def read_number(text: str) -> Any:
    """Return the number; the text where it is none, for the check to say so."""
    if re.fullmatch(r"[+-]?\d{1,18}", text):
        return int(text)
    return float(text) if re.fullmatch(r"[+-]?\d{0,18}\.?\d{1,18}", text) else text


def read_numbers(text: str) -> Any:
    """Return a list of numbers; a table as `{every = 5}` stays one."""
    if text.startswith("{"):
        hint = _("Write turn numbers, as 5, 10, or {every = 5}. %(reason)s")
        return read_table(f"value = {text}", hint)["value"]
    return [read_number(each) for each in re.split(r"[\s,，、;]+", text) if each]


def read_table(text: str, hint: str = "") -> dict[str, Any]:
    """Return the values of lines `name = value`. Raise UnreadError with `hint` as its text."""
    try:
        return tomllib.loads(text)
    except ValueError as error:
        hint = hint or _('Write one line for each parameter, as top_p = 0.9 or user = "lab". %(reason)s')
        raise UnreadError(hint % {"reason": error}) from error
