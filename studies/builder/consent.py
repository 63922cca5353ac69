"""The consent section: each value beside the sentence of the form that it completes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from studies.builder.document import StudyDocument
from studies.builder.fields import CHOICE, SEVERAL, WORDS, Choice, Field, faults_at
from studies.builder.sections import CONSENT
from studies.design.contradictions import IMPLIED
from studies.instruments.wording import keep_parts
from studies.participation.consent import template, template_ids
from studies.participation.language import instrument_language

FILLED_BY_DESIGN = ("n_arms", "min_turns", "checkpoint_every", "conversations_per_day", "model_providers")
BLANK = "＿＿＿"
AROUND = " ,;.:，；。：、"  # signs around a part within its sentence
PLACEHOLDER = re.compile(r"\{\{([\w.]+)\}\}")
SENTENCE = re.compile(r"[^.!?。！？]*[.!?。！？]*")


def add_placeholders(
    fields: Sequence[Field],
    document: StudyDocument,
    languages: tuple[str, ...],
    faults: Mapping[str, Sequence[str]],
) -> list[Field]:
    """Return the fields of the section with the form's own: the parts that can be kept, and its placeholders."""
    name = document.get((CONSENT, "instrument"))
    form = template(name) if name in template_ids() else {}
    form_fields = [offer_choices(one, form) for one in fields]
    return form_fields + list(placeholder_fields(form, document, languages, faults)) if form else form_fields


def offer_choices(one: Field, form: Mapping[str, Any]) -> Field:
    """Return a field with what the forms offer."""
    if one.key == "instrument":
        offered = [(name, name) for name in template_ids()]
    elif one.key == "flags" and form:
        offered = [(flag, describe_flag(flag, form)) for flag in form["flags"] if flag not in IMPLIED]
    else:
        return one
    values = one.value if isinstance(one.value, list) else [one.value]
    unknown = [(value, value) for value in values if isinstance(value, str) and value not in dict(offered)]
    choices = tuple(
        Choice(value, label, value in values, value if one.key == "flags" and label != value else "")
        for value, label in [*offered, *unknown]
    )
    return replace(one, kind=CHOICE if one.key == "instrument" else SEVERAL, choices=choices)


def describe_flag(flag: str, form: Mapping[str, Any]) -> str:
    """Return the beginning of the part that a flag keeps, or the box that people tick only with it."""
    texts = (text[instrument_language()] for text in texts_of(form))
    part = next((words for text in texts if (words := find_part(flag, text))), "")
    box = next((box[instrument_language()] for box in form["checkboxes"] if box["audience"] == flag), "")
    return blank_out(part or box).strip(AROUND) or flag


def find_part(flag: str, text: str) -> str:
    """Return the text between `{{flag}}` and `{{/flag}}`; empty where it is not in the text."""
    match = re.search(rf"\{{\{{{flag}\}}\}}(.*?)\{{\{{/{flag}\}}\}}", text, re.DOTALL)
    return match[1].strip() if match else ""


def texts_of(form: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    yield from (section["text"] for section in form["sections"])
    yield from form["checkboxes"]


def placeholder_fields(
    form: Mapping[str, Any],
    document: StudyDocument,
    languages: tuple[str, ...],
    faults: Mapping[str, Sequence[str]],
) -> Iterator[Field]:
    """Yield a field for each placeholder, in the order of the form. Those that the design fills in come only where the
    file has them."""
    for name in order_placeholders(form):
        place = (CONSENT, name)
        value = document.get(place)
        if name in FILLED_BY_DESIGN and value is None:
            continue
        yield Field(
            place,
            WORDS,
            find_sentence(name, form),
            value,
            languages=languages,
            faults=faults_at(faults, place),
            may_be_none=name in form.get("may_be_empty", ()),
        )


def order_placeholders(form: Mapping[str, Any]) -> list[str]:
    """Return the form's placeholders as a reader meets them."""
    text = "\n".join(words["en"] for words in texts_of(form))
    names = [name for name in PLACEHOLDER.findall(text) if name in form["placeholders"]]
    return list(dict.fromkeys([*names, *form["placeholders"]]))


def find_sentence(name: str, form: Mapping[str, Any]) -> str:
    """Return the first sentence that a placeholder completes, with a blank in its place."""
    for words in texts_of(form):
        for sentence in SENTENCE.findall(blank_out(words[instrument_language()], name)):
            if BLANK in sentence:
                return sentence.strip()
    return name


def blank_out(text: str, name: str = "") -> str:
    """Return a text with all its parts, with a blank for this placeholder and dots for the others."""
    whole = keep_parts(text, lambda _part: True)
    return PLACEHOLDER.sub(lambda match: BLANK if match[1] == name else "…", whole)
