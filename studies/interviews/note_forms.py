"""Forms of an interview's page: new notes and a candidate dimension, saved together or not at all."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.utils.translation import gettext as _

from studies.instruments.forms import WordsField
from studies.instruments.interview_guide import CANDIDATE_FIELDS
from studies.interviews import schedule
from studies.interviews.interview_record import QuestionRecord
from studies.models import CandidateDimension, InterviewNote, Participation
from studies.workbench.seen import get_hash, tell_changed

NOTE_LIMIT = 20_000  # characters
NAME_LIMIT = CandidateDimension._meta.get_field("name").max_length
NAME = "candidate-name"

Choices = Sequence[tuple[str, str]]


class FieldWithErrors(NamedTuple):
    field: BoundField


class Box(NamedTuple):
    """The fields for a new note on a question, and for what it is about."""

    record: QuestionRecord
    note: BoundField
    about: BoundField


class WrittenForm(forms.Form):
    """A form in which an empty box is nothing to save."""

    @property
    def rows_with_errors(self) -> list[FieldWithErrors]:
        return [FieldWithErrors(field) for field in self if field.errors]


class NotesForm(WrittenForm):
    """All fields of the page.

    It has no candidate fields if the person answers alone, because the list is theirs then.
    """

    def __init__(self, person: Participation, about: Choices, data: Any = None) -> None:
        super().__init__(data, auto_id="%s")
        self.questions = [each.key for section in schedule.sections_of(person) for each in section.questions]
        for question in self.questions:
            self.fields[f"note-{question}"] = words_field(_("Note on %(question)s") % {"question": question})
            self.fields[f"about-{question}"] = about_field(about)
        if not schedule.is_written(person):
            self.fields |= candidate_fields()

    def clean(self) -> dict[str, Any]:
        values = [self.cleaned_data.get(f"candidate-{part}") for part in CANDIDATE_FIELDS]
        if any(values) and not values[0] and NAME not in self.errors:
            self.add_error(NAME, _("Please enter a name, or clear the fields below."))
        return self.cleaned_data

    def box(self, record: QuestionRecord) -> Box:
        return Box(record, self[f"note-{record.question.key}"], self[f"about-{record.question.key}"])

    def candidate_boxes(self) -> list[BoundField]:
        return [field for field in self if field.name.startswith("candidate-")]

    def notes(self) -> list[tuple[str, str, str]]:
        """Return question, text and subject of each note that has a text."""
        data = self.cleaned_data
        return [(key, data[f"note-{key}"], data[f"about-{key}"]) for key in self.questions if data[f"note-{key}"]]

    def candidate(self) -> dict[str, str] | None:
        if not self.cleaned_data.get(NAME):
            return None
        return {part: self.cleaned_data[f"candidate-{part}"] for part in CANDIDATE_FIELDS}


class NoteForm(WrittenForm):
    """The text of a note. `seen`: the hash of the text that the page showed."""

    def __init__(self, note: InterviewNote, data: Any = None) -> None:
        super().__init__(data, initial={"text": note.text}, auto_id="%s")
        self.seen = get_hash(note.text)
        self.fields["text"] = words_field(_("Note on %(question)s") % {"question": note.question}, rows=6)

    def clean_text(self) -> str:
        if self.data.get("seen", self.seen) != self.seen:
            raise ValidationError(tell_changed())
        text: str = self.cleaned_data["text"]
        return text


def words_field(label: str, *, rows: int = 2) -> WordsField:
    """Return a text field without `maxlength`, because browsers cut a longer pasted text without saying so."""
    widget = forms.Textarea(attrs={"rows": rows})
    return WordsField(label=label, required=False, validators=[at_most(NOTE_LIMIT)], widget=widget)


def about_field(choices: Choices) -> forms.Field:
    """Return a field that takes any text: its subject may be gone by now, and the note is kept all the same."""
    return forms.CharField(
        label=_("About"),
        required=False,
        widget=forms.Select(choices=[("", _("nothing in particular")), *choices]),
    )


def candidate_fields() -> dict[str, forms.Field]:
    return {
        NAME: WordsField(
            label=_("Name"),
            required=False,
            validators=[at_most(NAME_LIMIT)],
            widget=forms.TextInput(attrs={"autocomplete": "off"}),
        ),
        "candidate-definition": words_field(_("What it means")),
        "candidate-example": words_field(_("An example from the conversations")),
    }


def at_most(limit: int) -> Callable[[str], None]:
    def check(text: str) -> None:
        if len(text) > limit:
            raise ValidationError(
                _("Please shorten this to %(limit)d characters: %(excess)d too many so far."),
                code="too_long",
                params={"excess": len(text) - limit, "limit": limit},
            )

    return check
