"""Any questionnaire → one accessible Django form, and its answers as rows to keep."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from studies.instruments.countries import COUNTRIES, in_order
from studies.instruments.definitions import DECLINED, Condition, Item, Option, Questionnaire
from studies.instruments.wording import fill, placeholders

COMMENT = "comment"  # the key of the closing remark that some instruments invite
COMMENT_LIMIT = 1000
REASON = "why-"  # before the key of a scored item: the field for why this score
REASON_LIMIT = 1000
GRADED = ("scale", "single")  # the types of item of which it may be said why
BEFORE = "pre."  # marks an answer of the check before the chat
SIDE_BY_SIDE = 32  # up to so many (English) characters each, choices stand beside one another where there is room
FEW = 6  # more choices than this are a wrap of words instead of a list
BESIDE = 3  # up to so many choices without numbers stand side by side
ONE_LINE = 60  # characters of an answer that gets a line instead of a box

Earlier = Mapping[str, str | float]


@dataclass(frozen=True)
class AnswerValue:
    """An answer as it is kept: `value` for scales, integers and boxes, `text` for keys, codes and words."""

    item: str
    value: float | None = None
    text: str = ""
    missing_reason: str = ""  # "prefer_not", "not_answered"
    reason: str = ""  # why this score, in the rater's words
    position: int | None = field(default=None, compare=False)  # in which place of its page the item stood, from 1


@dataclass(frozen=True)
class Toggle:
    """A rule by which the page's script shows or hides an item by another one of the page.

    The server decides anyway.
    """

    effect: str  # show, hide
    question: str
    values: str  # separated by spaces


@dataclass(frozen=True)
class Row:
    """One item as the templates need it."""

    field: forms.BoundField
    template: str
    layout: str  # of choices: stacked, row, steps (a scale with words at some steps only), words
    label: str  # the name of a rated dimension, above its question
    ends: Sequence[str]  # the words along a scale of steps
    toggles: Sequence[Toggle]
    hidden: bool
    reason: forms.BoundField | None = None  # where it may be said why


def form_for(
    questionnaire: Questionnaire,
    *,
    language: str,
    track: str = "all",
    phase: str = "",
    earlier: Earlier | None = None,
    values: Mapping[str, object] | None = None,
    order_seed: int | None = None,
    item_seed: str = "",
    accept_short: bool = False,
    country: str = "",
    reasons: bool = False,
    data: Mapping[str, Any] | None = None,
) -> "InstrumentForm":
    """Return one field for each item that this person is asked now; the field is named by the item's key.

    `earlier` holds a draft by item key, and the answers from before the chat by `pre.<item key>`. `values` fill the
    placeholders of the texts; a missing one is a KeyError. `accept_short` leaves short texts to the screening rules.
    `country` is the first one of a list of countries. With an `item_seed` the graded items change places.
    `reasons`: of each score or choice it may be said why, in a field named `why-<item key>`.
    """
    answers = {key: _as_choice(answer) for key, answer in (earlier or {}).items() if answer not in (None, "")}
    before = {key: answer for key, answer in answers.items() if key.startswith(BEFORE)}
    words = {**(values or {}), **_in_words(questionnaire, before, language)}
    items = [
        _prepare(item, language, words, order_seed, accept_short, country)
        for item in (*questionnaire.items_for(track=track, phase=phase), *_closing_remark(questionnaire))
        if _can_be_asked(item, language, before, words)
    ]
    items = _shuffle_items(items, item_seed) if item_seed else items
    return InstrumentForm(items, language=language, before=before, reasons=reasons, data=data, initial=answers)


class InstrumentForm(forms.Form):
    use_required_attribute = False  # the server says what is missing, in the page's own words

    def __init__(
        self, items: Sequence[Item], *, language: str, before: Earlier, reasons: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.items = {item.key: item for item in items}
        self.language = language
        self.before = before
        self.fields.update({item.key: _field(item, language) for item in items})
        if reasons:
            self.fields.update({REASON + item.key: _reason_field() for item in items if _is_graded(item)})

    def clean(self) -> dict[str, Any]:
        """Remove what was not to be asked, and require what a condition made due."""
        for item in filter(_is_conditional, self.items.values()):
            if not item.is_shown(self._answers()):
                self.cleaned_data.pop(item.key, None)
                self.errors.pop(item.key, None)
            elif item.required and self.cleaned_data.get(item.key, "") in (None, "") and item.key not in self.errors:
                self.add_error(item.key, _what_to_do(item))
        return self.cleaned_data

    def given_answers(self) -> dict[str, str | int]:
        """Return the answers by item key, for the screening rules, the quiz, and the `earlier` of a later form."""
        return {key: self.cleaned_data[key] for key in self.items if self.cleaned_data.get(key, "") not in (None, "")}

    def cleaned_answers(self) -> list[AnswerValue]:
        """Return the answers in the order of the items, without those of hidden ones."""
        return [
            replace(
                _answer(item, self.cleaned_data[key], reason=self.cleaned_data.get(REASON + key, "")), position=position
            )
            for position, (key, item) in enumerate(self.items.items(), 1)
            if key in self.cleaned_data
        ]

    @cached_property
    def rows(self) -> list[Row]:
        self.is_valid()  # so that what hides what is known from the answers
        return [self._row(item) for item in self.items.values()]

    @property
    def rows_with_errors(self) -> list[Row]:
        return [row for row in self.rows if row.field.errors or (row.reason and row.reason.errors)]

    def _row(self, item: Item) -> Row:
        layout = _layout(item)
        return Row(
            field=self[item.key],
            template=f"components/item_{item.type}.html",
            layout=layout,
            label=item.label[self.language] if item.label and item.definition else "",
            ends=[option.text[self.language] for option in item.options] if layout == "steps" else (),
            toggles=list(_toggles(item)),
            hidden=not item.is_shown(self._answers()),
            reason=self[REASON + item.key] if REASON + item.key in self.fields else None,
        )

    def _answers(self) -> dict[str, Any]:
        return {**self.before, **(self.cleaned_data if self.is_bound else self.initial)}


class WordsField(forms.CharField):
    """Words of at least `least` characters, which the page says and counts."""

    def __init__(self, *, least: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.least = least

    def to_python(self, value: Any) -> str:
        """Return the text with line ends as the browser counts them: it sends two characters for what `maxlength` takes
        for one."""
        return str(super().to_python(value)).replace("\r\n", "\n")


def _as_choice(answer: str | float) -> str | float:
    """Return an answer as a choice. Stored numbers are floats; the choices of a scale are whole numbers."""
    return int(answer) if isinstance(answer, float) else answer


def _in_words(questionnaire: Questionnaire, before: Earlier, language: str) -> dict[str, str]:
    """Return earlier answers as they were worded to the person; for "something else", in the person's own words."""
    words = {}
    for key, answer in before.items():
        option = questionnaire.item(key.removeprefix(BEFORE)).option(answer)
        words[key] = str(before.get(f"{key}_other") or (option.text[language] if option else answer))
    return words


def _closing_remark(questionnaire: Questionnaire) -> tuple[Item, ...]:
    if questionnaire.comment is None:
        return ()
    return (Item(COMMENT, "text", questionnaire.comment, required=False, maximum_length=COMMENT_LIMIT),)


def _can_be_asked(item: Item, language: str, before: Earlier, words: Mapping[str, object]) -> bool:
    """Return False for a question about an earlier answer that does not exist or that rules the question out."""
    asks_about = [name for name in placeholders(item.text[language]) if name.startswith(BEFORE)]
    settled = replace(item, show_if=_about_before(item.show_if), hide_if=_about_before(item.hide_if))
    return all(name in words for name in asks_about) and settled.is_shown(before)


def _about_before(condition: Condition | None) -> Condition | None:
    return condition if condition and condition.question.startswith(BEFORE) else None


def _prepare(
    item: Item, language: str, words: Mapping[str, object], order_seed: int | None, accept_short: bool, country: str
) -> Item:
    options = item.options if order_seed is None else _shuffle(item.options, order_seed)
    return replace(
        item,
        text={language: fill(item.text[language], words)},
        options=tuple(in_order(COUNTRIES, language, first=country)) if item.type == "country" else options,
        minimum_length={} if accept_short else item.minimum_length,
    )


def _shuffle(options: Sequence[Option], seed: int) -> tuple[Option, ...]:
    """Shuffle within each named group; the groups, and options of none, stay where they are."""
    draw = random.Random(seed)
    mixed: list[Option] = []
    for group, members in groupby(options, key=lambda option: option.group):
        block = list(members)
        mixed += draw.sample(block, len(block)) if group else block
    return tuple(mixed)


def _shuffle_items(items: Sequence[Item], seed: str) -> list[Item]:
    """Return the items with the graded ones in another order among their places; what depends on an answer stays."""
    moving = [item for item in items if _is_graded(item) and not _is_conditional(item)]
    drawn = iter(random.Random(seed).sample(moving, len(moving)))
    return [next(drawn) if item in moving else item for item in items]


def _is_graded(item: Item) -> bool:
    return item.type in GRADED and item.instructed is None


def _is_conditional(item: Item) -> bool:
    return item.show_if is not None or item.hide_if is not None


def _toggles(item: Item) -> Iterator[Toggle]:
    for effect, condition in (("show", item.show_if), ("hide", item.hide_if)):
        if condition is not None and not condition.question.startswith(BEFORE):
            values = condition.value if condition.op == "in" else [condition.value]
            yield Toggle(effect, condition.question, " ".join(map(str, values)))


def _layout(item: Item) -> str:
    if item.type == "scale" and len(item.options) < len(_steps(item)):
        return "steps"
    if len(item.options) > FEW:
        return "words"
    short = all(len(option.text["en"]) <= SIDE_BY_SIDE for option in item.options)
    return "row" if short and (item.type == "scale" or len(item.options) <= BESIDE) else "stacked"


def _steps(item: Item) -> range:
    if item.minimum is None or item.maximum is None:
        raise ValueError(f"{item.key}: a scale needs a minimum and a maximum")
    return range(item.minimum, item.maximum + 1)


def _field(item: Item, language: str) -> forms.Field:
    return _FIELDS[item.type](
        item,
        language,
        {
            "label": item.text[language],
            "help_text": item.definition[language] if item.definition else "",
            "required": item.required and not _is_conditional(item),
            "error_messages": {key: _what_to_do(item) for key in _TO_MEND},
        },
    )


_TO_MEND = ("required", "invalid", "invalid_choice", "min_value", "max_value")


def _what_to_do(item: Item) -> str:
    if item.type == "text":
        return _("Please write an answer.")
    if item.type == "integer":
        return _("Please enter a whole number from %(low)s to %(high)s.") % {"low": item.minimum, "high": item.maximum}
    if item.type == "checkbox":
        return _("Please tick this box to continue. If you do not agree, you can leave the study.")
    if item.type == "country":
        return _("Please choose a country or region from the list.")
    return _("Please choose one of the answers.")


class Radios(forms.RadioSelect):
    """Radio buttons, each written at once: Django renders four templates for each, which was a third of the time that a
    page of a questionnaire takes."""

    def _render(self, template_name: str, context: dict[str, Any], renderer: Any = None) -> str:
        button = context["widget"]
        if template_name != self.option_template_name or button.get("wrap_label"):
            whole: str = super()._render(template_name, context, renderer)  # type: ignore[misc]  # of no stub
            return whole
        attributes = [(name, value) for name, value in button["attrs"].items() if value is not False]
        return format_html(
            '<input type="radio" name="{}" value="{}"{}>',
            button["name"],
            str(button["value"]),
            format_html_join("", "{}", ((_write_attribute(name, value),) for name, value in attributes)),
        )


def _write_attribute(name: str, value: object) -> str:
    return format_html(" {}", name) if value is True else format_html(' {}="{}"', name, value)


def _scale_field(item: Item, language: str, common: dict[str, Any]) -> forms.Field:
    anchors = {option.value: option.text[language] for option in item.options}
    choices = [(step, anchors.get(step, "")) for step in _steps(item)]
    return forms.TypedChoiceField(coerce=int, empty_value=None, choices=choices, widget=Radios, **common)


def _single_field(item: Item, language: str, common: dict[str, Any]) -> forms.Field:
    choices = [(option.value, option.text[language]) for option in item.options]
    return forms.ChoiceField(choices=choices, widget=Radios, **common)


def _country_field(item: Item, language: str, common: dict[str, Any]) -> forms.Field:
    choices = [(country.value, country.text[language]) for country in item.options]
    return forms.ChoiceField(choices=[("", _("Please choose")), *choices], **common)


def _integer_field(item: Item, _language: str, common: dict[str, Any]) -> forms.Field:
    # A text box with a number pad: the arrows and the scroll wheel of a number box change answers by accident.
    widget = forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"})
    return forms.IntegerField(min_value=item.minimum, max_value=item.maximum, widget=widget, **common)


def _text_field(item: Item, language: str, common: dict[str, Any]) -> forms.Field:
    attributes = {"autocomplete": "off"}
    one_line = (item.maximum_length or ONE_LINE + 1) <= ONE_LINE
    common["error_messages"]["max_length"] = _("Please shorten this to %(limit_value)d characters.")
    if least := item.minimum_length.get(language, 0):
        hint = _("At least %(least)d characters.") % {"least": least}
        common["help_text"] = f"{common['help_text']} {hint}".strip()
    return WordsField(
        least=least,
        max_length=item.maximum_length,
        validators=[_long_enough(item, language)],
        widget=forms.TextInput(attrs=attributes) if one_line else forms.Textarea(attrs=attributes | {"rows": 4}),
        **common,
    )


def _reason_field() -> forms.Field:
    return WordsField(
        label=_("Why this score? (optional)"),
        required=False,
        max_length=REASON_LIMIT,
        error_messages={"max_length": _("Please shorten this to %(limit_value)d characters.")},
        widget=forms.Textarea(attrs={"autocomplete": "off", "rows": 2}),
    )


def _long_enough(item: Item, language: str) -> Callable[[str], None]:
    def check(text: str) -> None:
        if item.is_too_short(text, language):
            raise ValidationError(
                _("Please write a little more: at least %(least)d characters. There are %(length)d so far."),
                code="too_short",
                params={"least": item.minimum_length[language], "length": len(text.strip())},
            )

    return check


def _checkbox_field(_item: Item, _language: str, common: dict[str, Any]) -> forms.Field:
    return forms.BooleanField(**common)


_FIELDS: Mapping[str, Callable[[Item, str, dict[str, Any]], forms.Field]] = {
    "scale": _scale_field,
    "single": _single_field,
    "country": _country_field,
    "integer": _integer_field,
    "text": _text_field,
    "checkbox": _checkbox_field,
}


def _answer(item: Item, answer: Any, reason: str = "") -> AnswerValue:
    if answer in (None, ""):
        return AnswerValue(item.key, missing_reason="not_answered", reason=reason)
    if item.type == "single" and answer == DECLINED:
        return AnswerValue(item.key, missing_reason=DECLINED)
    if item.type in ("scale", "integer", "checkbox"):
        return AnswerValue(item.key, value=float(answer), reason=reason)
    return AnswerValue(item.key, text=answer, reason=reason)
