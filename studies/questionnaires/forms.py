"""The form in which someone makes a questionnaire: one box for each language of the site."""

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.documents import DocumentError
from dialogue.languages import LANGUAGES
from studies.instruments.definitions import Text
from studies.instruments.loading import RATING_SCALE, instrument_ids
from studies.participation.language import CODES
from studies.questionnaires.checking import check_data, check_id
from studies.questionnaires.document import NO, QUESTIONNAIRE, SCALE, YES, Described, compose
from studies.questionnaires.lines import LinesError, pair_lines, read_questions, write_lines

FEWEST_LABELS, MOST_LABELS = 2, 11
LONGEST_TITLE = 200
LONGEST_TEXT = 5000
LONGEST_BOX = 100_000
ALL = ""  # the words are written in every language
KINDS = (
    (QUESTIONNAIRE, gettext_lazy("Questionnaire: people answer it about themselves")),
    (RATING_SCALE, gettext_lazy("Rating form: people and judges rate conversations with it")),
)


def words_for_yes_no() -> dict[str, Text]:
    """Return the two answers in every language."""
    words: dict[str, dict[str, str]] = {YES: {}, NO: {}}
    for code, django_code in CODES.items():
        with translation.override(django_code):
            words[YES][code], words[NO][code] = _("Yes"), _("No")
    return words


class UploadForm(forms.Form):
    """An instrument file from someone's machine."""

    file = forms.FileField(label=gettext_lazy("Questionnaire file (JSON)"))


class QuestionnaireForm(forms.Form):
    """A questionnaire in words. `cleaned_data["described"]` is what it says."""

    use_required_attribute = False

    kind = forms.ChoiceField(choices=KINDS, label=gettext_lazy("Kind"), widget=forms.RadioSelect)
    only = forms.ChoiceField(
        required=False,
        label=gettext_lazy("Languages"),
        help_text=gettext_lazy("With one language, studies in another language show the same words."),
    )
    lowest = forms.TypedChoiceField(
        choices=((1, "1"), (0, "0")),
        coerce=int,
        label=gettext_lazy("The first label counts as"),
        widget=forms.RadioSelect,
    )
    has_score = forms.BooleanField(
        required=False,
        label=gettext_lazy("Compute a score: the mean of the answers on the scale, with questions marked (R) reversed"),
        help_text=gettext_lazy("A rating form always has its mean, and no reversed questions."),
    )
    required = forms.BooleanField(required=False, label=gettext_lazy("Every question must be answered"))
    key = forms.CharField(
        required=False,
        label=gettext_lazy("Short name for study files and exports"),
        help_text=gettext_lazy("Lower-case letters, digits and _, for example sleep_quality. Empty: from the title."),
    )
    source = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        label=gettext_lazy("Source (citation)"),
        help_text=gettext_lazy("Where the questions come from. Leave it empty if you wrote them."),
    )
    licence = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        label=gettext_lazy("Licence or permission"),
        help_text=gettext_lazy("Why you may use them, for example: free for research, see the authors' page."),
    )

    def __init__(self, *args: Any, fixed_id: str = "", **kwargs: Any) -> None:
        """`fixed_id`: of a questionnaire that is changed."""
        super().__init__(*args, **kwargs)
        self.fixed_id = fixed_id
        if fixed_id:
            del self.fields["key"]
        only = self.fields["only"]
        assert isinstance(only, forms.ChoiceField)  # noqa: S101 - so it is declared
        only.choices = [(ALL, _("All languages of this site")), *((one.code, one.name) for one in LANGUAGES)]
        for language in LANGUAGES:
            for name, limit, rows in (
                *(("title", LONGEST_TITLE, 1), ("instruction", LONGEST_TEXT, 3)),
                *(("questions", LONGEST_BOX, 10), ("labels", LONGEST_TEXT, 6)),
            ):
                attributes = {"rows": rows, "lang": language.html}
                widget = forms.TextInput({"lang": language.html}) if rows == 1 else forms.Textarea(attributes)
                self.fields[f"{name}_{language.code}"] = forms.CharField(
                    required=False, max_length=limit, label=language.name, widget=widget
                )

    def boxes(self, name: str) -> list[forms.BoundField]:
        """Return the fields of a text, one for each language."""
        return [self[f"{name}_{language.code}"] for language in LANGUAGES]

    @property
    def titles(self) -> list[forms.BoundField]:
        return self.boxes("title")

    @property
    def instructions(self) -> list[forms.BoundField]:
        return self.boxes("instruction")

    @property
    def questions(self) -> list[forms.BoundField]:
        return self.boxes("questions")

    @property
    def labels(self) -> list[forms.BoundField]:
        return self.boxes("labels")

    def texts(self, name: str) -> dict[str, str]:
        """Return a text by language. With one language, the others have its words."""
        only = self.cleaned_data.get("only", ALL)
        return {
            one.code: self.cleaned_data.get(f"{name}_{only or one.code}", "").replace("\r\n", "\n") for one in LANGUAGES
        }

    def box_of(self, name: str, language: str) -> str:
        """Return the field of a text in a language; with one language there is one box."""
        return f"{name}_{self.cleaned_data.get('only') or language}"

    def fault(self, name: str, language: str, message: str) -> None:
        """Keep a fault at the box of a language."""
        self.add_error(self.box_of(name, language), message[:1].upper() + message[1:])

    def clean(self) -> dict[str, Any]:
        title, instruction = self.texts("title"), self.texts("instruction")
        self.require("title", title)
        if any(instruction.values()):
            self.require("instruction", instruction)
        questions = self.read("questions", read_questions)
        labels = self.read("labels", pair_lines)
        if questions is not None and not questions:
            self.require("questions", self.texts("questions"))
        on_scale = [one for one in questions or () if one.answer == SCALE]
        if labels is not None and on_scale and not FEWEST_LABELS <= len(labels) <= MOST_LABELS:
            message = _("The answer scale needs %(least)s to %(most)s labels, one on each line; there are %(count)s.")
            values = {"least": FEWEST_LABELS, "most": MOST_LABELS, "count": len(labels)}
            self.fault("labels", LANGUAGES[0].code, message % values)
        is_rating = self.cleaned_data.get("kind") == RATING_SCALE
        if is_rating and questions and not on_scale:
            self.fault("questions", LANGUAGES[0].code, _("A rating form needs a question on the answer scale."))
        if any(one.is_reversed for one in questions or ()) and (is_rating or not self.cleaned_data.get("has_score")):
            message = _("A question is marked (R), but there is no score in which it could be reversed.")
            self.fault("questions", LANGUAGES[0].code, message)
        if not self.errors:
            described = Described(
                id=self.fixed_id or self.choose_id(title),
                kind=self.cleaned_data["kind"],
                title=title,
                instruction=instruction if any(instruction.values()) else None,
                questions=questions or (),
                labels=(labels or ()) if on_scale else (),
                yes_no=words_for_yes_no(),
                lowest=self.cleaned_data["lowest"],
                required=self.cleaned_data["required"],
                has_score=self.cleaned_data["has_score"] and not is_rating and bool(on_scale),
                source=self.cleaned_data["source"],
                licence=self.cleaned_data["licence"],
            )
            self.check(described)
        return self.cleaned_data

    def require(self, name: str, texts: Mapping[str, str]) -> None:
        """Find the languages in which a text is missing."""
        for language in LANGUAGES:
            if not texts[language.code].strip() and self.box_of(name, language.code) not in self.errors:
                message = _("This is missing in %(language)s. Write it, or choose one language above.")
                self.fault(name, language.code, message % {"language": language.name})

    def read(self, name: str, reader: Any) -> Any:
        """Return what stands in the boxes line by line; None where that is faulty."""
        if any(self.box_of(name, language.code) in self.errors for language in LANGUAGES):
            return None
        try:
            return reader(self.texts(name))
        except LinesError as error:
            self.fault(name, error.language, str(error))
            return None

    def choose_id(self, title: Text) -> str:
        """Return the short name: what was typed, else one from the title."""
        typed: str = self.cleaned_data["key"]
        made = next((one for text in title.values() if (one := make_id(text))), "")
        if wrong := check_id(typed or made):
            if not typed:
                wrong = _("no short name can be made from the title: please write one") if not made else wrong
            self.add_error("key", wrong[:1].upper() + wrong[1:])
        elif (typed or made) in instrument_ids():
            self.add_error("key", _("Another questionnaire has the short name “%(key)s”.") % {"key": typed or made})
        return typed or made

    def check(self, described: Described) -> None:
        """Let the rules of instrument files say whether anything is left that is wrong."""
        if self.errors:
            return
        try:
            check_data(compose(described, "1"), described.id, f"{described.id}.json")
        except DocumentError as error:
            for fault in error.faults:
                self.add_error(None, str(fault))
        self.cleaned_data["described"] = described


def make_id(title: str) -> str:
    """Return a short name from a title: its Latin letters and digits."""
    plain = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in title.lower())
    return "_".join(plain.split())[:50].strip("_")


def initial_of(described: Described | None, kind: str = QUESTIONNAIRE) -> dict[str, Any]:
    """Return what stands in the form at first; of an empty one the kind alone."""
    if described is None:
        return {"kind": kind, "lowest": 1, "required": True, "has_score": True}
    initial: dict[str, Any] = {
        name: getattr(described, name) for name in ("kind", "lowest", "required", "has_score", "source", "licence")
    }
    for name, value in walk_boxes(described):
        initial[name] = value
    return initial


def walk_boxes(described: Described) -> Iterator[tuple[str, str]]:
    for number, language in enumerate(LANGUAGES):
        code = language.code
        yield f"title_{code}", described.title[code]
        yield f"instruction_{code}", described.instruction[code] if described.instruction else ""
        yield f"questions_{code}", write_lines(described.questions, code, with_marks=number == 0)
        yield f"labels_{code}", "\n".join(label[code] for label in described.labels)
