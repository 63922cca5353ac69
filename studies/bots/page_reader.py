"""Read a page as a bot sees it: its forms and its conversation. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

CODE_CLASS = "completion-code"
REFUSED = "data-error-summary"
TRANSCRIPT = "transcript"
OWN, PARTNER = "own", "partner"
TEXT_OF_BUBBLE = "bubble__text"
VOID_INPUTS = ("submit", "button", "image", "reset", "file")

Attributes = Mapping[str, str]


@dataclass
class Field:
    kind: str  # radio, checkbox, hidden, text, select, textarea, button
    options: list[str] = field(default_factory=list)  # the values that can be chosen
    value: str = ""  # the value already there


@dataclass(frozen=True)
class Toggle:
    """An item that an answer to another item of the same page shows or hides."""

    effect: str  # show, hide
    question: str
    values: tuple[str, ...]

    def shows(self, answers: Mapping[str, str]) -> bool:
        return (answers.get(self.question, "") in self.values) == (self.effect == "show")


@dataclass
class Form:
    action: str = ""
    fields: dict[str, Field] = field(default_factory=dict)
    toggles: dict[str, list[Toggle]] = field(default_factory=dict)

    def hidden_values(self) -> dict[str, str]:
        """Return the values that the page sends by itself."""
        return {name: one.value for name, one in self.fields.items() if one.kind == "hidden"}

    def visible_fields(self) -> dict[str, Field]:
        return {name: one for name, one in self.fields.items() if one.kind != "hidden"}

    def is_shown(self, name: str, answers: Mapping[str, str]) -> bool:
        return all(toggle.shows(answers) for toggle in self.toggles.get(name, ()))


@dataclass
class Page:
    forms: list[Form] = field(default_factory=list)
    conversation: str = ""  # the code in `data-conversation`
    completion_code: str = ""
    is_refused: bool = False  # the form that was sent has faults, which the page shows
    heading: str = ""
    transcripts: list[list[tuple[str, str]]] = field(default_factory=list)  # of each: who (own, partner) and what

    def talks(self) -> list[list[tuple[str, str]]]:
        """Return for each transcript the messages that were answered, with their replies."""
        return [list(_message_reply_pairs(bubbles)) for bubbles in self.transcripts]

    def form_to(self, action: str) -> Form | None:
        return next((form for form in self.forms if form.action == action), None)

    def step_form(self) -> Form | None:
        """Return the form of the step at hand; pages also have small ones, such as the choice of language."""
        return next((form for form in self.forms if "step" in form.fields), None)


def read_page(html: str) -> Page:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.page


def _message_reply_pairs(bubbles: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for (who, text), (other, reply) in pairwise(bubbles):
        if (who, other) == (OWN, PARTNER):
            yield text, reply


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.form: Form | None = None
        self.select: Field | None = None
        self.writing: Field | None = None  # the textarea whose text comes next
        self.telling = ""  # the attribute of the page whose text comes next
        self.speaker = ""  # of the bubble at hand
        self.speaking = False  # its text comes next

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.in_bubble(attributes.get("class", "").split())
        self.page.conversation = attributes.get("data-conversation", self.page.conversation)
        self.page.is_refused |= REFUSED in attributes
        if CODE_CLASS in attributes.get("class", "").split():
            self.telling = "completion_code"
        elif tag == "h1" and not self.page.heading:
            self.telling = "heading"
        if tag == "form":
            self.form = Form(action=attributes.get("action", ""))
            self.page.forms.append(self.form)
        elif self.form is not None:
            self.in_form(self.form, tag, attributes)

    def in_bubble(self, classes: Sequence[str]) -> None:
        if TRANSCRIPT in classes:
            self.page.transcripts.append([])
        self.speaker = next((who for who in (OWN, PARTNER) if f"bubble--{who}" in classes), self.speaker)
        self.speaking = TEXT_OF_BUBBLE in classes and bool(self.page.transcripts)

    def in_form(self, form: Form, tag: str, attributes: Attributes) -> None:
        if "data-item" in attributes:
            form.toggles[attributes["data-item"]] = list(_toggles(attributes))
        if tag == "option" and self.select is not None:
            self.select.options.append(attributes.get("value", ""))
            if "selected" in attributes:
                self.select.value = attributes.get("value", "")
        elif "name" in attributes and "disabled" not in attributes:
            self.add(form, tag, attributes)

    def add(self, form: Form, tag: str, attributes: Attributes) -> None:
        kind = attributes.get("type", "text").lower() if tag == "input" else tag
        if kind in VOID_INPUTS and tag == "input":
            return
        here = form.fields.setdefault(attributes["name"], Field(kind if kind in _CHOSEN + _TAGS else "text"))
        if kind in ("radio", "checkbox", "button"):
            here.options.append(attributes.get("value", "on"))
        if kind not in ("radio", "checkbox", "button", "select", "textarea") or "checked" in attributes:
            here.value = attributes.get("value", "")
        if tag == "select":
            self.select = here
        elif tag == "textarea":
            self.writing = here

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None
        elif tag == "select":
            self.select = None
        elif tag == "textarea":
            self.writing = None
        self.telling = ""

    def handle_data(self, data: str) -> None:
        if self.writing is not None:
            self.writing.value += data
        if self.speaking:
            self.page.transcripts[-1].append((self.speaker, data))
            self.speaking = False
        if self.telling and data.strip():
            setattr(self.page, self.telling, data.strip())


_CHOSEN = ("radio", "checkbox", "hidden")
_TAGS = ("select", "textarea", "button")


def _toggles(attributes: Attributes) -> list[Toggle]:
    return [
        Toggle(effect, attributes[f"data-{effect}-if"], tuple(attributes.get(f"data-{effect}-values", "").split()))
        for effect in ("show", "hide")
        if f"data-{effect}-if" in attributes
    ]
